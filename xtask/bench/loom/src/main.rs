//! The peer's side of the comparison: the logic of the plain package, rewritten for loom.
//! Arguments: threads, preemptions, executions. Prints executions and seconds.

use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;
use std::time::Instant;

/// Executions begun.
static EXECUTIONS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

fn count(threads: usize) {
    EXECUTIONS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
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

fn main() {
    let arguments: Vec<usize> = std::env::args()
        .skip(1)
        .map(|text| text.parse().expect("arguments are numbers"))
        .collect();
    let [threads, preemptions, executions] = arguments[..] else {
        panic!("arguments: threads, preemptions, executions");
    };
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_permutations = Some(executions);
    let start = Instant::now();
    builder.check(move || count(threads));
    let executions = EXECUTIONS.load(std::sync::atomic::Ordering::Relaxed);
    println!("{executions} {}", start.elapsed().as_secs_f64());
}
