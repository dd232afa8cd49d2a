//! A counter of visitors that loads, adds and stores in three steps. One preemption between
//! load and store loses a visitor; no access races, every one is atomic.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts visitors.
#[derive(Default)]
pub struct Visitors {
    count: AtomicUsize,
}

impl Visitors {
    /// Counts one more.
    pub fn enter(&self) {
        let count = self.count.load(Ordering::SeqCst);
        self.count.store(count + 1, Ordering::SeqCst);
    }

    /// How many have come.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }
}
