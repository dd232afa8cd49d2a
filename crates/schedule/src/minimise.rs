//! Makes a failing schedule shorter: fewer switches that differ from the default rule, which
//! means fewer preemptions to read about.
//!
//! This is Zeller and Hildebrandt's delta debugging (TSE 2002) over the list of switches. It
//! needs no model of the program: a candidate is run, and what the run really did counts, so
//! switches that fall away by themselves are gone too.

use raddle_abi::plan::Switch;

/// The shortest schedule found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minimised {
    /// Never longer than the original.
    pub switches: Vec<Switch>,
    /// Runs that were made.
    pub attempts: usize,
}

/// Shortens `switches` with at most `budget` calls of `attempt`, which runs a candidate and,
/// if the same finding shows, returns the switches that the run really made.
pub fn minimise(
    switches: &[Switch],
    budget: usize,
    attempt: &mut dyn FnMut(&[Switch]) -> Option<Vec<Switch>>,
) -> Minimised {
    let mut search = Search {
        best: switches.to_vec(),
        attempts: 0,
        budget,
        attempt,
    };
    search.run();
    Minimised {
        switches: search.best,
        attempts: search.attempts,
    }
}

struct Search<'a> {
    best: Vec<Switch>,
    attempts: usize,
    budget: usize,
    attempt: &'a mut dyn FnMut(&[Switch]) -> Option<Vec<Switch>>,
}

impl Search<'_> {
    fn run(&mut self) {
        if self.best.is_empty() || self.shortens(&[]) {
            return;
        }
        let mut chunk = self.best.len().div_ceil(2);
        loop {
            let shortened = self.remove_chunks(chunk);
            if self.is_over() || (chunk == 1 && !shortened) {
                return;
            }
            // After a pass over single switches has removed some, others may be removable.
            chunk = chunk.min(self.best.len()).div_ceil(2).max(1);
        }
    }

    fn is_over(&self) -> bool {
        self.attempts >= self.budget || self.best.is_empty()
    }

    /// Tries to do without each run of `chunk` switches; the last ones first, because what
    /// comes after the decisive switch is the most likely to be in vain.
    fn remove_chunks(&mut self, chunk: usize) -> bool {
        let mut shortened = false;
        let mut end = self.best.len();
        while end > 0 && !self.is_over() {
            let start = end.saturating_sub(chunk);
            let candidate = [&self.best[..start], &self.best[end..]].concat();
            shortened |= self.shortens(&candidate);
            end = start.min(self.best.len());
        }
        shortened
    }

    fn shortens(&mut self, candidate: &[Switch]) -> bool {
        if self.attempts >= self.budget {
            return false;
        }
        self.attempts += 1;
        match (self.attempt)(candidate) {
            Some(actual) if actual.len() < self.best.len() => {
                self.best = actual;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switches(occurrences: &[u32]) -> Vec<Switch> {
        let switch = |&occurrence| Switch {
            from: 0,
            to: 1,
            occurrence,
            site_key: 0,
        };
        occurrences.iter().map(switch).collect()
    }

    /// Fails exactly if all `needed` switches are there.
    fn check(length: u32, needed: &[u32], budget: usize) -> Minimised {
        let all: Vec<u32> = (0..length).collect();
        let original = switches(&all);
        let needed = switches(needed);
        let result = minimise(&original, budget, &mut |candidate| {
            needed
                .iter()
                .all(|switch| candidate.contains(switch))
                .then(|| candidate.to_vec())
        });
        assert!(result.attempts <= budget);
        assert!(needed.iter().all(|switch| result.switches.contains(switch)));
        result
    }

    #[test]
    fn only_what_is_needed_stays() {
        assert_eq!(
            check(100, &[3, 50, 99], 1_000).switches,
            switches(&[3, 50, 99])
        );
        assert_eq!(check(1, &[0], 1_000).switches, switches(&[0]));
        assert_eq!(check(64, &[], 1_000).switches, []);
        assert_eq!(check(5, &[0, 1, 2, 3, 4], 1_000).switches.len(), 5);
    }

    #[test]
    fn few_runs_are_enough_for_a_long_schedule() {
        let result = check(4_096, &[17, 3_000], 200);
        assert_eq!(result.switches.len(), 2, "{}", result.attempts);
    }

    #[test]
    fn the_budget_is_kept_and_no_budget_changes_nothing() {
        assert_eq!(check(100, &[3, 50], 0).switches.len(), 100);
        assert!(check(100, &[3, 50], 3).switches.len() <= 100);
    }

    #[test]
    fn runs_that_do_other_things_never_make_it_longer() {
        let original = switches(&[1, 2, 3]);
        let longer = switches(&[1, 2, 3, 4, 5, 6]);
        let result = minimise(&original, 100, &mut |_| Some(longer.clone()));
        assert_eq!(result.switches, original);
    }

    #[test]
    fn what_a_run_really_did_counts() {
        let original = switches(&[1, 2, 3, 4]);
        let result = minimise(&original, 100, &mut |candidate| {
            (candidate.len() == 2).then(|| switches(&[9]))
        });
        assert_eq!(result.switches, switches(&[9]));
    }
}
