//! The random walk: at every scheduling point any thread that can run, with equal probability.

use crate::rng::Rng;
use crate::strategy::{Strategy, View};

/// See the module's description.
pub struct Random {
    rng: Rng,
}

impl Random {
    /// A random walk.
    pub const fn new() -> Self {
        Self { rng: Rng::new(0) }
    }
}

impl Strategy for Random {
    fn begin(&mut self, seed: u64, _length: u64) {
        self.rng = Rng::new(seed);
    }

    fn thread_started(&mut self, _thread: usize, _parent: usize, _site_key: u64) {}

    fn pick(&mut self, view: &View<'_>) -> usize {
        match view.candidates() {
            0 | 1 => view.candidate(0),
            several => view.candidate(self.rng.below(several as u64) as usize),
        }
    }
}
