//! The peer's side of the comparison: the logic of the plain package, rewritten for shuttle.
//! Arguments: threads, strategy (`random` or `pct`), executions. Prints executions, points
//! and seconds.

use shuttle::scheduler::{PctScheduler, RandomScheduler, Schedule, Scheduler, Task, TaskId};
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::{Arc, Mutex};
use shuttle::thread;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

/// Decisions that the scheduler was asked for.
static POINTS: AtomicU64 = AtomicU64::new(0);

fn count(threads: usize) {
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

/// Counts what the scheduler inside is asked for. The count is a plain load and store, so
/// that it costs next to nothing.
struct Counting<S>(S);

impl<S: Scheduler> Scheduler for Counting<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.0.new_execution()
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        yielding: bool,
    ) -> Option<TaskId> {
        let order = std::sync::atomic::Ordering::Relaxed;
        POINTS.store(POINTS.load(order) + 1, order);
        self.0.next_task(runnable, current, yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}

fn explore(scheduler: impl Scheduler + 'static, threads: usize) {
    let mut configuration = shuttle::Config::new();
    configuration.max_steps = shuttle::MaxSteps::None;
    shuttle::Runner::new(Counting(scheduler), configuration).run(move || count(threads));
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [threads, strategy, executions] = &arguments[..] else {
        panic!("arguments: threads, strategy, executions");
    };
    let threads = threads.parse().expect("threads is a number");
    let executions = executions.parse().expect("executions is a number");
    let start = Instant::now();
    match strategy.as_str() {
        "random" => explore(RandomScheduler::new(executions), threads),
        "pct" => explore(PctScheduler::new(3, executions), threads),
        other => panic!("unknown strategy {other}"),
    }
    let points = POINTS.load(std::sync::atomic::Ordering::Relaxed);
    println!("{executions} {points} {}", start.elapsed().as_secs_f64());
}
