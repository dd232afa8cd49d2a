//! Selectively uniform random walk: Zhao, Wolff, Mathur and Roychoudhury, "Selectively Uniform
//! Concurrency Testing" (ASPLOS 2025).
//!
//! Some operations are of interest. Which thread does the next one of these is drawn in
//! proportion to how many each still has to do, which makes every order of them about equally
//! likely; the others wait before theirs until it is done, and in between anybody runs. A thread
//! that has not been started counts for the one that will start it.
//!
//! Deviations from the paper:
//! 1. Of interest are, by the seed, the operations on one object that several threads touch,
//!    or those on all of them.
//! 2. How many there are is taken from executions before (see [`Strategy::learn`]): the first
//!    ones of a search, and ever fewer later. Until then it is a random walk. The same row of
//!    plans gives the same executions.

use crate::experience::{Experience, Learnt};
use crate::log::Log;
use crate::rng::Rng;
use crate::strategy::{Pending, Strategy, View};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Objects known at most.
const MOST: usize = 4096;

/// See the module's description.
pub struct Surw {
    rng: Rng,
    log: Log,
    /// Executions learnt from or not, so far.
    executions: u64,
    /// What threads do, by object: thread and number of operations.
    profile: BTreeMap<usize, Vec<(u16, u32)>>,
    /// Who starts each thread.
    parents: Vec<u16>,
    /// The execution under way: what is of interest.
    selected: Selected,
    /// Operations of interest that each thread and those it will start still have to do.
    left: Vec<u32>,
    /// Who does the next one.
    intended: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Selected {
    Nothing,
    One(usize),
    All,
}

/// Words of the log: a thread in the upper half, an object or a parent below.
mod word {
    pub const THREAD: u32 = 48;
    /// The word tells who started the thread, and not what it did.
    pub const STARTED: u64 = 1 << 47;
}

fn object(pending: &Pending) -> Option<usize> {
    (pending.address != 0).then_some(pending.address)
}

fn add(left: &mut Vec<u32>, thread: usize, operations: u32) {
    if left.len() <= thread {
        left.resize(thread + 1, 0);
    }
    left[thread] = left[thread].saturating_add(operations);
}

impl Surw {
    /// A selectively uniform random walk.
    pub const fn new() -> Self {
        Self {
            rng: Rng::new(0),
            log: Log::new(),
            executions: 0,
            profile: BTreeMap::new(),
            parents: Vec::new(),
            selected: Selected::Nothing,
            left: Vec::new(),
            intended: None,
        }
    }

    /// Whether the execution under way is learnt from.
    const fn is_profiled(&self) -> bool {
        self.executions.is_power_of_two() || self.executions == 0
    }

    fn is_selected(&self, pending: &Pending) -> bool {
        match (self.selected, object(pending)) {
            (Selected::One(selected), Some(object)) => selected == object,
            (Selected::All, Some(object)) => self.profile.contains_key(&object),
            _ => false,
        }
    }

    /// Draws what is of interest, and counts it.
    fn select(&mut self) {
        self.left.clear();
        let count = self.profile.len() as u64;
        let drawn = self.rng.below(count + 1) as usize;
        self.selected = match self.profile.keys().nth(drawn) {
            Some(&object) => Selected::One(object),
            None if count > 0 => Selected::All,
            None => Selected::Nothing,
        };
        for (&object, threads) in &self.profile {
            if matches!(self.selected, Selected::One(selected) if selected != object) {
                continue;
            }
            for &(thread, operations) in threads {
                // It counts for the first of its ancestors that is there: for thread 0.
                let mut thread = usize::from(thread);
                while let Some(&parent) = self.parents.get(thread).filter(|_| thread != 0) {
                    add(&mut self.left, thread, operations);
                    thread = usize::from(parent).min(thread - 1);
                }
                add(&mut self.left, thread, operations);
            }
        }
    }

    /// Draws who does the next operation of interest, of those who can run.
    fn intend(&mut self, view: &View<'_>) {
        let left = |thread: usize| u64::from(self.left.get(thread).copied().unwrap_or(0));
        let threads = || (0..view.candidates()).map(|index| view.candidate(index));
        let sum: u64 = threads().map(left).sum();
        let mut drawn = self.rng.below(sum);
        self.intended = threads().find(|&thread| {
            let found = drawn < left(thread);
            drawn = drawn.saturating_sub(left(thread));
            found
        });
    }

    fn note(&mut self, thread: usize, pending: &Pending) {
        if let Some(object) = object(pending)
            && self.is_profiled()
        {
            let object = object as u64 & (word::STARTED - 1);
            self.log.push((thread as u64) << word::THREAD | object);
        }
    }
}

impl Strategy for Surw {
    fn begin(&mut self, seed: u64, _length: u64) {
        self.begin_watching();
        self.rng = Rng::new(seed);
        self.select();
    }

    fn begin_watching(&mut self) {
        self.log.clear();
        self.left.clear();
        self.selected = Selected::Nothing;
        self.intended = None;
    }

    fn watch(&mut self, thread: usize, pending: &Pending) {
        self.note(thread, pending);
    }

    fn thread_started(&mut self, thread: usize, parent: usize, _site_key: u64) {
        if self.is_profiled() {
            let word = (thread as u64) << word::THREAD | word::STARTED | parent as u64;
            self.log.push(word);
        }
        let own = self.left.get(thread).copied().unwrap_or(0);
        if let Some(left) = self.left.get_mut(parent) {
            // Until now, the one was drawn for both.
            let is_for_child = self.rng.below(u64::from(*left)) < u64::from(own);
            *left = left.saturating_sub(own);
            if self.intended == Some(parent) && is_for_child {
                self.intended = Some(thread);
            }
        }
    }

    fn pick(&mut self, view: &View<'_>) -> usize {
        let candidates = view.candidates();
        // Who spins may wait for one who waits for its turn.
        let is_waiting =
            |thread: usize| !view.is_enabled(thread) || (view.yielded && thread == view.current);
        if self.intended.is_none_or(is_waiting) {
            self.intend(view);
        }
        let intended = self.intended;
        let mut rng = self.rng.clone();
        let may_run =
            |thread: usize| Some(thread) == intended || !self.is_selected(&view.pending[thread]);
        let threads = || (0..candidates).map(|index| view.candidate(index));
        let free = threads().filter(|&thread| may_run(thread)).count();
        let picked = match free {
            0 => view.candidate(rng.below(candidates as u64) as usize),
            _ => {
                let index = rng.below(free as u64) as usize;
                let picked = threads().filter(|&thread| may_run(thread)).nth(index);
                picked.unwrap_or_else(|| view.candidate(0))
            }
        };
        self.rng = rng;
        let pending = &view.pending[picked];
        if self.is_selected(pending) {
            if let Some(left) = self.left.get_mut(picked) {
                *left = left.saturating_sub(1);
            }
            self.intended = None;
        }
        self.note(picked, pending);
        picked
    }

    fn learn(&mut self) {
        if self.is_profiled() && self.log.get(0).is_some() {
            self.profile.clear();
            let mut index = 0;
            while let Some(word) = self.log.get(index) {
                index += 1;
                let thread = (word >> word::THREAD) as u16;
                let rest = word & ((1 << word::THREAD) - 1);
                if rest & word::STARTED != 0 {
                    if self.parents.len() <= usize::from(thread) {
                        self.parents.resize(usize::from(thread) + 1, 0);
                    }
                    self.parents[usize::from(thread)] = (rest & !word::STARTED) as u16;
                    continue;
                }
                if self.profile.len() == MOST && !self.profile.contains_key(&(rest as usize)) {
                    continue;
                }
                let threads = self.profile.entry(rest as usize).or_default();
                match threads.iter_mut().find(|entry| entry.0 == thread) {
                    Some(entry) => entry.1 += 1,
                    None => threads.push((thread, 1)),
                }
            }
            self.profile.retain(|_, threads| threads.len() > 1);
        }
        self.log.clear();
        self.executions += 1;
    }

    fn pass(&mut self, experience: &mut Experience<'_>) {
        self.executions.pass(experience);
        self.profile.pass(experience);
        self.parents.pass(experience);
    }

    fn logs(&mut self, visit: &mut dyn FnMut(&mut Log)) {
        visit(&mut self.log);
    }

    fn needs_site_keys(&self) -> bool {
        // Every operation counts.
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::simulator::{Op, row};
    use std::collections::HashMap;

    /// How often each order of the threads' operations on a variable was seen.
    fn orders(
        strategy: &mut dyn Strategy,
        program: &[Vec<Op>],
        seeds: u64,
    ) -> HashMap<Vec<usize>, u32> {
        let mut orders: HashMap<Vec<usize>, u32> = HashMap::new();
        for run in row(program, strategy, 0..seeds) {
            let is_store = |&&(thread, index): &&(usize, usize)| {
                matches!(program[thread][index], Op::Store(_))
            };
            let order = run
                .order
                .iter()
                .filter(is_store)
                .map(|step| step.0)
                .collect();
            *orders.entry(order).or_default() += 1;
        }
        orders
    }

    #[test]
    fn every_order_of_what_is_of_interest_is_about_equally_likely() {
        // Five stores against one: a random walk nearly always puts the one early.
        let program = [
            vec![Op::Spawn(1), Op::Spawn(2)],
            [vec![Op::Store(0); 5], vec![Op::Step; 3]].concat(),
            [vec![Op::Step; 2], vec![Op::Store(0)]].concat(),
        ];
        let walked = orders(&mut Surw::new(), &program, 6_000);
        assert_eq!(walked.len(), 6);
        for (order, count) in &walked {
            assert!((700..1_300).contains(count), "{order:?}: {count}");
        }
        let random = orders(&mut Random::new(), &program, 6_000);
        let late = [1, 1, 1, 1, 1, 2];
        let rare = *random.values().min().unwrap();
        assert!(rare < 500, "{rare} {:?}", random.get(&late[..]));
    }

    #[test]
    fn threads_that_others_start_count_for_them() {
        // Thread 2 is started late, by thread 1, and has nearly everything to do.
        let program = [
            vec![Op::Spawn(1), Op::Store(0)],
            vec![Op::Spawn(2)],
            vec![Op::Store(0); 4],
        ];
        let walked = orders(&mut Surw::new(), &program, 5_000);
        assert_eq!(walked.len(), 5);
        for (order, count) in &walked {
            assert!((700..1_300).contains(count), "{order:?}: {count}");
        }
    }

    #[test]
    fn spin_loops_make_progress_and_the_row_of_seeds_decides_everything() {
        let program = [
            vec![Op::Spawn(1), Op::Spawn(2), Op::SpinUntil(0)],
            vec![Op::SpinUntil(1), Op::Lock(0), Op::Set(0), Op::Unlock(0)],
            vec![Op::Lock(0), Op::Set(1), Op::Unlock(0)],
        ];
        let row = || row(&program, &mut Surw::new(), 0..200);
        assert_eq!(row(), row());
    }
}
