//! `java.util.concurrent.ConcurrentHashMap`: a bulk operation asks for the size first, and then goes through the segments,
//! which others may have filled in between.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use crate::lock;

/// A map in segments, each with a lock of its own.
#[derive(Default)]
pub struct ConcurrentHashMap<const FIXED: bool> {
    segments: [Mutex<BTreeMap<u32, u32>>; 2],
}

impl<const FIXED: bool> ConcurrentHashMap<FIXED> {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    fn segment(&self, key: u32) -> MutexGuard<'_, BTreeMap<u32, u32>> {
        lock(&self.segments[key as usize % self.segments.len()])
    }

    /// The value of a key.
    pub fn get(&self, key: u32) -> Option<u32> {
        self.segment(key).get(&key).copied()
    }

    /// The value of a key, or this one.
    pub fn get_or_default(&self, key: u32, default: u32) -> u32 {
        self.get(key).unwrap_or(default)
    }

    /// Gives a key a value.
    pub fn put(&self, key: u32, value: u32) -> Option<u32> {
        self.segment(key).insert(key, value)
    }

    /// Gives a key a value if it has none.
    pub fn put_if_absent(&self, key: u32, value: u32) -> u32 {
        *self.segment(key).entry(key).or_insert(value)
    }

    /// Takes a key out.
    pub fn remove(&self, key: u32) -> Option<u32> {
        self.segment(key).remove(&key)
    }

    /// Takes a key out if it has this value.
    pub fn remove_value(&self, key: u32, value: u32) -> bool {
        let mut segment = self.segment(key);
        segment.get(&key) == Some(&value) && segment.remove(&key).is_some()
    }

    /// Gives a key another value if it has one.
    pub fn replace(&self, key: u32, value: u32) -> Option<u32> {
        let mut segment = self.segment(key);
        segment
            .get_mut(&key)
            .map(|old| std::mem::replace(old, value))
    }

    /// Gives a key another value if it has this one.
    pub fn replace_value(&self, key: u32, old: u32, new: u32) -> bool {
        let mut segment = self.segment(key);
        let found = segment.get_mut(&key).filter(|value| **value == old);
        found.map(|value| *value = new).is_some()
    }

    /// Adds to the value of a key.
    pub fn merge(&self, key: u32, more: u32) -> u32 {
        let mut segment = self.segment(key);
        let value = segment.entry(key).or_default();
        *value = value.wrapping_add(more);
        *value
    }

    /// Whether there is such a key.
    pub fn contains_key(&self, key: u32) -> bool {
        self.segment(key).contains_key(&key)
    }

    /// How many keys there are.
    pub fn size_count(&self) -> usize {
        self.segments
            .iter()
            .map(|segment| lock(segment).len())
            .sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.size_count() == 0
    }

    /// The keys of one segment.
    pub fn segment_keys(&self, key: u32) -> Vec<u32> {
        self.segment(key).keys().copied().collect()
    }

    /// Takes everything out of one segment.
    pub fn clear_segment(&self, key: u32) -> usize {
        std::mem::take(&mut *self.segment(key)).len()
    }

    /// All values, in an array of their own.
    pub fn iter_values(&self) -> Vec<u32> {
        if FIXED {
            let segments: Vec<_> = self.segments.iter().map(lock).collect();
            return segments
                .iter()
                .flat_map(|segment| segment.values().copied())
                .collect();
        }
        let mut array = vec![0; self.size_count()];
        let mut filled = 0;
        for segment in &self.segments {
            for value in lock(segment).values() {
                array[filled] = *value;
                filled += 1;
            }
        }
        array.truncate(filled);
        array
    }
}
