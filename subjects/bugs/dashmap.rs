//! dashmap#304: `shrink_to_fit` takes the lock that it holds.

use dashmap::DashMap;
use std::thread;

#[test]
pub fn shrunk_by_the_one_that_finds_it_used() {
    let map = DashMap::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            if map.contains_key(&1) {
                map.shrink_to_fit();
            }
        });
        scope.spawn(|| map.insert(1, 2));
    });
    assert_eq!(map.len(), 1);
}
