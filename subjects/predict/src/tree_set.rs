//! A sorted set behind a reader-writer lock: whether it has items and which is the least one is looked up while reading, and
//! the item is taken out while writing.

use std::collections::BTreeSet;
use std::sync::RwLock;

/// A sorted set that several threads may change.
pub struct TreeSet<const FIXED: bool> {
    items: RwLock<BTreeSet<u64>>,
}

impl<const FIXED: bool> TreeSet<FIXED> {
    /// A set of these items.
    pub fn new(items: &[u64]) -> Self {
        Self {
            items: RwLock::new(items.iter().copied().collect()),
        }
    }

    /// The least item.
    pub fn first(&self) -> Option<u64> {
        self.items.read().unwrap().first().copied()
    }

    /// The greatest item.
    pub fn last(&self) -> Option<u64> {
        self.items.read().unwrap().last().copied()
    }

    /// Whether an item is in it.
    pub fn contains(&self, item: u64) -> bool {
        self.items.read().unwrap().contains(&item)
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.items.read().unwrap().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts an item in; whether it is new.
    pub fn insert(&self, item: u64) -> bool {
        self.items.write().unwrap().insert(item)
    }

    /// Takes an item out; whether it was there.
    pub fn remove(&self, item: u64) -> bool {
        self.items.write().unwrap().remove(&item)
    }

    /// Takes the least item out.
    pub fn pop_first(&self) -> Option<u64> {
        if FIXED {
            return self.items.write().unwrap().pop_first();
        }
        if self.is_empty() {
            return None;
        }
        let first = self.first().expect("there is no item");
        assert!(self.remove(first), "somebody else took the item");
        Some(first)
    }

    /// How many items lie between two.
    pub fn between(&self, low: u64, high: u64) -> usize {
        self.items.read().unwrap().range(low..=high).count()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::TreeSet;
    use std::thread;

    fn run<const FIXED: bool>() {
        let set = TreeSet::<FIXED>::new(&[3, 5]);
        thread::scope(|scope| {
            scope.spawn(|| {
                set.between(1, 5);
                set.pop_first();
            });
            set.contains(3);
            set.pop_first();
        });
    }

    #[test]
    fn bug() {
        run::<false>();
    }

    #[test]
    pub(crate) fn twin() {
        run::<true>();
    }
}
