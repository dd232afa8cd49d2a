//! A thread looks at a flag and goes to sleep, in two steps; whoever sets the flag in between
//! wakes nobody.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;

#[derive(Default)]
struct Gate {
    is_open: AtomicBool,
    lock: Mutex<()>,
    opened: Condvar,
}

fn run<const FIXED: bool>() {
    let gate = Gate::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            let guard = FIXED.then(|| gate.lock.lock().unwrap());
            gate.is_open.store(true, Ordering::SeqCst);
            drop(guard);
            gate.opened.notify_all();
        });
        scope.spawn(|| {
            let mut guard = gate.lock.lock().unwrap();
            while !gate.is_open.load(Ordering::SeqCst) {
                guard = gate.opened.wait(guard).unwrap();
            }
        });
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
