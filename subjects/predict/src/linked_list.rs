//! A linked list whose nodes are guarded and whose length is kept beside: it is written after the lock was given back.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Node {
    item: u64,
    next: Option<Box<Node>>,
}

/// A list that several threads may change at its front.
pub struct LinkedList<const FIXED: bool> {
    first: Mutex<Option<Box<Node>>>,
    len: AtomicUsize,
}

impl<const FIXED: bool> LinkedList<FIXED> {
    /// An empty list.
    pub fn new() -> Self {
        Self {
            first: Mutex::new(None),
            len: AtomicUsize::new(0),
        }
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.len.load(Relaxed)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn set_len(&self, len: usize) {
        self.len.store(len, Relaxed);
    }

    /// Puts an item in front.
    pub fn push(&self, item: u64) {
        let mut first = self.first.lock().unwrap();
        let next = first.take();
        *first = Some(Box::new(Node { item, next }));
        if !FIXED {
            drop(first);
            self.set_len(self.len() + 1);
            return;
        }
        self.set_len(self.len() + 1);
    }

    /// Takes the first item.
    pub fn pop(&self) -> Option<u64> {
        let mut first = self.first.lock().unwrap();
        let node = first.take()?;
        *first = node.next;
        self.set_len(self.len() - 1);
        Some(node.item)
    }

    /// Its items as they are now.
    pub fn to_vec(&self) -> Vec<u64> {
        let first = self.first.lock().unwrap();
        let mut items = Vec::new();
        let mut node = first.as_ref();
        while let Some(this) = node {
            items.push(this.item);
            node = this.next.as_ref();
        }
        items
    }
}

impl<const FIXED: bool> Default for LinkedList<FIXED> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::LinkedList;
    use std::thread;

    fn run<const FIXED: bool>() {
        let list = LinkedList::<FIXED>::new();
        list.push(1);
        thread::scope(|scope| {
            scope.spawn(|| list.push(2));
            scope.spawn(|| list.pop());
            list.push(3);
        });
        assert_eq!(list.to_vec().len(), list.len(), "the length is wrong");
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
