//! A baton goes from thread to thread by `park` and `unpark`. Whoever gets it looks only once
//! whether it is there, though `park` may return for an older reason.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;

fn run<const FIXED: bool>() {
    let baton = Arc::new(AtomicUsize::new(0));
    let early = Arc::clone(&baton);
    let runner = thread::spawn(move || {
        if early.load(Ordering::SeqCst) == 0 {
            thread::park();
        }
        while FIXED && early.load(Ordering::SeqCst) == 0 {
            thread::park();
        }
        assert_eq!(early.load(Ordering::SeqCst), 1);
    });
    // A greeting, which wakes as well.
    runner.thread().unpark();
    baton.store(1, Ordering::SeqCst);
    runner.thread().unpark();
    runner.join().unwrap();
}

#[test]
fn bug() {
    run::<false>();
}

#[test]
fn twin() {
    run::<true>();
}
