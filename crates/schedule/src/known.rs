//! States that were reached, and with how many preemptions to spare: an open hash table of
//! single words.

use crate::experience::{Experience, Learnt};
use crate::rng::mix;
use alloc::vec::Vec;

/// Low bits of a word: 1 + preemptions to spare.
const SPARE_BITS: u32 = 6;
/// Bits of a hash that choose among lines of the processor's cache. Whoever ran last has no part in
/// them: one state is looked up for several threads, and the memory is what takes time.
const LINES: u64 = 0xffff_fff8;
/// Most entries; beyond, states are searched again.
const MOST: usize = 1 << 22;

/// See the module's description.
#[derive(Clone)]
pub struct Known {
    /// A power of two of words; 0 is free.
    words: Vec<u64>,
    count: usize,
}

impl Known {
    /// None.
    pub const fn new() -> Self {
        Self {
            words: Vec::new(),
            count: 0,
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.words.fill(0);
        self.count = 0;
    }

    /// The word for a state in which `thread` ran last.
    pub fn entry(state: u64, thread: u16, spare: u8) -> u64 {
        let hash = mix(state) ^ (mix(u64::from(thread)) & !LINES);
        hash << SPARE_BITS | (u64::from(spare) + 1)
    }

    /// A state is going to be looked up soon: its memory takes long to come.
    pub fn expect(&self, state: u64) {
        if !self.words.is_empty() {
            let place = mix(state) as usize & (self.words.len() - 1);
            prefetch(&self.words[place]);
        }
    }

    /// Whether a state was reached with at least as much to spare.
    pub fn has(&self, entry: u64) -> bool {
        !self.words.is_empty() && self.words[self.place(entry)] >= entry
    }

    /// Adds a state. False if it was reached before with at least as much to spare.
    pub fn insert(&mut self, entry: u64) -> bool {
        if self.words.len() < (self.count + 1) * 2 {
            self.grow();
        }
        let place = self.place(entry);
        let found = self.words[place];
        // Of equal states, more to spare is the larger word.
        if found >= entry {
            return false;
        }
        if found == 0 {
            if self.count == MOST {
                return true;
            }
            self.count += 1;
        }
        self.words[place] = entry;
        true
    }

    /// Where the state of `entry` is, or belongs.
    fn place(&self, entry: u64) -> usize {
        let mask = self.words.len() - 1;
        let mut place = (entry >> SPARE_BITS) as usize & mask;
        while self.words[place] != 0 && self.words[place] >> SPARE_BITS != entry >> SPARE_BITS {
            place = (place + 1) & mask;
        }
        place
    }

    fn grow(&mut self) {
        let size = (self.words.len() * 2).max(1024);
        let old = core::mem::replace(&mut self.words, alloc::vec![0; size]);
        for entry in old.into_iter().filter(|&entry| entry != 0) {
            let place = self.place(entry);
            self.words[place] = entry;
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn prefetch(word: &u64) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: every processor of this kind can, and it changes nothing.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(word).cast()) };
}

#[cfg(not(target_arch = "x86_64"))]
fn prefetch(_word: &u64) {}

impl Learnt for Known {
    fn pass(&mut self, experience: &mut Experience<'_>) {
        let old = core::mem::replace(self, Self::new());
        // Where they stand in the table does not matter.
        let entries = old.words.iter().copied().filter(|&word| word != 0);
        experience.list(old.count, entries, |entry| {
            if entry != 0 {
                self.insert(entry);
            }
        });
        if let Experience::Written(_) = experience {
            *self = old;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_new_once_or_with_more_to_spare() {
        let mut known = Known::new();
        for state in 0..5_000 {
            assert!(known.insert(Known::entry(state, 1, 2)));
        }
        for state in 0..5_000 {
            assert!(!known.insert(Known::entry(state, 1, 2)));
            assert!(!known.insert(Known::entry(state, 1, 0)));
            assert!(known.has(Known::entry(state, 1, 2)));
            assert!(!known.has(Known::entry(state, 1, 3)));
            assert!(known.insert(Known::entry(state, 1, 3)));
            assert!(known.insert(Known::entry(state, 2, 2)));
        }
    }
}
