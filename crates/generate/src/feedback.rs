//! Values that calls returned, as arguments of later ones: keys, tokens, handles. For some types there is
//! no other way to come to a value.
//!
//! A byte of a test says which value is meant: one of the first three calls before there were threads, or the last
//! one of the thread itself. What another thread was given would depend on the schedule, and so would
//! what weak methods return: they give only before there are threads. What is not copied but cloned is given
//! then only, too, so that threads keep nothing alive that they would have dropped.

use crate::library::Library;
use crate::methods::Operation;
use crate::model::{Type, last};
use crate::program::Weakness;

/// How a value lies in a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// It is the result.
    Bare,
    /// In an `Option`.
    Option,
    /// In a `Result`.
    Result,
}

/// What a result has in it for later calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Its type.
    pub one: Type,
    /// Where it lies.
    pub layer: Layer,
}

/// A type whose values are fed back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fed {
    /// The type.
    pub one: Type,
    /// As Rust code writes it.
    pub written: String,
    /// Whether values are copied, and not cloned.
    pub is_copy: bool,
}

/// What an operation gives to later calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gives {
    /// Number of the type among those that are fed back.
    pub fed: usize,
    /// Where the value lies in the result.
    pub layer: Layer,
    /// Whether it does so in threads too, and not only before.
    pub by_threads: bool,
    /// How, in the harness.
    pub code: String,
}

impl Value {
    /// What of a result may be fed back, by its type as declared and as it is. Whatever has the type of a
    /// parameter was an argument before: only if it is of a crate's own type, like a key, it is worth anything.
    pub fn of(library: &Library, declared: &Type, output: &Type) -> Option<Self> {
        let first = |one: &Type| one.arguments().first().cloned();
        let (layer, one, declared) = match output.std_name() {
            Some("Option") => (Layer::Option, first(output)?, first(declared)),
            Some("Result") => (Layer::Result, first(output)?, first(declared)),
            _ => (Layer::Bare, output.clone(), Some(declared.clone())),
        };
        let is_parameter = declared.is_some_and(|declared| is_parameter(&declared));
        let is_fit = match &one {
            Type::Primitive(name) => is_number(name) && !is_parameter,
            Type::Path(path, _) => match one.std_name() {
                Some(name) => ["String", "Arc"].contains(&name) && !is_parameter,
                None => library
                    .definition(path)
                    .is_some_and(|found| found.generics.lifetimes == 0),
            },
            _ => false,
        };
        let is_shared = ["Send", "Sync"]
            .iter()
            .all(|name| library.has(&one, name) != Some(false));
        let is_cloned = library.has(&one, "Clone") == Some(true);
        (is_fit && is_shared && is_cloned).then_some(Self { one, layer })
    }
}

/// Whether a declared type is a parameter, or a reference to one.
pub(crate) fn is_parameter(declared: &Type) -> bool {
    match declared {
        Type::Parameter(name) => name != "Self",
        Type::Projection(..) => true,
        Type::Reference { target, .. } => is_parameter(target),
        _ => false,
    }
}

fn is_number(name: &str) -> bool {
    name.starts_with(['u', 'i']) && name.len() > 1
}

/// The types that these operations return values of, those of the test's own objects left out.
pub(crate) fn returned(library: &Library, operations: &[Operation], parts: &[Type]) -> Vec<Fed> {
    let mut result: Vec<Fed> = Vec::new();
    for operation in operations {
        let Some(Value { one, .. }) = &operation.value else {
            continue;
        };
        let is_known = result.iter().any(|fed| fed.one == *one) || parts.contains(one);
        if is_known || when(operation).is_none() {
            continue;
        }
        if let Some(written) = library.written(one) {
            result.push(Fed {
                one: one.clone(),
                written,
                is_copy: library.has(one, "Copy") == Some(true),
            });
        }
    }
    result
}

/// Those types of which a value can go from one operation to another.
pub(crate) fn used(all: &[Fed], operations: &[Operation]) -> Vec<Fed> {
    let is_used = |index: usize| {
        let gives = |operation: &Operation| {
            let given = operation.gives.as_ref();
            given.is_some_and(|gives| gives.fed == index)
        };
        let takes = |operation: &Operation| operation.fed().iter().any(|(fed, ..)| *fed == index);
        let all = operations.iter().enumerate();
        all.clone().any(|(giver, one)| {
            let mut others = all.clone().filter(|(taker, _)| *taker != giver);
            gives(one) && others.any(|(_, other)| takes(other))
        })
    };
    let kept = all.iter().enumerate().filter(|(index, _)| is_used(*index));
    kept.map(|(_, fed)| fed.clone()).collect()
}

/// What an operation gives, if its results are among these types.
pub(crate) fn gives(all: &[Fed], operation: &Operation) -> Option<Gives> {
    let value = operation.value.as_ref()?;
    let fed = all.iter().position(|fed| fed.one == value.one)?;
    // Whether a call is made at all that needs something returned before may depend on the schedule.
    let is_always_made = operation.fed().iter().all(|(_, _, has_plain)| *has_plain);
    let by_threads = when(operation)? && all[fed].is_copy && is_always_made;
    let given = match value.layer {
        Layer::Bare => "Some(Clone::clone(&r))",
        Layer::Option => "Clone::clone(&r)",
        Layer::Result => "r.as_ref().ok().cloned()",
    };
    let push = format!("feed.own.{fed}.push({given});");
    Some(Gives {
        fed,
        layer: value.layer,
        by_threads,
        code: match by_threads {
            true => format!("{push} "),
            false => format!("if feed.is_before() {{ {push} }} "),
        },
    })
}

/// Whether results are worth being fed back, and then whether those of threads are too.
fn when(operation: &Operation) -> Option<bool> {
    match operation.weakness() {
        Weakness::None => Some(true),
        Weakness::MayFail => Some(false),
        Weakness::Bulk
        | Weakness::Observer
        | Weakness::Structure
        | Weakness::Random
        | Weakness::Relaxed => None,
    }
}

/// What a variable with such a value is called, if the argument that it becomes has this name.
pub(crate) fn variable(fed: &Fed, argument: &str) -> String {
    match &fed.one {
        Type::Path(path, _) if fed.one.std_name().is_none() => crate::print::snake(last(path)),
        _ => argument.to_owned(),
    }
}
