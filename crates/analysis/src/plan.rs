//! From something predicted to the order of events that shows it, one file per kind of prediction.
//!
//! An event is known by its thread, its site and its occurrence there ([`Aim::Same`]), which leads
//! to the very events of the trace, or by its site and its relation to the events before
//! ([`Aim::Any`]). A plan knows no calling contexts; whether what happened is what was meant is for
//! [`crate::monitor`] and the oracles to say.

pub mod lock_order;
pub mod lock_pattern;
pub mod race;
mod violation;

pub use violation::order;

use raddle_abi::plan::{
    ANY_OCCURRENCE, ANY_THREAD, EventAnchor, NO_EVENT, Relation, Rule, RuleKind, ThreadAnchor,
};
use raddle_trace::event::{Action, Location, LockStep, ThreadId, Trace};

/// Which events are meant.
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
    /// What was predicted, in its order, then what is done with locks on the way.
    pub events: Vec<EventAnchor>,
    /// What comes before what, and who is held.
    pub rules: Vec<Rule>,
}

/// An order that is being made.
struct Draft<'a> {
    trace: &'a Trace,
    aim: Aim,
    order: Order,
}

impl<'a> Draft<'a> {
    fn new(trace: &'a Trace, aim: Aim) -> Self {
        let threads = match aim {
            Aim::Same => thread_anchors(trace),
            Aim::Any => Vec::new(),
        };
        Self {
            trace,
            aim,
            order: Order {
                threads,
                ..Order::default()
            },
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

    /// An anchor whose thread, with [`Aim::Any`], is told by an event before it.
    fn related(&self, at: u32, relation: Relation, event: usize) -> Option<EventAnchor> {
        let anchor = self.anchor(at)?;
        Some(match self.aim {
            Aim::Same => anchor,
            Aim::Any => EventAnchor {
                relation: relation as u16,
                related: event as u32,
                ..anchor
            },
        })
    }

    /// Adds an event.
    fn push(&mut self, anchor: EventAnchor) -> usize {
        self.order.events.push(anchor);
        self.order.events.len() - 1
    }

    fn rule(&mut self, kind: RuleKind, hold: u32, event: usize, then: usize) {
        self.order.rules.push(Rule {
            kind: kind as u32,
            hold,
            event: event as u32,
            then: then as u32,
        });
    }

    fn is_step(&self, at: usize, thread: ThreadId, lock: Location, step: LockStep) -> bool {
        let event = &self.trace.events[at];
        let is_step = matches!(&event.action, Action::Lock { step: other, lock: place, .. }
            if *other == step && *place == lock);
        is_step && event.thread == thread
    }

    /// The next time that a thread does something with a lock.
    fn next(&self, thread: ThreadId, from: u32, lock: Location, step: LockStep) -> Option<u32> {
        let mut later = from as usize + 1..self.trace.events.len();
        let found = later.find(|at| self.is_step(*at, thread, lock, step))?;
        Some(found as u32)
    }

    /// The last time before.
    fn last(&self, thread: ThreadId, before: u32, lock: Location, step: LockStep) -> Option<u32> {
        let found = (0..before as usize).rfind(|at| self.is_step(*at, thread, lock, step))?;
        Some(found as u32)
    }
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

#[cfg(test)]
mod testing;
