//! mini-moka#15: a value is read while it is replaced and removed; what is noted about the read
//! then points to memory that was freed.

use mini_moka::sync::{Cache, ConcurrentCacheExt};
use std::thread;

#[test]
pub fn read_while_replaced_and_removed() {
    let cache = Cache::new(10);
    cache.insert(1, 1);
    cache.sync();
    thread::scope(|scope| {
        scope.spawn(|| cache.get(&1));
        scope.spawn(|| {
            cache.insert(1, 2);
            cache.invalidate(&1);
            cache.sync();
        });
    });
    cache.insert(2, 2);
    cache.sync();
    assert_eq!(cache.get(&1), None);
}
