//! Several strategies that take turns from execution to execution.
//!
//! The seed decides whose turn it is, and so does not depend on what ran before: the execution
//! with seed s can be run again on its own.

use crate::strategy::{Strategy, View};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// See the module's description. Never empty.
pub struct Turns {
    strategies: Vec<Box<dyn Strategy>>,
    turn: usize,
}

impl Turns {
    /// Turns of these.
    pub const fn new(strategies: Vec<Box<dyn Strategy>>) -> Self {
        Self {
            strategies,
            turn: 0,
        }
    }
}

impl Strategy for Turns {
    fn begin(&mut self, seed: u64, length: u64) {
        self.turn = (seed % self.strategies.len().max(1) as u64) as usize;
        if let Some(strategy) = self.strategies.get_mut(self.turn) {
            strategy.begin(seed, length);
        }
    }

    fn thread_started(&mut self, thread: usize, parent: usize, site_key: u64) {
        if let Some(strategy) = self.strategies.get_mut(self.turn) {
            strategy.thread_started(thread, parent, site_key);
        }
    }

    fn pick(&mut self, view: &View<'_>) -> usize {
        match self.strategies.get_mut(self.turn) {
            Some(strategy) => strategy.pick(view),
            None => view.candidate(0),
        }
    }

    fn end(&mut self) {
        if let Some(strategy) = self.strategies.get_mut(self.turn) {
            strategy.end();
        }
    }

    fn diverged(&self) -> Option<usize> {
        self.strategies.get(self.turn)?.diverged()
    }

    fn needs_site_keys(&self) -> bool {
        self.strategies
            .iter()
            .any(|strategy| strategy.needs_site_keys())
    }
}
