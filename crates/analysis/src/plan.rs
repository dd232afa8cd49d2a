//! From a potential violation to the order of events that shows it (the paper's section 4.2).
//!
//! The accesses have to come in the order of the pattern. After the first access of a window its
//! unit is held, at once if its vulnerable window lockset is empty, else as soon as it has given
//! up the locks in it. The other unit, should it come first, is held before it acquires what the
//! first one needs on its way.
//!
//! An event is known by its thread, its site and its occurrence there ([`Aim::Same`]), which leads
//! to the very accesses of the trace, or by its site and its relation to the events before
//! ([`Aim::Any`]). A plan knows no calling contexts; whether what happened is what was meant is for
//! [`crate::monitor`] to say.

use crate::patterns::Who;
use crate::predict::{Unit, Violation};
use raddle_abi::plan::{
    ANY_OCCURRENCE, ANY_THREAD, EventAnchor, NO_EVENT, Relation, Rule, RuleKind, ThreadAnchor,
};
use raddle_trace::event::{Action, Location, LockStep, ThreadId, Trace};

/// Which accesses are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// Those of the trace.
    Same,
    /// Any at the same sites.
    Any,
}

/// Events and rules of a directed plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Names of threads.
    pub threads: Vec<ThreadAnchor>,
    /// The accesses in the order of the pattern, then what is done with locks.
    pub events: Vec<EventAnchor>,
    /// What comes before what, and who is held.
    pub rules: Vec<Rule>,
}

/// The order that shows a violation, if the sites of its accesses are known.
pub fn order(violation: &Violation, trace: &Trace, aim: Aim) -> Option<Order> {
    let mut builder = Builder {
        violation,
        trace,
        aim,
        order: Order::default(),
        given_up: Vec::new(),
    };
    if aim == Aim::Same {
        builder.order.threads = thread_anchors(trace);
    }
    for index in 0..violation.accesses.len() {
        builder.access(index)?;
    }
    for later in 1..violation.accesses.len() {
        builder.rule(RuleKind::Before, 0, later - 1, later);
    }
    builder.hold(Who::U);
    builder.hold(Who::V);
    builder.keep_out();
    Some(builder.order)
}

/// Names threads as the trace does. Those that were there from the start need none.
fn thread_anchors(trace: &Trace) -> Vec<ThreadAnchor> {
    let threads = trace.threads.iter().enumerate();
    let started = threads.filter_map(|(index, name)| {
        Some(ThreadAnchor {
            thread: index as u16,
            parent: name.parent?.0,
            occurrence: name.occurrence,
            site_key: name.site_key,
        })
    });
    started.collect()
}

struct Builder<'a> {
    violation: &'a Violation,
    trace: &'a Trace,
    aim: Aim,
    order: Order,
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

    fn key(&self, at: u32) -> Option<u64> {
        let site = self.trace.events[at as usize].site?;
        let key = self.trace.sites.get(site.0 as usize)?.key;
        (key != 0).then_some(key)
    }

    /// How often the thread did the same at this site earlier.
    fn occurrence(&self, at: u32, key: u64) -> u32 {
        let event = &self.trace.events[at as usize];
        let kind = |action: &Action| match action {
            Action::Lock { step, .. } => Some(*step),
            _ => None,
        };
        let earlier = self.trace.events[..at as usize].iter().enumerate();
        let same = earlier.filter(|(index, other)| {
            other.thread == event.thread
                && kind(&other.action) == kind(&event.action)
                && self.key(*index as u32) == Some(key)
        });
        same.count() as u32
    }

    /// Where a thread stands before it acquires or releases a lock: at the atomic operation on the
    /// lock's word, which comes before the one and after the other, or at the call.
    fn step_of(&self, at: u32) -> u32 {
        let event = &self.trace.events[at as usize];
        let Action::Lock { step, lock, .. } = event.action else {
            return at;
        };
        let is_own = |index: &usize| self.trace.events[*index].thread == event.thread;
        let neighbour = match step {
            LockStep::Release => (at as usize + 1..self.trace.events.len()).find(is_own),
            _ => (0..at as usize).rev().find(is_own),
        };
        let is_word = |index: &usize| {
            matches!(self.trace.events[*index].action, Action::Access { access, location, .. }
                if access.is_atomic() && location.object == lock.object)
        };
        neighbour.filter(is_word).map_or(at, |index| index as u32)
    }

    fn anchor(&self, at: u32) -> Option<EventAnchor> {
        let at = self.step_of(at);
        let site_key = self.key(at)?;
        let (thread, occurrence) = match self.aim {
            Aim::Same => {
                let thread = self.trace.events[at as usize].thread;
                (thread.0, self.occurrence(at, site_key))
            }
            Aim::Any => (ANY_THREAD, ANY_OCCURRENCE),
        };
        Some(EventAnchor {
            thread,
            relation: Relation::None as u16,
            occurrence,
            site_key,
            related: NO_EVENT,
            object: NO_EVENT,
        })
    }

    /// An anchor of a unit; with [`Aim::Any`], it is told by the first access of the pattern.
    fn anchor_of(&self, at: u32, who: Who) -> Option<EventAnchor> {
        let anchor = self.anchor(at)?;
        let relation = match who {
            Who::U => Relation::SameThread,
            Who::V => Relation::OtherThread,
        };
        Some(match self.aim {
            Aim::Same => anchor,
            Aim::Any => EventAnchor {
                relation: relation as u16,
                related: 0,
                ..anchor
            },
        })
    }

    /// Adds an access of the pattern.
    fn access(&mut self, index: usize) -> Option<()> {
        let accesses = &self.violation.accesses;
        let at = accesses[index].at;
        let mut anchor = match index {
            0 => self.anchor(at)?,
            _ => self.anchor_of(at, accesses[index].who)?,
        };
        if self.aim == Aim::Any {
            let steps = self.violation.pattern.steps;
            // Two steps of the other unit are of the same thread.
            let before = steps[..index].iter().position(|step| step.who == Who::V);
            if let Some(before) = before
                && steps[index].who == Who::V
            {
                anchor.relation = Relation::SameThread as u16;
                anchor.related = before as u32;
            }
            let place = self.touched(at);
            let same = (0..index).find(|other| self.touched(accesses[*other].at) == place);
            anchor.object = same.map_or(NO_EVENT, |other| other as u32);
        }
        self.order.events.push(anchor);
        Some(())
    }

    fn touched(&self, at: u32) -> Option<Location> {
        match self.trace.events[at as usize].action {
            Action::Access { location, .. } => Some(location),
            _ => None,
        }
    }

    fn rule(&mut self, kind: RuleKind, hold: u32, event: usize, then: usize) {
        self.order.rules.push(Rule {
            kind: kind as u32,
            hold,
            event: event as u32,
            then: then as u32,
        });
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
        self.rule(RuleKind::Hold, number, first, 0);
        for lock in vwls {
            let released = self.next(thread, from, lock, LockStep::Release);
            if let Some(anchor) = released.and_then(|at| self.anchor_of(at, who)) {
                self.order.events.push(anchor);
                let event = self.order.events.len() - 1;
                self.rule(RuleKind::Hold, number, event, 0);
                if who == Who::U {
                    self.given_up.push((lock, event));
                }
            }
        }
        self.rule(RuleKind::Until, number, until, 0);
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
            let acquired = self.last(thread, at, lock, LockStep::Acquire);
            let Some(anchor) = acquired.and_then(|at| self.anchor_of(at, Who::V)) else {
                continue;
            };
            // The units may acquire it at the same site: then nothing tells them apart.
            let is_ambiguous = self.aim == Aim::Any
                && self
                    .last(
                        self.violation.u.thread,
                        accesses[0].at,
                        lock,
                        LockStep::Acquire,
                    )
                    .and_then(|at| self.key(self.step_of(at)))
                    == Some(anchor.site_key);
            if !is_ambiguous {
                self.order.events.push(anchor);
                let event = self.order.events.len() - 1;
                let given_up = self.given_up.iter().find(|(given, _)| *given == lock);
                let before = given_up.map_or(0, |(_, released)| *released);
                self.rule(RuleKind::Before, 0, before, event);
            }
        }
    }

    fn is_step(&self, at: usize, thread: ThreadId, lock: Location, step: LockStep) -> bool {
        let event = &self.trace.events[at];
        let is_step = matches!(&event.action, Action::Lock { step: other, lock: place, .. }
            if *other == step && *place == lock);
        is_step && event.thread == thread
    }

    fn next(&self, thread: ThreadId, from: u32, lock: Location, step: LockStep) -> Option<u32> {
        let mut later = from as usize + 1..self.trace.events.len();
        let found = later.find(|at| self.is_step(*at, thread, lock, step))?;
        Some(found as u32)
    }

    fn last(&self, thread: ThreadId, before: u32, lock: Location, step: LockStep) -> Option<u32> {
        let found = (0..before as usize).rfind(|at| self.is_step(*at, thread, lock, step))?;
        Some(found as u32)
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
