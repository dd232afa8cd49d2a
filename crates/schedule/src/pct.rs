//! Probabilistic concurrency testing: Burckhardt, Kothari, Musuvathi and Nagarakatte,
//! "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs" (ASPLOS 2010).
//!
//! Threads get random priorities; the enabled thread with the highest one runs. At d-1 random
//! points the running thread's priority drops below all initial ones. A bug of depth d is hit
//! with a probability of at least 1/(n·k^(d-1)) for n threads and k points.
//!
//! Deviations from the paper:
//! 1. The number of threads is not known in advance: a new thread gets a random place among
//!    the priorities given so far, which makes every order of n threads equally likely.
//! 2. The number of points is an estimate given to `begin`; change points beyond the real end
//!    have no effect.
//! 3. A thread that yields drops below everybody, so that spin loops make progress.

use crate::rng::Rng;
use crate::strategy::{Strategy, View};
use alloc::vec::Vec;

/// Estimated points of an execution of which nothing is known.
const UNKNOWN_LENGTH: u64 = 100;
/// Largest depth that is drawn where none is given.
const COMMON_DEPTH: u32 = 5;
/// Largest depth that makes sense; more change points are close to a random walk.
pub const MAX_DEPTH: u32 = 64;

/// Enabled threads up to which all of them are looked at.
const FEW: usize = 16;

/// See the module's description.
pub struct Pct {
    /// 0 if it is drawn for each execution.
    depth: u32,
    rng: Rng,
    /// Priority of each thread; higher ones first. Initial ones are positive.
    priorities: Vec<i64>,
    /// Threads in ascending order of their initial priority.
    order: Vec<u16>,
    /// Points of the changes still to come, latest first.
    changes: Vec<u64>,
    /// The next priority below all others.
    lowest: i64,
    /// Who can run, in ascending order of priority, and maybe others who no longer can, so that
    /// not all of many have to be looked at.
    ready: Vec<u16>,
    /// Whether each thread is one of them.
    is_ready: Vec<bool>,
    /// How many of the arrivals are among them; nothing if that has to be found out.
    seen: Option<u64>,
}

impl Pct {
    /// For bugs of this depth (the number of ordering constraints they need), from 1.
    pub const fn new(depth: u32) -> Self {
        Self {
            depth,
            rng: Rng::new(0),
            priorities: Vec::new(),
            order: Vec::new(),
            changes: Vec::new(),
            lowest: 0,
            ready: Vec::new(),
            is_ready: Vec::new(),
            seen: None,
        }
    }

    /// For bugs of a small depth that is not known.
    pub const fn of_any_depth() -> Self {
        Self::new(0)
    }

    fn add(&mut self, thread: usize) {
        if self.priorities.len() <= thread {
            self.priorities.resize(thread + 1, 0);
        }
        let place = self.rng.below(self.order.len() as u64 + 1) as usize;
        self.order.insert(place, thread as u16);
        // A thread that has dropped keeps its low priority.
        for (index, &thread) in self.order.iter().enumerate() {
            let priority = &mut self.priorities[usize::from(thread)];
            if *priority >= 0 {
                *priority = index as i64 + 1;
            }
        }
    }

    fn drop_below_all(&mut self, thread: usize) {
        self.lowest -= 1;
        let place = self.place(thread);
        if self.ready.get(place) == Some(&(thread as u16)) {
            self.ready[..=place].rotate_right(1);
        }
        if let Some(priority) = self.priorities.get_mut(thread) {
            *priority = self.lowest;
        }
    }

    fn priority(&self, thread: usize) -> i64 {
        self.priorities.get(thread).copied().unwrap_or(0)
    }

    /// Where a thread stands among those who are ready, or would.
    fn place(&self, thread: usize) -> usize {
        let priority = self.priority(thread);
        self.ready
            .partition_point(|&other| self.priority(usize::from(other)) < priority)
    }

    fn add_ready(&mut self, thread: usize) {
        if self.is_ready.len() <= thread {
            self.is_ready.resize(thread + 1, false);
        }
        if !core::mem::replace(&mut self.is_ready[thread], true) {
            let place = self.place(thread);
            self.ready.insert(place, thread as u16);
        }
    }

    fn forget_ready(&mut self) {
        self.ready.clear();
        self.is_ready.clear();
        self.seen = None;
    }

    /// The enabled thread with the highest priority, where it is known who has become able to run.
    fn best_ready(&mut self, view: &View<'_>) -> Option<usize> {
        let arrivals = view.arrivals?;
        match self.seen.and_then(|seen| arrivals.since(seen)) {
            Some(new) => new.for_each(|thread| self.add_ready(thread)),
            None => {
                self.forget_ready();
                for &thread in view.enabled {
                    self.add_ready(usize::from(thread));
                }
            }
        }
        self.seen = Some(arrivals.total());
        loop {
            let best = usize::from(*self.ready.last()?);
            if view.is_enabled(best) {
                return Some(best);
            }
            self.ready.pop();
            self.is_ready[best] = false;
        }
    }

    /// The same where it is not.
    fn best_of_all(&self, view: &View<'_>) -> usize {
        let mut best = view.candidate(0);
        let mut best_priority = i64::MIN;
        for &thread in view.enabled {
            let priority = self.priority(usize::from(thread));
            if priority > best_priority {
                (best, best_priority) = (usize::from(thread), priority);
            }
        }
        best
    }
}

impl Strategy for Pct {
    fn begin(&mut self, seed: u64, length: u64) {
        self.rng = Rng::new(seed);
        self.priorities.clear();
        self.order.clear();
        self.lowest = 0;
        self.forget_ready();
        let length = if length == 0 { UNKNOWN_LENGTH } else { length };
        self.changes.clear();
        let depth = match self.depth {
            0 => 1 + self.rng.below(u64::from(COMMON_DEPTH)) as u32,
            depth => depth,
        };
        for _ in 1..depth {
            let point = self.rng.below(length);
            self.changes.push(point);
        }
        self.changes.sort_unstable_by(|left, right| right.cmp(left));
        self.add(0);
    }

    fn thread_started(&mut self, thread: usize, _parent: usize, _site_key: u64) {
        self.add(thread);
    }

    fn pick(&mut self, view: &View<'_>) -> usize {
        while self
            .changes
            .last()
            .is_some_and(|&change| change <= view.point)
        {
            self.changes.pop();
            self.drop_below_all(view.current);
        }
        if view.yielded {
            self.drop_below_all(view.current);
        }
        if view.enabled.len() <= FEW {
            return self.best_of_all(view);
        }
        self.best_ready(view)
            .unwrap_or_else(|| self.best_of_all(view))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::{Op, run};
    use crate::strategy::{Arrivals, Pending};

    /// How many of `runs` seeds put thread 1's only step between steps 3 and 4 of thread 0,
    /// which is a bug of depth 2.
    fn hits(depth: u32, runs: u64, length: u64) -> u64 {
        let program = [
            [vec![Op::Spawn(1)], vec![Op::Step; 9]].concat(),
            vec![Op::Step],
        ];
        let mut strategy = Pct::new(depth);
        let is_hit = |seed: &u64| {
            let order = run(&program, &mut strategy, *seed, length).order;
            let place = order.iter().position(|&step| step == (1, 0));
            place.is_some_and(|place| order[..place].last() == Some(&(0, 3)))
        };
        (0..runs).filter(is_hit).count() as u64
    }

    #[test]
    fn a_bug_of_depth_two_is_hit_at_least_as_often_as_the_paper_promises() {
        let (runs, threads, points) = (10_000, 2, 11);
        let bound = runs / (threads * points);
        let hits = hits(2, runs, points);
        assert!(hits >= bound * 9 / 10, "{hits} of {bound}");
        assert!(
            hits <= runs / points * 2,
            "{hits} is too often: not uniform"
        );
    }

    #[test]
    fn a_bug_of_depth_two_needs_a_change_point() {
        assert_eq!(hits(1, 2_000, 11), 0);
    }

    #[test]
    fn every_thread_is_equally_likely_to_come_first() {
        let mut strategy = Pct::new(1);
        let mut first = [0_u32; 4];
        for seed in 0..8_000 {
            strategy.begin(seed, 20);
            (1..4).for_each(|thread| strategy.thread_started(thread, 0, 0));
            let view = View {
                current: 0,
                current_enabled: true,
                enabled: &[0, 1, 2, 3],
                arrivals: None,
                pending: &[Pending::UNKNOWN; 4],
                steps: &[0; 4],
                point: 0,
                last_change: 0,
                yielded: false,
                expiry: None,
            };
            first[strategy.pick(&view)] += 1;
        }
        assert!(
            first.iter().all(|&count| (1_800..2_200).contains(&count)),
            "{first:?}"
        );
    }

    #[test]
    fn keeping_account_of_who_can_run_makes_no_difference() {
        let mut rng = Rng::new(3);
        let (mut one, mut other) = (Pct::new(9), Pct::new(9));
        for seed in 0..40 {
            let mut arrivals = Arrivals::new();
            let mut enabled = vec![0];
            let (mut current, mut count) = (0, 1);
            one.begin(seed, 400);
            other.begin(seed, 400);
            for point in 0..400 {
                for _ in 0..rng.below(4) * rng.below(8) {
                    if count < 70 && rng.below(3) == 0 {
                        one.thread_started(count, 0, 0);
                        other.thread_started(count, 0, 0);
                        count += 1;
                    }
                    let thread = rng.below(count as u64) as u16;
                    match enabled.binary_search(&thread) {
                        Err(place) => {
                            enabled.insert(place, thread);
                            arrivals.push(usize::from(thread));
                        }
                        Ok(place) if enabled.len() > 1 && rng.below(3) == 0 => {
                            enabled.remove(place);
                        }
                        Ok(_) => {}
                    }
                }
                let current_enabled = enabled.contains(&(current as u16));
                let view = View {
                    current,
                    current_enabled,
                    enabled: &enabled,
                    arrivals: None,
                    pending: &[],
                    steps: &[],
                    point,
                    last_change: 0,
                    yielded: current_enabled && rng.below(9) == 0,
                    expiry: None,
                };
                let arrivals = Some(&arrivals).filter(|_| rng.below(20) > 0);
                current = one.pick(&view);
                assert_eq!(other.pick(&View { arrivals, ..view }), current);
            }
        }
    }

    #[test]
    fn spin_loops_make_progress_and_seeds_decide_everything() {
        let program = [
            vec![
                Op::Spawn(1),
                Op::Spawn(2),
                Op::SpinUntil(0),
                Op::SpinUntil(1),
            ],
            vec![Op::SpinUntil(1), Op::Set(0)],
            vec![Op::Step, Op::Set(1)],
        ];
        let mut strategy = Pct::new(3);
        for seed in 0..200 {
            let first = run(&program, &mut strategy, seed, 12);
            assert!(!first.stuck);
            assert_eq!(run(&program, &mut strategy, seed, 12), first);
        }
    }
}
