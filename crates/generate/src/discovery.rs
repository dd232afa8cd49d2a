//! What a type offers to a concurrent test, from its name alone.

use crate::arguments::Maker;
use crate::constants::Constants;
use crate::constructors::{Constructor, constructors};
use crate::library::Library;
use crate::methods::{Operation, Refused, methods};
use crate::model::Type;
use crate::type_name::{TypeError, find_type};

/// Constructors that are tried; the others make the same objects.
const CONSTRUCTORS: usize = 6;

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
    /// Whether there are two objects of the type, because some methods are given another one.
    pub is_paired: bool,
    /// How they are made, the simplest first.
    pub constructors: Vec<Constructor>,
    /// What can be called.
    pub operations: Vec<Operation>,
    /// What cannot, and why.
    pub refused: Vec<Refused>,
    /// What the crate's source speaks of.
    pub constants: Constants,
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
         whose arguments can be made; write a function that returns one"
    )]
    NoConstructor(String),
    /// There is nothing to call.
    #[error(
        "`{0}` has no methods that threads can share (`&self`, `self: &Arc<Self>`, \
         `self: Arc<Self>`): there is nothing to interleave"
    )]
    NoMethods(String),
}

/// Looks at the type with this name.
///
/// # Errors
///
/// If there is no such type, or nothing to do with it.
pub fn discover(library: &Library, name: &str) -> Result<Discovery, DiscoveryError> {
    let subject = find_type(library, name)?;
    let maker = Maker::new(library);
    let mut found = constructors(maker, &subject);
    let none = || DiscoveryError::NoConstructor(subject.short());
    let first = found.first().ok_or_else(none)?;
    let (parts, in_arc) = (first.parts.clone(), first.in_arc);
    found.retain(|other| other.parts == parts && other.in_arc == in_arc);
    found.truncate(CONSTRUCTORS);
    let written = library.written(&subject).ok_or_else(none)?;
    let types: Option<Vec<_>> = parts.iter().map(|part| library.written(part)).collect();
    let mut types = types.ok_or_else(none)?;
    let is_alone = parts.len() == 1;
    let (mut operations, mut refused) = (Vec::new(), Vec::new());
    for (index, part) in parts.iter().enumerate() {
        if parts[..index].contains(part) {
            continue;
        }
        let maker = match is_alone {
            true => maker.beside(&subject),
            false => maker,
        };
        let found = methods(maker, part, index);
        operations.extend(found.operations);
        refused.extend(found.refused);
    }
    if operations.is_empty() {
        return Err(DiscoveryError::NoMethods(subject.short()));
    }
    let is_paired = operations.iter().any(Operation::takes_other);
    if is_paired {
        types.push(types[0].clone());
    }
    Ok(Discovery {
        is_paired,
        subject,
        written,
        parts: types,
        constructors: found,
        operations,
        refused,
        constants: Constants::default(),
    })
}
