//! Who wrote an object last, in the execution under way: an open hash table that is emptied
//! without touching it.

use crate::rng::mix;
use alloc::vec::Vec;

/// Slots at the beginning; a power of two.
const FIRST: usize = 256;

/// See the module's description.
pub struct LastWrites<W> {
    slots: Vec<Slot<W>>,
    /// Slots with another number are free.
    round: u32,
    count: usize,
}

#[derive(Clone, Copy, Default)]
struct Slot<W> {
    object: usize,
    round: u32,
    write: W,
}

impl<W: Copy + Default> LastWrites<W> {
    /// No writes.
    pub const fn new() -> Self {
        Self {
            slots: Vec::new(),
            round: 1,
            count: 0,
        }
    }

    /// An execution begins.
    pub fn clear(&mut self) {
        self.count = 0;
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.slots.clear();
            self.round = 1;
        }
    }

    /// The last write to `object`; the default if there was none.
    pub fn get(&self, object: usize) -> W {
        if self.slots.is_empty() {
            return W::default();
        }
        let slot = &self.slots[self.place(object)];
        match slot.round == self.round {
            true => slot.write,
            false => W::default(),
        }
    }

    /// `object` was written.
    pub fn set(&mut self, object: usize, write: W) {
        if self.slots.len() < (self.count + 1) * 2 {
            self.grow();
        }
        let place = self.place(object);
        self.count += usize::from(self.slots[place].round != self.round);
        self.slots[place] = Slot {
            object,
            round: self.round,
            write,
        };
    }

    /// Where `object` is, or belongs.
    fn place(&self, object: usize) -> usize {
        let mask = self.slots.len() - 1;
        let mut place = mix(object as u64) as usize & mask;
        while self.slots[place].round == self.round && self.slots[place].object != object {
            place = (place + 1) & mask;
        }
        place
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(FIRST);
        let old = core::mem::replace(&mut self.slots, alloc::vec![Slot::default(); size]);
        for slot in old.into_iter().filter(|slot| slot.round == self.round) {
            let place = self.place(slot.object);
            self.slots[place] = slot;
        }
    }
}

impl<W: Copy + Default> Default for LastWrites<W> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_write_counts_until_all_are_forgotten() {
        let mut writes: LastWrites<u32> = LastWrites::new();
        assert_eq!(writes.get(3), 0);
        for round in 1..4 {
            for object in 0..2_000 {
                writes.set(object, round);
                writes.set(object, round + 7);
            }
            assert!((0..2_000).all(|object| writes.get(object) == round + 7));
            assert_eq!(writes.get(2_000), 0);
            writes.clear();
            assert_eq!(writes.get(3), 0);
        }
    }
}
