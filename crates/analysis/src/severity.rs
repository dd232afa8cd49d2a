//! Whether a violation that happened matters: what the two units of work saw and left, compared with
//! what they see and leave when they come one after the other.
//!
//! The outcome is what both read from the set, in their order, and what they left in it. Their
//! results follow from what they read, as far as that is in the set. Two executions can be compared
//! only if the set was the same before, nobody else wrote into it in between, and a unit that waits
//! for others at its end does so in both: a function that waits in its middle, when it comes first, lets
//! others in there, whether or not it has to wait. What such a function does up to its wait is no work
//! that is whole, so that nothing is held against it. What is not known
//! is taken to be equal, so that it can hide a difference, and never make one up: values of bytes
//! that may mean nothing, times, and which address a pointer has.
//!
//! A unit that reads the same again and again, because it waits for another one, reads it once.

use crate::instances::{Place, PlaceId};
use crate::monitor::Observed;
use crate::names::{self, PlaceName, ThreadPath};
use crate::projection::{Manner, Projected, Work, project_all};
use crate::values;
use raddle_trace::event::{Action, SiteIndex, ThreadId, Trace};
use raddle_trace::program_map::ProgramMap;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Fields of the standard library's times, which differ with every look at the clock.
const TIMES: [&str; 2] = ["tv_sec", "tv_nsec"];

/// A unit of work, with a name that holds in every trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitName {
    /// Its thread.
    pub thread: ThreadPath,
    /// Key of the function's site.
    pub function: u64,
    /// Which one of this thread, function and set it is, from 0.
    pub ordinal: usize,
}

/// Two units of work and the set that they share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Name of the type or module that the set belongs to.
    pub set: String,
    /// Where the instance is; the statics of a module have none.
    pub instance: Option<PlaceName>,
    /// The units, in the order of the pattern.
    pub units: [UnitName; 2],
}

/// Where a unit is in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its thread.
    pub thread: ThreadId,
    /// From where on it is this unit.
    pub begins: u32,
    /// Its first access to the set.
    pub first: u32,
    /// Its last one.
    pub last: u32,
    /// Up to where it is this unit.
    pub ends: u32,
    /// Whether it ends because its thread waits, in the middle of its function.
    pub is_cut: bool,
}

/// Something read: of which place, and what, if that is known.
pub type Read = (PlaceName, Option<u64>);

/// What two units did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What was in the set before, as far as it is known.
    pub before: BTreeMap<PlaceName, u64>,
    /// What each of them read.
    pub reads: [Vec<Read>; 2],
    /// What they left in the places that they wrote.
    pub left: BTreeMap<PlaceName, Option<u64>>,
    /// Which of them waits at its end, and goes on as another unit.
    pub waits: [bool; 2],
}

/// The two units in one execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Where they are.
    pub spans: [Span; 2],
    /// What they did.
    pub outcome: Outcome,
}

impl Run {
    /// Which unit came wholly before the other, if one did.
    pub fn first(&self) -> Option<usize> {
        let [u, v] = self.spans;
        match (u.last < v.first, v.last < u.first) {
            (true, _) => Some(0),
            (_, true) => Some(1),
            _ => None,
        }
    }
}

/// Why an execution says nothing about two units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// One of them is not in it.
    Absent,
    /// Somebody else wrote into the set between their accesses.
    Disturbed,
}

/// How an outcome compares with those of the units one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Severity {
    /// It is that of no serial order.
    Unserializable,
    /// It is that of the order in which this unit comes first.
    AsIf(usize),
    /// This unit waits for others in the middle of its function, and lets them in.
    Waits(usize),
    /// An order has no outcome to compare with.
    #[default]
    Unknown,
}

impl Outcome {
    /// Whether the set was the same before, and nothing that is known differs.
    pub fn agrees(&self, other: &Self) -> bool {
        self.is_comparable(other) && self.may_equal(other)
    }

    /// Whether the set was the same before, and the units are as much of their functions.
    pub fn is_comparable(&self, other: &Self) -> bool {
        let mut known = self.before.iter();
        self.waits == other.waits
            && known
                .all(|(place, value)| other.before.get(place).is_none_or(|other| other == value))
    }

    /// Whether nothing that is known differs.
    fn may_equal(&self, other: &Self) -> bool {
        let is_same = |(one, other): (&Read, &Read)| {
            one.0 == other.0 && (one.1.is_none() || other.1.is_none() || one.1 == other.1)
        };
        let reads = self
            .reads
            .iter()
            .zip(&other.reads)
            .all(|(one, other)| one.len() == other.len() && one.iter().zip(other).all(is_same));
        let mut left = self.left.iter();
        reads
            && left.all(|(place, value)| match (value, other.left.get(place)) {
                (Some(value), Some(Some(other))) => value == other,
                _ => true,
            })
    }
}

/// Compares an outcome with those of serial executions, each with the unit that came first.
pub fn compare(observed: &Outcome, serial: &[(usize, Outcome)]) -> Severity {
    let comparable = || {
        let both = serial.iter();
        both.filter(|(_, outcome)| observed.is_comparable(outcome))
    };
    if let Some((first, _)) = comparable().find(|(_, outcome)| observed.may_equal(outcome)) {
        return Severity::AsIf(*first);
    }
    if let Some(unit) = observed.waits.iter().position(|waits| *waits) {
        return Severity::Waits(unit);
    }
    let orders: HashSet<usize> = comparable().map(|(first, _)| *first).collect();
    match orders.len() {
        2 => Severity::Unserializable,
        _ => Severity::Unknown,
    }
}

/// The two units of a violation between two units.
pub fn pair(trace: &Trace, map: &ProgramMap, observed: &Observed) -> Option<Pair> {
    let scene = Scene::new(trace, map);
    let [u, v] = &observed.parties[..] else {
        return None;
    };
    let instance = observed
        .instance
        .map(|location| names::place(trace, location));
    let works = scene.of_set(&observed.set, instance.as_ref());
    let name = |party: &crate::monitor::Party| {
        let is_same = |work: &&Work| {
            work.thread == party.thread
                && work.function == party.function
                && work.touches.iter().any(|touch| touch.at == party.begins)
        };
        let work = works.iter().copied().find(is_same)?;
        let before = works.iter().filter(|other| {
            other.thread == work.thread
                && other.function == work.function
                && other.begins < work.begins
        });
        Some(UnitName {
            thread: names::thread(trace, work.thread),
            function: key(trace, work.function),
            ordinal: before.count(),
        })
    };
    Some(Pair {
        set: observed.set.clone(),
        instance,
        units: [name(u)?, name(v)?],
    })
}

/// Where two units are in an execution.
pub fn spans(trace: &Trace, map: &ProgramMap, pair: &Pair) -> [Option<Span>; 2] {
    let scene = Scene::new(trace, map);
    let works = scene.of_set(&pair.set, pair.instance.as_ref());
    pair.units
        .each_ref()
        .map(|name| find(trace, &works, name).and_then(span))
}

/// What two units did in an execution.
///
/// # Errors
///
/// If that cannot be said.
pub fn run(trace: &Trace, map: &ProgramMap, pair: &Pair) -> Result<Run, Unknown> {
    let scene = Scene::new(trace, map);
    let works = scene.of_set(&pair.set, pair.instance.as_ref());
    let [u, v] = pair
        .units
        .each_ref()
        .map(|name| find(trace, &works, name).ok_or(Unknown::Absent));
    let units = [u?, v?];
    let [Some(u), Some(v)] = units.map(span) else {
        return Err(Unknown::Absent);
    };
    scene.outcome(units, [u, v], pair)
}

fn find<'a>(trace: &Trace, works: &[&'a Work], name: &UnitName) -> Option<&'a Work> {
    let mut own = works.iter().copied().filter(|work| {
        key(trace, work.function) == name.function
            && names::thread(trace, work.thread) == name.thread
    });
    own.nth(name.ordinal)
}

fn span(work: &Work) -> Option<Span> {
    let (first, last) = (work.touches.first(), work.touches.last());
    Some(Span {
        thread: work.thread,
        begins: work.begins,
        first: first?.at,
        last: last?.at,
        ends: work.ends,
        is_cut: work.is_cut,
    })
}

fn key(trace: &Trace, site: SiteIndex) -> u64 {
    trace.sites.get(site.0 as usize).map_or(0, |site| site.key)
}

/// A trace with its units.
struct Scene<'a> {
    trace: &'a Trace,
    map: &'a ProgramMap,
    projected: Projected<'a>,
    works: Vec<Work>,
}

impl<'a> Scene<'a> {
    fn new(trace: &'a Trace, map: &'a ProgramMap) -> Self {
        let mut works = Vec::new();
        let projected = project_all(trace, map, |work| works.push(work));
        works.sort_by_key(|work| work.begins);
        Self {
            trace,
            map,
            projected,
            works,
        }
    }

    /// The units on a set, by ascending beginning.
    fn of_set(&self, set: &str, instance: Option<&PlaceName>) -> Vec<&Work> {
        let instances = &self.projected.instances;
        let mut sets = HashMap::new();
        let mut is_set = |work: &Work| {
            *sets.entry(work.set).or_insert_with(|| {
                let info = instances.of(work.set);
                let place = info.location.map(|place| names::place(self.trace, place));
                &*info.name == set && place.as_ref() == instance
            })
        };
        self.works.iter().filter(|work| is_set(work)).collect()
    }

    fn outcome(&self, units: [&Work; 2], spans: [Span; 2], pair: &Pair) -> Result<Run, Unknown> {
        let places = Places::new(self, units, pair);
        let from = spans[0].first.min(spans[1].first);
        let to = spans[0].last.max(spans[1].last);
        let own: HashSet<u32> = units
            .iter()
            .flat_map(|work| work.touches.iter().map(|touch| touch.at))
            .collect();
        // What a unit writes into a block that it has allocated itself is its own, and no touch.
        let is_own = |thread: ThreadId, at: u32| {
            let is_in =
                |span: &Span| thread == span.thread && (span.begins..=span.ends).contains(&at);
            own.contains(&at) || spans.iter().any(is_in)
        };
        let mut outcome = Outcome::default();
        for (at, event) in self.trace.events.iter().enumerate().take(to as usize + 1) {
            let Action::Access {
                access,
                location,
                size,
                ..
            } = event.action
            else {
                continue;
            };
            let at = at as u32;
            for place in places.touched(location.object.0, location.offset, size) {
                if at < from {
                    let name = places.name(place);
                    match values::value(self.trace, at, place).filter(|_| values::is_left(access)) {
                        Some(value) => outcome.before.insert(name, value),
                        None if access.writes() => outcome.before.remove(&name),
                        None => None,
                    };
                } else if access.writes() && !is_own(event.thread, at) {
                    return Err(Unknown::Disturbed);
                }
            }
        }
        outcome
            .before
            .retain(|name, _| !places.is_time(name) && !is_among(name));
        for (reads, work) in outcome.reads.iter_mut().zip(units) {
            *reads = self.reads(work, &places);
        }
        outcome.left = self.left(units, &places);
        outcome.waits = units.map(|work| work.is_cut);
        Ok(Run { spans, outcome })
    }

    /// What a unit read, without repetitions.
    fn reads(&self, work: &Work, places: &Places<'_>) -> Vec<Read> {
        let instances = &self.projected.instances;
        let mut reads = Vec::new();
        for touch in &work.touches {
            if touch.manner == Manner::Write {
                continue;
            }
            let place = instances.place(touch.place);
            let name = places.name(place);
            let value = values::value(self.trace, touch.at, place);
            let value = value.filter(|_| !places.is_time(&name));
            let read = (name, value);
            if reads.last() != Some(&read) {
                reads.push(read);
            }
        }
        reads
    }

    /// What two units left where they wrote.
    fn left(&self, units: [&Work; 2], places: &Places<'_>) -> BTreeMap<PlaceName, Option<u64>> {
        let mut writes: Vec<_> = units
            .iter()
            .flat_map(|work| &work.touches)
            .filter(|touch| touch.manner != Manner::Read)
            .collect();
        writes.sort_by_key(|touch| touch.at);
        let last: BTreeMap<PlaceId, _> = writes
            .iter()
            .map(|touch| (touch.place, (touch.at, touch.manner)))
            .collect();
        // Two places may have one name: a buffer that was replaced by a larger one. The later counts.
        let mut last: Vec<_> = last.into_iter().collect();
        last.sort_by_key(|(_, (at, _))| *at);
        let mut left = BTreeMap::new();
        for (id, (at, manner)) in last {
            let place = self.projected.instances.place(id);
            let name = places.name(place);
            let value = match manner {
                Manner::Both => self.seen_next(at, place),
                _ => values::value(self.trace, at, place),
            };
            // Of several nodes it is not known which one is which in another execution.
            let is_one = !is_among(&name) || !left.contains_key(&name);
            let value = value.filter(|_| is_one && !places.is_time(&name));
            left.insert(name, value);
        }
        left
    }

    /// What the next access to a place found there, if it looked.
    fn seen_next(&self, at: u32, place: &Place) -> Option<u64> {
        let later = self.trace.events.iter().enumerate().skip(at as usize + 1);
        let mut accesses = later.filter_map(|(at, event)| match event.action {
            Action::Access {
                access,
                location,
                size,
                ..
            } if overlaps(place, location.object.0, location.offset, size) => Some((at, access)),
            _ => None,
        });
        let (at, access) = accesses.next()?;
        let looks = !access.writes() || !values::is_left(access);
        values::value(self.trace, at as u32, place).filter(|_| looks)
    }
}

/// The places that two units touch.
struct Places<'a> {
    scene: &'a Scene<'a>,
    pair: &'a Pair,
    by_object: HashMap<u32, Vec<&'a Place>>,
}

impl<'a> Places<'a> {
    fn new(scene: &'a Scene<'a>, units: [&Work; 2], pair: &'a Pair) -> Self {
        let ids: BTreeSet<PlaceId> = units
            .iter()
            .flat_map(|work| work.touches.iter().map(|touch| touch.place))
            .collect();
        let mut by_object: HashMap<u32, Vec<&Place>> = HashMap::new();
        for id in ids {
            let place = scene.projected.instances.place(id);
            let places = by_object.entry(place.location.object.0).or_default();
            places.push(place);
        }
        Self {
            scene,
            pair,
            by_object,
        }
    }

    fn touched(&self, object: u32, offset: u64, size: u32) -> impl Iterator<Item = &'a Place> {
        let places = self.by_object.get(&object).into_iter().flatten().copied();
        places.filter(move |place| overlaps(place, object, offset, size))
    }

    /// A place's name: in an instance, counted from its beginning.
    fn name(&self, place: &Place) -> PlaceName {
        let behind = self
            .scene
            .projected
            .instances
            .behind(place.location, place.set);
        if behind.is_some() {
            return PlaceName {
                object: String::new(),
                offset: 0,
                behind,
            };
        }
        let name = names::place(self.scene.trace, place.location);
        match &self.pair.instance {
            Some(instance) if instance.object == name.object => PlaceName {
                object: String::new(),
                offset: name.offset.saturating_sub(instance.offset),
                behind: None,
            },
            _ => name,
        }
    }

    /// Whether a place is a part of a time.
    fn is_time(&self, name: &PlaceName) -> bool {
        if name.behind.is_some() {
            return false;
        }
        let path = self.scene.map.field_path(&self.pair.set, name.offset);
        let last = path.rsplit('.').next();
        self.pair.instance.is_some() && last.is_some_and(|last| TIMES.contains(&last))
    }
}

/// Whether a place is in one of many nodes, which are not told apart.
fn is_among(name: &PlaceName) -> bool {
    name.behind.as_ref().is_some_and(|behind| behind.is_among)
}

fn overlaps(place: &Place, object: u32, offset: u64, size: u32) -> bool {
    let start = place.location.offset;
    let end = offset.saturating_add(size.max(1).into());
    place.location.object.0 == object && offset < start + place.size && start < end
}

#[cfg(test)]
#[path = "severity_tests.rs"]
mod tests;
