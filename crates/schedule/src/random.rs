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
            // The usual case, in which all are candidates.
            several if several == view.enabled.len() => {
                usize::from(view.enabled[self.rng.below(several as u64) as usize])
            }
            several => view.candidate(self.rng.below(several as u64) as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::{Op, run};
    use std::collections::HashMap;

    #[test]
    fn every_interleaving_of_two_equal_threads_is_seen_with_its_probability() {
        // Thread 1 is started first; then 2 and 2 steps interleave.
        let program = [
            vec![Op::Spawn(1), Op::Step, Op::Step],
            vec![Op::Step, Op::Step],
        ];
        let mut counts: HashMap<Vec<usize>, u32> = HashMap::new();
        for seed in 0..8_000 {
            let order = run(&program, &mut Random::new(), seed, 0).order;
            *counts
                .entry(order.iter().map(|&(thread, _)| thread).collect())
                .or_default() += 1;
        }
        assert_eq!(counts.len(), 6);
        // 0011 and 1100 need two free choices, the others three.
        for (order, count) in counts {
            let expected = if order[1] == order[2] { 2_000 } else { 1_000 };
            assert!(
                count.abs_diff(expected) < expected / 8,
                "{order:?}: {count}"
            );
        }
    }

    #[test]
    fn a_spinning_thread_gives_way() {
        let program = [
            vec![Op::Spawn(1), Op::SpinUntil(0)],
            vec![Op::Step, Op::Set(0)],
        ];
        for seed in 0..100 {
            assert!(!run(&program, &mut Random::new(), seed, 0).stuck);
        }
    }
}
