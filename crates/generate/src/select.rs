//! Which pair of methods the next tests are about.
//!
//! As in the authors' tool: first all pairs in random order, then again and again the lowest-scored
//! ones, drawn at random until none is left. `naive` takes the pair that was tried least, `random`
//! any.
//!
//! Deviations: 1. Of pairs with the same score those come first that were covered least. 2. Pairs whose
//! methods were seen to have to do with each other ([`meetings`](crate::meetings)) come before all others,
//! are tried a few times more as soon as those were tried too, and get every second selection after that,
//! since two methods that take no notice of each other one after the other rarely do at the same time.
//! `uniform` does without the second.

use std::collections::BTreeSet;

use raddle_schedule::rng::Rng;

use crate::pairs::{Coverage, Pair, score};

/// Pairs that are taken at a time, if there are enough.
const TAKEN: usize = 100;
/// How often pairs whose methods have to do with each other are tried before others are tried again.
pub(crate) const FIRST: u32 = 3;
/// One of so many selections is made among all pairs after that.
const STRANGERS: u64 = 2;

/// What decides about the next pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guidance {
    /// How often pairs were tried, and covered, and what is known of their methods.
    #[default]
    Pairs,
    /// How often pairs were tried, and covered.
    Uniform,
    /// How often pairs were tried.
    Naive,
    /// Chance.
    Random,
}

impl Guidance {
    /// Every guidance, with its word.
    pub const ALL: [(&'static str, Self); 4] = [
        ("pairs", Self::Pairs),
        ("uniform", Self::Uniform),
        ("naive", Self::Naive),
        ("random", Self::Random),
    ];
}

/// Selects pairs.
#[derive(Clone, Debug)]
pub struct Selection {
    guidance: Guidance,
    all: Queue,
    /// Pairs whose methods have to do with each other.
    acquainted: Queue,
}

impl Selection {
    /// With nothing selected yet. Some pairs have methods that have to do with each other.
    pub fn new(guidance: Guidance, coverage: &Coverage, acquainted: &BTreeSet<Pair>) -> Self {
        let all: Vec<Pair> = coverage.counts().keys().copied().collect();
        let is_known = |pair: &&Pair| guidance == Guidance::Pairs && acquainted.contains(*pair);
        let acquainted = all.iter().filter(is_known).copied().collect();
        Self {
            guidance,
            acquainted: Queue::new(acquainted, FIRST),
            all: Queue::new(all, 1),
        }
    }

    /// The next pair; `None` if there are none at all.
    pub fn next(&mut self, coverage: &Coverage, rng: &mut Rng) -> Option<Pair> {
        let all = &self.all.pairs;
        match self.guidance {
            Guidance::Random => any(all, rng),
            Guidance::Naive => {
                let tried = |pair: &&Pair| coverage.counts()[*pair].tried;
                let least = all.iter().map(|pair| tried(&pair)).min();
                let least = all.iter().filter(|pair| Some(tried(pair)) == least);
                any(&least.copied().collect::<Vec<_>>(), rng)
            }
            Guidance::Pairs | Guidance::Uniform => match self.is_among_all(coverage, rng) {
                true => self.all.next(coverage, rng),
                false => self.acquainted.next(coverage, rng),
            },
        }
    }

    fn is_among_all(&mut self, coverage: &Coverage, rng: &mut Rng) -> bool {
        let Self {
            acquainted, all, ..
        } = self;
        if acquainted.pairs.is_empty() {
            return true;
        }
        let is_new = acquainted.has_below(1, coverage);
        let are_others_new = all.has_below(1, coverage);
        let is_next = is_new || !are_others_new && acquainted.has_below(FIRST, coverage);
        !is_next && (are_others_new || rng.below(STRANGERS) == 0)
    }
}

/// Pairs, and those of them that come next.
#[derive(Clone, Debug)]
struct Queue {
    pairs: Vec<Pair>,
    /// How often each of them is tried before any score matters.
    first: u32,
    /// How often each of them was tried at least, as far as that was looked at.
    tried: u32,
    waiting: Vec<Pair>,
}

impl Queue {
    const fn new(pairs: Vec<Pair>, first: u32) -> Self {
        Self {
            pairs,
            first,
            tried: 0,
            waiting: Vec::new(),
        }
    }

    /// Whether there are some that were not tried so many times.
    fn has_below(&mut self, times: u32, coverage: &Coverage) -> bool {
        if self.tried < times {
            let tried = self.pairs.iter().map(|pair| coverage.counts()[pair].tried);
            self.tried = tried.min().unwrap_or(u32::MAX);
        }
        self.tried < times
    }

    /// Those whose score does not matter yet.
    fn new_ones(&self, coverage: &Coverage) -> Vec<Pair> {
        let is_new = |pair: &&Pair| coverage.counts()[*pair].tried < self.first;
        self.pairs.iter().filter(is_new).copied().collect()
    }

    fn next(&mut self, coverage: &Coverage, rng: &mut Rng) -> Option<Pair> {
        if self.waiting.is_empty() {
            self.waiting = self.lowest(coverage, rng);
        }
        if self.waiting.is_empty() {
            return None;
        }
        Some(take(&mut self.waiting, rng))
    }

    /// The new ones, or the lowest-scored ones.
    fn lowest(&self, coverage: &Coverage, rng: &mut Rng) -> Vec<Pair> {
        let new_ones = self.new_ones(coverage);
        if !new_ones.is_empty() {
            return new_ones;
        }
        let worth = |pair: &Pair| {
            let count = coverage.counts()[pair];
            (score(count.tried, count.covered), count.covered)
        };
        let count = if self.pairs.len() < 4 * TAKEN {
            (self.pairs.len() / 4).max(1)
        } else {
            TAKEN
        };
        // None comes first by its name.
        let mut all = self.pairs.clone();
        let mixed = (0..all.len()).map(|_| take(&mut all, rng));
        let mut lowest: Vec<Pair> = mixed.collect();
        lowest.sort_by(|one, other| {
            let (one, other) = (worth(one), worth(other));
            one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1))
        });
        lowest.truncate(count);
        lowest
    }
}

/// One of them.
fn any(pairs: &[Pair], rng: &mut Rng) -> Option<Pair> {
    let last = pairs.len().checked_sub(1)?;
    pairs.get(rng.below(last as u64 + 1) as usize).copied()
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
        for guidance in [Guidance::Pairs, Guidance::Uniform, Guidance::Naive] {
            let mut coverage = Coverage::new(&[0, 1, 2, 3]);
            let mut selection = Selection::new(guidance, &coverage, &BTreeSet::new());
            let mut rng = Rng::new(7);
            let mut seen = BTreeSet::new();
            for _ in 0..coverage.len() {
                let pair = selection.next(&coverage, &mut rng).unwrap();
                coverage.select(pair);
                assert!(seen.insert(pair), "{guidance:?} repeats {pair:?}");
            }
        }
    }

    #[test]
    fn the_lowest_scored_quarter_follows() {
        let mut coverage = Coverage::new(&[0, 1, 2]);
        let mut selection = Selection::new(Guidance::Pairs, &coverage, &BTreeSet::new());
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
    fn pairs_that_are_acquainted_are_tried_most_and_the_others_too() {
        let tries = |guidance: Guidance| {
            let mut coverage = Coverage::new(&[0, 1, 2, 3, 4, 5, 6]);
            let acquainted = BTreeSet::from([(1, 2), (3, 3)]);
            let mut selection = Selection::new(guidance, &coverage, &acquainted);
            let mut rng = Rng::new(3);
            for _ in 0..400 {
                let pair = selection.next(&coverage, &mut rng).unwrap();
                coverage.select(pair);
            }
            let tried = |pair| coverage.counts()[pair].tried;
            let others = coverage.counts().keys();
            let others = others.filter(|pair| !acquainted.contains(pair)).map(tried);
            (tried(&(1, 2)), tried(&(3, 3)), others.min().unwrap())
        };
        let (one, other, least) = tries(Guidance::Pairs);
        assert!(
            one > 100 && other > 100 && least > 0,
            "{one} {other} {least}"
        );
        let (one, other, least) = tries(Guidance::Uniform);
        assert!(one < 30 && other < 30 && least > 5, "{one} {other} {least}");
    }

    #[test]
    fn each_pair_is_tried_before_those_that_are_acquainted_are_tried_often() {
        let mut coverage = Coverage::new(&[0, 1, 2, 3]);
        let acquainted = BTreeSet::from([(1, 2), (3, 3)]);
        let mut selection = Selection::new(Guidance::Pairs, &coverage, &acquainted);
        let mut rng = Rng::new(3);
        let order: Vec<bool> = (0..14)
            .map(|_| {
                let pair = selection.next(&coverage, &mut rng).unwrap();
                coverage.select(pair);
                acquainted.contains(&pair)
            })
            .collect();
        assert_eq!(order[..2], [true; 2]);
        assert_eq!(order[2..10], [false; 8]);
        assert_eq!(order[10..], [true; 4]);
    }

    #[test]
    fn without_pairs_there_is_nothing_to_select() {
        for (_, guidance) in Guidance::ALL {
            let coverage = Coverage::new(&[]);
            let mut selection = Selection::new(guidance, &coverage, &BTreeSet::new());
            assert_eq!(selection.next(&coverage, &mut Rng::new(0)), None);
        }
    }
}
