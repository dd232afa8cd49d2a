//! Several strategies that take turns from execution to execution.
//!
//! The seed decides whose turn it is, and so does not depend on what ran before: the execution
//! with seed s can be run again on its own.

use crate::experience::Experience;
use crate::log::Log;
use crate::strategy::{Load, Strategy, View};
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

    fn read(&mut self, load: &Load) -> Option<usize> {
        self.strategies.get_mut(self.turn)?.read(load)
    }

    fn decides_time(&self) -> bool {
        let strategy = self.strategies.get(self.turn);
        strategy.is_some_and(|strategy| strategy.decides_time())
    }

    fn values_may_be_old(&mut self, may_be: bool) {
        for strategy in &mut self.strategies {
            strategy.values_may_be_old(may_be);
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

    fn released(&self) -> Option<u32> {
        self.strategies.get(self.turn)?.released()
    }

    fn set_aside(&mut self) {
        if let Some(strategy) = self.strategies.get_mut(self.turn) {
            strategy.set_aside();
        }
    }

    fn learn(&mut self) {
        if let Some(strategy) = self.strategies.get_mut(self.turn) {
            strategy.learn();
        }
    }

    fn pass(&mut self, experience: &mut Experience<'_>) {
        for strategy in &mut self.strategies {
            strategy.pass(experience);
        }
    }

    fn logs(&mut self, visit: &mut dyn FnMut(&mut Log)) {
        for strategy in &mut self.strategies {
            strategy.logs(visit);
        }
    }

    fn points_changed(&mut self) {
        for strategy in &mut self.strategies {
            strategy.points_changed();
        }
    }

    fn needs_site_keys(&self) -> bool {
        let strategy = self.strategies.get(self.turn);
        strategy.is_some_and(|strategy| strategy.needs_site_keys())
    }

    fn needs_operations(&self) -> bool {
        let strategy = self.strategies.get(self.turn);
        strategy.is_some_and(|strategy| strategy.needs_operations())
    }
}

#[cfg(test)]
mod tests {
    use crate::list::parse;
    use crate::simulator::{Op, run};

    #[test]
    fn who_sees_operations_is_asked_before_each_when_it_is_its_turn() {
        let mut strategy = parse("random+pos+pct(3)+replay").unwrap();
        let needs = [0, 1, 2, 3].map(|seed| {
            strategy.begin(seed, 0);
            strategy.needs_operations()
        });
        assert_eq!(needs, [false, true, false, true]);
    }

    #[test]
    fn the_seed_decides_whose_turn_it_is() {
        let program = [
            [vec![Op::Spawn(1)], vec![Op::Step; 6]].concat(),
            vec![Op::Step; 6],
        ];
        let orders = |text: &str, seed| run(&program, &mut *parse(text).unwrap(), seed, 14).order;
        for seed in 0..40 {
            let alone = if seed % 2 == 0 {
                "serial"
            } else {
                "round-robin"
            };
            assert_eq!(orders("serial+round-robin", seed), orders(alone, seed));
        }
    }
}
