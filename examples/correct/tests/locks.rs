//! Mutual exclusion and waiting.

use correct::{BoundedQueue, SpinLock};
use std::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock};
use std::thread;

#[test]
fn mutex_guards_a_counter() {
    let counter = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| *counter.lock().unwrap() += 1);
        }
    });
    assert_eq!(*counter.lock().unwrap(), 3);
}

#[test]
fn mutex_try_lock_gives_way() {
    let counter = Mutex::new(0);
    let successes: u32 = thread::scope(|scope| {
        let attempt = || match counter.try_lock() {
            Ok(mut guard) => {
                *guard += 1;
                1
            }
            Err(_) => 0,
        };
        let threads = [scope.spawn(attempt), scope.spawn(attempt)];
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    assert_eq!(*counter.lock().unwrap(), successes);
}

#[test]
fn rwlock_readers_see_whole_writes() {
    let pair = RwLock::new((0, 0));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut pair = pair.write().unwrap();
            pair.0 += 1;
            pair.1 += 1;
        });
        for _ in 0..2 {
            scope.spawn(|| {
                let pair = pair.read().unwrap();
                assert_eq!(pair.0, pair.1);
            });
        }
    });
}

#[test]
fn condvar_wakes_the_waiter() {
    let state = Arc::new((Mutex::new(false), Condvar::new()));
    let waiter = thread::spawn({
        let state = Arc::clone(&state);
        move || {
            let mut ready = state.0.lock().unwrap();
            while !*ready {
                ready = state.1.wait(ready).unwrap();
            }
        }
    });
    *state.0.lock().unwrap() = true;
    state.1.notify_one();
    waiter.join().unwrap();
}

#[test]
fn bounded_queue_passes_everything() {
    let queue = BoundedQueue::new(1);
    let sum: u32 = thread::scope(|scope| {
        scope.spawn(|| (1..=3).for_each(|item| queue.push(item)));
        (0..3).map(|_| queue.pop()).sum()
    });
    assert_eq!(sum, 6);
}

#[test]
fn barrier_lets_all_through_together() {
    let barrier = Barrier::new(3);
    let leaders: usize = thread::scope(|scope| {
        let threads: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| usize::from(barrier.wait().is_leader())))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    assert_eq!(leaders, 1);
}

#[test]
fn once_lock_is_filled_once() {
    let cell = OnceLock::new();
    thread::scope(|scope| {
        for number in 0..3 {
            let cell = &cell;
            scope.spawn(move || assert!(*cell.get_or_init(|| number) < 3));
        }
    });
    assert!(cell.get().is_some());
}

#[test]
fn once_and_lazy_lock_run_once() {
    static RUNS: Mutex<u32> = Mutex::new(0);
    static ONCE: Once = Once::new();
    static LAZY: LazyLock<u32> = LazyLock::new(|| *RUNS.lock().unwrap() + 41);
    let work = || {
        ONCE.call_once(|| *RUNS.lock().unwrap() += 1);
        *LAZY
    };
    let (left, right) = thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        let [left, right] = threads.map(|thread| thread.join().unwrap());
        (left, right)
    });
    assert_eq!((left, right), (42, 42));
    assert_eq!(*RUNS.lock().unwrap(), 1);
}

#[test]
fn spin_lock_guards_a_counter() {
    let counter = SpinLock::<u32>::default();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| *counter.lock() += 1);
        }
    });
    assert_eq!(*counter.lock(), 2);
}

#[test]
fn nested_locks_in_one_order() {
    let (outer, inner) = (Mutex::new(0), Mutex::new(0));
    let work = || {
        let mut outer = outer.lock().unwrap();
        *inner.lock().unwrap() += 1;
        *outer += 1;
    };
    thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    assert_eq!(*outer.lock().unwrap(), *inner.lock().unwrap());
}
