//! Objects that belong together though no function returns them at once: one is made, and a method of
//! it makes the other, as `Worker::stealer` does.

use crate::arguments::Maker;
use crate::constructors::{Constructor, constructors};
use crate::library::{Library, unify};
use crate::model::{Function, Implementation, Substitution, Type};
use crate::recipe::Recipe;
use crate::results::{Class, class};

/// Makes an object of this type from one of another type, which stays.
pub fn from_others(maker: Maker<'_>, one: &Type) -> Vec<Constructor> {
    let Type::Path(path, _) = one else {
        return Vec::new();
    };
    if !is_companion(maker.library, one) {
        return Vec::new();
    }
    let krate = maker.library.find(path.split("::").next().unwrap_or(path));
    let Some(krate) = krate else {
        return Vec::new();
    };
    let mut definitions: Vec<_> = krate.definitions.iter().collect();
    // They have no order of their own.
    definitions.sort_by_key(|(path, _)| *path);
    let mut result = Vec::new();
    for (_, definition) in definitions {
        for found in &definition.implementations {
            for function in makers(found) {
                let mut known = Substitution::new();
                let output = match &function.output {
                    Type::Path(..) => &function.output,
                    _ => continue,
                };
                if !unify(output, one, &mut known) {
                    continue;
                }
                let other = maker.library.resolve(&found.subject, &known);
                if other == *one || other.has_parameter() {
                    continue;
                }
                let owners = constructors(maker.deeper(), &other);
                let owners = owners.into_iter().filter(|owner| owner.is_single());
                result.extend(owners.map(|owner| both(owner, &other, function, one)));
            }
        }
    }
    result
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
    is_defined && class(library, other) == Class::Handle
}

/// Methods without arguments that an object stays after.
fn makers(found: &Implementation) -> impl Iterator<Item = &Function> {
    let functions = found.functions.iter();
    functions.filter(|function| {
        let receiver = function.inputs.first().map(|(_, receiver)| receiver);
        found.of_trait.is_none()
            && function.is_public
            && !function.is_unsafe
            && !function.is_async
            && function.has_receiver()
            && function.inputs.len() == 1
            && matches!(receiver, Some(Type::Reference { mutable: false, .. }))
    })
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
