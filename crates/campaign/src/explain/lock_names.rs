//! Names of locks, for people: the variable, static or field that a lock is.

use std::collections::HashMap;

use raddle_analysis::type_names::base;
use raddle_trace::event::{Action, Location, ObjectName, Trace};
use raddle_trace::naming;
use raddle_trace::runner::{RawFinding, RawRecording};

use super::Explainer;
use super::names::Names;
use crate::fields;

/// Names by address, of the locks that have one.
pub(super) type LockNames = HashMap<u64, String>;

/// What std puts around a value that is counted.
const COUNTED: [&str; 2] = ["alloc::sync::ArcInner<", "alloc::rc::RcInner<"];

impl Explainer {
    /// Names of the locks that threads wait for in a deadlock.
    pub(super) fn lock_names(&mut self, raw: &RawFinding, recording: &RawRecording) -> LockNames {
        let map = self.map();
        let names = Names::new(&mut self.locator, map);
        let (trace, origins) = naming::name_with_origins(recording, &names, "", "");
        let mut found = LockNames::new();
        for (event, &origin) in trace.events.iter().zip(&origins) {
            let Action::Lock { lock, .. } = event.action else {
                continue;
            };
            let address = recording.events[origin as usize].address;
            if raw.waits.iter().any(|wait| wait.object == address)
                && !found.contains_key(&address)
                && let Some(name) = name(&trace, lock)
            {
                found.insert(address, name);
            }
        }
        found
    }
}

/// A variable, a static, or a type, and the fields in it. A block on the heap that is nothing but
/// the lock has no name.
fn name(trace: &Trace, lock: Location) -> Option<String> {
    let named = trace.locks.iter().find(|named| named.location == lock);
    let fields = named.map_or_else(String::new, |named| fields::lock(&named.path));
    let whole = match trace.objects.get(lock.object.0 as usize)? {
        ObjectName::Static { path } => path.clone(),
        ObjectName::Stack { variable, .. } if !variable.is_empty() => variable.clone(),
        _ if fields.is_empty() => return None,
        _ => short_type(&trace.types[named?.type_index.0 as usize]),
    };
    Some(match fields.is_empty() {
        true => whole,
        false => format!("{whole}.{fields}"),
    })
}

/// The last name of a type without generic arguments, and without a count around it.
fn short_type(name: &str) -> String {
    let counted = COUNTED
        .iter()
        .find_map(|counted| name.strip_prefix(counted)?.strip_suffix('>'));
    let name = counted.unwrap_or(name);
    if name.starts_with('(') {
        return "tuple".to_owned();
    }
    let base = base(name);
    base.rsplit("::").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use raddle_trace::event::{LockName, ObjectId, TypeIndex};

    use super::*;

    fn named(object: ObjectName, type_name: &str, path: &str) -> Option<String> {
        let location = Location {
            object: ObjectId(0),
            offset: 8,
        };
        let trace = Trace {
            objects: vec![object],
            types: vec![type_name.to_owned()],
            locks: vec![LockName {
                location,
                type_index: TypeIndex(0),
                path: path.to_owned(),
            }],
            ..Trace::default()
        };
        name(&trace, location)
    }

    #[test]
    fn people_know_variables_statics_and_fields() {
        let block = || ObjectName::Heap {
            site_key: 0,
            thread: raddle_trace::event::ThreadId(0),
            occurrence: 0,
            size: 8,
            context: 0,
            function: String::new(),
        };
        let place = ObjectName::Static {
            path: "a::BANK".into(),
        };
        let name = |name: &str| Some(name.to_owned());
        let bank = "alloc::sync::ArcInner<a::Bank<u8>>";
        let path = "data.left.inner.futex.v.value";
        assert_eq!(named(block(), bank, path), name("Bank.left"));
        assert_eq!(
            named(block(), "a::Bank<u8>", "left.inner"),
            name("Bank.left")
        );
        assert_eq!(named(block(), bank, "data.inner.futex"), None);
        assert_eq!(named(place, "a::Bank", "left"), name("a::BANK.left"));
        let pair = "alloc::sync::ArcInner<(parking_lot::RwLock<u8>, a::Bank<u8>)>";
        let path = "data.__0.raw.state.v.value";
        assert_eq!(named(block(), pair, path), name("tuple.0"));
        let alone = "alloc::sync::ArcInner<lock_api::rwlock::RwLock<parking_lot::RawRwLock, u8>>";
        assert_eq!(named(block(), alone, "data.raw.state.v.value"), None);
    }
}
