//! What to do about a violation of an atomic set.

use raddle_abi::site::Operation;
use raddle_analysis::patterns::Who;
use raddle_trace::event::Action;
use raddle_trace::finding::Place;

use super::atomic_set::Teller;
use super::locate::{Located, short};
use crate::fields::{self, quoted};
use crate::wording;

/// Fields that are named.
const FIELDS: usize = 4;

/// The suggestion: one lock that both hold already, for longer, or one for all.
pub(super) fn words(teller: &Teller<'_>, units: &[Place; 2], located: &[Located]) -> String {
    let [u, v] = units.each_ref().map(|unit| short(&unit.function));
    let lines = |who: Who, unit: &Place| {
        let own = (0..located.len()).filter(|index| teller.who(*index) == who);
        let lines: Vec<u32> = own
            .filter_map(|index| line_in(unit, &located[index]))
            .collect();
        range(&lines)
    };
    let in_u = lines(Who::U, &units[0]);
    if let Some(lock) = common_lock(teller) {
        return format!("hold {lock} in `{u}`{in_u}");
    }
    let names = (0..located.len()).map(|index| quoted(&teller.field(index)));
    let fields = wording::list(names, FIELDS);
    let in_v = lines(Who::V, &units[1]);
    match u == v {
        true => format!("guard {fields} with one lock, which `{u}` holds{in_u}"),
        false => format!("guard {fields} with one lock, which `{u}` holds{in_u} and `{v}`{in_v}"),
    }
}

/// The line of a unit's own code that an access happens in.
fn line_in(unit: &Place, located: &Located) -> Option<u32> {
    let own = located.frames.iter().find(|frame| {
        frame.place.file == unit.file && short(&frame.place.function) == short(&unit.function)
    });
    own.map(|frame| frame.place.line).filter(|line| *line > 0)
}

/// " from line 12 to line 19".
fn range(lines: &[u32]) -> String {
    match (lines.iter().min(), lines.iter().max()) {
        (Some(first), Some(last)) if first == last => format!(" all through line {first}"),
        (Some(first), Some(last)) => format!(" from line {first} to line {last}"),
        _ => String::new(),
    }
}

/// A lock that the first unit holds at one of its accesses, and the other one at all of its own:
/// held for longer, it keeps the other one out.
fn common_lock(teller: &Teller<'_>) -> Option<String> {
    let accesses = &teller.observed.accesses;
    let held = |index: usize| held_at(teller, teller.monitored.origin(accesses[index]));
    let of = |who: Who| (0..accesses.len()).filter(move |index| teller.who(*index) == who);
    let mut by_v = of(Who::V).map(held);
    let first = by_v.next()?;
    let all = by_v.fold(first, |all, held| {
        all.into_iter().filter(|lock| held.contains(lock)).collect()
    });
    let of_u: Vec<Vec<u64>> = of(Who::U).map(held).collect();
    // One that is held at both ends is given up in between.
    let everywhere = all
        .iter()
        .find(|lock| of_u.iter().all(|held| held.contains(lock)));
    let somewhere = || {
        all.iter()
            .find(|lock| of_u.iter().any(|held| held.contains(lock)))
    };
    let lock = everywhere.or_else(somewhere)?;
    Some(name(teller, *lock))
}

/// The locks that an event's thread holds, in the order in which it acquired them.
fn held_at(teller: &Teller<'_>, at: usize) -> Vec<u64> {
    let events = &teller.recording.events;
    let thread = events[at].thread;
    let mut held: Vec<u64> = Vec::new();
    for event in events[..at].iter().filter(|event| event.thread == thread) {
        match Operation::from_number(event.operation) {
            Some(Operation::LockAcquire) => held.push(event.address),
            Some(Operation::LockRelease) => held.retain(|lock| *lock != event.address),
            _ => {}
        }
    }
    held
}

/// The field or static that a lock is.
fn name(teller: &Teller<'_>, lock: u64) -> String {
    let trace = &teller.monitored.trace;
    let instance = teller.observed.instance;
    let known = trace.events.iter().enumerate().find_map(|(at, event)| {
        let origin = &teller.recording.events[teller.monitored.origin(at as u32)];
        match event.action {
            Action::Lock { lock: place, .. } if origin.address == lock => Some(place),
            _ => None,
        }
    });
    let own = known.filter(|place| instance.is_none_or(|at| at.object == place.object));
    let Some(place) = own else {
        return "the lock that both take".to_owned();
    };
    // What a field is called says nothing if the lock is all there is.
    let set = &teller.observed.set;
    let field = match instance {
        Some(at) => {
            let offset = place.offset.saturating_sub(at.offset);
            fields::lock(&teller.map.field_path(set, offset))
        }
        None => fields::place(trace, &teller.map, set, instance, place),
    };
    let is_number = field.parse::<u32>().is_ok();
    match field.is_empty() || is_number || field.contains(' ') {
        true => "the lock that both take".to_owned(),
        false => quoted(&field),
    }
}
