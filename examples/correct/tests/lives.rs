//! How threads begin, wait, panic and end.

use std::cell::RefCell;
use std::panic;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{mpsc, Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn park_and_unpark_meet() {
    let flag = Arc::new(AtomicBool::new(false));
    let parked = thread::spawn({
        let flag = Arc::clone(&flag);
        move || {
            while !flag.load(Ordering::Acquire) {
                thread::park();
            }
        }
    });
    flag.store(true, Ordering::Release);
    parked.thread().unpark();
    parked.join().unwrap();
}

#[test]
fn thread_locals_are_dropped() {
    static DROPS: AtomicU32 = AtomicU32::new(0);
    struct Noisy(u32);
    impl Drop for Noisy {
        fn drop(&mut self) {
            DROPS.fetch_add(self.0, Ordering::SeqCst);
        }
    }
    thread_local!(static LOCAL: RefCell<Option<Noisy>> = const { RefCell::new(None) });
    let threads = [1, 2]
        .map(|n| thread::spawn(move || LOCAL.with_borrow_mut(|local| *local = Some(Noisy(n)))));
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    assert_eq!(DROPS.load(Ordering::SeqCst), 3);
}

#[test]
fn panics_that_are_caught_are_no_failures() {
    let caught = thread::spawn(|| panic::catch_unwind(|| panic!("on purpose")).is_err());
    assert!(panic::catch_unwind(|| panic!("on purpose, too")).is_err());
    assert!(caught.join().unwrap());
}

#[test]
fn panics_that_are_joined_are_no_failures() {
    let poisoned = Arc::new(Mutex::new(0));
    let panicking = thread::spawn({
        let poisoned = Arc::clone(&poisoned);
        move || {
            let _guard = poisoned.lock().unwrap();
            panic!("on purpose");
        }
    });
    assert!(panicking.join().is_err());
    assert!(poisoned.is_poisoned());
}

#[test]
#[should_panic(expected = "the right one")]
fn should_panic_panics() {
    let helper = thread::spawn(|| 1);
    assert_eq!(helper.join().unwrap(), 1);
    panic!("the right one");
}

#[test]
fn result_test_succeeds() -> Result<(), mpsc::RecvError> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(1));
    receiver.recv().map(|_| ())
}

#[test]
fn sleepers_wake_in_any_order() {
    let woken = AtomicU32::new(0);
    let start = Instant::now();
    thread::scope(|scope| {
        for seconds in [3, 1, 2] {
            let woken = &woken;
            scope.spawn(move || {
                thread::sleep(Duration::from_secs(seconds));
                woken.fetch_add(1, Ordering::SeqCst);
            });
        }
    });
    assert!(start.elapsed() >= Duration::from_secs(3));
    assert_eq!(woken.load(Ordering::SeqCst), 3);
}

#[test]
fn detached_thread_is_still_waiting_at_the_end() {
    static NEVER: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());
    thread::spawn(|| {
        let guard = NEVER.0.lock().unwrap();
        drop(NEVER.1.wait_while(guard, |stop| !*stop));
    });
    thread::yield_now();
}

#[test]
fn pool_of_workers_is_left_behind() {
    let (jobs, queue) = mpsc::channel::<u32>();
    let (results, done) = mpsc::channel();
    let queue = Arc::new(Mutex::new(queue));
    for _ in 0..2 {
        let (queue, results) = (Arc::clone(&queue), results.clone());
        thread::spawn(move || loop {
            let job = queue.lock().unwrap().recv();
            match job {
                Ok(job) => drop(results.send(job * 2)),
                Err(_) => return,
            }
        });
    }
    jobs.send(1).unwrap();
    jobs.send(2).unwrap();
    assert_eq!(done.recv().unwrap() + done.recv().unwrap(), 6);
    // The workers outlive the test: nobody closes the queue.
    std::mem::forget(jobs);
}

#[test]
fn timeouts_end_every_wait() {
    let (sender, receiver) = mpsc::channel::<()>();
    let short = Duration::from_millis(10);
    let waiter = thread::spawn(move || receiver.recv_timeout(short).is_err());
    let pair = (Mutex::new(()), Condvar::new());
    let (guard, result) = pair.1.wait_timeout(pair.0.lock().unwrap(), short).unwrap();
    drop(guard);
    assert!(result.timed_out());
    thread::park_timeout(short);
    assert!(waiter.join().unwrap());
    drop(sender);
}

#[test]
fn threads_start_threads() {
    fn tree(depth: u32) -> u32 {
        if depth == 0 {
            return 1;
        }
        let children = [(); 2].map(|()| thread::spawn(move || tree(depth - 1)));
        children
            .into_iter()
            .map(|child| child.join().unwrap())
            .sum()
    }
    assert_eq!(tree(2), 4);
}

#[test]
fn many_threads_finish() {
    let count = Arc::new(AtomicU32::new(0));
    let threads: Vec<_> = (0..40)
        .map(|_| {
            let count = Arc::clone(&count);
            thread::spawn(move || count.fetch_add(1, Ordering::Relaxed))
        })
        .collect();
    threads.into_iter().for_each(|thread| drop(thread.join()));
    assert_eq!(count.load(Ordering::Relaxed), 40);
}
