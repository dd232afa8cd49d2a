//! Whether the accesses of two units can happen in the order of a pattern, and which locks have
//! to be let go for it.
//!
//! `F_RHB`: nothing that relaxed happens-before orders may be turned around. `F_LS`: a lock that
//! a unit holds without a break around accesses of the other keeps the other out, if that holds
//! it there, or acquires it between two of its accesses inside. The *vulnerable window lockset* of
//! a unit are the locks that it gives up inside of its window, and that the other one needs: it
//! has to be stopped after it gave them up, and not before.

use crate::happens_before::HappensBefore;
use crate::locks::{Held, LockId};
use crate::patterns::{Pattern, Who};
use crate::projection::{Touch, Work};

/// Two units and the accesses that fill the slots of a pattern.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The pattern.
    pub pattern: &'a Pattern,
    /// The unit that begins.
    pub u: &'a Work,
    /// The other one.
    pub v: &'a Work,
    /// In the order of the pattern; as many as it has steps.
    pub touches: &'a [&'a Touch],
}

/// A unit's window: accesses of the other one between two of its own.
struct Window<'a> {
    first: &'a Touch,
    last: &'a Touch,
    /// The accesses of the other unit between them.
    inside: Vec<&'a Touch>,
    other: &'a Work,
}

/// Which locks a vulnerable window lockset has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vwls {
    /// Those that the other unit needs on its way.
    #[default]
    Needed,
    /// Only those that are held at all accesses of the pattern, as in the paper.
    Common,
    /// None: a unit is held at once, whatever it holds.
    None,
}

impl<'a> Candidate<'a> {
    /// Whether nothing is turned around that is ordered on purpose.
    pub fn keeps_order(&self, order: &HappensBefore) -> bool {
        let steps = self.pattern.steps;
        (1..self.touches.len()).all(|later| {
            (0..later).all(|earlier| {
                steps[earlier].who == steps[later].who
                    || !order.is_before(self.touches[later].segment, self.touches[earlier].segment)
            })
        })
    }

    /// Whether locks leave room for the order of the pattern.
    pub fn passes_locks(&self) -> bool {
        self.window(Who::U).is_none_or(|window| window.is_open())
            && self.window(Who::V).is_none_or(|window| window.is_open())
    }

    /// The locks that a unit has to give up inside of its window before the other one goes on,
    /// by ascending number.
    pub fn vwls(&self, who: Who, kind: Vwls) -> Vec<LockId> {
        let Some(window) = self.window(who) else {
            return Vec::new();
        };
        let given_up = window
            .first
            .holding
            .iter()
            .filter(|held| !window.last.holding.contains(held));
        let is_wanted = |held: &&Held| match kind {
            Vwls::Needed => window.is_needed(held),
            Vwls::Common => self
                .touches
                .iter()
                .all(|touch| touch.holding.iter().any(|other| other.lock == held.lock)),
            Vwls::None => false,
        };
        let mut locks: Vec<_> = given_up.filter(is_wanted).map(|held| held.lock).collect();
        locks.sort_unstable();
        locks.dedup();
        locks
    }

    /// From a unit's first access that is followed by one of the other, to its last that comes
    /// after one of the other.
    fn window(&self, who: Who) -> Option<Window<'a>> {
        let steps = self.pattern.steps;
        let own: Vec<_> = (0..steps.len())
            .filter(|index| steps[*index].who == who)
            .collect();
        let (first, last) = (*own.first()?, *own.last()?);
        let inside: Vec<_> = (first + 1..last)
            .filter(|index| steps[*index].who != who)
            .map(|index| self.touches[index])
            .collect();
        (!inside.is_empty()).then(|| Window {
            first: self.touches[first],
            last: self.touches[last],
            inside,
            other: if who == Who::U { self.v } else { self.u },
        })
    }
}

impl Window<'_> {
    /// Whether the other unit can get in.
    fn is_open(&self) -> bool {
        let kept = self
            .first
            .holding
            .iter()
            .filter(|held| self.last.holding.contains(held));
        kept.into_iter().all(|held| {
            let is_held = |touch: &&Touch| touch.holding.iter().any(|other| held.excludes(other));
            !self.inside.iter().any(is_held) && !self.is_acquired(held, false)
        })
    }

    /// Whether the other unit needs this lock to get in.
    fn is_needed(&self, held: &Held) -> bool {
        let is_held = |touch: &&Touch| touch.holding.iter().any(|other| held.excludes(other));
        self.inside.iter().any(is_held) || self.is_acquired(held, true)
    }

    /// Whether the other unit acquires this lock between its accesses in the window, or also on
    /// the way to them.
    fn is_acquired(&self, held: &Held, on_the_way: bool) -> bool {
        let (Some(first), Some(last)) = (self.inside.first(), self.inside.last()) else {
            return false;
        };
        self.other.acquired.iter().any(|other| {
            let is_inside = other.acquired < last.at && (on_the_way || other.acquired > first.at);
            is_inside && held.excludes(other)
        })
    }
}
