//! The trace as its atomic sets see it: units of work, each with its accesses to each set.
//!
//! Three passes. The first learns the types of objects, and where statics are taken apart. The
//! second learns which places two threads share and somebody writes: only those can take part in
//! a violation, and the third hands out the units that touch them, as they end.
//!
//! A unit is cut where its thread waits, and where it looks at a condition variable to do so.
//! What is left out besides: accesses to a block that the same unit has allocated, which nobody
//! else knows yet; in a loop around a compare-exchange, what the unit read before it failed, and what
//! the failed one itself read if it is tried again; in a loop around an atomic load, what it found before it
//! is repeated, unless the unit has written in between; in a loop around a wait, what it read to find that
//! it has to wait. It looks again afterwards.

use crate::declared::{Declarations, Declared};
use crate::happens_before::{HappensBefore, SegmentId};
use crate::instances::{BaseId, Instances, PlaceId, SetId};
use crate::learning::{learn_sharing, learn_types};
use crate::locks::{Held, Holding, Locks};
use crate::type_names::base;
use crate::units::{Ended, Units};
use raddle_trace::event::{Access, Action, Event, Location, SiteIndex, ThreadId, Trace};
use raddle_trace::program_map::ProgramMap;
use std::collections::HashMap;
use std::rc::Rc;

/// Accesses of one unit to one set that are kept while it is open.
const MAX_OPEN: usize = 2048;
/// Accesses of one unit to one set between two loads of a loop that polls, at most.
const MAX_POLL: usize = 64;
/// Accesses of one kind, at one site, to one place, of which the first and last are kept.
const FIRST_AND_LAST: usize = 4;
/// Accesses of one unit to one set that are kept in the end.
pub const MAX_TOUCHES: usize = 256;

/// How a place is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Manner {
    /// It is read.
    Read,
    /// It is written.
    Write,
    /// It is read and written at once.
    Both,
}

/// An access of a unit to one place.
#[derive(Clone, Debug)]
pub struct Touch {
    /// Place in the trace. A wide access touches several places at once.
    pub at: u32,
    /// What is touched.
    pub place: PlaceId,
    /// How.
    pub manner: Manner,
    /// Whether by an atomic operation.
    pub atomic: bool,
    /// Whether by a compare-exchange that failed.
    pub is_failed: bool,
    /// Where in the source.
    pub site: Option<SiteIndex>,
    /// Hash of the functions on the thread's stack.
    pub context: u64,
    /// For relaxed happens-before.
    pub segment: SegmentId,
    /// What the thread held.
    pub holding: Holding,
}

/// A unit of work, as far as one set is concerned.
#[derive(Clone, Debug)]
pub struct Work {
    /// The set.
    pub set: SetId,
    /// Whose unit it is.
    pub thread: ThreadId,
    /// The function.
    pub function: SiteIndex,
    /// Place in the trace from which on it is this unit.
    pub begins: u32,
    /// Place up to which it is.
    pub ends: u32,
    /// Its accesses to the set, in order.
    pub touches: Vec<Touch>,
    /// The locks that were acquired from its beginning to its end, in order.
    pub acquired: Vec<Held>,
    /// Whether its thread waits at its end, and its function goes on after that.
    pub is_cut: bool,
}

/// What is collected while a unit is open.
#[derive(Debug)]
struct Collected {
    thread: ThreadId,
    sets: Vec<(SetId, Vec<Touch>)>,
}

/// What a projection has besides its units.
pub struct Projected<'a> {
    /// The order of segments.
    pub order: HappensBefore,
    /// Sets and places.
    pub instances: Instances<'a>,
    /// Who the locks are.
    pub locks: Locks,
    /// Units of which some accesses were left out, because there were too many.
    pub shortened: u64,
}

/// Which accesses of units are handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// Those to places that several threads share and somebody writes; of very many that are alike
    /// some.
    Shared,
    /// All of them.
    All,
}

/// Reads a trace and hands out its units, one for each set that they touch, as they end.
pub fn project<'a>(
    trace: &'a Trace,
    map: &'a ProgramMap,
    found: impl FnMut(Work),
) -> Projected<'a> {
    project_within(trace, map, Scope::Shared, found)
}

/// As [`project`], with every access to every set.
pub fn project_all<'a>(
    trace: &'a Trace,
    map: &'a ProgramMap,
    found: impl FnMut(Work),
) -> Projected<'a> {
    project_within(trace, map, Scope::All, found)
}

fn project_within<'a>(
    trace: &'a Trace,
    map: &'a ProgramMap,
    scope: Scope,
    found: impl FnMut(Work),
) -> Projected<'a> {
    let instances = learn_types(trace, map);
    let mut shared = learn_sharing(trace, instances);
    shared.instances.forget_reused();
    if scope == Scope::All {
        shared.is_relevant.fill(true);
    }
    let mut projection = Projection {
        trace,
        declarations: Declarations::new(map),
        declared: HashMap::new(),
        bases: HashMap::new(),
        units: Units::new(trace.threads.len()),
        order: HappensBefore::new(trace),
        locks: Locks::new(),
        instances: shared.instances,
        is_relevant: shared.is_relevant,
        allocated: vec![None; trace.objects.len()],
        locked: vec![0; trace.threads.len()],
        places: Vec::new(),
        scope,
        shortened: 0,
        found,
    };
    for (at, event) in trace.events.iter().enumerate() {
        projection.read(event, at as u32);
    }
    projection.finish()
}

struct Projection<'a, F> {
    trace: &'a Trace,
    declarations: Declarations<'a>,
    /// What the functions are that are entered at sites.
    declared: HashMap<SiteIndex, Declared>,
    /// What functions are units for that get an instance of a type.
    bases: HashMap<u32, Rc<[BaseId]>>,
    units: Units<Collected>,
    order: HappensBefore,
    locks: Locks,
    instances: Instances<'a>,
    is_relevant: Vec<bool>,
    /// Who allocated an object, and when.
    allocated: Vec<Option<(ThreadId, u32)>>,
    /// By thread: where it acquired a lock last.
    locked: Vec<u32>,
    /// Scratch: the places of one access.
    places: Vec<PlaceId>,
    scope: Scope,
    shortened: u64,
    found: F,
}

impl<'a, F: FnMut(Work)> Projection<'a, F> {
    fn read(&mut self, event: &Event, at: u32) {
        let step = self.order.read(event);
        let thread = event.thread;
        let is_condition = match event.action {
            Action::Access {
                access: Access::AtomicLoad,
                location,
                ..
            } => self.instances.is_condition(location),
            _ => false,
        };
        if is_condition || step.waits {
            if is_condition || matches!(event.action, Action::Wait(_)) {
                self.forget_checks(thread);
            }
            let (scope, found, shortened) = (self.scope, &mut self.found, &mut self.shortened);
            self.units
                .cut(thread, at, |ended| hand_out(ended, scope, found, shortened));
        }
        match &event.action {
            Action::Enter { .. } => self.enter(thread, event.site, at),
            Action::Leave { .. } => {
                let (scope, found, shortened) = (self.scope, &mut self.found, &mut self.shortened);
                self.units
                    .leave(thread, at, |ended| hand_out(ended, scope, found, shortened));
            }
            Action::Typed {
                location,
                type_index,
            } => {
                if self.instances.is_reused(location.object) {
                    self.instances.add(*location, *type_index);
                    let is_relevant = self.scope == Scope::All;
                    self.is_relevant
                        .resize(self.instances.place_count(), is_relevant);
                }
                let name = &self.trace.types[type_index.0 as usize];
                let bases = self.bases.entry(type_index.0).or_insert_with(|| {
                    let declarations = &self.declarations;
                    let bases = declarations.of_argument(&base(name), &mut self.instances);
                    bases.into()
                });
                for base in bases.iter() {
                    self.units.got(thread, *base, at);
                }
            }
            Action::Alloc { object } => {
                self.allocated[object.0 as usize] = Some((thread, at));
            }
            Action::Lock { step, lock, shared } => {
                if let Some(held) = self.locks.read(thread, *step, *lock, *shared, at) {
                    self.locked[usize::from(thread.0)] = at;
                    self.units.acquired(thread, held);
                }
            }
            Action::Access {
                access,
                location,
                size,
                ..
            } => self.access(event, *access, *location, *size, step.segment, at),
            _ => {}
        }
    }

    fn enter(&mut self, thread: ThreadId, site: Option<SiteIndex>, at: u32) {
        let index = site.unwrap_or(SiteIndex(u32::MAX));
        let site = self.trace.sites.get(index.0 as usize);
        let declared = self.declared.entry(index).or_insert_with(|| {
            site.map_or_else(Declared::default, |site| {
                self.declarations.of(site, &mut self.instances)
            })
        });
        let key = site.map_or(0, |site| site.key);
        self.units.enter(thread, index, key, declared, at);
    }

    /// Leaves out what a thread has read since it last acquired a lock or wrote, now that it waits.
    fn forget_checks(&mut self, thread: ThreadId) {
        let since = self.locked[usize::from(thread.0)];
        for (_, touches) in self
            .units
            .collected(thread)
            .flat_map(|collected| &mut collected.sets)
        {
            while touches
                .last()
                .is_some_and(|touch| touch.manner == Manner::Read && touch.at > since)
            {
                touches.pop();
            }
        }
    }

    fn access(
        &mut self,
        event: &Event,
        access: Access,
        location: Location,
        size: u32,
        segment: SegmentId,
        at: u32,
    ) {
        let mut places = std::mem::take(&mut self.places);
        places.clear();
        let is_relevant = &self.is_relevant;
        self.instances.places_at(location, size, |place| {
            if is_relevant[place.0 as usize] {
                places.push(place);
            }
        });
        for &place in &places {
            self.touch(event, access, location, place, segment, at);
        }
        self.places = places;
    }

    fn touch(
        &mut self,
        event: &Event,
        access: Access,
        location: Location,
        place: PlaceId,
        segment: SegmentId,
        at: u32,
    ) {
        let thread = event.thread;
        let set = self.instances.place(place).set;
        let base = self.instances.of(set).base;
        let Some((open, context)) = self.units.unit(thread, base) else {
            return;
        };
        let allocated = self.allocated[location.object.0 as usize];
        if allocated.is_some_and(|(by, when)| by == thread && when >= open.begins) {
            return;
        }
        let collected = open.work.get_or_insert_with(|| Collected {
            thread,
            sets: Vec::new(),
        });
        let known = collected.sets.iter().position(|(known, _)| *known == set);
        let known = known.unwrap_or_else(|| {
            collected.sets.push((set, Vec::new()));
            collected.sets.len() - 1
        });
        let touches = &mut collected.sets[known].1;
        // What a compare-exchange read that failed is of no use once it is tried again.
        match access {
            Access::AtomicCas => {
                touches.retain(|touch| touch.place != place || touch.manner != Manner::Read);
            }
            Access::AtomicRmw => touches.retain(|touch| touch.place != place || !touch.is_failed),
            Access::AtomicLoad => forget_poll(touches, (event.site, context, place)),
            _ => {}
        }
        touches.push(Touch {
            at,
            place,
            manner: match access {
                Access::AtomicRmw => Manner::Both,
                _ if access.writes() => Manner::Write,
                _ => Manner::Read,
            },
            atomic: access.is_atomic(),
            is_failed: access == Access::AtomicCas,
            site: event.site,
            context,
            segment,
            holding: self.locks.holding(thread),
        });
        let is_long = self.scope == Scope::Shared && touches.len() >= MAX_OPEN;
        if is_long && shorten(touches, MAX_OPEN / 2) {
            self.shortened += 1;
        }
    }

    fn finish(self) -> Projected<'a> {
        let Self {
            units,
            mut found,
            mut shortened,
            scope,
            ..
        } = self;
        units.finish(|ended| hand_out(ended, scope, &mut found, &mut shortened));
        Projected {
            order: self.order,
            instances: self.instances,
            locks: self.locks,
            shortened,
        }
    }
}

/// Leaves out what an atomic load found that is now repeated, if nothing was written in between: it looks
/// whether it has to wait, or try again.
fn forget_poll(touches: &mut Vec<Touch>, load: (Option<SiteIndex>, u64, PlaceId)) {
    let recent = touches.iter().enumerate().rev().take(MAX_POLL);
    let mut reads = recent.take_while(|(_, touch)| touch.manner == Manner::Read);
    let before = reads.find(|(_, touch)| {
        touch.atomic && !touch.is_failed && (touch.site, touch.context, touch.place) == load
    });
    if let Some((index, _)) = before {
        touches.remove(index);
    }
}

/// Leaves out accesses that others stand for, and then those beyond `most`. Returns whether
/// there were any of the latter.
fn shorten(touches: &mut Vec<Touch>, most: usize) -> bool {
    let key = |touch: &Touch| (touch.site, touch.context, touch.place, touch.manner);
    let mut counts: HashMap<_, usize> = HashMap::new();
    for touch in touches.iter() {
        *counts.entry(key(touch)).or_default() += 1;
    }
    let mut seen: HashMap<_, usize> = HashMap::new();
    touches.retain(|touch| {
        let (seen, count) = (seen.entry(key(touch)).or_default(), counts[&key(touch)]);
        *seen += 1;
        *seen <= FIRST_AND_LAST || *seen + FIRST_AND_LAST > count
    });
    let is_long = touches.len() > most;
    touches.truncate(most);
    is_long
}

fn hand_out(
    ended: Ended<Collected>,
    scope: Scope,
    found: &mut impl FnMut(Work),
    shortened: &mut u64,
) {
    let collected = ended.work;
    let used = collected.sets.into_iter();
    for (set, mut touches) in used.filter(|(_, touches)| !touches.is_empty()) {
        let is_long = scope == Scope::Shared && touches.len() > MAX_TOUCHES;
        if is_long && shorten(&mut touches, MAX_TOUCHES) {
            *shortened += 1;
        }
        found(Work {
            set,
            thread: collected.thread,
            function: ended.function,
            begins: ended.begins,
            ends: ended.ends,
            touches,
            acquired: ended.acquired.clone(),
            is_cut: ended.is_cut,
        });
    }
}
