//! The logic with threads, rounds and heap blocks as the environment says.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;

fn number(name: &str) -> usize {
    let text = std::env::var(name).unwrap_or_else(|_| "2".to_owned());
    text.parse().expect("a number")
}

#[test]
fn grows() {
    let (threads, rounds) = (number("BENCH_THREADS"), number("BENCH_ROUNDS"));
    let blocks: Vec<Box<usize>> = (0..number("BENCH_BLOCKS")).map(Box::new).collect();
    let (locked, atomic) = (Mutex::new(0_usize), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..rounds {
                    *locked.lock().unwrap() += 1;
                    atomic.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
    });
    assert_eq!(*locked.lock().unwrap(), threads * rounds);
    assert_eq!(atomic.load(Ordering::SeqCst), threads * rounds);
    assert_eq!(blocks.iter().map(|block| **block & 1).sum::<usize>(), blocks.len() / 2);
}
