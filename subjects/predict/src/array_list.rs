//! `Collections.synchronizedList(ArrayList)` of the JDK: every method is synchronised on its own list, and the bulk ones
//! walk over another list, which is not.

use std::sync::Mutex;

/// A list that several threads may change.
pub struct ArrayList<const FIXED: bool> {
    items: Mutex<Vec<u64>>,
}

impl<const FIXED: bool> ArrayList<FIXED> {
    /// A list of these items.
    pub fn new(items: &[u64]) -> Self {
        Self {
            items: Mutex::new(items.to_vec()),
        }
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.items.lock().unwrap().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An item by its place.
    pub fn get(&self, index: usize) -> u64 {
        let items = self.items.lock().unwrap();
        *items.get(index).expect("the index is out of bounds")
    }

    /// Appends an item.
    pub fn push(&self, item: u64) {
        self.items.lock().unwrap().push(item);
    }

    /// Removes the last item.
    pub fn pop(&self) -> Option<u64> {
        self.items.lock().unwrap().pop()
    }

    /// Whether an item is in it.
    pub fn contains(&self, item: u64) -> bool {
        self.items.lock().unwrap().contains(&item)
    }

    /// Whether all items of another list are in it.
    pub fn contains_all(&self, other: &Self) -> bool {
        let items = self.items.lock().unwrap();
        if FIXED {
            let others = other.items.lock().unwrap();
            return others.iter().all(|item| items.contains(item));
        }
        let len = other.len();
        (0..len).all(|index| items.contains(&other.get(index)))
    }

    /// Appends all items of another list.
    pub fn append(&self, other: &Self) -> usize {
        let mut items = self.items.lock().unwrap();
        let before = items.len();
        if FIXED {
            items.extend(other.items.lock().unwrap().iter());
            return items.len() - before;
        }
        let len = other.len();
        items.reserve_exact(len);
        let room = items.capacity();
        items.extend(other.snapshot());
        assert!(items.len() <= room, "the other list has grown");
        items.len() - before
    }

    /// Its items as they are now.
    pub fn snapshot(&self) -> Vec<u64> {
        self.items.lock().unwrap().clone()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::ArrayList;
    use std::thread;

    fn run<const FIXED: bool>() {
        let list = ArrayList::<FIXED>::new(&[1, 2, 3, 4]);
        let other = ArrayList::new(&[4, 3, 2]);
        thread::scope(|scope| {
            scope.spawn(|| other.pop());
            list.contains_all(&other);
        });
    }

    fn grow<const FIXED: bool>() {
        let list = ArrayList::<FIXED>::new(&[1]);
        let other = ArrayList::new(&[4, 3, 2]);
        thread::scope(|scope| {
            scope.spawn(|| other.push(1));
            list.append(&other);
        });
    }

    #[test]
    fn bug() {
        run::<false>();
    }

    #[test]
    fn bug_of_append() {
        grow::<false>();
    }

    #[test]
    pub(crate) fn twin() {
        run::<true>();
        grow::<true>();
    }
}
