//! Runs two units of work one wholly after the other.
//!
//! The first four events of the plan are bounds: where the thread of the first unit stands before
//! it begins and after it has ended, and the same of the second one. A fifth one says how many picks
//! another strategy makes before that, usually a replay of the schedule up to there. Then both
//! threads get to where their units begin, each waiting there for the other; a thread that does
//! not exist yet is reached through those that will start it. Then the first unit runs alone to its
//! end, and the second one after it. Other threads run only while the one whose turn it is cannot.
//!
//! With a rule the first unit does not wait for the second one to get ready.
//!
//! Where only threads that wait here can run, or the one whose turn it is spins for long, the
//! order is given up and [`Strategy::released`] counts it. Whether the units came one after the
//! other in the end is for those to say who look at a recording: what a unit does, and so where it
//! ends, depends on what it reads.

use crate::passes::Passes;
use crate::strategy::{Load, Strategy, View};
use crate::thread_names::ThreadNames;
use alloc::boxed::Box;
use alloc::vec::Vec;
use raddle_abi::plan::{EventAnchor, ThreadAnchor};
use raddle_abi::site::Operation;

/// Yields of the thread whose turn it is after which the order is given up.
const MAX_YIELDS: u32 = 256;
/// Picks in one stage after which the order is given up.
const MAX_PICKS: u32 = 1 << 14;

/// See the module's description.
pub struct UnitOrder {
    base: Box<dyn Strategy>,
    /// Beginning and end of each unit.
    units: Vec<[EventAnchor; 2]>,
    /// Picks that `base` makes before units are led to where they begin.
    beginning: u64,
    /// Whether the first unit waits until the second one can begin.
    gathers: bool,
    threads: ThreadNames,
    passes: Passes,
    stage: Stage,
    yields: u32,
    picks: u32,
    released: u32,
    /// Scratch: the threads that may run.
    free: Vec<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Both threads get to where their units begin.
    Gather,
    /// This unit has its turn.
    Unit(usize),
    /// Nothing is left to be ordered.
    Free,
}

impl UnitOrder {
    /// Orders the units between the first four of `bounds`, of threads that `anchors` name, after the
    /// picks that the fifth one counts. Without two units, `base` picks everywhere.
    pub fn new(
        base: Box<dyn Strategy>,
        anchors: &[ThreadAnchor],
        bounds: &[EventAnchor],
        gathers: bool,
    ) -> Self {
        let units = bounds.chunks_exact(2).take(2);
        let units: Vec<_> = units.map(|bounds| [bounds[0], bounds[1]]).collect();
        Self {
            base,
            beginning: bounds.get(4).map_or(0, |from| from.occurrence.into()),
            gathers,
            threads: ThreadNames::new(anchors),
            passes: Passes::of(units.as_flattened().iter().map(|bound| bound.site_key)),
            units,
            stage: Stage::Gather,
            yields: 0,
            picks: 0,
            released: 0,
            free: Vec::new(),
        }
    }

    fn thread(&self, unit: usize) -> usize {
        usize::from(self.threads.actual(self.units[unit][0].thread))
    }

    /// Whether a thread stands before this step, or has passed it.
    fn has_reached(&self, bound: &EventAnchor, view: &View<'_>) -> bool {
        let thread = usize::from(self.threads.actual(bound.thread));
        if bound.site_key == 0 {
            let steps = view.steps.get(thread);
            return steps.is_some_and(|steps| *steps >= bound.occurrence);
        }
        let passed = self.passes.count(thread, bound.site_key);
        let stands = view.site_key(thread) == bound.site_key;
        passed > bound.occurrence || (stands && passed == bound.occurrence)
    }

    fn is_ready(&self, unit: usize, view: &View<'_>) -> bool {
        self.has_reached(&self.units[unit][0], view)
    }

    fn has_ended(&self, unit: usize, view: &View<'_>) -> bool {
        let pending = view.pending.get(self.thread(unit));
        let is_over = pending.is_some_and(|pending| pending.operation == Operation::Exit);
        is_over || self.has_reached(&self.units[unit][1], view)
    }

    /// Whether a thread waits for its turn.
    fn waits(&self, thread: usize, view: &View<'_>) -> bool {
        let is_of = |unit: usize| self.thread(unit) == thread;
        match self.stage {
            Stage::Gather => (0..2).any(|unit| is_of(unit) && self.is_ready(unit, view)),
            Stage::Unit(0) => is_of(1) && self.is_ready(1, view),
            Stage::Unit(_) => is_of(0),
            Stage::Free => false,
        }
    }

    fn enter(&mut self, stage: Stage) {
        self.stage = stage;
        (self.yields, self.picks) = (0, 0);
    }

    fn give_up(&mut self) {
        self.released += 1;
        self.enter(Stage::Free);
    }

    /// Goes on to the stage that this point belongs to.
    fn advance(&mut self, view: &View<'_>) {
        if self.stage == Stage::Gather {
            let is_second_awaited = self.gathers && !self.is_ready(1, view);
            if self.is_ready(0, view) && !is_second_awaited {
                self.enter(Stage::Unit(0));
            }
        }
        if self.stage == Stage::Unit(0) && self.has_ended(0, view) {
            self.enter(Stage::Unit(1));
        }
        if self.stage == Stage::Unit(1) && self.has_ended(1, view) {
            self.enter(Stage::Free);
        }
    }

    /// The thread that should run if it can: the one whose turn it is, or the one that is waited
    /// for; while that does not exist, the one that it descends from.
    fn wanted(&self, view: &View<'_>) -> Option<usize> {
        let unit = match self.stage {
            Stage::Gather => {
                let mut missing = (0..2).filter(|unit| !self.is_ready(*unit, view));
                missing.next().filter(|_| view.point >= self.beginning)?
            }
            Stage::Unit(unit) => unit,
            Stage::Free => return None,
        };
        let recorded = self.units[unit][0].thread;
        let mut line =
            core::iter::successors(Some(recorded), |thread| self.threads.parent(*thread));
        let living = line.find(|thread| self.threads.is_started(*thread))?;
        Some(usize::from(self.threads.actual(living)))
    }

    fn choose(&mut self, view: &View<'_>) -> usize {
        self.advance(view);
        if self.stage == Stage::Free {
            return self.base.pick(view);
        }
        let wanted = self.wanted(view);
        if let Some(wanted) = wanted {
            self.picks += 1;
            let has_yielded = view.yielded && view.current == wanted;
            self.yields += u32::from(has_yielded);
            if self.picks > MAX_PICKS || self.yields > MAX_YIELDS {
                self.give_up();
                return self.base.pick(view);
            }
            if view.is_enabled(wanted) && !has_yielded && !self.waits(wanted, view) {
                return wanted;
            }
        }
        let mut free = core::mem::take(&mut self.free);
        free.clear();
        let threads = view.enabled.iter().copied();
        free.extend(threads.filter(|thread| !self.waits(usize::from(*thread), view)));
        self.free = free;
        if self.free.len() == view.enabled.len() {
            return self.base.pick(view);
        }
        if !self.free.is_empty() {
            return self.base.pick(&view.among(&self.free));
        }
        match self.stage {
            // The other one gets ready only through what this one does.
            Stage::Gather => {
                self.enter(Stage::Unit(0));
                self.choose(view)
            }
            _ => {
                self.give_up();
                self.base.pick(view)
            }
        }
    }
}

impl Strategy for UnitOrder {
    fn begin(&mut self, seed: u64, length: u64) {
        self.base.begin(seed, length);
        self.threads.begin();
        self.passes.clear();
        self.released = 0;
        self.enter(match self.units.len() {
            2 => Stage::Gather,
            _ => Stage::Free,
        });
    }

    fn thread_started(&mut self, thread: usize, parent: usize, site_key: u64) {
        self.threads.started(thread, parent, site_key);
        self.base.thread_started(thread, parent, site_key);
    }

    fn pick(&mut self, view: &View<'_>) -> usize {
        let picked = self.choose(view);
        self.passes.note(picked, view.site_key(picked));
        picked
    }

    fn read(&mut self, load: &Load) -> Option<usize> {
        self.base.read(load)
    }

    fn decides_time(&self) -> bool {
        // A schedule that is replayed says when time advances, and nothing else does.
        true
    }

    fn end(&mut self) {
        self.base.end();
    }

    fn diverged(&self) -> Option<usize> {
        let is_done = self.stage == Stage::Free && self.released == 0;
        (!is_done).then_some(0)
    }

    fn released(&self) -> Option<u32> {
        Some(self.released)
    }

    fn needs_site_keys(&self) -> bool {
        true
    }

    fn needs_operations(&self) -> bool {
        // The bounds are steps of an execution that was asked everywhere.
        true
    }
}

#[cfg(test)]
#[path = "unit_order_tests.rs"]
mod tests;
