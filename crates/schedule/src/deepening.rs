//! Exhaustive search with no preemption first, then with one, two, and so on, until everything
//! that can happen has been run: Musuvathi and Qadeer's iterative context bounding (PLDI 2007).

use crate::exhaustive::{Exhaustive, MAX_PREEMPTIONS};
use crate::experience::{Experience, Learnt};
use crate::log::Log;
use crate::strategy::{Load, Search, Strategy, View};

/// See the module's description.
pub struct Deepening {
    search: Exhaustive,
    bound: u32,
    /// What the searches before this one have covered.
    searched: Option<Search>,
    is_finished: bool,
}

impl Deepening {
    /// Nothing is searched yet.
    pub fn new() -> Self {
        Self {
            search: Exhaustive::new(0),
            bound: 0,
            searched: None,
            is_finished: false,
        }
    }
}

impl Strategy for Deepening {
    fn begin(&mut self, seed: u64, length: u64) {
        self.search.begin(seed, length);
    }

    fn thread_started(&mut self, thread: usize, parent: usize, site_key: u64) {
        self.search.thread_started(thread, parent, site_key);
    }

    fn pick(&mut self, view: &View<'_>) -> usize {
        self.search.pick(view)
    }

    fn read(&mut self, load: &Load) -> Option<usize> {
        self.search.read(load)
    }

    fn decides_time(&self) -> bool {
        self.search.decides_time()
    }

    fn set_aside(&mut self) {
        self.search.set_aside();
    }

    fn learn(&mut self) {
        self.search.learn();
        let Some(search) = self.search.searched() else {
            return;
        };
        match search {
            // Deeper searches would leave out the same.
            Search::Partial => {
                self.searched = self.searched.or(Some(search));
                self.is_finished = true;
            }
            Search::All { .. } => {
                self.searched = Some(search);
                self.is_finished = true;
            }
            Search::Complete { preemptions } => {
                self.searched = Some(search);
                self.is_finished = preemptions == MAX_PREEMPTIONS;
                if !self.is_finished {
                    self.bound = preemptions + 1;
                    self.search.search_up_to(self.bound);
                }
            }
        }
    }

    fn points_changed(&mut self) {
        self.bound = 0;
        self.search.search_up_to(0);
        self.searched = None;
        self.is_finished = false;
    }

    fn searched(&self) -> Option<Search> {
        self.searched
    }

    fn cuts_loops_short(&self) -> bool {
        self.search.cuts_loops_short()
    }

    fn is_finished(&self) -> bool {
        self.is_finished
    }

    fn progress(&self) -> Option<u32> {
        self.search.progress()
    }

    fn pass(&mut self, experience: &mut Experience<'_>) {
        self.search.pass(experience);
        self.bound.pass(experience);
        self.searched.pass(experience);
        self.is_finished.pass(experience);
    }

    fn logs(&mut self, visit: &mut dyn FnMut(&mut Log)) {
        self.search.logs(visit);
    }

    fn needs_site_keys(&self) -> bool {
        self.search.needs_site_keys()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::{Op, run};

    #[test]
    fn a_small_program_is_searched_through_and_a_larger_one_up_to_a_bound() {
        let count = [Op::Load(0), Op::Store(0)];
        let program = [
            [vec![Op::Spawn(1)], count.to_vec()].concat(),
            count.to_vec(),
        ];
        let mut strategy = Deepening::new();
        let (mut executions, mut results) = (0, std::collections::BTreeSet::new());
        while !strategy.is_finished() {
            results.insert(run(&program, &mut strategy, executions, 0).memory[0]);
            strategy.learn();
            executions += 1;
            assert!(executions < 100);
        }
        let all = Search::All { preemptions: 2 };
        assert_eq!(strategy.searched(), Some(all));
        assert_eq!(results.into_iter().collect::<Vec<_>>(), [1, 2]);

        strategy.points_changed();
        assert!(!strategy.is_finished() && strategy.searched().is_none());
        let long = [
            [vec![Op::Spawn(1)], count.repeat(6)].concat(),
            count.repeat(6),
        ];
        let mut progress = 0;
        while strategy.searched().is_none() {
            assert!(strategy.progress().is_some_and(|now| now >= progress));
            progress = strategy.progress().unwrap_or(0);
            run(&long, &mut strategy, 0, 0);
            strategy.learn();
        }
        assert_eq!(
            strategy.searched(),
            Some(Search::Complete { preemptions: 0 })
        );
        assert!(!strategy.is_finished());
    }
}
