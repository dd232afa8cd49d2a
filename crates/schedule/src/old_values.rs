//! Which value an atomic load reads where a strategy only decides about threads.
//!
//! Most loads read the newest value, and in some executions all do: an old one that makes no
//! difference only hides what the order of threads would have shown. A thread reads old values of
//! one object a few times at most, so that no loop waits for ever.

use crate::rng::{Rng, mix};
use crate::strategy::Load;
use alloc::collections::BTreeMap;

/// Changes the seed, so that values do not depend on what the strategy draws.
const SALT: u64 = 0x6f6c_6476_616c_7565;
/// One of so many loads reads an old value; 0 for none. An execution draws one of these.
const ODDS: [u64; 4] = [0, 2, 4, 16];
/// Old values that a thread reads of one object, and all threads of all.
const MOST_OF_ONE: u32 = 4;
const MOST: u32 = 64;

/// See the module's description.
pub struct OldValues {
    rng: Rng,
    odds: u64,
    /// Old values read, by thread and object.
    read: BTreeMap<(usize, usize), u32>,
    all: u32,
}

impl OldValues {
    /// Before the first execution.
    pub const fn new() -> Self {
        Self {
            rng: Rng::new(SALT),
            odds: 0,
            read: BTreeMap::new(),
            all: 0,
        }
    }

    /// An execution begins.
    pub fn begin(&mut self, seed: u64) {
        self.rng = Rng::new(mix(seed ^ SALT));
        self.odds = ODDS[self.rng.below(ODDS.len() as u64) as usize];
        self.read.clear();
        self.all = 0;
    }

    /// How many stores before the newest one the store is that a load reads.
    pub fn choose(&mut self, load: &Load) -> usize {
        if self.odds == 0 || self.all >= MOST || self.rng.below(self.odds) != 0 {
            return 0;
        }
        let read = self.read.entry((load.thread, load.address)).or_insert(0);
        if *read >= MOST_OF_ONE {
            return 0;
        }
        *read += 1;
        self.all += 1;
        1 + self.rng.below(load.choices as u64 - 1) as usize
    }
}

impl Default for OldValues {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(thread: usize, choices: usize) -> Load {
        Load {
            thread,
            step: 0,
            address: 8,
            choices,
        }
    }

    fn ages(seed: u64, loads: usize) -> Vec<usize> {
        let mut values = OldValues::new();
        values.begin(seed);
        (0..loads).map(|_| values.choose(&load(1, 3))).collect()
    }

    #[test]
    fn most_values_are_new_and_every_old_one_is_read_at_times() {
        let mut counts = [0; 3];
        for seed in 0..1000 {
            for age in ages(seed, 3) {
                counts[age] += 1;
            }
        }
        assert!(counts[0] > counts[1] + counts[2], "{counts:?}");
        assert!(counts[1] > 100 && counts[2] > 100, "{counts:?}");
        let all_new = (0..1000).filter(|&seed| ages(seed, 100).iter().all(|&age| age == 0));
        assert!((200..300).contains(&all_new.count()));
    }

    #[test]
    fn the_seed_decides_and_nobody_reads_old_values_for_ever() {
        for seed in 0..100 {
            assert_eq!(ages(seed, 50), ages(seed, 50));
            let old = ages(seed, 1000).iter().filter(|&&age| age > 0).count();
            assert!(old <= MOST_OF_ONE as usize);
        }
    }
}
