//! Partial order sampling: Yuan, Yang and Gu, "Partial order aware concurrency sampling" (CAV 2018).
//!
//! Every pending operation has a random priority, and the highest runs. Whenever an operation
//! runs, operations that conflict with it (same address, one of them a write) get new
//! priorities: the order of two conflicting operations is then as good as a coin flip, however
//! many operations stand around them, where a random walk needs luck at every single one.
//!
//! Deviation from the paper: where a thread yields, all priorities are drawn anew, so that spin
//! loops make progress.

use crate::rng::Rng;
use crate::strategy::{Pending, Strategy, View};
use alloc::vec::Vec;

/// See the module's description.
pub struct Pos {
    rng: Rng,
    /// Of each thread's pending operation.
    priorities: Vec<Priority>,
}

#[derive(Clone, Copy)]
struct Priority {
    value: u64,
    /// The thread's steps when it was drawn; another number means another operation.
    step: u32,
}

/// Never a number of steps: the priority has to be drawn.
const STALE: u32 = u32::MAX;

impl Pos {
    /// Partial order sampling.
    pub const fn new() -> Self {
        Self {
            rng: Rng::new(0),
            priorities: Vec::new(),
        }
    }

    /// The priority of what `thread` stands before, drawn where that is new.
    fn priority(&mut self, thread: usize, step: u32) -> u64 {
        if self.priorities.len() <= thread {
            let none = Priority {
                value: 0,
                step: STALE,
            };
            self.priorities.resize(thread + 1, none);
        }
        let priority = &mut self.priorities[thread];
        if priority.step != step {
            let value = self.rng.next();
            *priority = Priority { value, step };
        }
        priority.value
    }
}

fn conflict(left: &Pending, right: &Pending) -> bool {
    left.address != 0 && left.address == right.address && (left.write || right.write)
}

impl Strategy for Pos {
    fn begin(&mut self, seed: u64, _length: u64) {
        self.rng = Rng::new(seed);
        self.priorities.clear();
    }

    fn thread_started(&mut self, _thread: usize, _parent: usize, _site_key: u64) {}

    fn pick(&mut self, view: &View<'_>) -> usize {
        if view.yielded {
            // It waits for one of the others, whose priority may be as low as it likes: without
            // new ones, spinning threads could overtake it for long.
            for priority in &mut self.priorities {
                priority.step = STALE;
            }
        }
        let (mut best, mut highest) = (view.candidate(0), 0);
        for index in 0..view.candidates() {
            let thread = view.candidate(index);
            let priority = self.priority(thread, view.steps[thread]);
            if priority > highest {
                (best, highest) = (thread, priority);
            }
        }
        for &thread in view.enabled {
            let thread = usize::from(thread);
            if thread != best
                && conflict(&view.pending[thread], &view.pending[best])
                && let Some(priority) = self.priorities.get_mut(thread)
            {
                priority.step = STALE;
            }
        }
        best
    }

    fn needs_operations(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::simulator::{Op, run};

    /// In how many of 4,000 seeds thread 1's only operation comes after all of thread 0's.
    fn last(strategy: &mut dyn Strategy, steps: usize) -> usize {
        let program = [
            [vec![Op::Spawn(1)], vec![Op::Step; steps], vec![Op::Set(0)]].concat(),
            vec![Op::Set(0)],
        ];
        let is_last = |seed: &u64| {
            let order = run(&program, strategy, *seed, 0).order;
            order.last() == Some(&(1, 0))
        };
        (0..4_000).filter(is_last).count()
    }

    #[test]
    fn a_late_operation_is_one_of_many_priorities_not_a_row_of_coin_flips() {
        // The lowest of 12 priorities, and again a coin flip where the two conflict.
        let sampled = last(&mut Pos::new(), 10);
        assert!((200..500).contains(&sampled), "{sampled}");
        let walked = last(&mut Random::new(), 10);
        assert!(walked < 20, "{walked}");
    }

    #[test]
    fn conflicting_operations_come_in_both_orders_equally_often() {
        let program = [vec![Op::Spawn(1), Op::Set(0)], vec![Op::Set(0)]];
        let first = (0..4_000)
            .filter(|&seed| run(&program, &mut Pos::new(), seed, 0).order[1] == (0, 1))
            .count();
        assert!((1_850..2_150).contains(&first), "{first}");
    }

    #[test]
    fn threads_that_spin_do_not_overtake_the_one_they_wait_for_for_long() {
        let spin = vec![Op::SpinUntil(0)];
        let program = [
            [(1..6).map(Op::Spawn).collect(), spin.clone()].concat(),
            spin.clone(),
            spin.clone(),
            spin.clone(),
            spin,
            vec![Op::Step, Op::Step, Op::Step, Op::Set(0)],
        ];
        let longest = (0..1_000).map(|seed| run(&program, &mut Pos::new(), seed, 0).passed.len());
        assert!(longest.max() < Some(150));
    }

    #[test]
    fn spin_loops_make_progress_and_seeds_decide_everything() {
        let program = [
            vec![Op::Spawn(1), Op::Spawn(2), Op::SpinUntil(0)],
            vec![Op::SpinUntil(1), Op::Set(0)],
            vec![Op::Step, Op::Set(1)],
        ];
        let mut strategy = Pos::new();
        for seed in 0..200 {
            let first = run(&program, &mut strategy, seed, 0);
            assert!(!first.stuck);
            assert_eq!(run(&program, &mut strategy, seed, 0), first);
        }
    }
}
