//! Objects that other types make. Some belong together though no function returns them at once: one is
//! made, and a method of it makes the other, as `Worker::stealer` does. Others are the parts of a pair that
//! a function of another type returns (`RingBuffer::new`), or a method that takes it apart
//! (`TripleBuffer::split`).

use crate::arguments::Maker;
use crate::constructors::{Constructor, constructors, made, returning};
use crate::library::{Library, unify};
use crate::model::{Function, Implementation, Substitution, Type};
use crate::recipe::Recipe;
use crate::results::{Class, class, has_methods};

/// What a function of another type costs beside those of the type itself.
const RANK: usize = 4;

/// Makes an object of this type by what another type offers.
pub fn from_others(maker: Maker<'_>, one: &Type) -> Vec<Constructor> {
    let Type::Path(path, _) = one else {
        return Vec::new();
    };
    let krate = maker.library.find(path.split("::").next().unwrap_or(path));
    let Some(krate) = krate else {
        return Vec::new();
    };
    let mut definitions: Vec<_> = krate.definitions.iter().collect();
    // They have no order of their own.
    definitions.sort_by_key(|(path, _)| *path);
    let implementations = definitions
        .into_iter()
        .flat_map(|(_, definition)| &definition.implementations)
        .filter(|found| found.of_trait.is_none());
    let mut result = Vec::new();
    for found in implementations {
        result.extend(makers(found).flat_map(|function| staying(maker, one, found, function)));
        for function in found.functions.iter().filter(|one| is_plain(one)) {
            match function.has_receiver() {
                true => result.extend(taken_apart(maker, one, found, function)),
                false => result.extend(associated(maker, one, found, function)),
            }
        }
    }
    result
}

/// By a method of an object that stays.
fn staying(
    maker: Maker<'_>,
    one: &Type,
    found: &Implementation,
    function: &Function,
) -> Vec<Constructor> {
    let mut known = Substitution::new();
    let is_path = matches!(function.output, Type::Path(..));
    let is_made = is_path && unify(&function.output, one, &mut known);
    if !is_made || !is_companion(maker.library, one) {
        return Vec::new();
    }
    let other = maker.library.resolve(&found.subject, &known);
    let owners = owners(maker, one, &other).into_iter();
    owners
        .map(|owner| both(owner, &other, function, one))
        .collect()
}

/// By a method that takes an object apart.
fn taken_apart(
    maker: Maker<'_>,
    one: &Type,
    found: &Implementation,
    function: &Function,
) -> Vec<Constructor> {
    let mut known = Substitution::new();
    let receiver = function.inputs.first().map(|(_, receiver)| receiver);
    let is_whole = match receiver {
        Some(Type::Parameter(name)) => name == "Self",
        receiver => receiver == Some(&found.subject),
    };
    if !is_whole || function.inputs.len() != 1 {
        return Vec::new();
    }
    let Some(made) = made(&function.output, one, &mut known) else {
        return Vec::new();
    };
    let other = maker.library.resolve(&found.subject, &known);
    let owners = owners(maker, one, &other).into_iter();
    let apart = owners.map(|owner| Constructor {
        label: format!("{}, {}()", owner.label, function.name),
        recipe: Recipe::wrapped(
            "",
            owner.recipe,
            &format!(".{}(){}", function.name, made.after),
        ),
        parts: made.parts.clone(),
        in_arc: made.in_arc,
        rank: owner.rank + RANK,
    });
    apart.collect()
}

/// By a function of another type that needs no object of it.
fn associated(
    maker: Maker<'_>,
    one: &Type,
    found: &Implementation,
    function: &Function,
) -> Option<Constructor> {
    let library = maker.library;
    let mut known = Substitution::new();
    made(&function.output, one, &mut known)?;
    let other = library.resolve(&found.subject, &known);
    if other == *one || other.has_parameter() {
        return None;
    }
    if library.violated(&found.generics, &known).is_some() {
        return None;
    }
    let callee = format!("<{}>::{}", library.written(&other)?, function.name);
    returning(maker, one, function, &known, &callee, RANK)
}

/// What makes an object of another type alone.
fn owners(maker: Maker<'_>, one: &Type, other: &Type) -> Vec<Constructor> {
    if other == one || other.has_parameter() {
        return Vec::new();
    }
    let owners = constructors(maker.deeper(), other).into_iter();
    owners.filter(Constructor::is_single).collect()
}

/// Makes an object of this type with one that a method of it makes.
pub fn with_others(maker: Maker<'_>, one: &Type, own: &[Constructor]) -> Vec<Constructor> {
    let library = maker.library;
    let mut result = Vec::new();
    for (found, known) in library.implementations(one) {
        for function in makers(&found) {
            let other = library.resolve(&function.output, &known);
            if !is_companion(library, &other) || other == *one || other.has_parameter() {
                continue;
            }
            let own = own.iter().filter(|owner| owner.is_single());
            result.extend(own.map(|owner| both(owner.clone(), one, function, &other)));
        }
    }
    result
}

/// Whether it has methods of its own, and is neither a value nor a guard.
fn is_companion(library: &Library, other: &Type) -> bool {
    let is_defined = matches!(other, Type::Path(path, _) if library.definition(path).is_some());
    is_defined && class(library, other) == Class::Handle && has_methods(library, other)
}

/// Methods without arguments that an object stays after.
fn makers(found: &Implementation) -> impl Iterator<Item = &Function> {
    let functions = found.functions.iter();
    functions.filter(|function| {
        let receiver = function.inputs.first().map(|(_, receiver)| receiver);
        found.of_trait.is_none()
            && is_plain(function)
            && function.has_receiver()
            && function.inputs.len() == 1
            && matches!(receiver, Some(Type::Reference { mutable: false, .. }))
    })
}

/// Whether anybody can call it anywhere.
const fn is_plain(function: &Function) -> bool {
    function.is_public && !function.is_unsafe && !function.is_async
}

fn both(owner: Constructor, own: &Type, function: &Function, other: &Type) -> Constructor {
    let after = format!("; let other = one.{}(); (one, other) }}", function.name);
    Constructor {
        label: format!("{}, {}()", owner.label, function.name),
        recipe: Recipe::wrapped("{ let one = ", owner.recipe.clone(), &after),
        parts: vec![own.clone(), other.clone()],
        ..owner
    }
}
