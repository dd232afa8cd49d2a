//! The pool, the cache, the settings and the shared value.

use std::sync::Arc;
use std::thread;

use pools::{Connection, ConnectionPool, LruCache, Settings, Shared};

#[test]
fn one_connection_serves_two_threads() {
    let pool = Arc::new(ConnectionPool::new(1));
    let work = |pool: Arc<ConnectionPool>| {
        if let Some(connection) = pool.try_acquire() {
            assert_eq!(connection, Connection { id: 0 });
            pool.release(connection);
        }
    };
    let threads = [(); 2].map(|()| {
        let pool = Arc::clone(&pool);
        thread::spawn(move || work(pool))
    });
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(pool.available(), 1);
}

#[test]
fn a_cache_is_read_while_it_is_filled() {
    let cache = Arc::new(LruCache::with_capacity(2));
    cache.insert("a", 1);
    let reader = thread::spawn({
        let cache = Arc::clone(&cache);
        move || cache.get(&"a")
    });
    cache.insert("b", 2);
    assert_eq!(reader.join().unwrap(), Some(1));
    assert_eq!(cache.len(), 2);
}

#[test]
fn settings_are_read_once_they_are_loaded() {
    let settings = Arc::new(Settings::new());
    let reader = thread::spawn({
        let settings = Arc::clone(&settings);
        move || settings.get().is_none_or(|name| *name == "fast")
    });
    // SAFETY: They are loaded here and nowhere else.
    unsafe { settings.load("fast") };
    assert!(reader.join().unwrap());
}

#[test]
fn a_shared_value_outlives_its_first_owner() {
    let first = Shared::new(String::from("pool"));
    let second = first.clone();
    let reader = thread::spawn(move || second.len());
    drop(first);
    assert_eq!(reader.join().unwrap(), 4);
}
