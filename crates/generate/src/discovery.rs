//! What a type offers to a concurrent test, from its name alone.

use crate::arguments::Maker;
use crate::companions::{from_others, with_others};
use crate::constants::Constants;
use crate::constructors::{Constructor, constructors};
use crate::feedback::{self, Fed};
use crate::free_functions::one_function;
use crate::handovers::{dropping, making};
use crate::holding::{Holding, holding};
use crate::library::Library;
use crate::methods::{Methods, Operation, Refused, methods};
use crate::model::Type;
use crate::recipe::Recipe;
use crate::supplied::{FILE, Supplied};
use crate::type_name::{TypeError, find_type};

/// Constructors that are tried; the others make the same objects.
const CONSTRUCTORS: usize = 6;
/// If a type has no more operations than that, making new ones is an operation too: what they have in
/// common may lie behind them, in a table of all that there are.
const FEW: usize = 4;
/// Times that methods are looked at again because what others return makes more of them possible.
const ROUNDS: usize = 4;

/// What a type offers.
#[derive(Clone, Debug)]
pub struct Discovery {
    /// The type.
    pub subject: Type,
    /// As Rust code writes it.
    pub written: String,
    /// The objects of a test, as Rust code writes their types: the type itself, or all that its
    /// constructor makes.
    pub parts: Vec<String>,
    /// How threads hold each of them.
    pub holdings: Vec<Holding>,
    /// Whether there are two objects of the type, because some methods are given another one.
    pub is_paired: bool,
    /// Types of which calls return values that become arguments of later calls.
    pub fed: Vec<Fed>,
    /// How they are made, the simplest first.
    pub constructors: Vec<Constructor>,
    /// What can be called.
    pub operations: Vec<Operation>,
    /// What cannot, and why.
    pub refused: Vec<Refused>,
    /// What the crate's source speaks of.
    pub constants: Constants,
    /// What the user supplies that can be written down as literals, by number.
    pub shown: Vec<(usize, Recipe)>,
    /// The file in which the user supplies values and operations.
    pub supplied: Option<String>,
}

/// Why there is nothing to generate.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    /// The name leads nowhere.
    #[error(transparent)]
    Type(#[from] TypeError),
    /// Nothing makes such an object.
    #[error(
        "nothing public makes a `{0}`: there is no constructor, `Default`, conversion or function \
         whose arguments can be made; write `pub fn make() -> {1}` in {FILE}"
    )]
    NoConstructor(String, String),
    /// A function in the user's file means nothing.
    #[error("the harness file: {0}")]
    Supplied(String),
    /// Only one thread can have it, and nothing else belongs to it.
    #[error(
        "`{0}` cannot be shared between threads: it is neither `Sync` nor `Clone`, and no method of \
         it makes something that other threads could have"
    )]
    NotShared(String),
    /// It is a function that cannot be called.
    #[error("the function `{name}` cannot be called: {why}")]
    NotCalled {
        /// Its path.
        name: String,
        /// Why.
        why: String,
    },
    /// There is nothing to call.
    #[error(
        "`{name}` has no methods that threads can share (`&self`, `self: &Arc<Self>`, \
         `self: Arc<Self>`) and that can be called: there is nothing to interleave{}",
        remedies(refused)
    )]
    NoMethods {
        /// The type.
        name: String,
        /// What cannot be called.
        refused: Vec<Refused>,
    },
}

/// How each of some methods becomes callable, one below the other.
fn remedies(refused: &[Refused]) -> String {
    let lines = refused.iter().map(|one| {
        let Refused {
            name, why, remedy, ..
        } = one;
        format!("\n  {name}: {why}; {remedy}")
    });
    lines.collect()
}

/// Looks at the type with this name.
///
/// # Errors
///
/// If there is no such type, or nothing to do with it.
pub fn discover(library: &Library, name: &str) -> Result<Discovery, DiscoveryError> {
    let subject = match find_type(library, name) {
        Ok(subject) => subject,
        Err(error) => match one_function(library, name) {
            Some(found) => return found,
            None => return Err(error.into()),
        },
    };
    let supplied = Supplied::read(library).map_err(DiscoveryError::Supplied)?;
    let maker = Maker::new(library).supplied_with(&supplied);
    let mut found = made(maker, &subject);
    let none = || {
        let written = library.written(&subject);
        let short = subject.short();
        DiscoveryError::NoConstructor(short.clone(), written.unwrap_or(short))
    };
    let first = found.first().ok_or_else(none)?;
    let (parts, in_arc) = (first.parts.clone(), first.in_arc);
    found.retain(|other| other.parts == parts && other.in_arc == in_arc);
    found.truncate(CONSTRUCTORS);
    let checked = supplied.check(library, &parts);
    checked.map_err(DiscoveryError::Supplied)?;
    let written = library.written(&subject).ok_or_else(none)?;
    let types: Option<Vec<_>> = parts.iter().map(|part| library.declared(part)).collect();
    let mut types = types.ok_or_else(none)?;
    let is_alone = parts.len() == 1;
    let mut holdings = match in_arc {
        true => vec![Holding::Shared; parts.len()],
        false => parts
            .iter()
            .map(|part| holding(library, part, is_alone))
            .collect(),
    };
    if holdings == [Holding::Owned] {
        return Err(DiscoveryError::NotShared(subject.short()));
    }
    let (fed, found_methods) = fed_back(maker, &parts, &holdings);
    let Methods {
        mut operations,
        refused,
    } = found_methods;
    if is_alone && holdings[0] == Holding::Cloned && operations.len() <= FEW {
        operations.extend(making(library, &subject, &found));
    }
    if operations.is_empty() {
        let name = subject.short();
        return Err(DiscoveryError::NoMethods { name, refused });
    }
    for (index, part) in parts.iter().enumerate() {
        if holdings[index].is_own() && !parts[..index].contains(part) {
            operations.push(dropping(library, part, index, is_alone));
        }
    }
    let is_paired = operations.iter().any(Operation::takes_other);
    if is_paired {
        types.push(types[0].clone());
        holdings.push(holdings[0]);
    }
    Ok(Discovery {
        is_paired,
        subject,
        written,
        parts: types,
        holdings,
        fed,
        constructors: found,
        operations,
        refused,
        constants: Constants::default(),
        shown: supplied.shown(),
        supplied: None,
    })
}

/// The methods of all parts, and the types of which they return values for each other. What one returns may
/// make another one possible, and so on.
fn fed_back(maker: Maker<'_>, parts: &[Type], holdings: &[Holding]) -> (Vec<Fed>, Methods) {
    let mut fed = Vec::new();
    for _ in 0..ROUNDS {
        let found = all_methods(maker.feeding(&fed), parts, holdings);
        let returned = feedback::returned(maker.library, &found.operations, parts);
        if returned == fed {
            break;
        }
        fed = returned;
    }
    let found = all_methods(maker.feeding(&fed), parts, holdings);
    let fed = feedback::used(&fed, &found.operations);
    let found = all_methods(maker.feeding(&fed), parts, holdings);
    (fed, found)
}

/// The methods of all parts.
fn all_methods(maker: Maker<'_>, parts: &[Type], holdings: &[Holding]) -> Methods {
    let mut all = Methods::default();
    for (index, part) in parts.iter().enumerate() {
        if parts[..index].contains(part) {
            continue;
        }
        let holding = holdings[index];
        let maker = match parts.len() == 1 && !holding.is_own() {
            true => maker.beside(part),
            false => maker,
        };
        let found = methods(maker, part, index, holding);
        all.operations.extend(found.operations);
        all.refused.extend(found.refused);
    }
    all
}

/// What makes the objects of a test: one of the type, with others that belong to it.
fn made(maker: Maker<'_>, subject: &Type) -> Vec<Constructor> {
    let mut found = maker.supplied().constructors(maker, subject);
    found.extend(constructors(maker, subject));
    let Some(first) = found.first() else {
        return from_others(maker, subject);
    };
    // Whoever has the only one needs somebody who has something else.
    let is_lonely = first.is_single() && holding(maker.library, subject, true) == Holding::Owned;
    let others = match is_lonely {
        true => with_others(maker, subject, &found),
        false => Vec::new(),
    };
    match others.is_empty() {
        true => found,
        false => others,
    }
}
