//! Objects that other types make. Some belong together though no function returns them at once: one is
//! made, and a method of it makes the other, as `Worker::stealer` does. Others are the parts of a pair that
//! a function of another type returns (`RingBuffer::new`), or a method that takes it apart
//! (`TripleBuffer::split`).

use crate::arguments::{Maker, Refusal};
use crate::constructors::{Constructor, constructors, explicit, made, returning};
use crate::library::{Library, unify};
use crate::model::{Function, Implementation, Substitution, Type};
use crate::recipe::Recipe;
use crate::results::{Class, class, has_methods};
use crate::solve::solve;

/// What a function of another type costs beside those of the type itself.
const RANK: usize = 4;

/// Makes an object of this type by what another type offers.
pub fn from_others(maker: Maker<'_>, one: &Type) -> Vec<Constructor> {
    let Type::Path(path, _) = one else {
        return Vec::new();
    };
    let mut result = Vec::new();
    for found in &implementations(maker.library, path) {
        result.extend(makers(found).flat_map(|function| staying(maker, one, found, function)));
        for function in found.functions.iter().filter(|one| is_plain(one)) {
            match function.has_receiver() {
                true => result.extend(taken_apart(maker, one, found, function)),
                false => result.extend(associated(maker, one, found, function, one)),
            }
        }
    }
    result
}

/// What the types of a path's crate offer without traits.
fn implementations(library: &Library, path: &str) -> Vec<Implementation> {
    let Some(krate) = library.find(path.split("::").next().unwrap_or(path)) else {
        return Vec::new();
    };
    let mut definitions: Vec<_> = krate.definitions.iter().collect();
    // They have no order of their own.
    definitions.sort_by_key(|(path, _)| *path);
    definitions
        .into_iter()
        .flat_map(|(_, definition)| &definition.implementations)
        .filter(|found| found.of_trait.is_none())
        .cloned()
        .collect()
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
    if !is_whole {
        return Vec::new();
    }
    let Some(made) = made(&function.output, one, &mut known) else {
        return Vec::new();
    };
    solve(maker.library, &function.generics, function, &mut known);
    let inputs = function.inputs.iter().skip(1).map(|(name, input)| {
        let input = maker.library.resolve(input, &known);
        maker.deeper().value(&input, name)
    });
    let Ok(arguments) = inputs.collect::<Result<Vec<_>, Refusal>>() else {
        return Vec::new();
    };
    let other = maker.library.resolve(&found.subject, &known);
    let method = format!(
        "{}{}",
        function.name,
        explicit(maker.library, function, &known)
    );
    let names: Vec<_> = (1..=arguments.len())
        .map(|number| format!("a{number}"))
        .collect();
    let (names, after) = (names.join(", "), made.after);
    let owners = owners(maker, one, &other).into_iter();
    let apart = owners.map(|owner| Constructor {
        label: format!("{}, {}()", owner.label, function.name),
        recipe: match arguments.as_slice() {
            [] => Recipe::wrapped("", owner.recipe, &format!(".{method}(){after}")),
            arguments => {
                let values = [&[owner.recipe], arguments].concat();
                let call = format!("); one.{method}({names}){after} }}");
                Recipe::list(format!("{{ let (one, {names}) = ("), values, &call)
            }
        },
        parts: made.parts.clone(),
        in_arc: made.in_arc,
        rank: owner.rank + RANK + arguments.len(),
    });
    apart.collect()
}

/// By a function of another type that needs no object of it. Where nothing else says what the parameters of the
/// other type are, it is the type for which the object is made.
fn associated(
    maker: Maker<'_>,
    one: &Type,
    found: &Implementation,
    function: &Function,
    wanted: &Type,
) -> Option<Constructor> {
    let library = maker.library;
    let mut known = Substitution::new();
    made(&function.output, one, &mut known)?;
    let mut guess = known.clone();
    if unify(&found.subject, wanted, &mut guess) {
        known = guess;
    }
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

/// What makes an object of another type alone. A builder is most often made by a function of the type that it builds.
fn owners(maker: Maker<'_>, one: &Type, other: &Type) -> Vec<Constructor> {
    let Type::Path(path, _) = other else {
        return Vec::new();
    };
    if other == one || other.has_parameter() {
        return Vec::new();
    }
    let maker = maker.deeper();
    let mut owners = constructors(maker, other);
    if owners.is_empty() {
        for found in implementations(maker.library, path) {
            let functions = found.functions.iter();
            let functions = functions.filter(|one| is_plain(one) && !one.has_receiver());
            let made =
                functions.filter_map(|function| associated(maker, other, &found, function, one));
            owners.extend(made);
        }
    }
    owners.retain(Constructor::is_single);
    owners
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
