//! RUSTSEC-2019-0013: taking the lock does not order what was done before it was released.

use spin::RwLock;
use std::thread;

#[test]
pub fn written_by_one_and_read_by_another() {
    let lock = RwLock::new(0_u64);
    thread::scope(|scope| {
        scope.spawn(|| *lock.write() += 1);
        scope.spawn(|| *lock.write() += 1);
        scope.spawn(|| assert!(*lock.read() <= 2));
    });
}
