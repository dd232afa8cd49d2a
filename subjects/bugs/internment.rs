//! RUSTSEC-2020-0017: a value is freed by its last owner while another one finds it in the table.

use internment::ArcIntern;
use std::thread;

#[test]
pub fn interned_while_the_last_owner_drops() {
    let first = ArcIntern::new(7_u64);
    let other = thread::spawn(|| assert_eq!(*ArcIntern::new(7_u64), 7));
    drop(first);
    other.join().unwrap();
}
