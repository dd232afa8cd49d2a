//! A set of buckets, each behind a lock of its own: whether an item is there is asked first, and it is put in after that.

use std::sync::Mutex;

const BUCKETS: usize = 4;

/// A set that several threads may change.
pub struct HashSet<const FIXED: bool> {
    buckets: [Bucket; BUCKETS],
}

/// The items with the same hash.
pub struct Bucket {
    items: Mutex<Vec<u64>>,
}

impl Bucket {
    const fn new() -> Self {
        Self {
            items: Mutex::new(Vec::new()),
        }
    }

    fn contains(&self, item: u64) -> bool {
        self.items.lock().unwrap().contains(&item)
    }

    fn push(&self, item: u64) {
        self.items.lock().unwrap().push(item);
    }

    fn push_new(&self, item: u64) -> bool {
        let mut items = self.items.lock().unwrap();
        let is_new = !items.contains(&item);
        if is_new {
            items.push(item);
        }
        is_new
    }

    fn remove(&self, item: u64) -> bool {
        let mut items = self.items.lock().unwrap();
        let place = items.iter().position(|other| *other == item);
        if let Some(place) = place {
            items.swap_remove(place);
        }
        place.is_some()
    }

    fn len(&self) -> usize {
        self.items.lock().unwrap().len()
    }
}

impl<const FIXED: bool> HashSet<FIXED> {
    /// An empty set.
    pub const fn new() -> Self {
        Self {
            buckets: [const { Bucket::new() }; BUCKETS],
        }
    }

    fn bucket(&self, item: u64) -> &Bucket {
        &self.buckets[item as usize % BUCKETS]
    }

    /// Whether an item is in it.
    pub fn contains(&self, item: u64) -> bool {
        self.bucket(item).contains(item)
    }

    /// Puts an item in; whether it is new.
    pub fn insert(&self, item: u64) -> bool {
        let bucket = self.bucket(item);
        if FIXED {
            return bucket.push_new(item);
        }
        if bucket.contains(item) {
            return false;
        }
        bucket.push(item);
        true
    }

    /// Takes an item out; whether it was there.
    pub fn remove(&self, item: u64) -> bool {
        self.bucket(item).remove(item)
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.buckets.iter().map(Bucket::len).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<const FIXED: bool> Default for HashSet<FIXED> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::HashSet;
    use std::thread;

    fn run<const FIXED: bool>() {
        let set = HashSet::<FIXED>::new();
        thread::scope(|scope| {
            scope.spawn(|| {
                set.insert(5);
                set.insert(1);
            });
            set.insert(2);
            set.insert(1);
        });
        assert_eq!(set.len(), 3, "an item is in the set twice");
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
