//! A small bounded queue and a spin lock, both correct. The tests beside them use every kind
//! of concurrency that the standard library offers, correctly: nothing may be reported.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};

/// A bounded queue: `push` waits while it is full, `pop` while it is empty.
pub struct BoundedQueue<T> {
    items: Mutex<VecDeque<T>>,
    capacity: usize,
    not_full: Condvar,
    not_empty: Condvar,
}

impl<T> BoundedQueue<T> {
    /// A queue that holds this many items.
    pub fn new(capacity: usize) -> Self {
        Self {
            items: Mutex::new(VecDeque::with_capacity(capacity)),
            capacity,
            not_full: Condvar::new(),
            not_empty: Condvar::new(),
        }
    }

    /// Appends an item.
    pub fn push(&self, item: T) {
        let items = self.items.lock().unwrap();
        let mut items = self
            .not_full
            .wait_while(items, |items| items.len() == self.capacity)
            .unwrap();
        items.push_back(item);
        self.not_empty.notify_one();
    }

    /// Takes the oldest item.
    pub fn pop(&self) -> T {
        let items = self.items.lock().unwrap();
        let mut items = self
            .not_empty
            .wait_while(items, |items| items.is_empty())
            .unwrap();
        self.not_full.notify_one();
        items.pop_front().expect("the queue is not empty")
    }
}

/// A lock that spins.
#[derive(Default)]
pub struct SpinLock<T> {
    taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: only the holder of `taken` touches the value.
unsafe impl<T: Send> Sync for SpinLock<T> {}

impl<T> SpinLock<T> {
    /// Waits for the lock and takes it.
    pub fn lock(&self) -> SpinGuard<'_, T> {
        while self.taken.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        SpinGuard(self)
    }
}

/// The lock, held.
pub struct SpinGuard<'a, T>(&'a SpinLock<T>);

impl<T> Deref for SpinGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard exists, so this thread holds the lock.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for SpinGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard exists, so this thread holds the lock, and the guard is borrowed
        // mutably.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for SpinGuard<'_, T> {
    fn drop(&mut self) {
        self.0.taken.store(false, Ordering::Release);
    }
}
