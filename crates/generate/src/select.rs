//! Which pair of methods the next tests are about.
//!
//! As in the authors' tool: first all pairs in random order, then again and again the lowest-scored
//! ones, drawn at random until none is left. `naive` takes the pair that was tried least, `random`
//! any.

use raddle_schedule::rng::Rng;

use crate::pairs::{Coverage, Pair, score};

/// Pairs that are taken at a time, if there are enough.
const TAKEN: usize = 100;

/// What decides about the next pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guidance {
    /// How often pairs were tried, and covered.
    #[default]
    Pairs,
    /// How often pairs were tried.
    Naive,
    /// Chance.
    Random,
}

impl Guidance {
    /// Every guidance, with its word.
    pub const ALL: [(&'static str, Self); 3] = [
        ("pairs", Self::Pairs),
        ("naive", Self::Naive),
        ("random", Self::Random),
    ];
}

/// Selects pairs.
#[derive(Clone, Debug)]
pub struct Selection {
    guidance: Guidance,
    queue: Vec<Pair>,
    has_begun: bool,
}

impl Selection {
    /// With nothing selected yet.
    pub const fn new(guidance: Guidance) -> Self {
        Self {
            guidance,
            queue: Vec::new(),
            has_begun: false,
        }
    }

    /// The next pair; `None` if there are none at all.
    pub fn next(&mut self, coverage: &Coverage, rng: &mut Rng) -> Option<Pair> {
        let mut all: Vec<Pair> = coverage.counts().keys().copied().collect();
        if all.is_empty() {
            return None;
        }
        match self.guidance {
            Guidance::Random => Some(take(&mut all, rng)),
            Guidance::Naive => {
                let tried = |pair: &Pair| coverage.counts()[pair].tried;
                let least = all.iter().map(tried).min();
                all.retain(|pair| Some(tried(pair)) == least);
                Some(take(&mut all, rng))
            }
            Guidance::Pairs => {
                if self.queue.is_empty() {
                    self.fill(coverage, all, rng);
                }
                Some(take(&mut self.queue, rng))
            }
        }
    }

    fn fill(&mut self, coverage: &Coverage, mut all: Vec<Pair>, rng: &mut Rng) {
        if !self.has_begun {
            self.has_begun = true;
            self.queue = all;
            return;
        }
        let count = if all.len() < 4 * TAKEN {
            (all.len() / 4).max(1)
        } else {
            TAKEN
        };
        let worth = |pair: &Pair| {
            let count = coverage.counts()[pair];
            score(count.tried, count.covered)
        };
        // Of those with the same score none comes first by its name.
        let mixed = (0..all.len()).map(|_| take(&mut all, rng));
        self.queue = mixed.collect();
        self.queue
            .sort_by(|one, other| worth(one).total_cmp(&worth(other)));
        self.queue.truncate(count);
    }
}

/// Takes one out at random.
fn take(pairs: &mut Vec<Pair>, rng: &mut Rng) -> Pair {
    let index = rng.below(pairs.len() as u64) as usize;
    pairs.swap_remove(index)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Guidance, Selection};
    use crate::pairs::Coverage;
    use raddle_schedule::rng::Rng;

    #[test]
    fn all_pairs_come_before_any_comes_again() {
        let mut coverage = Coverage::new(&[0, 1, 2, 3]);
        for guidance in [Guidance::Pairs, Guidance::Naive] {
            let mut selection = Selection::new(guidance);
            let mut rng = Rng::new(7);
            let mut seen = BTreeSet::new();
            for _ in 0..coverage.len() {
                let pair = selection.next(&coverage, &mut rng).unwrap();
                coverage.select(pair);
                assert!(seen.insert(pair), "{guidance:?} repeats {pair:?}");
            }
            coverage = Coverage::new(&[0, 1, 2, 3]);
        }
    }

    #[test]
    fn the_lowest_scored_quarter_follows() {
        let mut coverage = Coverage::new(&[0, 1, 2]);
        let mut selection = Selection::new(Guidance::Pairs);
        let mut rng = Rng::new(1);
        for _ in 0..coverage.len() {
            let pair = selection.next(&coverage, &mut rng).unwrap();
            coverage.select(pair);
            // All but one are covered far too often.
            let total = if pair == (1, 2) { 1 } else { 50 };
            coverage.add(&[(pair, total)].into(), 1);
        }
        assert_eq!(selection.next(&coverage, &mut rng), Some((1, 2)));
    }

    #[test]
    fn without_pairs_there_is_nothing_to_select() {
        let mut selection = Selection::new(Guidance::Random);
        assert_eq!(selection.next(&Coverage::new(&[]), &mut Rng::new(0)), None);
    }
}
