//! A value with several owners.

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::FIXED;

/// An owner of a shared value, which is dropped with the last one.
pub struct Shared<T> {
    block: NonNull<Block<T>>,
}

struct Block<T> {
    owners: AtomicUsize,
    value: T,
}

// SAFETY: Owners only give out shared references, and the last one drops the value.
unsafe impl<T: Send + Sync> Send for Shared<T> {}

impl<T> Shared<T> {
    /// The first owner of a value.
    pub fn new(value: T) -> Self {
        let block = Box::new(Block {
            owners: AtomicUsize::new(1),
            value,
        });
        Self {
            block: NonNull::from(Box::leak(block)),
        }
    }

    fn block(&self) -> &Block<T> {
        // SAFETY: The block lives as long as it has an owner.
        unsafe { self.block.as_ref() }
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        self.block().owners.fetch_add(1, Ordering::Relaxed);
        Self { block: self.block }
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.block().value
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        let owners = &self.block().owners;
        let before = owners.fetch_sub(1, Ordering::AcqRel);
        let is_last = if FIXED {
            before == 1
        } else {
            owners.load(Ordering::Acquire) == 0
        };
        if is_last {
            // SAFETY: This was the last owner.
            drop(unsafe { Box::from_raw(self.block.as_ptr()) });
        }
    }
}
