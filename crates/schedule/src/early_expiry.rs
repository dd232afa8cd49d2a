//! Whether a deadline passes although a thread can run, where a strategy only decides about
//! threads.
//!
//! In half of the executions none passes early: what needs no early expiry is found there as
//! before. In the others deadlines pass at a rate that the seed draws, from the start or from a drawn
//! point on, and a few times only, so that a loop that sleeps and looks again lets others run. In half of
//! them the rate makes a sleep as short as a yield, and the strategy decides when its thread goes on; lower
//! rates let a wait end after others have done something.
//!
//! A deadline that has passed already is nothing early: its thread is one more that can run.

use crate::rng::{Rng, mix};
use crate::strategy::Expiry;

/// Changes the seed, so that expiries do not depend on what the strategy draws.
const SALT: u64 = 0x6465_6164_6c69_6e65;
/// At one of so many points a deadline passes early; 0 for none. An execution draws one of these.
const ODDS: [u64; 8] = [0, 0, 0, 0, 1, 1, 3, 16];
/// Most early expiries of an execution, which draws one of these.
const MOST_EARLY: [u32; 4] = [1, 2, 4, 32];
/// At one of so many points a thread goes on whose deadline has passed.
const ODDS_PASSED: u64 = 2;
/// Most expiries of an execution after their deadlines.
const MOST_PASSED: u32 = 64;

/// See the module's description.
pub struct EarlyExpiry {
    rng: Rng,
    odds: u64,
    /// Point of the execution before which nothing expires early.
    start: u64,
    early_left: u32,
    passed_left: u32,
}

impl EarlyExpiry {
    /// Before the first execution.
    pub const fn new() -> Self {
        Self {
            rng: Rng::new(SALT),
            odds: 0,
            start: 0,
            early_left: 0,
            passed_left: 0,
        }
    }

    /// An execution begins, of about `length` points.
    pub fn begin(&mut self, seed: u64, length: u64) {
        self.rng = Rng::new(mix(seed ^ SALT));
        self.odds = ODDS[self.rng.below(ODDS.len() as u64) as usize];
        self.early_left = MOST_EARLY[self.rng.below(MOST_EARLY.len() as u64) as usize];
        self.start = match self.rng.below(2) {
            0 => 0,
            _ => self.rng.below(length),
        };
        self.passed_left = MOST_PASSED;
    }

    /// Whether `expiry` happens at this point of the execution.
    pub fn choose(&mut self, expiry: &Expiry, point: u64) -> bool {
        let (left, odds) = match expiry.is_early {
            true => (&mut self.early_left, self.odds),
            false => (&mut self.passed_left, ODDS_PASSED),
        };
        if *left == 0 || odds == 0 || expiry.is_early && point < self.start {
            return false;
        }
        let is_chosen = self.rng.below(odds) == 0;
        *left -= u32::from(is_chosen);
        is_chosen
    }
}

impl Default for EarlyExpiry {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points_of_expiries(seed: u64, is_early: bool) -> Vec<u64> {
        let expiry = Expiry {
            thread: Some(1),
            object: 0,
            is_early,
            times: 0,
        };
        let mut expiries = EarlyExpiry::new();
        expiries.begin(seed, 100);
        (0..200)
            .filter(|&point| expiries.choose(&expiry, point))
            .collect()
    }

    #[test]
    fn half_of_the_executions_have_none_and_the_others_a_few_anywhere() {
        let of = |seed| points_of_expiries(seed, true);
        let none = (0..1000).filter(|&seed| of(seed).is_empty()).count();
        assert!((450..600).contains(&none), "{none}");
        for point in [0, 1, 10, 50, 90] {
            let with = (0..1000).filter(|&seed| of(seed).contains(&point)).count();
            assert!(with > 5, "{point}: {with}");
        }
        assert!((0..1000).all(|seed| of(seed).len() <= 32 && of(seed) == of(seed)));
    }

    #[test]
    fn a_deadline_that_has_passed_is_no_matter_of_the_rate_and_not_for_ever() {
        for seed in 0..100 {
            let points = points_of_expiries(seed, false);
            assert_eq!(points.len(), MOST_PASSED as usize);
            assert!(points[0] < 20);
        }
    }
}
