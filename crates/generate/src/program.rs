//! What a search has to know about the operations of the program that runs tests.

use std::collections::BTreeMap;

use crate::discovery::Discovery;
use crate::harness::Harness;
use crate::results::Class;

/// Methods that look at the whole object: what they see need not have been there at any one time.
const OBSERVERS: &[&str] = &[
    "len",
    "is_empty",
    "is_full",
    "capacity",
    "iter",
    "keys",
    "values",
    "range",
    "into_iter",
    "fmt",
    "size_hint",
    "remaining",
    "weight",
    "weighted_size",
];
/// The same, by what is in their names. What `is_locked` sees may be the middle of another method.
const OBSERVING: &[&str] = &["is_", "count", "iter", "_len", "scan", "snapshot"];
/// Methods that change the whole object, part by part.
const BULK: &[&str] = &[
    "clear",
    "retain",
    "drain",
    "extend",
    "append",
    "alter_all",
    "for_each",
    "invalidate_all",
    "remove_all",
    "shrink_to_fit",
    "prune",
    "reserve",
];

/// How far the results of a method bind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weakness {
    /// They do.
    #[default]
    None,
    /// It looks at the whole object.
    Observer,
    /// It may fail without a reason.
    MayFail,
    /// It changes the whole object, part by part.
    Bulk,
    /// It does not give the same twice.
    Random,
}

/// What calibration says about a method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calibration {
    /// It gave different results in the same state.
    pub is_random: bool,
    /// It did not return.
    pub blocks: bool,
    /// It panicked.
    pub panics: bool,
}

/// One operation of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// Which of the objects it is called on.
    pub part: usize,
    /// How far its results bind it.
    pub weakness: Weakness,
    /// What calibration says.
    pub calibration: Calibration,
    /// Whether it takes arguments.
    pub has_arguments: bool,
}

impl Method {
    fn new(name: &str, part: usize, has_arguments: bool) -> Self {
        Self {
            name: name.to_owned(),
            part,
            weakness: weakness(name),
            calibration: Calibration::default(),
            has_arguments,
        }
    }

    /// Whether it may change the object.
    pub fn changes(&self) -> bool {
        self.weakness != Weakness::Observer
    }
}

fn weakness(name: &str) -> Weakness {
    let words = |name: &str| -> Vec<String> {
        name.split(['.', ':'])
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let mut result = Weakness::None;
    for word in words(name) {
        let word = word.as_str();
        let may_fail = word.starts_with("try_")
            || word.ends_with("_weak")
            || word.starts_with("steal")
            || ["timeout", "deadline", "_for", "_until"]
                .iter()
                .any(|part| word.contains(part));
        if BULK.contains(&word) {
            result = Weakness::Bulk;
        } else if may_fail && result == Weakness::None {
            result = Weakness::MayFail;
        } else if (OBSERVERS.contains(&word) || OBSERVING.iter().any(|part| word.contains(part)))
            && result == Weakness::None
        {
            result = Weakness::Observer;
        }
    }
    result
}

/// The program that runs tests.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Operations by number.
    pub methods: BTreeMap<u16, Method>,
    /// Numbers of constructors.
    pub constructors: Vec<u8>,
}

impl Program {
    /// What of a type is in the program.
    pub fn new(discovery: &Discovery, harness: &Harness<'_>) -> Self {
        let methods = harness.operations().into_iter().filter_map(|index| {
            let operation = &discovery.operations[index];
            let has_arguments = operation.body.contains("u.");
            let mut method = Method::new(&operation.name, operation.part, has_arguments);
            if matches!(operation.class, Class::Iterator(_)) {
                // What it goes through, and may take out, changes while it does.
                method.weakness = Weakness::Bulk;
            }
            Some((u16::try_from(index).ok()?, method))
        });
        let constructors = harness.constructors().into_iter();
        Self {
            methods: methods.collect(),
            constructors: constructors
                .filter_map(|index| u8::try_from(index).ok())
                .collect(),
        }
    }

    /// The name of an operation.
    pub fn name(&self, operation: u16) -> &str {
        self.methods
            .get(&operation)
            .map_or("?", |method| &method.name)
    }

    /// How far an operation's results bind it.
    pub fn weakness(&self, operation: u16) -> Weakness {
        let method = self.methods.get(&operation);
        method.map_or(Weakness::Random, |method| {
            match method.calibration.is_random {
                true => Weakness::Random,
                false => method.weakness,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Weakness, weakness};

    #[test]
    fn names_say_how_far_results_bind() {
        for (name, expected) in [
            ("push", Weakness::None),
            ("len", Weakness::Observer),
            ("Iterable::iter", Weakness::Observer),
            ("strong_count", Weakness::Observer),
            ("is_locked_exclusive", Weakness::Observer),
            ("try_push", Weakness::MayFail),
            ("recv_timeout", Weakness::MayFail),
            ("try_entry.or_insert", Weakness::MayFail),
            ("clear", Weakness::Bulk),
            ("entry.or_insert", Weakness::None),
        ] {
            assert_eq!(weakness(name), expected, "{name}");
        }
    }
}
