//! The order that shows a violation of an atomic set (the paper's section 4.2).
//!
//! The accesses have to come in the order of the pattern. After the first access of a window its
//! unit is held, at once if its vulnerable window lockset is empty, else as soon as it has given
//! up the locks in it. The other unit, should it come first, is held before it acquires what the
//! first one needs on its way.

use super::{Aim, Draft, Order};
use crate::patterns::Who;
use crate::predict::{Unit, Violation};
use raddle_abi::plan::{EventAnchor, NO_EVENT, Relation, RuleKind};
use raddle_trace::event::{Action, Location, LockStep, Trace};

/// The order that shows a violation, if the sites of its accesses are known.
pub fn order(violation: &Violation, trace: &Trace, aim: Aim) -> Option<Order> {
    let mut builder = Builder {
        violation,
        draft: Draft::new(trace, aim),
        events: Vec::new(),
        given_up: Vec::new(),
    };
    for index in 0..violation.accesses.len() {
        builder.access(index)?;
    }
    for later in 1..builder.draft.order.events.len() {
        builder.draft.rule(RuleKind::Before, 0, later - 1, later);
    }
    builder.hold(Who::U);
    builder.hold(Who::V);
    builder.keep_out();
    Some(builder.draft.order)
}

struct Builder<'a> {
    violation: &'a Violation,
    draft: Draft<'a>,
    /// The event of each access: a wide one is two accesses in one event.
    events: Vec<usize>,
    /// Locks that `u` gives up in its window, and the events in which it does.
    given_up: Vec<(Location, usize)>,
}

impl Builder<'_> {
    fn unit(&self, who: Who) -> &Unit {
        match who {
            Who::U => &self.violation.u,
            Who::V => &self.violation.v,
        }
    }

    /// An anchor of a unit; with [`Aim::Any`], it is told by the first access of the pattern.
    fn anchor_of(&self, at: u32, who: Who) -> Option<EventAnchor> {
        let relation = match who {
            Who::U => Relation::SameThread,
            Who::V => Relation::OtherThread,
        };
        self.draft.related(at, relation, 0)
    }

    /// Adds an access of the pattern.
    fn access(&mut self, index: usize) -> Option<()> {
        let accesses = &self.violation.accesses;
        let at = accesses[index].at;
        if let Some(before) = index.checked_sub(1)
            && accesses[before].at == at
        {
            self.events.push(self.events[before]);
            return Some(());
        }
        let mut anchor = match index {
            0 => self.draft.anchor(at)?,
            _ => self.anchor_of(at, accesses[index].who)?,
        };
        if self.draft.aim == Aim::Any {
            let steps = self.violation.pattern.steps;
            // Two steps of the other unit are of the same thread.
            let before = steps[..index].iter().position(|step| step.who == Who::V);
            if let Some(before) = before
                && steps[index].who == Who::V
            {
                anchor.relation = Relation::SameThread as u16;
                anchor.related = self.events[before] as u32;
            }
            let place = self.touched(at);
            let same = (0..index).find(|other| self.touched(accesses[*other].at) == place);
            anchor.object = same.map_or(NO_EVENT, |other| self.events[other] as u32);
        }
        let event = self.draft.push(anchor);
        self.events.push(event);
        Some(())
    }

    fn touched(&self, at: u32) -> Option<Location> {
        match self.draft.trace.events[at as usize].action {
            Action::Access { location, .. } => Some(location),
            _ => None,
        }
    }

    /// Holds a unit in its window, if it has one.
    fn hold(&mut self, who: Who) {
        let steps = self.violation.pattern.steps;
        let own: Vec<_> = (0..steps.len())
            .filter(|index| steps[*index].who == who)
            .collect();
        let (first, last) = (own[0], own[own.len() - 1]);
        let inside = (first + 1..last).rfind(|index| steps[*index].who != who);
        let Some(until) = inside else { return };
        let number = if who == Who::U { 1 } else { 2 };
        let vwls = self.unit(who).vwls.clone();
        let thread = self.unit(who).thread;
        let from = self.violation.accesses[first].at;
        self.draft
            .rule(RuleKind::Hold, number, self.events[first], 0);
        for lock in vwls {
            let released = self.draft.next(thread, from, lock, LockStep::Release);
            if let Some(anchor) = released.and_then(|at| self.anchor_of(at, who)) {
                let event = self.draft.push(anchor);
                self.draft.rule(RuleKind::Hold, number, event, 0);
                if who == Who::U {
                    self.given_up.push((lock, event));
                }
            }
        }
        self.draft
            .rule(RuleKind::Until, number, self.events[until], 0);
    }

    /// Lets the other unit acquire nothing that the first one needs, before that is where it has
    /// to be.
    fn keep_out(&mut self) {
        let accesses = &self.violation.accesses;
        let Some(first) = accesses.iter().find(|access| access.who == Who::V) else {
            return;
        };
        let needed = &accesses[0].holding;
        let locks: Vec<_> = first
            .holding
            .iter()
            .filter(|lock| needed.contains(lock))
            .copied()
            .collect();
        let (at, thread) = (first.at, self.violation.v.thread);
        for lock in locks {
            let acquired = self.draft.last(thread, at, lock, LockStep::Acquire);
            let Some(anchor) = acquired.and_then(|at| self.anchor_of(at, Who::V)) else {
                continue;
            };
            // The units may acquire it at the same site: then nothing tells them apart.
            let own = self.violation.u.thread;
            let is_ambiguous = self.draft.aim == Aim::Any
                && self
                    .draft
                    .last(own, accesses[0].at, lock, LockStep::Acquire)
                    .and_then(|at| self.draft.key(self.draft.step_of(at)))
                    == Some(anchor.site_key);
            if !is_ambiguous {
                let event = self.draft.push(anchor);
                let given_up = self.given_up.iter().find(|(given, _)| *given == lock);
                let before = given_up.map_or(0, |(_, released)| *released);
                self.draft.rule(RuleKind::Before, 0, before, event);
            }
        }
    }
}

#[cfg(test)]
#[path = "violation_tests.rs"]
mod tests;
