//! `org.jfree.data.time.TimeSeries`: what goes through the items asks for their number first, and for each of them then,
//! while others delete some.

use std::sync::{Mutex, MutexGuard};

use crate::lock;

/// Values at times, in their order.
#[derive(Default)]
pub struct TimeSeries<const FIXED: bool> {
    items: Mutex<Vec<(u32, u32)>>,
    name: Mutex<String>,
    domain: Mutex<String>,
    range: Mutex<String>,
    most_items: Mutex<Option<usize>>,
    oldest: Mutex<u32>,
    notifies: Mutex<bool>,
}

impl<const FIXED: bool> TimeSeries<FIXED> {
    properties! {
        name, set_name: String;
        domain, set_domain: String;
        range, set_range: String;
        most_items, set_most_items: Option<usize>;
        oldest, set_oldest: u32;
        notifies, set_notifies: bool;
    }

    fn items(&self) -> MutexGuard<'_, Vec<(u32, u32)>> {
        lock(&self.items)
    }

    /// How many items there are.
    pub fn item_count(&self) -> usize {
        self.items().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items().is_empty()
    }

    /// An item by its place.
    pub fn data_item(&self, index: usize) -> Option<(u32, u32)> {
        self.items().get(index).copied()
    }

    /// The value at a time.
    pub fn value(&self, time: u32) -> Option<u32> {
        let items = self.items();
        let place = items.binary_search_by_key(&time, |item| item.0).ok()?;
        Some(items[place].1)
    }

    /// The place of a time.
    pub fn index(&self, time: u32) -> Option<usize> {
        self.items().binary_search_by_key(&time, |item| item.0).ok()
    }

    /// The time of an item.
    pub fn time_period(&self, index: usize) -> Option<u32> {
        self.data_item(index).map(|item| item.0)
    }

    /// The last time.
    pub fn next_time_period(&self) -> Option<u32> {
        self.items().last().map(|item| item.0 + 1)
    }

    /// All times.
    pub fn time_periods(&self) -> Vec<u32> {
        self.items().iter().map(|item| item.0).collect()
    }

    /// Adds a value; whether there was none at that time.
    pub fn add(&self, time: u32, value: u32) -> bool {
        let mut items = self.items();
        match items.binary_search_by_key(&time, |item| item.0) {
            Ok(_) => false,
            Err(place) => {
                items.insert(place, (time, value));
                true
            }
        }
    }

    /// Changes the value at a time.
    pub fn update(&self, time: u32, value: u32) -> Option<u32> {
        let mut items = self.items();
        let item = items.iter_mut().find(|item| item.0 == time)?;
        Some(std::mem::replace(&mut item.1, value))
    }

    /// Adds or changes a value.
    pub fn add_or_update(&self, time: u32, value: u32) -> Option<u32> {
        let mut items = self.items();
        match items.binary_search_by_key(&time, |item| item.0) {
            Ok(place) => Some(std::mem::replace(&mut items[place].1, value)),
            Err(place) => {
                items.insert(place, (time, value));
                None
            }
        }
    }

    /// Deletes what is at a time.
    pub fn delete(&self, time: u32) -> Option<u32> {
        let mut items = self.items();
        let place = items.binary_search_by_key(&time, |item| item.0).ok()?;
        Some(items.remove(place).1)
    }

    /// Deletes items by their places.
    pub fn delete_range(&self, start: usize, end: usize) -> usize {
        let mut items = self.items();
        let end = end.min(items.len());
        items.drain(start.min(end)..end).count()
    }

    /// Deletes what is older.
    pub fn remove_aged_items(&self, time: u32) -> usize {
        let mut items = self.items();
        let before = items.len();
        items.retain(|item| item.0 >= time);
        before - items.len()
    }

    /// The largest value.
    pub fn max_y(&self) -> Option<u32> {
        if FIXED {
            return self.items().iter().map(|item| item.1).max();
        }
        let places = 0..self.item_count();
        places
            .map(|index| self.data_item(index).expect("there is such an item").1)
            .max()
    }

    /// The least value.
    pub fn min_y(&self) -> Option<u32> {
        self.items().iter().map(|item| item.1).min()
    }
}
