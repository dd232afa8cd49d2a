//! A cache that forgets what was not used for longest.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Mutex;

use crate::FIXED;

/// A map of limited size, and the order in which its keys were used.
pub struct LruCache<K, V> {
    entries: Mutex<HashMap<K, V>>,
    used: Mutex<VecDeque<K>>,
    capacity: usize,
}

impl<K: Clone + Eq + Hash, V: Clone> LruCache<K, V> {
    /// An empty cache for `capacity` entries.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            entries: Mutex::new(HashMap::new()),
            used: Mutex::new(VecDeque::new()),
            capacity,
        }
    }

    /// The value of a key, which counts as used.
    pub fn get(&self, key: &K) -> Option<V> {
        let entries = self.entries.lock().unwrap();
        let value = entries.get(key).cloned()?;
        let mut used = self.used.lock().unwrap();
        used.retain(|other| other != key);
        used.push_back(key.clone());
        Some(value)
    }

    /// Adds an entry; forgets the oldest one if there are too many.
    pub fn insert(&self, key: K, value: V) {
        if FIXED {
            let mut entries = self.entries.lock().unwrap();
            let mut used = self.used.lock().unwrap();
            return self.insert_into(&mut entries, &mut used, key, value);
        }
        let mut used = self.used.lock().unwrap();
        let mut entries = self.entries.lock().unwrap();
        self.insert_into(&mut entries, &mut used, key, value);
    }

    fn insert_into(&self, entries: &mut HashMap<K, V>, used: &mut VecDeque<K>, key: K, value: V) {
        used.retain(|other| *other != key);
        used.push_back(key.clone());
        entries.insert(key, value);
        if entries.len() > self.capacity {
            if let Some(oldest) = used.pop_front() {
                entries.remove(&oldest);
            }
        }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.lock().unwrap().len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
