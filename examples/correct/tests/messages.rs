//! Atomics, flags and channels that hand data from thread to thread.

use std::cell::UnsafeCell;
use std::sync::atomic::{fence, AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{mpsc, Arc};
use std::thread;

/// A value whose owner is agreed on by other means.
struct Handed(UnsafeCell<u32>);

// SAFETY: each test hands it over with an acquire and a release.
unsafe impl Sync for Handed {}

#[test]
fn spin_flag_publishes_data() {
    let (flag, data) = (AtomicBool::new(false), Handed(UnsafeCell::new(0)));
    let (flag, data) = (&flag, &data);
    let read = thread::scope(|scope| {
        scope.spawn(move || {
            // SAFETY: the flag is not raised yet, so nobody else looks.
            unsafe { *data.0.get() = 42 };
            flag.store(true, Ordering::Release);
        });
        while !flag.load(Ordering::Acquire) {
            std::hint::spin_loop();
        }
        // SAFETY: the flag was raised after the write.
        unsafe { *data.0.get() }
    });
    assert_eq!(read, 42);
}

#[test]
fn fences_publish_data() {
    let (flag, data) = (AtomicBool::new(false), Handed(UnsafeCell::new(0)));
    let (flag, data) = (&flag, &data);
    thread::scope(|scope| {
        scope.spawn(move || {
            // SAFETY: the flag is not raised yet, so nobody else looks.
            unsafe { *data.0.get() = 42 };
            fence(Ordering::Release);
            flag.store(true, Ordering::Relaxed);
        });
        scope.spawn(move || {
            if flag.load(Ordering::Relaxed) {
                fence(Ordering::Acquire);
                // SAFETY: the two fences order this after the write.
                assert_eq!(unsafe { *data.0.get() }, 42);
            }
        });
    });
}

#[test]
fn release_sequence_publishes_data() {
    let (turn, data) = (AtomicU32::new(0), Handed(UnsafeCell::new(0)));
    let (turn, data) = (&turn, &data);
    thread::scope(|scope| {
        scope.spawn(move || {
            // SAFETY: nobody looks before `turn` is past 0.
            unsafe { *data.0.get() = 42 };
            turn.store(1, Ordering::Release);
        });
        scope.spawn(move || {
            let _ = turn.compare_exchange(1, 2, Ordering::Relaxed, Ordering::Relaxed);
        });
        scope.spawn(move || {
            if turn.load(Ordering::Acquire) == 2 {
                // SAFETY: 2 continues the release sequence that 1 heads.
                assert_eq!(unsafe { *data.0.get() }, 42);
            }
        });
    });
}

#[test]
fn mpsc_delivers_in_order() {
    let (sender, receiver) = mpsc::channel();
    let producer = thread::spawn(move || (0..4).for_each(|n| sender.send(n).unwrap()));
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
    producer.join().unwrap();
}

#[test]
fn mpsc_of_two_producers_loses_nothing() {
    let (sender, receiver) = mpsc::channel();
    for n in [1, 2] {
        let sender = sender.clone();
        thread::spawn(move || sender.send(n).unwrap());
    }
    drop(sender);
    assert_eq!(receiver.iter().sum::<i32>(), 3);
}

#[test]
fn rendezvous_channel_meets() {
    let (sender, receiver) = mpsc::sync_channel(0);
    let consumer = thread::spawn(move || receiver.recv().unwrap() + receiver.recv().unwrap());
    sender.send(1).unwrap();
    sender.send(2).unwrap();
    assert_eq!(consumer.join().unwrap(), 3);
}

#[test]
fn arc_frees_once() {
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    struct Counted(Vec<u8>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.clear();
            DROPS.fetch_add(1, Ordering::Relaxed);
        }
    }
    let shared = Arc::new(Counted(vec![1, 2, 3]));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || assert_eq!(shared.0.len(), 3))
        })
        .collect();
    drop(shared);
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    assert_eq!(DROPS.load(Ordering::Relaxed), 1);
}

#[test]
fn scope_borrows_mutably_apart() {
    let mut numbers = [1, 2, 3, 4];
    let (left, right) = numbers.split_at_mut(2);
    thread::scope(|scope| {
        scope.spawn(|| left.iter_mut().for_each(|n| *n *= 2));
        scope.spawn(|| right.iter_mut().for_each(|n| *n *= 2));
    });
    assert_eq!(numbers, [2, 4, 6, 8]);
}
