//! The default: several strategies share the executions, and those that show something new get
//! more of them.
//!
//! Each strategy has a weight that says how well it does on programs in general: one for the first
//! executions, in which most bugs show that show at all, and one for later, when what is left is
//! what the best strategies do not find. Its share is that weight, times how often it has lately
//! shown a reads-from pair or a class of executions that
//! nobody had shown before (see [`Coverage`]), plus a part that it never loses: what no
//! strategy finds new is not over, only rare. An exhaustive search takes a small share, and if it
//! gets through, nothing is left to do.
//!
//! The strategies that learn most also learn from the first executions of the others, and from serial
//! executions before the search, in which the portfolio looks on. The very first execution is a
//! selectively uniform random walk; if nothing was learnt before, that is a random walk.
//!
//! The seed draws whose turn it is. As shares depend on what was seen, the same row of plans
//! gives the same executions.

use crate::bounded_spins::BoundedSpins;
use crate::coverage::Coverage;
use crate::deepening::Deepening;
use crate::experience::{Experience, Learnt};
use crate::log::Log;
use crate::pct::Pct;
use crate::pos::Pos;
use crate::random::Random;
use crate::reads_from::ReadsFrom;
use crate::rng::{Rng, mix};
use crate::strategy::{Load, NOBODY, Pending, Search, Strategy, TIME, View};
use crate::surw::Surw;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// A reward of one.
const ONE: u64 = 1 << 10;
/// The part of its weight that a strategy never loses.
const KEPT: u64 = ONE / 4;
/// Rewards count for about so many executions of the strategy.
const MEMORY: u64 = 16;
/// The members that look on in the first executions, and how many these are.
const WATCHERS: usize = 2;
const WATCHED: u64 = 256;
/// The member that leads the very first execution.
const FIRST: usize = 1;
/// Executions in which the first weights hold.
const EARLY: u64 = 64;
/// The member that searches. Its executions may be broken off, so that they say little about
/// how many operations there are.
const SEARCH: usize = 5;
/// Executions after which the search may end it. They cost little, and the others do not rely
/// on what the search relies on: that equivalent executions can be told.
const LEAST: u64 = 500;
/// Changes the seed, so that whose turn it is says nothing about what is drawn then.
const SALT: u64 = 0x7075_7274_666f_6c69;

/// See the module's description. Never empty.
pub struct Portfolio {
    members: Vec<Member>,
    turn: usize,
    /// The execution under way was broken off by who leads it.
    is_broken_off: bool,
    /// Another strategy leads the execution under way.
    is_watching: bool,
    /// Executions so far.
    executions: u64,
    coverage: Coverage,
    bounded_spins: BoundedSpins,
    /// Loads may read old values, which nobody searches.
    values_may_be_old: bool,
}

struct Member {
    strategy: Box<dyn Strategy>,
    /// Weights in the first executions, and later.
    weights: [u64; 2],
    /// Average reward of its executions.
    reward: u64,
}

impl Portfolio {
    /// The default portfolio.
    pub fn new() -> Self {
        let member = |weights, strategy| Member {
            strategy,
            weights,
            reward: ONE,
        };
        Self {
            members: alloc::vec![
                member(
                    [90, 62],
                    Box::new(ReadsFrom::with_two_bases()) as Box<dyn Strategy>
                ),
                member([20, 22], Box::new(Surw::new())),
                member([1, 5], Box::new(Pct::of_any_depth())),
                member([1, 3], Box::new(Pos::new())),
                member([1, 3], Box::new(Random::new())),
                member([5, 5], Box::new(Deepening::new())),
            ],
            turn: 0,
            is_broken_off: false,
            is_watching: false,
            executions: 0,
            coverage: Coverage::new(),
            bounded_spins: BoundedSpins::new(),
            values_may_be_old: false,
        }
    }

    fn current(&mut self) -> &mut dyn Strategy {
        &mut *self.members[self.turn].strategy
    }

    /// Calls the members that look on while another one leads, if there are some in this
    /// execution: who learns from all of the first executions need not begin from nothing.
    fn watchers(&mut self, mut call: impl FnMut(&mut dyn Strategy)) {
        if self.is_watching || self.executions < WATCHED && self.turn != SEARCH {
            let leads = (!self.is_watching).then_some(self.turn);
            let watchers = self.members.iter_mut().take(WATCHERS).enumerate();
            for (_, member) in watchers.filter(|(index, _)| Some(*index) != leads) {
                call(&mut *member.strategy);
            }
        }
    }

    fn draw(&self, seed: u64) -> usize {
        if self.executions == 0 {
            return FIRST;
        }
        let when = usize::from(self.executions >= EARLY);
        let share = |member: &Member| match member.strategy.is_finished() {
            true => 0,
            false => member.weights[when] * (KEPT + member.reward),
        };
        let sum = self.members.iter().map(share).sum();
        let mut drawn = Rng::new(mix(seed ^ SALT)).below(sum);
        let found = self.members.iter().position(|member| {
            let is_found = drawn < share(member);
            drawn = drawn.saturating_sub(share(member));
            is_found
        });
        found.unwrap_or(0)
    }
}

impl Strategy for Portfolio {
    fn begin(&mut self, seed: u64, length: u64) {
        self.turn = self.draw(seed);
        self.is_broken_off = false;
        self.is_watching = false;
        self.coverage.begin();
        // A search goes through all its executions in its own order.
        self.bounded_spins.begin(seed, self.turn != SEARCH);
        self.current().begin(seed, length);
        self.watchers(|watcher| watcher.begin_watching());
    }

    fn thread_started(&mut self, thread: usize, parent: usize, site_key: u64) {
        if !self.is_watching {
            self.current().thread_started(thread, parent, site_key);
        }
        self.watchers(|watcher| watcher.thread_started(thread, parent, site_key));
    }

    fn pick(&mut self, view: &View<'_>) -> usize {
        let picked = match self.bounded_spins.goes_on(view) {
            true => view.current,
            false => self.current().pick(view),
        };
        if picked == NOBODY {
            self.is_broken_off = true;
            return NOBODY;
        }
        if picked == TIME {
            return TIME;
        }
        self.coverage.step(picked, &view.pending[picked]);
        let pending = &view.pending[picked];
        self.watchers(|watcher| watcher.watch(picked, pending));
        picked
    }

    fn begin_watching(&mut self) {
        self.is_broken_off = false;
        self.is_watching = true;
        self.coverage.begin();
        self.watchers(|watcher| watcher.begin_watching());
    }

    fn watch(&mut self, thread: usize, pending: &Pending) {
        self.coverage.step(thread, pending);
        self.watchers(|watcher| watcher.watch(thread, pending));
    }

    fn read(&mut self, load: &Load) -> Option<usize> {
        self.current().read(load)
    }

    fn decides_time(&self) -> bool {
        self.members[self.turn].strategy.decides_time()
    }

    fn values_may_be_old(&mut self, may_be: bool) {
        self.values_may_be_old = may_be;
    }

    fn end(&mut self) {
        // Of an execution that is broken off it cannot be said what would have become of it.
        if !self.is_broken_off {
            self.coverage.end();
        }
        if !self.is_watching {
            self.current().end();
        }
        self.watchers(|watcher| watcher.end());
    }

    fn set_aside(&mut self) {
        self.current().set_aside();
    }

    fn learn(&mut self) {
        if self.is_watching {
            self.watchers(|watcher| watcher.learn());
            self.coverage.learn();
            return;
        }
        self.current().learn();
        self.watchers(|watcher| watcher.learn());
        self.executions += 1;
        let news = self.coverage.learn();
        let reward = match (news.pair, news.class) {
            (true, _) => ONE,
            (false, true) => ONE / 2,
            (false, false) => 0,
        };
        let average = &mut self.members[self.turn].reward;
        *average = (*average * (MEMORY - 1) + reward) / MEMORY;
    }

    fn points_changed(&mut self) {
        for member in &mut self.members {
            member.strategy.points_changed();
        }
    }

    fn searched(&self) -> Option<Search> {
        let mut members = self.members.iter();
        let searched = members.find_map(|member| member.strategy.searched());
        // The others still go on with what one of them has left out.
        searched.filter(|search| *search != Search::Partial)
    }

    fn cuts_loops_short(&self) -> bool {
        let mut members = self.members.iter();
        members.any(|member| member.strategy.cuts_loops_short())
    }

    fn is_finished(&self) -> bool {
        self.executions >= LEAST
            && !self.values_may_be_old
            && !self.cuts_loops_short()
            && matches!(self.searched(), Some(Search::All { .. }))
    }

    fn pass(&mut self, experience: &mut Experience<'_>) {
        self.executions.pass(experience);
        self.coverage.pass(experience);
        for member in &mut self.members {
            member.reward.pass(experience);
            member.reward = member.reward.min(ONE);
            member.strategy.pass(experience);
        }
    }

    fn logs(&mut self, visit: &mut dyn FnMut(&mut Log)) {
        visit(self.coverage.log());
        for member in &mut self.members {
            member.strategy.logs(visit);
        }
    }

    fn needs_site_keys(&self) -> bool {
        // Every operation counts.
        true
    }
}

#[cfg(test)]
#[path = "portfolio_tests.rs"]
mod tests;
