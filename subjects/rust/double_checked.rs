//! A value that is set up by whoever needs it first. It is called ready a moment too early, so
//! that those who do not take the lock any more see it unfinished.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

#[derive(Default)]
struct Lazy {
    is_ready: AtomicBool,
    value: AtomicU64,
    lock: Mutex<()>,
}

impl Lazy {
    fn get<const FIXED: bool>(&self) -> u64 {
        if !self.is_ready.load(Ordering::SeqCst) {
            let _guard = self.lock.lock().unwrap();
            if !self.is_ready.load(Ordering::SeqCst) {
                if !FIXED {
                    self.is_ready.store(true, Ordering::SeqCst);
                }
                self.value.store(42, Ordering::SeqCst);
                self.is_ready.store(true, Ordering::SeqCst);
            }
        }
        self.value.load(Ordering::SeqCst)
    }
}

fn run<const FIXED: bool>() {
    let lazy = Lazy::default();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert_eq!(lazy.get::<FIXED>(), 42));
        }
    });
}

#[test]
fn bug() {
    run::<false>();
}

#[test]
fn twin() {
    run::<true>();
}
