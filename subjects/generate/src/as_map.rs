//! `AsMap` of Guava's multimaps: the set of entries is made when it is first asked for, and is gone when it is returned if
//! somebody has changed the map in between.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::lock;

/// A map from keys to several values.
#[derive(Default)]
pub struct AsMap<const FIXED: bool> {
    values: Mutex<BTreeMap<u32, Vec<u32>>>,
    entries: Mutex<Option<Vec<(u32, usize)>>>,
}

impl<const FIXED: bool> AsMap<FIXED> {
    fn change<T>(&self, change: impl FnOnce(&mut BTreeMap<u32, Vec<u32>>) -> T) -> T {
        let mut values = lock(&self.values);
        let result = change(&mut values);
        *lock(&self.entries) = None;
        result
    }

    /// Adds a value to a key.
    pub fn put(&self, key: u32, value: u32) -> usize {
        self.change(|values| {
            let values = values.entry(key).or_default();
            values.push(value);
            values.len()
        })
    }

    /// Removes all values of a key.
    pub fn remove(&self, key: u32) -> Option<Vec<u32>> {
        self.change(|values| values.remove(&key))
    }

    /// Removes one value of a key.
    pub fn remove_value(&self, key: u32, value: u32) -> bool {
        self.change(|values| {
            let Some(list) = values.get_mut(&key) else {
                return false;
            };
            let place = list.iter().position(|known| *known == value);
            let is_there = place.map(|place| list.remove(place)).is_some();
            if list.is_empty() {
                values.remove(&key);
            }
            is_there
        })
    }

    /// Values of a key.
    pub fn get(&self, key: u32) -> Vec<u32> {
        lock(&self.values).get(&key).cloned().unwrap_or_default()
    }

    /// Whether there is such a key.
    pub fn contains_key(&self, key: u32) -> bool {
        lock(&self.values).contains_key(&key)
    }

    /// Whether a key has this value.
    pub fn contains_entry(&self, key: u32, value: u32) -> bool {
        self.get(key).contains(&value)
    }

    /// How many keys there are.
    pub fn size(&self) -> usize {
        lock(&self.values).len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        lock(&self.values).is_empty()
    }

    /// All keys.
    pub fn key_set(&self) -> Vec<u32> {
        lock(&self.values).keys().copied().collect()
    }

    /// Keys with how many values they have.
    pub fn entry_set(&self) -> Vec<(u32, usize)> {
        let values = FIXED.then(|| lock(&self.values));
        if lock(&self.entries).is_none() {
            let made = match &values {
                Some(values) => entries(values),
                None => entries(&lock(&self.values)),
            };
            *lock(&self.entries) = Some(made);
        }
        lock(&self.entries).clone().expect("the entries were made")
    }
}

fn entries(values: &BTreeMap<u32, Vec<u32>>) -> Vec<(u32, usize)> {
    values
        .iter()
        .map(|(key, list)| (*key, list.len()))
        .collect()
}
