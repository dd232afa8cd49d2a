//! Accesses for which a cell of the shadow memory has no room: a list per cell, which a new execution
//! empties without touching it.
//!
//! A cell has entries here only while all of its own slots are in use. Atomic accesses of a few threads to
//! one place come here all the time, so that one of them is stored with a single look-up.

use super::shadow::{Slot, covered_bits, is_atomic, is_write, mask};
use alloc::vec::Vec;
use raddle_schedule::last_writes::LastWrites;

/// Most accesses.
const MOST: usize = 1 << 16;

/// See the module's description.
pub(super) struct Overflow {
    /// The execution that the entries belong to.
    run: u32,
    entries: Vec<Entry>,
    cells: LastWrites<Cell>,
    /// By cell, thread, bytes and kind: one more than the place of the entry.
    places: LastWrites<u32>,
    has_plain: bool,
}

/// An access and its cell. Removed entries keep their place for the next access of the same kind.
#[derive(Clone, Copy)]
struct Entry {
    cell: usize,
    slot: Slot,
    /// One more than the place of the next entry in its list.
    next: u32,
}

/// The entries of a cell.
#[derive(Clone, Copy, Default)]
struct Cell {
    plain: List,
    atomic: List,
}

/// Entries of one kind.
#[derive(Clone, Copy, Default)]
struct List {
    /// One more than the place of the first.
    first: u32,
    /// Bytes that were accessed.
    accessed: u8,
    /// Bytes that were written.
    written: u8,
}

impl List {
    fn can_conflict(&self, what: u64) -> bool {
        let bytes = match is_write(what) {
            true => self.accessed,
            false => self.written,
        };
        bytes & mask(what) != 0
    }
}

impl Cell {
    /// The lists in which an entry may conflict with an access; others are empty.
    fn conflicting(&self, what: u64) -> [List; 2] {
        let [plain, atomic] = [self.plain, self.atomic];
        [
            if plain.can_conflict(what) {
                plain
            } else {
                List::default()
            },
            if !is_atomic(what) && atomic.can_conflict(what) {
                atomic
            } else {
                List::default()
            },
        ]
    }
}

impl Overflow {
    /// No accesses.
    pub(super) const fn new() -> Self {
        Self {
            run: 0,
            entries: Vec::new(),
            cells: LastWrites::new(),
            places: LastWrites::new(),
            has_plain: false,
        }
    }

    /// Whether there are no entries of the execution that this stamp belongs to.
    #[inline(always)]
    pub(super) fn is_empty(&self, stamp: u64) -> bool {
        self.run != stamp as u32
    }

    /// Whether an atomic access to a cell may conflict with one of its entries.
    #[inline(always)]
    pub(super) fn concerns_atomic(&self, cell: usize, stamp: u64, what: u64) -> bool {
        !self.is_empty(stamp) && self.has_plain && self.cells.get(cell).plain.can_conflict(what)
    }

    /// Adds an access, in place of the earlier one of its thread of the same kind to the same bytes. False if
    /// there is no room.
    #[inline]
    pub(super) fn insert(&mut self, cell: usize, slot: Slot) -> bool {
        if self.run != slot.run() {
            self.begin(slot.run());
        }
        // Different ones may have the same key.
        let key = cell << 17 ^ covered_bits(slot.what) as usize;
        let place = self.places.get(key);
        if place > 0 {
            let entry = &mut self.entries[place as usize - 1];
            if entry.cell == cell && covered_bits(entry.slot.what) == covered_bits(slot.what) {
                if slot.stamp >= entry.slot.stamp {
                    entry.slot = slot;
                }
                return true;
            }
        }
        self.add(cell, key, slot)
    }

    fn add(&mut self, cell: usize, key: usize, slot: Slot) -> bool {
        if self.entries.len() >= MOST {
            return false;
        }
        let mut lists = self.cells.get(cell);
        let list = match is_atomic(slot.what) {
            true => &mut lists.atomic,
            false => &mut lists.plain,
        };
        let next = list.first;
        self.entries.push(Entry { cell, slot, next });
        let place = self.entries.len() as u32;
        list.first = place;
        list.accessed |= mask(slot.what);
        if is_write(slot.what) {
            list.written |= mask(slot.what);
        }
        self.has_plain |= !is_atomic(slot.what);
        self.cells.set(cell, lists);
        self.places.set(key, place);
        true
    }

    #[cold]
    fn begin(&mut self, run: u32) {
        (self.run, self.has_plain) = (run, false);
        self.entries.clear();
        self.cells.clear();
        self.places.clear();
    }

    /// Calls `keep` for the entries of a cell that an access may conflict with, and removes those for which it
    /// says no.
    pub(super) fn retain_conflicting(
        &mut self,
        cell: usize,
        what: u64,
        mut keep: impl FnMut(&Slot) -> bool,
    ) {
        let lists = self.cells.get(cell).conflicting(what);
        self.retain_in(lists, &mut keep);
    }

    /// The same for all entries of a cell.
    pub(super) fn retain(&mut self, cell: usize, mut keep: impl FnMut(&Slot) -> bool) {
        let Cell { plain, atomic } = self.cells.get(cell);
        self.retain_in([plain, atomic], &mut keep);
    }

    fn retain_in(&mut self, lists: [List; 2], keep: &mut impl FnMut(&Slot) -> bool) {
        for list in lists {
            let mut place = list.first;
            while place > 0 {
                let entry = &mut self.entries[place as usize - 1];
                if !entry.slot.is_removed() && !keep(&entry.slot) {
                    entry.slot.remove();
                }
                place = entry.next;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::shadow::access;
    use super::*;

    fn slot(run: u64, time: u64, thread: u64, mask: u64, kind: u8) -> Slot {
        Slot::of(run, time, thread, mask, kind)
    }

    fn times(overflow: &mut Overflow, cell: usize) -> Vec<u64> {
        let mut times = Vec::new();
        overflow.retain(cell, |slot| {
            times.push(slot.stamp >> 32);
            true
        });
        times.sort_unstable();
        times
    }

    #[test]
    fn a_thread_keeps_its_latest_accesses_of_each_kind() {
        let mut overflow = Overflow::new();
        let write = access::WRITE;
        for time in [1, 3, 2] {
            assert!(overflow.insert(0x40, slot(1, time, 7, 1, write)));
        }
        assert_eq!(times(&mut overflow, 0x40), [3]);
        // Other bytes, another kind, and another thread.
        assert!(overflow.insert(0x40, slot(1, 4, 7, 3, write)));
        assert!(overflow.insert(0x40, slot(1, 5, 7, 1, 0)));
        assert!(overflow.insert(0x40, slot(1, 6, 8, 1, write)));
        assert_eq!(times(&mut overflow, 0x40), [3, 4, 5, 6]);
        assert!(times(&mut overflow, 0x48).is_empty());
    }

    #[test]
    fn entries_are_found_again_and_not_in_the_next_execution() {
        let mut overflow = Overflow::new();
        for cell in 0..1000 {
            assert!(overflow.insert(cell * 8, slot(1, cell as u64, 1, 1, 0)));
        }
        for cell in 0..1000 {
            assert_eq!(times(&mut overflow, cell * 8), [cell as u64]);
        }
        overflow.retain(8, |_| false);
        assert!(times(&mut overflow, 8).is_empty());
        assert_eq!(times(&mut overflow, 16), [2]);
        assert!(overflow.insert(8, slot(1, 7, 1, 1, 0)));
        assert_eq!(times(&mut overflow, 8), [7]);
        assert!(!overflow.is_empty(1) && overflow.is_empty(2));
        assert!(overflow.insert(8, slot(2, 9, 1, 1, access::ATOMIC)));
        assert_eq!(times(&mut overflow, 8), [9]);
        assert!(times(&mut overflow, 16).is_empty());
    }

    #[test]
    fn only_entries_that_may_conflict_are_looked_at() {
        let mut overflow = Overflow::new();
        let (write, atomic) = (access::WRITE, access::ATOMIC);
        for (time, mask, kind) in [
            (1, 1, atomic),
            (2, 2, write | atomic),
            (3, 4, 0),
            (4, 8, write),
        ] {
            assert!(overflow.insert(0x40, slot(1, time, 7, mask, kind)));
        }
        let mut seen = |mask: u64, kind: u8| {
            let mut times = Vec::new();
            overflow.retain_conflicting(0x40, slot(1, 9, 8, mask, kind).what, |slot| {
                times.push(slot.stamp >> 32);
                true
            });
            times.sort_unstable();
            times
        };
        assert!(seen(0b0001, 0).is_empty());
        assert_eq!(seen(0b0001, write), [1, 2]);
        assert_eq!(seen(0b0010, 0), [1, 2]);
        assert_eq!(seen(0b1011, write | atomic), [3, 4]);
        assert!(seen(0b0100, 0).is_empty());
        assert_eq!(seen(0b1111, write), [1, 2, 3, 4]);
        let (stamp, plain) = (1, slot(1, 9, 8, 1, write | atomic).what);
        assert!(!overflow.concerns_atomic(0x40, stamp, plain));
        assert!(overflow.concerns_atomic(0x40, stamp, slot(1, 9, 8, 4, write | atomic).what));
    }

    #[test]
    fn a_full_table_says_so() {
        let mut overflow = Overflow::new();
        let fits = (0..MOST + 7).filter(|cell| overflow.insert(cell * 8, slot(1, 1, 1, 1, 0)));
        assert_eq!(fits.count(), MOST);
    }
}
