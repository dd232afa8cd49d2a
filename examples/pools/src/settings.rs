//! Settings that are read once and then by all threads.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::FIXED;

/// How the flag is raised after the value was written.
const PUBLISH: Ordering = if FIXED {
    Ordering::Release
} else {
    Ordering::Relaxed
};

/// A value that one thread loads and others read.
pub struct Settings<T> {
    value: UnsafeCell<Option<T>>,
    loaded: AtomicBool,
}

// SAFETY: The value is written once, before the flag is raised, and only read after that.
unsafe impl<T: Send + Sync> Sync for Settings<T> {}

impl<T> Settings<T> {
    /// Settings that were not loaded yet.
    pub const fn new() -> Self {
        Self {
            value: UnsafeCell::new(None),
            loaded: AtomicBool::new(false),
        }
    }

    /// Loads the settings.
    ///
    /// # Safety
    ///
    /// Only one thread may do that, and only once.
    pub unsafe fn load(&self, value: T) {
        // SAFETY: Nobody reads before the flag is raised.
        unsafe { *self.value.get() = Some(value) };
        self.loaded.store(true, PUBLISH);
    }

    /// The settings, if they are loaded.
    pub fn get(&self) -> Option<&T> {
        if !self.loaded.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: The flag is raised, and nobody writes after that.
        unsafe { (*self.value.get()).as_ref() }
    }
}

impl<T> Default for Settings<T> {
    fn default() -> Self {
        Self::new()
    }
}
