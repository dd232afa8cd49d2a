//! Makes a failing schedule easier to understand: fewer deadlines that pass early first, then
//! fewer old values read, then fewer preemptions, then fewer threads that take part, then fewer switches, then an earlier end.
//!
//! This is Zeller and Hildebrandt's delta debugging (TSE 2002) over the list of switches, with
//! whole threads left out first. It needs no model of the program: a candidate is run, and
//! what the run really did counts, so switches that fall away by themselves are gone too.

use raddle_abi::plan::{Choice, Switch};

/// A run that fails.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failing {
    /// Where it did not do the default thing.
    pub switches: Vec<Switch>,
    /// How often a thread that could go on was made to wait.
    pub preemptions: u32,
    /// Scheduling points until it failed.
    pub points: u64,
}

impl Failing {
    /// What there is to understand, the most important first.
    pub fn cost(&self) -> (usize, u64, u32, usize, usize, u64) {
        let threads = self.threads().len();
        let (mut early, mut old) = (0, 0);
        for switch in &self.switches {
            match Choice::of(switch.to) {
                Choice::Thread(_) => {}
                // Of equally many the younger ones are easier to follow.
                Choice::OldValue(age) => old += (1 << 16) + u64::from(age),
                Choice::Time { is_early } => early += usize::from(is_early),
            }
        }
        (
            early,
            old,
            self.preemptions,
            threads,
            self.switches.len(),
            self.points,
        )
    }

    /// Whether a deadline passes early in it.
    pub fn needs_early_expiry(&self) -> bool {
        self.cost().0 > 0
    }

    /// The threads that switches name.
    fn threads(&self) -> Vec<u16> {
        let ends = self
            .switches
            .iter()
            .flat_map(|one| match Choice::of(one.to) {
                Choice::Thread(to) => [one.from, to],
                _ => [one.from; 2],
            });
        let mut threads: Vec<u16> = ends.collect();
        threads.sort_unstable();
        threads.dedup();
        threads
    }
}

/// The best schedule found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minimised {
    /// Never longer than the original, and never with more preemptions.
    pub best: Failing,
    /// Runs that were made.
    pub attempts: usize,
}

/// Shortens what `original` did with at most `budget` calls of `attempt`, which runs a candidate
/// and, if the same finding shows, returns what the run really did.
pub fn minimise(
    original: &Failing,
    budget: usize,
    attempt: &mut dyn FnMut(&[Switch]) -> Option<Failing>,
) -> Minimised {
    let mut search = Search {
        longest: original.switches.len(),
        best: original.clone(),
        attempts: 0,
        budget,
        attempt,
    };
    search.run();
    Minimised {
        best: search.best,
        attempts: search.attempts,
    }
}

struct Search<'a> {
    /// Switches of the original.
    longest: usize,
    best: Failing,
    attempts: usize,
    budget: usize,
    attempt: &'a mut dyn FnMut(&[Switch]) -> Option<Failing>,
}

impl Search<'_> {
    fn run(&mut self) {
        if self.best.switches.is_empty() || self.improves(&[]) {
            return;
        }
        self.remove(|choice| matches!(choice, Choice::Time { is_early: true }));
        self.remove(|choice| matches!(choice, Choice::OldValue(_)));
        self.remove_threads();
        let mut chunk = self.best.switches.len().div_ceil(2);
        loop {
            let improved = self.remove_chunks(chunk);
            if self.is_over() || (chunk == 1 && !improved) {
                break;
            }
            // After a pass over single switches has removed some, others may be removable.
            chunk = chunk.min(self.best.switches.len()).div_ceil(2).max(1);
        }
        self.remove_pairs();
    }

    fn is_over(&self) -> bool {
        self.attempts >= self.budget || self.best.switches.is_empty()
    }

    /// Tries to do without all choices of a kind.
    fn remove(&mut self, is_removed: fn(Choice) -> bool) {
        let switches = self.best.switches.iter().copied();
        let is_kept = |switch: &Switch| !is_removed(Choice::of(switch.to));
        let without: Vec<Switch> = switches.filter(is_kept).collect();
        if !without.is_empty() && without.len() < self.best.switches.len() {
            self.improves(&without);
        }
    }

    /// Tries to do without each thread: without all switches to it and from it.
    fn remove_threads(&mut self) {
        for thread in self.best.threads() {
            if self.is_over() {
                return;
            }
            let switches = self.best.switches.iter().copied();
            let without: Vec<Switch> = switches
                .filter(|switch| switch.from != thread && switch.to != thread)
                .collect();
            if !without.is_empty() && without.len() < self.best.switches.len() {
                self.improves(&without);
            }
        }
    }

    /// Tries to do without each run of `chunk` switches; the last ones first, because what
    /// comes after the decisive switch is the most likely to be in vain.
    fn remove_chunks(&mut self, chunk: usize) -> bool {
        let mut improved = false;
        let mut end = self.best.switches.len();
        while end > 0 && !self.is_over() {
            let start = end.saturating_sub(chunk);
            let switches = &self.best.switches;
            let candidate = [&switches[..start], &switches[end..]].concat();
            improved |= self.improves(&candidate);
            end = start.min(self.best.switches.len());
        }
        improved
    }

    /// Tries to do without two switches that are not neighbours: to a thread, and back.
    fn remove_pairs(&mut self) {
        let mut first = 0;
        while first < self.best.switches.len() {
            let mut second = first + 2;
            while second < self.best.switches.len() {
                if self.is_over() {
                    return;
                }
                let mut candidate = self.best.switches.clone();
                candidate.remove(second);
                candidate.remove(first);
                if !self.improves(&candidate) {
                    second += 1;
                }
            }
            first += 1;
        }
    }

    fn improves(&mut self, candidate: &[Switch]) -> bool {
        if self.attempts >= self.budget {
            return false;
        }
        self.attempts += 1;
        match (self.attempt)(candidate) {
            Some(run) if run.switches.len() <= self.longest && run.cost() < self.best.cost() => {
                self.best = run;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
#[path = "minimise_tests.rs"]
mod tests;
