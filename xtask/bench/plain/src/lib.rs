//! Raddle's side of the comparison: code for plain std that knows of no tool.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Each thread locks, adds, unlocks and adds atomically, ten times.
pub fn count(threads: usize) {
    let locked = Arc::new(Mutex::new(0_usize));
    let atomic = Arc::new(AtomicUsize::new(0));
    let workers: Vec<_> = (0..threads)
        .map(|_| {
            let (locked, atomic) = (Arc::clone(&locked), Arc::clone(&atomic));
            thread::spawn(move || {
                for _ in 0..10 {
                    *locked.lock().unwrap() += 1;
                    atomic.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
    assert_eq!(*locked.lock().unwrap(), threads * 10);
    assert_eq!(atomic.load(Ordering::SeqCst), threads * 10);
}
