//! The Monte Carlo simulation of the Java Grande benchmarks: results are gathered under a lock, and how far the work is
//! stands in a word that nobody guards, because nothing depends on it. There is no bug.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A simulation of prices.
pub struct Simulation {
    next: Mutex<u64>,
    results: Mutex<Vec<f64>>,
    /// For people to look at.
    progress: AtomicU64,
}

impl Simulation {
    /// Nothing is done.
    pub const fn new() -> Self {
        Self {
            next: Mutex::new(0),
            results: Mutex::new(Vec::new()),
            progress: AtomicU64::new(0),
        }
    }

    /// Seed of a new task, if there is any left.
    pub fn task(&self, tasks: u64) -> Option<u64> {
        let mut next = self.next.lock().unwrap();
        (*next < tasks).then(|| {
            *next += 1;
            *next
        })
    }

    /// A price at the end of a path.
    pub fn path(seed: u64) -> f64 {
        let mut state = seed;
        (0..8).fold(100.0, |price, _| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            price + ((state >> 60) as f64 - 7.5)
        })
    }

    /// Gathers a result.
    pub fn finish(&self, price: f64) {
        self.results.lock().unwrap().push(price);
    }

    /// Shows that there is progress, more or less.
    pub fn advance(&self) {
        let progress = self.progress.load(Relaxed);
        self.progress.store(progress + 1, Relaxed);
    }

    /// How far the work is, more or less.
    pub fn progress(&self) -> u64 {
        self.progress.load(Relaxed)
    }

    /// Number of results.
    pub fn len(&self) -> usize {
        self.results.lock().unwrap().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Default for Simulation {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::Simulation;
    use std::thread;

    fn work(simulation: &Simulation, shows_progress: bool) {
        while let Some(seed) = simulation.task(4) {
            simulation.finish(Simulation::path(seed));
            if shows_progress {
                simulation.advance();
            }
        }
    }

    fn run(shows_progress: bool) {
        let simulation = Simulation::new();
        thread::scope(|scope| {
            scope.spawn(|| work(&simulation, shows_progress));
            work(&simulation, shows_progress);
        });
        assert_eq!(simulation.len(), 4);
        assert!(simulation.progress() <= 4);
    }

    #[test]
    fn bug() {
        run(true);
    }

    #[test]
    pub(crate) fn twin() {
        run(false);
    }
}
