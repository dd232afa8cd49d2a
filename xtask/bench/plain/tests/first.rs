//! The logic with 2, 3 and 8 threads.

#[test]
fn threads_2() {
    plain::count(2);
}

#[test]
fn threads_3() {
    plain::count(3);
}

#[test]
fn threads_8() {
    plain::count(8);
}
