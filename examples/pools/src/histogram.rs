//! Counts of values.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::FIXED;

/// How often values came, in four buckets.
#[derive(Default)]
pub struct Histogram {
    buckets: [AtomicU64; 4],
}

impl Histogram {
    /// Counts a value.
    pub fn record(&self, value: u8) {
        let bucket = &self.buckets[usize::from(value) / 64];
        if FIXED {
            bucket.fetch_add(1, Ordering::Relaxed);
        } else {
            bucket.store(bucket.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// Number of values.
    pub fn total(&self) -> u64 {
        let counts = self.buckets.iter();
        counts.map(|bucket| bucket.load(Ordering::Relaxed)).sum()
    }
}
