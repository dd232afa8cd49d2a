//! `Collections.synchronizedMap`: methods that take another map lock their own first and the other then, so that two of them
//! in opposite directions wait for each other.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use crate::{lock, lock_both};

/// A map with one lock around it.
#[derive(Default)]
pub struct SynchronizedMap<const FIXED: bool> {
    entries: Mutex<BTreeMap<u32, u32>>,
}

impl<const FIXED: bool> SynchronizedMap<FIXED> {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<u32, u32>> {
        lock(&self.entries)
    }

    /// The value of a key.
    pub fn get(&self, key: u32) -> Option<u32> {
        self.entries().get(&key).copied()
    }

    /// Gives a key a value, and returns the one that it had.
    pub fn put(&self, key: u32, value: u32) -> Option<u32> {
        self.entries().insert(key, value)
    }

    /// Gives a key a value if it has none; the one that it has.
    pub fn put_if_absent(&self, key: u32, value: u32) -> u32 {
        *self.entries().entry(key).or_insert(value)
    }

    /// Gives a key another value if it has one.
    pub fn replace(&self, key: u32, value: u32) -> Option<u32> {
        let mut entries = self.entries();
        entries
            .get_mut(&key)
            .map(|old| std::mem::replace(old, value))
    }

    /// Takes a key out.
    pub fn remove(&self, key: u32) -> Option<u32> {
        self.entries().remove(&key)
    }

    /// Whether there is such a key.
    pub fn contains_key(&self, key: u32) -> bool {
        self.entries().contains_key(&key)
    }

    /// Whether a key has this value.
    pub fn contains_value(&self, value: u32) -> bool {
        self.entries().values().any(|known| *known == value)
    }

    /// How many keys there are.
    pub fn size(&self) -> usize {
        self.entries().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    /// Takes everything out; how much it was.
    pub fn clear(&self) -> usize {
        std::mem::take(&mut *self.entries()).len()
    }

    /// The least key.
    pub fn first_key(&self) -> Option<u32> {
        self.entries().keys().next().copied()
    }

    /// All keys.
    pub fn key_set(&self) -> Vec<u32> {
        self.entries().keys().copied().collect()
    }

    /// All values.
    pub fn values(&self) -> Vec<u32> {
        self.entries().values().copied().collect()
    }

    /// Takes over all entries of another map.
    pub fn put_all(&self, other: &Self) {
        if FIXED {
            if let (mut own, Some(other)) = lock_both(&self.entries, &other.entries) {
                own.extend(other.iter().map(|(key, value)| (*key, *value)));
            }
            return;
        }
        let mut own = self.entries();
        own.extend(other.entries().iter().map(|(key, value)| (*key, *value)));
    }
}
