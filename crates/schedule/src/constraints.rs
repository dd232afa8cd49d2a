//! Which reads are to read from which writes in the next execution, drawn from what is known:
//! the corpus of the strategy that steers by reads-from pairs.
//!
//! A pair that has not been seen is worth trying, those first that were tried least; so is a
//! combination of pairs, each of which may have been seen. Constraints that led to a combination never
//! seen before are kept, and changed a little to make new ones: mostly when each pair that has
//! not been seen was tried a few times.

use crate::experience::{Experience, Learnt};
use crate::rng::{Rng, mix};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use raddle_abi::site::SiteId;

/// A write, or 0 for what was there before, and a read.
pub type Pair = (SiteId, SiteId);

/// Pairs known at most.
const MOST_PAIRS: usize = 4096;
/// Combinations remembered at most.
const MOST_COMBINATIONS: usize = 1 << 16;
/// Sets of constraints kept.
const MOST_KEPT: usize = 256;
/// Constraints on one execution.
const MOST_CONSTRAINTS: usize = 8;
/// One in so many executions has no constraints.
const WITHOUT: u64 = 8;
/// Tries after which a pair that has not been seen may be impossible.
const TRIES: u32 = 4;
/// One in so many executions changes a kept set, and one in so many constraints is about any pair: while
/// pairs are left that were hardly tried, and afterwards.
const KNOWN_EARLY: u64 = 8;
const KNOWN: u64 = 2;

/// What an execution should do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Constraint {
    /// The write and the read.
    pub pair: Pair,
    /// Whether the read should read from the write, or from any other.
    pub wanted: bool,
}

/// See the module's description.
pub struct Corpus {
    possible: Vec<Pair>,
    known: BTreeSet<Pair>,
    /// Pairs not seen, with the number of tries.
    unseen: BTreeMap<Pair, u32>,
    seen: BTreeSet<Pair>,
    combinations: BTreeSet<u64>,
    kept: Vec<Kept>,
    /// Where the next set goes when there is no more room.
    next: usize,
}

#[derive(Clone, Default)]
struct Kept {
    constraints: Vec<Constraint>,
    /// How often others were made of it.
    chosen: u32,
}

impl Corpus {
    /// Nothing is known.
    pub const fn new() -> Self {
        Self {
            possible: Vec::new(),
            known: BTreeSet::new(),
            unseen: BTreeMap::new(),
            seen: BTreeSet::new(),
            combinations: BTreeSet::new(),
            kept: Vec::new(),
            next: 0,
        }
    }

    /// Whether a read has read from a write.
    pub fn is_seen(&self, pair: Pair) -> bool {
        self.seen.contains(&pair)
    }

    /// A read can perhaps read from a write.
    pub fn add_possible(&mut self, pair: Pair) {
        if self.possible.len() < MOST_PAIRS && self.known.insert(pair) {
            self.possible.push(pair);
            if !self.seen.contains(&pair) {
                self.unseen.insert(pair, 0);
            }
        }
    }

    /// A read has read from a write.
    pub fn add_seen(&mut self, pair: Pair) {
        if self.seen.len() < MOST_PAIRS {
            self.seen.insert(pair);
        }
        self.unseen.remove(&pair);
    }

    /// An execution under these constraints had this combination of pairs.
    pub fn add_combination(&mut self, combination: u64, constraints: &[Constraint]) {
        let is_new = self.combinations.len() < MOST_COMBINATIONS
            && self.combinations.insert(mix(combination));
        if !is_new || constraints.is_empty() {
            return;
        }
        let kept = Kept {
            constraints: constraints.to_vec(),
            chosen: 0,
        };
        match self.kept.len() < MOST_KEPT {
            true => self.kept.push(kept),
            false => {
                self.kept[self.next] = kept;
                self.next = (self.next + 1) % MOST_KEPT;
            }
        }
    }

    /// Draws the constraints of the next execution. Returns which kept ones they were made of.
    pub fn draw(&self, rng: &mut Rng, constraints: &mut Vec<Constraint>) -> Option<usize> {
        constraints.clear();
        if self.possible.is_empty() || rng.below(WITHOUT) == 0 {
            return None;
        }
        let mut origin = None;
        if !self.kept.is_empty() && rng.below(self.known_share()) == 0 {
            let draws = [0, 1].map(|_| rng.below(self.kept.len() as u64) as usize);
            origin = draws.into_iter().min_by_key(|&at| self.kept[at].chosen);
            if let Some(kept) = origin.and_then(|at| self.kept.get(at)) {
                constraints.extend_from_slice(&kept.constraints);
            }
        }
        match rng.below(8) {
            0 if constraints.len() > 1 => {
                constraints.swap_remove(rng.below(constraints.len() as u64) as usize);
            }
            1 if !constraints.is_empty() => {
                let at = rng.below(constraints.len() as u64) as usize;
                constraints[at].wanted = !constraints[at].wanted;
            }
            2 | 3 => {
                self.insert(rng, constraints);
                self.insert(rng, constraints);
            }
            _ => self.insert(rng, constraints),
        }
        origin
    }

    /// Constraints that were drawn have been tried.
    pub fn add_tried(&mut self, constraints: &[Constraint], origin: Option<usize>) {
        if let Some(kept) = origin.and_then(|at| self.kept.get_mut(at)) {
            kept.chosen += 1;
        }
        for constraint in constraints {
            if let Some(tries) = self.unseen.get_mut(&constraint.pair) {
                *tries += 1;
            }
        }
    }

    /// Adds a constraint, in the place of one on the same read.
    fn insert(&self, rng: &mut Rng, constraints: &mut Vec<Constraint>) {
        let pair = match self.unseen.is_empty() || rng.below(self.known_share()) == 0 {
            true => self.possible[rng.below(self.possible.len() as u64) as usize],
            false => self.draw_unseen(rng),
        };
        let wanted = Constraint { pair, wanted: true };
        let same = constraints.iter().position(|one| one.pair.1 == pair.1);
        match same {
            Some(at) => constraints[at] = wanted,
            None if constraints.len() < MOST_CONSTRAINTS => constraints.push(wanted),
            None => constraints[rng.below(MOST_CONSTRAINTS as u64) as usize] = wanted,
        }
    }

    /// One in so many draws takes up what is known.
    fn known_share(&self) -> u64 {
        match self.unseen.values().any(|&tries| tries < TRIES) {
            true => KNOWN_EARLY,
            false => KNOWN,
        }
    }

    /// One of the pairs that have not been seen and were tried least.
    fn draw_unseen(&self, rng: &mut Rng) -> Pair {
        let least = self.unseen.values().min().copied().unwrap_or(0);
        let candidates = || self.unseen.iter().filter(|entry| *entry.1 == least);
        let drawn = rng.below(candidates().count() as u64) as usize;
        candidates().nth(drawn).map_or((0, 0), |(&pair, _)| pair)
    }
}

impl Learnt for Constraint {
    fn pass(&mut self, experience: &mut Experience<'_>) {
        self.pair.pass(experience);
        self.wanted.pass(experience);
    }
}

impl Learnt for Kept {
    fn pass(&mut self, experience: &mut Experience<'_>) {
        self.constraints.pass(experience);
        self.chosen.pass(experience);
    }
}

impl Learnt for Corpus {
    fn pass(&mut self, experience: &mut Experience<'_>) {
        self.possible.pass(experience);
        self.known = self.possible.iter().copied().collect();
        self.unseen.pass(experience);
        self.seen.pass(experience);
        self.combinations.pass(experience);
        self.kept.pass(experience);
        self.kept.truncate(MOST_KEPT);
        self.next.pass(experience);
        self.next %= MOST_KEPT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_has_one_constraint_and_combinations_are_drawn() {
        let mut corpus = Corpus::new();
        for read in 10..14 {
            for write in 0..3 {
                corpus.add_possible((write, read));
                corpus.add_seen((write, read));
            }
        }
        let (mut rng, mut constraints) = (Rng::new(1), Vec::new());
        let mut sizes = BTreeSet::new();
        for execution in 0..2_000 {
            corpus.draw(&mut rng, &mut constraints);
            corpus.add_combination(execution, &constraints);
            let reads: BTreeSet<SiteId> = constraints.iter().map(|one| one.pair.1).collect();
            assert_eq!(reads.len(), constraints.len());
            sizes.insert(constraints.len());
        }
        assert_eq!(sizes.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn what_has_not_been_seen_is_tried_first() {
        let mut corpus = Corpus::new();
        for read in 0..100 {
            corpus.add_possible((1, read));
            if read != 7 {
                corpus.add_seen((1, read));
            }
        }
        let (mut rng, mut constraints) = (Rng::new(1), Vec::new());
        let is_tried = |_: &u32| {
            corpus.draw(&mut rng, &mut constraints);
            constraints.iter().any(|one| one.pair == (1, 7))
        };
        assert!((0..100).filter(is_tried).count() > 30);
    }
}
