//! Names of atomic sets and of what is in them, for people.

use raddle_analysis::instances::Behind;
use raddle_analysis::type_names::base;
use raddle_trace::event::{Location, ObjectName, Trace};
use raddle_trace::program_map::ProgramMap;

/// Names of fields that say nothing about the user's data.
const INNER: [&str; 11] = [
    "data", "value", "v", "inner", "buf", "pointer", "__0", "futex", "__align", "__data", "__lock",
];

/// Names of the words that locks of the standard library and `parking_lot` are made of.
const WORDS: [&str; 6] = ["value", "v", "futex", "__align", "__data", "__lock"];
/// Fields of locks in which these words stand.
const LOCKS: [&str; 2] = ["inner", "raw"];

/// "`Account`", or "the statics of `bank`".
pub(crate) fn set_in_words(name: &str) -> String {
    match name.strip_prefix("static ") {
        Some(module) => format!("the statics of `{module}`"),
        None => format!("`{}`", base(name)),
    }
}

/// A path of fields without the insides of wrappers, or how far from the start it would be.
pub(crate) fn field(map: &ProgramMap, set: &str, offset: u64) -> String {
    match shown(&map.field_path(set, offset)) {
        path if path.is_empty() && offset == 0 => "its value".to_owned(),
        path if path.is_empty() => format!("{offset} bytes from its start"),
        path => path,
    }
}

/// A path of fields without the insides of wrappers.
pub(crate) fn shown(path: &str) -> String {
    let names = path.split('.');
    let shown: Vec<_> = names
        .filter(|name| !name.is_empty() && !INNER.contains(name))
        .collect();
    shown.join(".")
}

/// A path of fields to a lock without what is inside of the lock. The fields of tuples have numbers.
pub(crate) fn lock(path: &str) -> String {
    let mut names: Vec<&str> = path.split('.').filter(|name| !name.is_empty()).collect();
    while names.last().is_some_and(|last| WORDS.contains(last)) {
        names.pop();
    }
    if let [.., wrapper, "state"] = names[..]
        && LOCKS.contains(&wrapper)
    {
        names.truncate(names.len() - 2);
    } else if names.last().is_some_and(|last| LOCKS.contains(last)) {
        names.pop();
    }
    // What counts owners stands around it.
    if names.first() == Some(&"data") {
        names.remove(0);
    }
    let number = names.first().and_then(|first| first.strip_prefix("__"));
    let number = number.filter(|number| number.parse::<u32>().is_ok());
    if let Some(number) = number {
        names[0] = number;
    }
    shown(&names.join("."))
}

/// What an instance owns through a pointer: `items[2]`.
pub(crate) fn owned(map: &ProgramMap, set: &str, behind: &Behind) -> String {
    // What is inside of the field is the standard library's.
    let path = map.field_path(set, behind.holder);
    let name = match path.split('.').next() {
        Some(field) if !field.is_empty() => field.to_owned(),
        _ => field(map, set, behind.holder),
    };
    let elements = behind.elements.iter().map(|index| format!("[{index}]"));
    name + &elements.collect::<String>()
}

/// What stands at a place of an instance, or of the statics of a module.
pub(crate) fn place(
    trace: &Trace,
    map: &ProgramMap,
    set: &str,
    instance: Option<Location>,
    location: Location,
) -> String {
    match instance {
        Some(instance) => field(map, set, location.offset.saturating_sub(instance.offset)),
        None => match trace.objects.get(location.object.0 as usize) {
            Some(ObjectName::Static { path }) => path.clone(),
            _ => "a static".to_owned(),
        },
    }
}

/// A name as code, and everything else as it is.
pub(crate) fn quoted(name: &str) -> String {
    match name.contains(' ') {
        true => name.to_owned(),
        false => format!("`{name}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_named_without_its_insides() {
        for (path, name) in [
            ("data.left.inner.futex.v.value", "left"),
            ("left.inner.state.v.value", "left"),
            ("left.raw.state.v.value", "left"),
            ("data.__1.raw.state.v.value", "1"),
            ("__0.inner.futex.v.value", "0"),
            ("state.inner.futex.v.value", "state"),
            ("raw.state.inner.futex.v.value", "raw.state"),
            ("data.inner.futex.v.value", ""),
            ("raw.state.v.value", ""),
            ("mutex.__data.__lock", "mutex"),
        ] {
            assert_eq!(lock(path), name, "{path}");
        }
    }
}
