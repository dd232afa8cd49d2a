//! Forces a partial order of anchored events.
//!
//! A plan names events (a thread, a site, an occurrence, perhaps the same address as another
//! event) and rules. `Before`: a thread that stands before an event waits until all events
//! that come before it have passed. `Hold`: after some of its events a thread waits, wherever
//! it stands unless it is waking others up, until others have passed. Everywhere else another strategy picks, among the
//! threads that are not held.
//!
//! If only held threads can run, or the others do nothing but spin for long, one of the held
//! threads goes on against the plan, chosen by the seed (thrash release). The execution then
//! goes on, and [`Strategy::diverged`] tells the first event that did not pass in its order.
//!
//! Limits: an event has passed when its thread is let go on at its step, so for a lock this is
//! when the lock is asked for. A thread that wakes up inside of a blocking step stands before no
//! event. Events that nothing but their calling context tells apart are told apart by occurrence.

use crate::passes::Passes;
use crate::rng::Rng;
use crate::strategy::{Load, Strategy, View};
use crate::thread_names::ThreadNames;
use alloc::boxed::Box;
use alloc::vec::Vec;
use raddle_abi::plan::{
    ANY_OCCURRENCE, ANY_THREAD, EventAnchor, NO_EVENT, Relation, Rule, RuleKind, ThreadAnchor,
};
use raddle_abi::site::Operation;

/// Yields without any event passing after which a held thread is let go.
const MAX_YIELDS: u32 = 256;
/// Picks without any event passing after which a held thread is let go.
const MAX_PICKS: u32 = 1 << 14;
/// Keeps the choice of whom to let go apart from what the seed decides otherwise.
const RELEASE_STREAM: u64 = 0x7265_6c65_6173_6521;

/// See the module's description.
pub struct Directed {
    base: Box<dyn Strategy>,
    events: Vec<EventAnchor>,
    rules: Vec<Rule>,
    threads: ThreadNames,
    passes: Passes,
    rng: Rng,
    /// What became of each event.
    fates: Vec<Fate>,
    /// Holds that were given up, by number.
    given_up: Vec<u32>,
    /// For each thread: the key of the site where it was last let go on, and whether it has
    /// blocked there, inside of that step.
    last: Vec<(u64, bool)>,
    /// Scratch: the threads that may run.
    free: Vec<u16>,
    yields: u32,
    picks: u32,
    released: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Ahead,
    Passed {
        thread: usize,
        address: usize,
        in_order: bool,
    },
}

/// Whether a step is an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Match {
    No,
    /// It may be: an event that it refers to has not passed yet.
    Perhaps,
    Yes,
}

/// What a thread stands before.
enum Standing {
    /// Nothing that the plan names.
    Free,
    /// An event that may pass.
    Due(usize),
    /// An event that others come before, if it surely is one.
    Early(Option<usize>),
}

impl Directed {
    /// Enforces `rules` on `events`; `base` picks where they leave a choice. Rules about events
    /// that do not exist have no effect.
    pub fn new(
        base: Box<dyn Strategy>,
        anchors: &[ThreadAnchor],
        events: &[EventAnchor],
        rules: &[Rule],
    ) -> Self {
        Self {
            base,
            events: events.to_vec(),
            rules: rules.to_vec(),
            threads: ThreadNames::new(anchors),
            passes: Passes::of(events.iter().map(|event| event.site_key)),
            rng: Rng::new(0),
            fates: Vec::new(),
            given_up: Vec::new(),
            last: Vec::new(),
            free: Vec::new(),
            yields: 0,
            picks: 0,
            released: 0,
        }
    }

    fn passage(&self, event: u32) -> Option<(usize, usize)> {
        match self.fates.get(event as usize) {
            Some(&Fate::Passed {
                thread, address, ..
            }) => Some((thread, address)),
            _ => None,
        }
    }

    /// Whether an event of a rule is still to come; one that does not exist is not.
    fn is_ahead(&self, event: u32) -> bool {
        self.fates.get(event as usize) == Some(&Fate::Ahead)
    }

    fn matches(&self, event: &EventAnchor, thread: usize, view: &View<'_>) -> Match {
        let key = view.site_key(thread);
        let is_thread =
            event.thread == ANY_THREAD || usize::from(self.threads.actual(event.thread)) == thread;
        let is_occurrence = event.occurrence == ANY_OCCURRENCE
            || self.passes.count(thread, key) == event.occurrence;
        if key != event.site_key || !is_thread || !is_occurrence {
            return Match::No;
        }
        let mut result = Match::Yes;
        match (
            Relation::from_number(event.relation),
            self.passage(event.related),
        ) {
            (Relation::None, _) => {}
            (Relation::SameThread, Some((other, _))) if other == thread => {}
            (Relation::OtherThread, Some((other, _))) if other != thread => {}
            // Any thread may still turn out to be another one than that.
            (Relation::OtherThread, None) => result = Match::Perhaps,
            _ => return Match::No,
        }
        if event.object != NO_EVENT {
            match self.passage(event.object) {
                Some((_, address)) if view.pending[thread].address == address => {}
                Some(_) => return Match::No,
                None => result = Match::Perhaps,
            }
        }
        result
    }

    /// Whether an event that comes before this one is still ahead.
    fn is_early(&self, event: usize) -> bool {
        self.rules.iter().any(|rule| {
            rule.kind == RuleKind::Before as u32
                && rule.then as usize == event
                && self.is_ahead(rule.event)
        })
    }

    fn standing(&self, thread: usize, view: &View<'_>) -> Standing {
        if self.is_inside(thread) {
            return Standing::Free;
        }
        let mut standing = Standing::Free;
        for (index, event) in self.events.iter().enumerate() {
            if self.fates[index] != Fate::Ahead {
                continue;
            }
            let found = self.matches(event, thread, view);
            if found == Match::No {
                continue;
            }
            let is_sure = found == Match::Yes;
            match (self.is_early(index), &standing) {
                (false, _) if is_sure => return Standing::Due(index),
                (true, Standing::Free | Standing::Early(None)) => {
                    standing = Standing::Early(is_sure.then_some(index));
                }
                _ => {}
            }
        }
        standing
    }

    fn is_inside(&self, thread: usize) -> bool {
        self.last.get(thread).is_some_and(|last| last.1)
    }

    /// Numbers of the holds that keep `thread`.
    fn holds(&self, thread: usize) -> impl Iterator<Item = u32> + '_ {
        let of = |kind: RuleKind, hold: u32| {
            self.rules
                .iter()
                .filter(move |rule| rule.kind == kind as u32 && rule.hold == hold)
        };
        let first_rows = self.rules.iter().enumerate().filter(|(index, rule)| {
            let is_repeated = |other: &Rule| other.kind == rule.kind && other.hold == rule.hold;
            rule.kind == RuleKind::Hold as u32 && !self.rules[..*index].iter().any(is_repeated)
        });
        first_rows
            .filter(move |(_, first)| {
                self.passage(first.event).is_some_and(|by| by.0 == thread)
                    && !self.given_up.contains(&first.hold)
                    && of(RuleKind::Hold, first.hold).all(|rule| !self.is_ahead(rule.event))
                    && of(RuleKind::Until, first.hold).any(|rule| self.is_ahead(rule.event))
            })
            .map(|(_, first)| first.hold)
    }

    fn is_held(&self, thread: usize, view: &View<'_>) -> bool {
        // A thread that wakes others up is still busy with letting a lock go: held here, it would
        // hold up those for whom it lets it go.
        let wakes = view.pending[thread].operation == Operation::FutexWake;
        matches!(self.standing(thread, view), Standing::Early(_))
            || (!wakes && self.holds(thread).next().is_some())
    }

    /// Lets a thread that is held go on.
    fn release(&mut self, thread: usize) {
        let holds: Vec<u32> = self.holds(thread).collect();
        self.given_up.extend(holds);
        self.released += 1;
        (self.yields, self.picks) = (0, 0);
    }

    /// `thread` goes on from where it stands.
    fn note_picked(&mut self, thread: usize, view: &View<'_>) {
        let fate = match self.standing(thread, view) {
            Standing::Due(event) => Some((event, true)),
            Standing::Early(Some(event)) => Some((event, false)),
            _ => None,
        };
        if let Some((event, in_order)) = fate {
            self.fates[event] = Fate::Passed {
                thread,
                address: view.pending[thread].address,
                in_order,
            };
            (self.yields, self.picks) = (0, 0);
        }
        let key = view.site_key(thread);
        if !self.is_inside(thread) {
            self.passes.note(thread, key);
        }
        if self.last.len() <= thread {
            self.last.resize(thread + 1, (0, false));
        }
        self.last[thread] = (key, false);
    }

    /// Whether those who may run have had their chance.
    fn is_thrashing(&mut self, view: &View<'_>) -> bool {
        self.yields += u32::from(view.yielded);
        self.picks += 1;
        self.free.is_empty() || self.yields > MAX_YIELDS || self.picks > MAX_PICKS
    }

    fn choose(&mut self, view: &View<'_>) -> usize {
        let mut free = core::mem::take(&mut self.free);
        free.clear();
        let threads = view.enabled.iter().copied();
        free.extend(threads.filter(|&thread| !self.is_held(usize::from(thread), view)));
        self.free = free;
        if self.free.len() == view.enabled.len() {
            return self.base.pick(&View {
                expiry: None,
                ..*view
            });
        }
        if self.is_thrashing(view) {
            let held = view.enabled.iter().map(|&thread| usize::from(thread));
            let held: Vec<usize> = held.filter(|&thread| self.is_held(thread, view)).collect();
            let chosen = held[self.rng.below(held.len() as u64) as usize];
            self.release(chosen);
            return chosen;
        }
        self.base.pick(&view.among(&self.free))
    }
}

impl Strategy for Directed {
    fn begin(&mut self, seed: u64, length: u64) {
        self.base.begin(seed, length);
        self.threads.begin();
        self.passes.clear();
        self.rng = Rng::new(seed ^ RELEASE_STREAM);
        self.fates.clear();
        self.fates.resize(self.events.len(), Fate::Ahead);
        self.given_up.clear();
        self.last.clear();
        (self.yields, self.picks, self.released) = (0, 0, 0);
    }

    fn thread_started(&mut self, thread: usize, parent: usize, site_key: u64) {
        self.threads.started(thread, parent, site_key);
        self.base.thread_started(thread, parent, site_key);
    }

    fn pick(&mut self, view: &View<'_>) -> usize {
        if !view.current_enabled
            && let Some((key, is_inside)) = self.last.get_mut(view.current)
        {
            *is_inside = *key == view.site_key(view.current);
        }
        let picked = self.choose(view);
        self.note_picked(picked, view);
        picked
    }

    fn read(&mut self, load: &Load) -> Option<usize> {
        self.base.read(load)
    }

    fn decides_time(&self) -> bool {
        // The plan says nothing about time.
        true
    }

    fn end(&mut self) {
        self.base.end();
    }

    fn diverged(&self) -> Option<usize> {
        let in_order = |fate: &Fate| matches!(fate, Fate::Passed { in_order: true, .. });
        self.fates.iter().position(|fate| !in_order(fate))
    }

    fn released(&self) -> Option<u32> {
        Some(self.released)
    }

    fn needs_site_keys(&self) -> bool {
        !self.events.is_empty() || self.base.needs_site_keys()
    }

    fn needs_operations(&self) -> bool {
        !self.events.is_empty() || self.base.needs_operations()
    }
}

#[cfg(test)]
#[path = "directed_tests.rs"]
mod tests;
