//! A spin lock, and a shelf that takes two of them: the one of the place that something is
//! taken from first, and the one of the place where it goes second. Two moves in opposite
//! directions then spin for ever, each holding what the other wants.

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// A lock that spins.
#[derive(Default)]
pub struct SpinLock {
    taken: AtomicBool,
}

impl SpinLock {
    /// Takes it.
    pub fn lock(&self) {
        while self.taken.swap(true, Ordering::Acquire) {
            hint::spin_loop();
        }
    }

    /// Gives it back.
    pub fn unlock(&self) {
        self.taken.store(false, Ordering::Release);
    }
}

/// A place on a shelf.
#[derive(Default)]
pub struct Place {
    lock: SpinLock,
    count: AtomicU32,
}

/// Moves one thing from one place to another.
pub fn move_one(from: &Place, to: &Place) {
    from.lock.lock();
    to.lock.lock();
    let left = from.count.load(Ordering::Relaxed).saturating_sub(1);
    from.count.store(left, Ordering::Relaxed);
    to.count.fetch_add(1, Ordering::Relaxed);
    to.lock.unlock();
    from.lock.unlock();
}
