//! The functions of the compiled program that operations call, so that calls of them from inside
//! other methods count for the pairs too.
//!
//! What the program map says about a function is compared with what rustdoc said about the
//! operation's: the type, the trait and the name. A function that may be two operations' is
//! nobody's: what is not known does not count.
//!
//! Limits: functions of the standard library have no hooks; those that are called on a reference or
//! an `Arc` by a trait, and those without `self`, are not recognised; of an `async fn` it is the
//! making of the future.

use std::collections::{BTreeMap, BTreeSet};

use raddle_abi::key;
use raddle_abi::plan::MethodAnchor;
use raddle_trace::program_map::{FunctionInfo, ProgramMap};

use crate::methods::Operation;
use crate::model::{Type, is_std, last};

/// The function that an operation calls first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callee {
    /// The type that it is called on.
    pub subject: Type,
    /// Path of the trait whose method it is.
    pub of_trait: Option<String>,
    /// Its name.
    pub name: String,
}

impl Callee {
    /// Path of the type.
    fn path(&self) -> &str {
        match &self.subject {
            Type::Path(path, _) => path,
            _ => "",
        }
    }

    /// Whether it is this function of the program, for some arguments of the type.
    fn is(&self, function: &FunctionInfo) -> bool {
        let path = self.path();
        let receiver = function.receiver.as_deref().map(without_arguments);
        if !function.is_method || receiver != Some(path) {
            return false;
        }
        let Some((scope, name)) = function.path.rsplit_once("::") else {
            return false;
        };
        let is_same = match (&self.of_trait, trait_of(scope)) {
            (None, None) => scope == path || scope.ends_with(&format!("<impl {path}>")),
            (Some(of_trait), Some(named)) => is_same_trait(of_trait, named),
            // What a trait provides is a function of the trait.
            (Some(of_trait), None) => is_same_trait(of_trait, scope),
            (None, Some(_)) => false,
        };
        is_same && name == self.name
    }

    /// The type's name in the program, of those that the functions found are called on.
    fn receiver(&self, found: &[&FunctionInfo]) -> Option<String> {
        let names = found
            .iter()
            .filter_map(|function| function.receiver.clone());
        let mut names: BTreeSet<_> = names.collect();
        let exact = debug_name(&self.subject).filter(|name| names.contains(name));
        match names.len() {
            1 => names.pop_first(),
            _ => exact,
        }
    }
}

/// Where calls from inside are seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Callees {
    /// The functions that are marked, with numbers of operations.
    pub anchors: Vec<MethodAnchor>,
    /// For each operation the one whose function it calls: its own, unless it does more.
    direct: BTreeMap<u16, u16>,
}

impl Callees {
    /// Looks for the functions of these operations, by number.
    pub fn find<'a>(
        operations: impl IntoIterator<Item = (u16, &'a Operation)>,
        map: &ProgramMap,
    ) -> Self {
        let mut callees: Vec<(&Callee, Vec<u16>, Vec<u16>)> = Vec::new();
        for (number, operation) in operations {
            let Some(callee) = &operation.callee else {
                continue;
            };
            let place = callees.iter().position(|(known, ..)| *known == callee);
            let place = place.unwrap_or_else(|| {
                callees.push((callee, Vec::new(), Vec::new()));
                callees.len() - 1
            });
            let (_, alone, all) = &mut callees[place];
            all.push(number);
            if operation.steps.len() == 1 {
                alone.push(number);
            }
        }
        let mut owners: BTreeMap<(&str, String), BTreeSet<u16>> = BTreeMap::new();
        let mut direct = BTreeMap::new();
        for (callee, alone, all) in callees {
            let functions = map.functions.iter();
            let found: Vec<_> = functions.filter(|function| callee.is(function)).collect();
            let Some(receiver) = callee.receiver(&found) else {
                continue;
            };
            for function in found {
                if function.receiver.as_deref() == Some(&receiver) {
                    let place = (function.path.as_str(), receiver.clone());
                    owners.entry(place).or_default().extend(&alone);
                }
            }
            if let [number] = alone[..] {
                direct.extend(all.into_iter().map(|operation| (operation, number)));
            }
        }
        let mut anchors: Vec<_> = owners
            .into_iter()
            .filter(|(_, owners)| owners.len() == 1)
            .flat_map(|(place, owners)| {
                owners
                    .into_iter()
                    .map(move |number| (place.clone(), number))
            })
            .map(|((path, receiver), number)| MethodAnchor {
                site_key: key::of_entry(path),
                receiver: match is_only(map, path) {
                    true => 0,
                    false => key::of(receiver.as_bytes()),
                },
                number: u32::from(number),
                reserved: 0,
            })
            .collect();
        anchors.sort_unstable();
        Self { anchors, direct }
    }

    /// Whether an operation that enters the function of another one, or its own, does so itself.
    pub fn is_direct(&self, operation: u16, entered: u16) -> bool {
        self.direct.get(&operation) == Some(&entered)
    }
}

/// Whether all functions of a path are called on the same type.
fn is_only(map: &ProgramMap, path: &str) -> bool {
    let same = map
        .functions
        .iter()
        .filter(|function| function.path == path);
    let receivers: BTreeSet<_> = same.map(|function| &function.receiver).collect();
    receivers.len() == 1
}

/// A type's name in the program without what it is generic over.
fn without_arguments(name: &str) -> &str {
    name.split('<').next().unwrap_or(name)
}

/// The trait that a scope names: `<Type as Trait>` or `module::<impl Trait for Type>`.
fn trait_of(scope: &str) -> Option<&str> {
    let inside = scope.strip_suffix('>')?;
    if let Some((_, of_trait)) = inside
        .strip_prefix('<')
        .and_then(|one| one.rsplit_once(" as "))
    {
        return Some(of_trait);
    }
    let (_, implemented) = inside.rsplit_once("<impl ")?;
    let (of_trait, _) = implemented.split_once(" for ")?;
    Some(of_trait)
}

/// Whether two paths are of the same trait: those of std are known under several.
fn is_same_trait(one: &str, other: &str) -> bool {
    one == other || is_std(one) && is_std(other) && last(one) == last(other)
}

/// A type's name as the compiler writes it for debuggers; `None` if that is not known.
fn debug_name(one: &Type) -> Option<String> {
    let list = |types: &[Type]| {
        let names: Option<Vec<_>> = types.iter().map(debug_name).collect();
        names.map(|names| names.join(", "))
    };
    Some(match one {
        Type::Primitive(name) => name.clone(),
        Type::Path(path, types) if types.is_empty() => path.clone(),
        Type::Path(path, types) => format!("{path}<{}>", list(types)?),
        Type::Tuple(types) if types.len() != 1 => format!("({})", list(types)?),
        Type::Reference { mutable, target } => {
            let word = if *mutable { "mut " } else { "" };
            format!("&{word}{}", debug_name(target)?)
        }
        _ => return None,
    })
}

#[cfg(test)]
impl Callees {
    /// Operations that each call a function of their own.
    pub(crate) fn of_operations(numbers: impl IntoIterator<Item = u16>) -> Self {
        Self {
            anchors: Vec::new(),
            direct: numbers.into_iter().map(|number| (number, number)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use raddle_abi::key;
    use raddle_trace::program_map::{FunctionInfo, ProgramMap};

    use super::{Callee, Callees};
    use crate::holding::Access;
    use crate::methods::{Operation, Step};
    use crate::model::Type;
    use crate::recipe::Recipe;
    use crate::results::Class;

    /// `name` or `Trait::name`, called on a `m::Box<u32>`.
    fn operation(of_trait: Option<&str>, name: &str, steps: usize) -> Operation {
        let step = Step {
            call: Recipe::Fixed(String::new()),
            takes: None,
        };
        Operation {
            name: name.to_owned(),
            signature: String::new(),
            part: 0,
            access: Access::Shared,
            class: Class::Unit,
            steps: vec![step; steps],
            body: String::new(),
            text: String::new(),
            is_future: false,
            may_panic: false,
            hedge: None,
            counts_calls: false,
            is_shown: false,
            value: None,
            gives: None,
            callee: Some(Callee {
                subject: Type::Path("m::Box".to_owned(), vec![Type::primitive("u32")]),
                of_trait: of_trait.map(str::to_owned),
                name: name.to_owned(),
            }),
        }
    }

    /// Which functions, each a path and a receiver, are operations, by number.
    fn check(operations: &[Operation], functions: &[(&str, &str)], expected: &[(usize, u32)]) {
        let map = ProgramMap {
            functions: functions
                .iter()
                .map(|(path, receiver)| FunctionInfo {
                    path: (*path).to_owned(),
                    receiver: Some((*receiver).to_owned()),
                    is_method: true,
                    file: String::new(),
                    line: 1,
                })
                .collect(),
            ..ProgramMap::default()
        };
        let callees = Callees::find((0..).zip(operations), &map);
        let mut found = Vec::new();
        for (index, (path, receiver)) in functions.iter().enumerate() {
            let receiver = key::of(receiver.as_bytes());
            let anchor = callees.anchors.iter().find(|anchor| {
                anchor.site_key == key::of_entry(path)
                    && (anchor.receiver == 0 || anchor.receiver == receiver)
            });
            found.extend(anchor.map(|anchor| (index, anchor.number)));
        }
        assert_eq!(found, expected, "{functions:?}");
    }

    #[test]
    fn functions_are_found_wherever_they_are_implemented() {
        let operations = [
            operation(None, "put", 1),
            operation(Some("m::Take"), "take", 1),
            operation(Some("std::clone::Clone"), "clone", 1),
        ];
        let of = "m::Box<u32>";
        check(
            &operations,
            &[
                ("m::Box::put", of),
                ("<m::Box as core::clone::Clone>::clone", of),
                ("m::inner::<impl m::Take for m::Box>::take", of),
                ("m::Box::take", of),
                ("<m::Box as m::Other>::put", of),
                ("m::put", of),
            ],
            &[(0, 0), (1, 2), (2, 1)],
        );
        check(
            &operations,
            &[("m::inner::<impl m::Box>::put", of), ("m::Take::take", of)],
            &[(0, 0), (1, 1)],
        );
    }

    #[test]
    fn functions_of_other_types_are_none() {
        let operations = [operation(Some("m::Take"), "take", 1)];
        check(
            &operations,
            &[
                ("m::Take::take", "m::Box<u32>"),
                ("m::Take::take", "m::Bag"),
            ],
            &[(0, 0)],
        );
        check(&operations, &[("<m::Bag as m::Take>::take", "m::Bag")], &[]);
        // Which arguments are the type's is known, or there is but one choice.
        check(
            &operations,
            &[
                ("<m::Box as m::Take>::take", "m::Box<u8>"),
                ("<m::Box as m::Take>::take", "m::Box<u32>"),
            ],
            &[(1, 0)],
        );
        check(
            &operations,
            &[("m::Take::take", "m::Box<m::Alias>")],
            &[(0, 0)],
        );
        let two = [
            ("m::Take::take", "m::Box<m::Alias>"),
            ("m::Take::take", "m::Box<u8>"),
        ];
        check(&operations, &two, &[]);
    }

    #[test]
    fn what_may_be_two_operations_is_none() {
        let add = || operation(Some("core::ops::arith::Add"), "add", 1);
        let function = [("<m::Box as core::ops::arith::Add>::add", "m::Box<u32>")];
        check(&[add()], &function, &[(0, 0)]);
        check(&[add(), add()], &function, &[]);
    }

    #[test]
    fn whoever_goes_on_with_what_a_call_returned_has_called_it() {
        let operations = [operation(None, "entry", 2), operation(None, "entry", 1)];
        check(&operations, &[("m::Box::entry", "m::Box<u32>")], &[(0, 1)]);
        let map = ProgramMap {
            functions: vec![FunctionInfo {
                path: "m::Box::entry".to_owned(),
                receiver: Some("m::Box<u32>".to_owned()),
                is_method: true,
                file: String::new(),
                line: 1,
            }],
            ..ProgramMap::default()
        };
        let callees = Callees::find((0..).zip(&operations), &map);
        assert!(callees.is_direct(0, 1) && callees.is_direct(1, 1));
        assert!(!callees.is_direct(2, 1));
    }
}
