//! A second test binary: it re-instruments no dependency.

#[test]
fn threads_4() {
    plain::count(4);
}
