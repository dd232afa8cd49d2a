//! Phase I: which atomic-set violations other schedules of the same execution would show.
//!
//! The paper's sections 4.1 and 4.2. Pairs of signatures (see [`crate::signatures`]) that touch
//! the same set in different threads are matched with the table of patterns. What neither
//! relaxed happens-before nor locks rule out is a potential violation; one is kept of those with
//! the same pattern, sites and contexts.
//!
//! Deviations from the paper: an acquisition is told from the next one of the same lock, a lock
//! may be shared, and a lock that the other unit acquires inside of the window counts too. Wide
//! accesses fill two slots of different places if these stand next to each other.

use crate::happens_before::SegmentId;
use crate::instances::{Behind, PlaceId};
use crate::locks::LockId;
use crate::patterns::{self, Pattern, Slot, Who};
use crate::projection::{Manner, Projected, Touch, Work, project};
use crate::signatures::{Class, Signatures};
use crate::synchronised;
use crate::windows::{Candidate, Vwls};
use raddle_trace::event::{Location, SiteIndex, ThreadId, Trace};
use raddle_trace::program_map::ProgramMap;
use std::collections::HashSet;

/// Accesses of a unit that patterns of two places are matched with.
const MAX_WIDE: usize = 64;
/// Pairs of units that span several segments, for each pair of signatures and threads.
const MAX_SPANNING: usize = 16;

/// What is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Which locks a vulnerable window lockset has.
    pub vwls: Vwls,
}

/// An access of a potential violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Whose.
    pub who: Who,
    /// What it is in the pattern.
    pub slot: Slot,
    /// Place in the trace.
    pub at: u32,
    /// Where in the source.
    pub site: Option<SiteIndex>,
    /// Hash of the functions on the thread's stack.
    pub context: u64,
    /// Which place of the set.
    pub place: Location,
    /// How that is reached, if it is behind pointers of the instance.
    pub behind: Option<Behind>,
    /// Locks held, where they are.
    pub holding: Vec<Location>,
}

/// A unit of work of a potential violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Its thread.
    pub thread: ThreadId,
    /// The function.
    pub function: SiteIndex,
    /// Locks to be given up before the other one goes on.
    pub vwls: Vec<Location>,
}

/// Something that another schedule would show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The row of [`patterns::ALL`].
    pub pattern: &'static Pattern,
    /// Name of the type or module that the set belongs to.
    pub set: String,
    /// Where the instance is; the statics of a module have none.
    pub instance: Option<Location>,
    /// The accesses, in the order of the pattern.
    pub accesses: Vec<Access>,
    /// The unit that begins.
    pub u: Unit,
    /// The other one.
    pub v: Unit,
    /// Whether every access is atomic: then it may well be meant so.
    pub is_atomic: bool,
    /// Whether a release and an acquire order the accesses against the pattern: then it is less
    /// likely to be possible.
    pub is_ordered: bool,
}

/// What a trace leads to.
#[derive(Clone, Debug, Default)]
pub struct Prediction {
    /// Potential violations, in the order in which they were found.
    pub violations: Vec<Violation>,
    /// Units of which not all accesses were looked at, because there were too many.
    pub shortened: u64,
    /// Units that were not looked at, because their set had too many kinds of them.
    pub left_out: u64,
}

/// Predicts from one trace.
pub fn predict(trace: &Trace, map: &ProgramMap, options: Options) -> Prediction {
    let mut signatures = Signatures::default();
    let projected = project(trace, map, |work| signatures.add(work));
    let mut predictor = Predictor {
        projected: &projected,
        trace,
        options,
        seen: HashSet::new(),
        prediction: Prediction {
            shortened: projected.shortened,
            left_out: signatures.left_out,
            ..Prediction::default()
        },
    };
    for (_, classes) in signatures.sets() {
        for (index, first) in classes.iter().enumerate() {
            for second in &classes[index..] {
                predictor.pair(first, second);
            }
        }
    }
    let mut prediction = predictor.prediction;
    synchronised::mark(&mut prediction.violations, trace);
    prediction
}

/// What tells potential violations apart: pattern, and site and context of each access.
type Key = (u8, Vec<(u64, u64)>);

struct Predictor<'a> {
    projected: &'a Projected<'a>,
    trace: &'a Trace,
    options: Options,
    seen: HashSet<Key>,
    prediction: Prediction,
}

impl Predictor<'_> {
    /// Two signatures, or one with itself, in two threads.
    fn pair(&mut self, first: &Class, second: &Class) {
        let (Some(one), Some(other)) = (first.any(), second.any()) else {
            return;
        };
        if !conflict(one, other) {
            return;
        }
        let mut found_alike = false;
        for here in first.threads() {
            let units = first.of_thread(here);
            for there in second.threads().filter(|there| *there != here) {
                let others = second.of_thread(there);
                self.threads(&units, &others, &mut found_alike);
            }
        }
    }

    /// The units of two threads. Those in one segment that are not ordered all lead to the same,
    /// so one pair of them is enough.
    fn threads(&mut self, units: &[&Work], others: &[&Work], found_alike: &mut bool) {
        let (single, spanning): (Vec<&Work>, Vec<&Work>) =
            others.iter().partition(|other| is_single(other));
        let [mut in_single, mut in_spanning, mut in_all] = [Window::default(); 3];
        let mut tried = 0;
        for unit in units {
            if is_single(unit)
                && !*found_alike
                && let Some(other) = self.unordered(unit, &single, &mut in_single).first()
            {
                *found_alike = true;
                self.units(unit, other);
                self.units(other, unit);
            }
            let (partners, window) = match is_single(unit) {
                true => (&spanning[..], &mut in_spanning),
                false => (others, &mut in_all),
            };
            for other in self.unordered(unit, partners, window) {
                if tried >= MAX_SPANNING {
                    return;
                }
                tried += 1;
                self.units(unit, other);
                self.units(other, unit);
            }
        }
    }

    /// The units of another thread that do not come entirely before or after this one. They stand
    /// next to each other in the thread's order, and for a later unit they are no earlier: the window
    /// is where the last ones were.
    fn unordered<'w, 's>(
        &self,
        unit: &Work,
        others: &'s [&'w Work],
        window: &mut Window,
    ) -> &'s [&'w Work] {
        let order = &self.projected.order;
        let Some((first, last)) = segments(unit) else {
            return &[];
        };
        let is_past =
            |other: &Work| segments(other).is_some_and(|(_, end)| order.is_before(end, first));
        let is_reached =
            |other: &Work| segments(other).is_some_and(|(start, _)| !order.is_before(last, start));
        while others.get(window.begin).is_some_and(|other| is_past(other)) {
            window.begin += 1;
        }
        window.end = window.end.max(window.begin);
        while others
            .get(window.end)
            .is_some_and(|other| is_reached(other))
        {
            window.end += 1;
        }
        &others[window.begin..window.end]
    }

    /// All patterns that begin with `u`.
    fn units(&mut self, u: &Work, v: &Work) {
        let in_both = |work: &Work, touch: &Touch| {
            work.touches.iter().any(|other| other.place == touch.place)
        };
        let us: Vec<&Touch> = u.touches.iter().filter(|t| in_both(v, t)).collect();
        let vs: Vec<&Touch> = v.touches.iter().filter(|t| in_both(u, t)).collect();
        for pattern in patterns::ALL {
            let most = if pattern.is_wide() {
                MAX_WIDE
            } else {
                usize::MAX
            };
            let mut search = Search {
                predictor: self,
                pattern,
                u,
                v,
                us: &us[..us.len().min(most)],
                vs: &vs[..vs.len().min(most)],
            };
            search.fill(&mut Vec::new(), [None, None]);
        }
    }

    fn keep(&mut self, candidate: &Candidate<'_>) {
        let key = self.key(candidate);
        if self.seen.contains(&key)
            || !candidate.keeps_order(&self.projected.order)
            || !candidate.passes_locks()
        {
            return;
        }
        self.seen.insert(key);
        let violation = self.violation(candidate);
        self.prediction.violations.push(violation);
    }

    fn key(&self, candidate: &Candidate<'_>) -> Key {
        let name = |touch: &&Touch| {
            let site = touch
                .site
                .and_then(|site| self.trace.sites.get(site.0 as usize));
            (site.map_or(0, |site| site.key), touch.context)
        };
        let names = candidate.touches.iter().map(name).collect();
        (candidate.pattern.number, names)
    }

    fn violation(&self, candidate: &Candidate<'_>) -> Violation {
        let Projected {
            instances, locks, ..
        } = self.projected;
        let set = instances.of(candidate.u.set);
        let place_of = |lock: &LockId| locks.place(*lock);
        let accesses = candidate.touches.iter().zip(candidate.pattern.steps);
        let unit = |work: &Work, who: Who| Unit {
            thread: work.thread,
            function: work.function,
            vwls: candidate
                .vwls(who, self.options.vwls)
                .iter()
                .map(place_of)
                .collect(),
        };
        Violation {
            pattern: pattern_of(candidate.pattern),
            set: set.name.to_string(),
            instance: set.location,
            accesses: accesses
                .map(|(touch, step)| Access {
                    who: step.who,
                    slot: step.slot,
                    at: touch.at,
                    site: touch.site,
                    context: touch.context,
                    place: instances.place(touch.place).location,
                    behind: instances
                        .behind(instances.place(touch.place).location, candidate.u.set),
                    holding: touch
                        .holding
                        .iter()
                        .map(|held| place_of(&held.lock))
                        .collect(),
                })
                .collect(),
            u: unit(candidate.u, Who::U),
            v: unit(candidate.v, Who::V),
            is_atomic: candidate.touches.iter().all(|touch| touch.atomic),
            is_ordered: false,
        }
    }
}

/// The row of the table that this is.
fn pattern_of(pattern: &Pattern) -> &'static Pattern {
    let row = patterns::ALL.iter().find(|row| *row == pattern);
    row.unwrap_or(&patterns::ALL[0])
}

/// The segments of a unit's first and last access.
/// A part of a list of units.
#[derive(Clone, Copy, Default)]
struct Window {
    begin: usize,
    end: usize,
}

fn segments(work: &Work) -> Option<(SegmentId, SegmentId)> {
    Some((work.touches.first()?.segment, work.touches.last()?.segment))
}

fn is_single(work: &Work) -> bool {
    segments(work).is_some_and(|(first, last)| first == last)
}

/// Whether a place is touched by both and written by one.
fn conflict(one: &Work, other: &Work) -> bool {
    one.touches.iter().any(|touch| {
        other.touches.iter().any(|other| {
            touch.place == other.place
                && (touch.manner != Manner::Read || other.manner != Manner::Read)
        })
    })
}

/// Fills the slots of one pattern with the accesses of two units.
struct Search<'s, 'p, 'a> {
    predictor: &'s mut Predictor<'p>,
    pattern: &'static Pattern,
    u: &'a Work,
    v: &'a Work,
    us: &'s [&'a Touch],
    vs: &'s [&'a Touch],
}

impl<'a> Search<'_, '_, 'a> {
    fn fill(&mut self, filled: &mut Vec<&'a Touch>, places: [Option<PlaceId>; 2]) {
        let Some(step) = self.pattern.steps.get(filled.len()) else {
            let candidate = Candidate {
                pattern: self.pattern,
                u: self.u,
                v: self.v,
                touches: filled,
            };
            self.predictor.keep(&candidate);
            return;
        };
        let touches = if step.who == Who::U { self.us } else { self.vs };
        let steps = &self.pattern.steps[..filled.len()];
        let before = steps.iter().rposition(|earlier| earlier.who == step.who);
        let before = before.map(|index| (filled[index], index + 1 == filled.len()));
        for touch in touches {
            if !fits(touch, step.slot) || !follows(touch, before) {
                continue;
            }
            let mut places = places;
            let other = places[1 - step.location];
            let place = places[step.location].get_or_insert(touch.place);
            if *place == touch.place && other != Some(touch.place) {
                filled.push(touch);
                self.fill(filled, places);
                filled.pop();
            }
        }
    }
}

fn fits(touch: &Touch, slot: Slot) -> bool {
    match slot {
        Slot::Read => touch.manner != Manner::Write,
        Slot::Write => touch.manner != Manner::Read,
    }
}

/// Whether an access comes after its unit's access before. The slots next to each other may be
/// filled by one wide access, unless that reads and writes at once.
fn follows(touch: &Touch, before: Option<(&Touch, bool)>) -> bool {
    before.is_none_or(|(before, is_next)| {
        let is_same = before.at == touch.at && before.place != touch.place;
        before.at < touch.at || (is_same && is_next && touch.manner != Manner::Both)
    })
}

#[cfg(test)]
#[path = "predict_tests.rs"]
mod tests;
