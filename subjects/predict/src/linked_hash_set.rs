//! A set that remembers in which order its items came: the items and their order are behind two locks. They are changed
//! one after the other, and those who need both take the locks in different orders.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

/// A set that several threads may change.
pub struct LinkedHashSet<const FIXED: bool> {
    /// How often each item was put in.
    counts: Mutex<HashMap<u64, u64>>,
    order: Mutex<VecDeque<u64>>,
}

impl<const FIXED: bool> LinkedHashSet<FIXED> {
    /// An empty set.
    pub fn new() -> Self {
        Self {
            counts: Mutex::new(HashMap::new()),
            order: Mutex::new(VecDeque::new()),
        }
    }

    /// Puts an item in; whether it is new.
    pub fn insert(&self, item: u64) -> bool {
        if FIXED {
            let mut counts = self.counts.lock().unwrap();
            let mut order = self.order.lock().unwrap();
            let count = counts.entry(item).or_default();
            *count += 1;
            if *count == 1 {
                order.push_back(item);
            }
            return *count == 1;
        }
        let is_new = self.count(item) == 1;
        if is_new {
            self.order.lock().unwrap().push_back(item);
        }
        is_new
    }

    fn count(&self, item: u64) -> u64 {
        let mut counts = self.counts.lock().unwrap();
        let count = counts.entry(item).or_default();
        *count += 1;
        *count
    }

    /// Takes the oldest item out, with how often it was put in.
    pub fn pop(&self) -> Option<(u64, u64)> {
        let mut counts = self.counts.lock().unwrap();
        let mut order = self.order.lock().unwrap();
        let item = order.pop_front()?;
        Some((item, counts.remove(&item)?))
    }

    /// Whether every item has its place, and every place its item.
    pub fn is_whole(&self) -> bool {
        let counts = self.counts.lock().unwrap();
        let order = self.order.lock().unwrap();
        counts.len() == order.len() && order.iter().all(|item| counts.contains_key(item))
    }

    /// Forgets everything.
    pub fn clear(&self) {
        if FIXED {
            let mut counts = self.counts.lock().unwrap();
            self.order.lock().unwrap().clear();
            counts.clear();
            return;
        }
        let mut order = self.order.lock().unwrap();
        self.counts.lock().unwrap().clear();
        order.clear();
    }
}

impl<const FIXED: bool> Default for LinkedHashSet<FIXED> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::LinkedHashSet;
    use std::thread;

    fn run<const FIXED: bool>() {
        let set = LinkedHashSet::<FIXED>::new();
        thread::scope(|scope| {
            scope.spawn(|| set.insert(1));
            assert!(set.is_whole(), "an item has no place");
        });
    }

    fn cross<const FIXED: bool>() {
        let set = LinkedHashSet::<FIXED>::new();
        set.insert(1);
        thread::scope(|scope| {
            scope.spawn(|| set.pop());
            set.clear();
        });
    }

    #[test]
    fn bug() {
        run::<false>();
    }

    #[test]
    fn bug_of_clear() {
        cross::<false>();
    }

    #[test]
    pub(crate) fn twin() {
        run::<true>();
        cross::<true>();
    }
}
