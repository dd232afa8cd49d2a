//! A queue of limited length.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};

use crate::FIXED;

/// A queue whose producers wait for room, and whose consumers wait for items.
pub struct BoundedQueue<T> {
    items: Mutex<VecDeque<T>>,
    capacity: usize,
    changed: Condvar,
}

impl<T> BoundedQueue<T> {
    /// An empty queue with room for `capacity` items.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            items: Mutex::new(VecDeque::with_capacity(capacity)),
            capacity,
            changed: Condvar::new(),
        }
    }

    /// Puts an item in; waits until there is room.
    pub fn push(&self, item: T) {
        let mut items = self.items.lock().unwrap();
        while items.len() == self.capacity {
            items = self.changed.wait(items).unwrap();
        }
        items.push_back(item);
        self.wake();
    }

    /// Takes the oldest item out; waits until there is one.
    pub fn pop(&self) -> T {
        let mut items = self.items.lock().unwrap();
        loop {
            if let Some(item) = items.pop_front() {
                self.wake();
                return item;
            }
            items = self.changed.wait(items).unwrap();
        }
    }

    /// Producers and consumers wait at the same condition, so the one that wakes up may be one
    /// that can do nothing about it.
    fn wake(&self) {
        if FIXED {
            self.changed.notify_all();
        } else {
            self.changed.notify_one();
        }
    }
}
