//! Counts how often each thread has passed each of a few sites.

use alloc::vec::Vec;

/// See the module's description.
pub struct Passes {
    /// The keys of the sites, in ascending order.
    keys: Vec<u64>,
    /// One row per thread, one column per key.
    counts: Vec<u32>,
}

impl Passes {
    /// For the sites with these keys; 0 is none.
    pub fn of(keys: impl IntoIterator<Item = u64>) -> Self {
        let mut keys: Vec<u64> = keys.into_iter().filter(|&key| key != 0).collect();
        keys.sort_unstable();
        keys.dedup();
        Self {
            keys,
            counts: Vec::new(),
        }
    }

    /// Whether there is nothing to count.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// An execution begins.
    pub fn clear(&mut self) {
        self.counts.clear();
    }

    /// `thread` passes the site with `key`.
    pub fn note(&mut self, thread: usize, key: u64) {
        let Some(index) = self.index(thread, key) else {
            return;
        };
        if self.counts.len() <= index {
            self.counts.resize((thread + 1) * self.keys.len(), 0);
        }
        self.counts[index] += 1;
    }

    /// How often `thread` has passed the site with `key`.
    pub fn count(&self, thread: usize, key: u64) -> u32 {
        let index = self.index(thread, key);
        index
            .and_then(|index| self.counts.get(index))
            .copied()
            .unwrap_or(0)
    }

    fn index(&self, thread: usize, key: u64) -> Option<usize> {
        let column = self.keys.binary_search(&key).ok()?;
        Some(thread * self.keys.len() + column)
    }
}
