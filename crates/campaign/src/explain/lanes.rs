//! The interleaving as lanes: only the steps that matter.
//!
//! Every recorded event gets a weight: the steps at fault most, then what touches the memory,
//! locks and objects of the finding, then the steps around a switch, then spawns, then other
//! steps on memory that several threads use. The heaviest rows stay, in their order.

use std::collections::{HashMap, HashSet};

use raddle_abi::finding::Kind;
use raddle_abi::record::RawEvent;
use raddle_abi::site::{Operation, SiteId};
use raddle_trace::finding::LaneStep;
use raddle_trace::runner::{RawFinding, RawRecording};

use super::action;
use super::locate::{Located, Locator};

/// Most rows shown.
const ROWS: usize = 24;
/// Events looked at from the end of a recording; what lies further back hardly matters.
const LOOK_BACK: usize = 1 << 20;
/// Events that are named; of more, the heaviest and latest.
const NAMED: usize = 400;

/// Weight of an event that a finding names without blaming it.
const CONTEXT: u32 = 95;

/// What a kind of finding wants to see.
#[derive(Default)]
pub(super) struct Interest {
    /// Of a panic: its thread, and its number among that thread's. What comes after it does not matter.
    pub panic: Option<(u16, usize)>,
    /// Memory at fault, from and to.
    pub memory: Vec<(u64, u64)>,
    /// Locks and other objects at fault.
    pub objects: Vec<u64>,
    /// Threads that wait at the end.
    pub waiting: Vec<u16>,
    /// Show what several threads use, because it is not known what is at fault.
    pub shared: bool,
    /// Events at fault, as indices in the recording.
    pub events: Vec<usize>,
    /// Other events that belong to the story, as indices in the recording.
    pub context: Vec<usize>,
    /// What events do, where that is known better than by looking at them.
    pub words: HashMap<usize, String>,
    pub(super) faults: Vec<(u16, SiteId)>,
}

impl Interest {
    /// The last event of `thread` at `site` is at fault.
    pub fn fault(&mut self, thread: u16, site: SiteId) {
        self.faults.push((thread, site));
    }

    fn touches(&self, event: &RawEvent) -> bool {
        let end = event.address.saturating_add(u64::from(event.len.max(1)));
        let in_memory = self
            .memory
            .iter()
            .any(|&(from, to)| event.address < to && from < end);
        in_memory || self.objects.contains(&event.address)
    }
}

/// One row before the selection.
struct Row {
    at: usize,
    weight: u32,
    step: LaneStep,
}

pub(super) fn lanes(
    locator: &mut Locator,
    raw: &RawFinding,
    recording: &RawRecording,
    interest: &Interest,
) -> Vec<LaneStep> {
    if recording.events.is_empty() {
        return without_recording(locator, raw);
    }
    let end = end_of_story(raw, recording, interest);
    let start = end.saturating_sub(LOOK_BACK);
    let events = &recording.events[start..end];
    let in_view = |at: &usize| at.checked_sub(start).filter(|at| *at < events.len());
    let mut faults = fault_events(events, interest);
    faults.extend(interest.events.iter().filter_map(in_view));
    let context: HashSet<usize> = interest.context.iter().filter_map(in_view).collect();
    let wanted_locks = locks_of(events, interest);
    let shared = if interest.shared {
        shared_addresses(events)
    } else {
        HashSet::new()
    };
    let mut weighed: Vec<(u32, usize)> = (0..events.len())
        .map(|at| {
            let weight = match context.contains(&at) {
                true => CONTEXT,
                false => weight(events, at, &faults, interest, &wanted_locks, &shared),
            };
            (weight, at)
        })
        .filter(|&(weight, _)| weight > 0)
        .collect();
    weighed.sort_unstable_by_key(|&heavy| std::cmp::Reverse(heavy));
    weighed.truncate(NAMED);
    weighed.sort_unstable_by_key(|&(_, at)| at);
    let mut rows: Vec<Row> = Vec::new();
    for (weight, at) in weighed {
        let event = &events[at];
        let is_fault = faults.contains(&at);
        let located = locator.locate(event.site, recording.stack(event));
        let is_noise = || !is_fault && !context.contains(&at) && is_noise(event, &located);
        if located.user(true).is_none() || is_noise() {
            continue;
        }
        let step = LaneStep {
            thread: usize::from(event.thread),
            place: located.place(true),
            action: match interest.words.get(&(at + start)) {
                Some(words) => words.clone(),
                None => action::words(event, &located, is_fault),
            },
            at_fault: is_fault,
        };
        // A thread that does the same again (it spins, or it is all one call) needs one row.
        let before = rows.iter().rposition(|row| row.step.thread == step.thread);
        match before {
            Some(before) if says_the_same(&rows[before].step, &step) => {
                let earlier = rows.remove(before);
                let step = LaneStep {
                    at_fault: earlier.step.at_fault | step.at_fault,
                    ..step
                };
                rows.push(Row {
                    at,
                    weight: earlier.weight.max(weight),
                    step,
                });
            }
            _ => rows.push(Row { at, weight, step }),
        }
    }
    heaviest(rows)
}

/// Number of events up to the fault: what came after it does not matter. A race does not end
/// the execution, and a panic unwinds.
fn end_of_story(raw: &RawFinding, recording: &RawRecording, interest: &Interest) -> usize {
    let events = &recording.events;
    let seen = events.partition_point(|event| u64::from(event.point) <= raw.points);
    let is_panic = |event: &RawEvent| event.operation == Operation::Panic as u16;
    match raw.kind {
        Kind::DataRace => seen,
        Kind::Panic => {
            let of_thread = |at: &usize| {
                is_panic(&events[*at])
                    && interest
                        .panic
                        .is_none_or(|(thread, _)| events[*at].thread == thread)
            };
            let nth = interest.panic.map_or(0, |(_, nth)| nth);
            let panic = (0..events.len()).filter(of_thread).nth(nth);
            panic.map_or(events.len(), |panic| panic + 1)
        }
        _ => events.len(),
    }
}

/// Without a recording there are only the places that the finding itself names.
fn without_recording(locator: &mut Locator, raw: &RawFinding) -> Vec<LaneStep> {
    let waits = raw
        .waits
        .iter()
        .map(|wait| (wait.thread, wait.site, &wait.frames, "waits"));
    let steps = raw.steps.iter().rev().map(|step| {
        (
            step.thread,
            step.site,
            &step.frames,
            action::verb(step.operation),
        )
    });
    steps
        .chain(waits)
        .take(ROWS)
        .map(|(thread, site, frames, action)| LaneStep {
            thread: usize::from(thread),
            place: locator.locate(site, frames).place(true),
            action: action.to_owned(),
            at_fault: true,
        })
        .collect()
}

/// Indices of the last event of each step at fault.
fn fault_events(events: &[RawEvent], interest: &Interest) -> HashSet<usize> {
    let mut faults = HashSet::new();
    for &(thread, site) in &interest.faults {
        let is_panic = |event: &RawEvent| event.operation == Operation::Panic as u16;
        let panic = events
            .iter()
            .rposition(|event| event.thread == thread && is_panic(event));
        if panic.is_some() {
            faults.extend(panic);
            continue;
        }
        let of_thread = || events.iter().rposition(|event| event.thread == thread);
        let exact = events
            .iter()
            .rposition(|event| event.thread == thread && event.site == site);
        let last = match interest.waiting.contains(&thread) {
            // A thread that waits stands where it last did anything.
            true => of_thread(),
            false => exact.or_else(of_thread),
        };
        faults.extend(last);
    }
    faults
}

/// Locks that the waiting threads want or hold at the end.
fn locks_of(events: &[RawEvent], interest: &Interest) -> HashSet<u64> {
    let mut held: HashMap<(u16, u64), bool> = HashMap::new();
    for event in events
        .iter()
        .filter(|event| interest.waiting.contains(&event.thread))
    {
        match Operation::from_number(event.operation) {
            Some(Operation::LockAcquire | Operation::LockWant) => {
                held.insert((event.thread, event.address), true);
            }
            Some(Operation::LockRelease) => {
                held.insert((event.thread, event.address), false);
            }
            _ => {}
        }
    }
    held.into_iter()
        .filter(|(_, held)| *held)
        .map(|((_, lock), _)| lock)
        .collect()
}

/// Addresses that several threads touched, at least one of them writing.
fn shared_addresses(events: &[RawEvent]) -> HashSet<u64> {
    let mut users: HashMap<u64, (u16, bool, bool)> = HashMap::new();
    for event in events.iter().filter(|event| event.address != 0) {
        let Some(operation) = Operation::from_number(event.operation) else {
            continue;
        };
        let writes = matches!(
            operation,
            Operation::Write
                | Operation::AtomicStore
                | Operation::AtomicRmw
                | Operation::VolatileWrite
                | Operation::LockAcquire
        );
        let reads = matches!(
            operation,
            Operation::Read
                | Operation::AtomicLoad
                | Operation::AtomicCas
                | Operation::VolatileRead
        );
        if !writes && !reads {
            continue;
        }
        let user = users
            .entry(event.address)
            .or_insert((event.thread, false, false));
        user.1 |= user.0 != event.thread;
        user.2 |= writes;
    }
    users
        .into_iter()
        .filter(|(_, (_, several, written))| *several && *written)
        .map(|(address, _)| address)
        .collect()
}

fn weight(
    events: &[RawEvent],
    at: usize,
    faults: &HashSet<usize>,
    interest: &Interest,
    locks: &HashSet<u64>,
    shared: &HashSet<u64>,
) -> u32 {
    use Operation::{
        Alloc, Enter, Exit, Free, Join, Leave, LockAcquire, LockRelease, LockWant, Panic, Spawn,
        Start, TestBegin, TestEnd, Value,
    };
    let event = &events[at];
    if faults.contains(&at) {
        return 100;
    }
    let Some(operation) = Operation::from_number(event.operation) else {
        return 0;
    };
    let is_lock = matches!(operation, LockAcquire | LockRelease | LockWant);
    let around_switch = events
        .get(at + 1)
        .is_some_and(|next| next.thread != event.thread)
        || (at > 0 && events[at - 1].thread != event.thread);
    match operation {
        Panic => 90,
        Enter | Leave | Alloc | Start | Exit | TestBegin | TestEnd | Value => 0,
        Free if !interest.touches(event) => 0,
        Spawn => 30,
        Join => 5,
        // A lock that is had at once needs one row, not two.
        LockWant
            if events
                .get(at + 1)
                .is_some_and(|next| next.thread == event.thread) =>
        {
            0
        }
        _ if is_lock && locks.contains(&event.address) => 60,
        _ if interest.touches(event) => 50,
        _ if shared.contains(&event.address) => {
            if around_switch {
                40
            } else {
                20
            }
        }
        _ if around_switch => 10,
        _ => 0,
    }
}

/// Parts of function paths of std that tell nothing about an interleaving.
const NOISE: &[&str] = &[
    "drop_in_place",
    "::drop",
    "::clone",
    "::deref",
    "::fmt",
    "::new",
    "::default",
    "::spawn",
    "::scope",
];

/// What std does for its own sake around values: nobody wants to read it.
fn is_noise(event: &RawEvent, located: &Located) -> bool {
    if event.operation == Operation::Spawn as u16 {
        return false;
    }
    let callee = located.std_callee();
    callee.is_some_and(|callee| NOISE.iter().any(|noise| callee.contains(noise)))
}

fn says_the_same(one: &LaneStep, other: &LaneStep) -> bool {
    one.thread == other.thread
        && one.place.file == other.place.file
        && one.place.line == other.place.line
        && one.action == other.action
}

/// The heaviest rows in their order; of equal ones the latest.
fn heaviest(mut rows: Vec<Row>) -> Vec<LaneStep> {
    rows.sort_by_key(|row| std::cmp::Reverse((row.weight, row.at)));
    rows.truncate(ROWS);
    rows.sort_by_key(|row| row.at);
    rows.into_iter().map(|row| row.step).collect()
}
