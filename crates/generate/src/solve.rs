//! Which types a function's own parameters get: the ones that bounds ask for, else `u32`.

use std::collections::HashSet;

use crate::arguments::{MARKERS, SEEN};
use crate::library::Library;
use crate::model::{Bound, Function, Generics, Substitution, Type};

/// Adds a type for every parameter that has none.
pub fn solve(
    library: &Library,
    generics: &Generics,
    function: &Function,
    known: &mut Substitution,
) {
    for parameter in generics
        .parameters
        .iter()
        .filter(|parameter| parameter.is_const)
    {
        let two = || Type::Const("2".to_owned());
        known.entry(parameter.name.clone()).or_insert_with(two);
    }
    borrowed(library, generics, known);
    let open: Vec<(String, Vec<Bound>)> = generics
        .parameters
        .iter()
        .filter(|parameter| !known.contains_key(&parameter.name) && !parameter.is_synthetic)
        .map(|parameter| (parameter.name.clone(), bounds_of(generics, &parameter.name)))
        .collect();
    let results = closure_results(&open, function);
    for (name, bounds) in &open {
        let real: Vec<&Bound> = bounds
            .iter()
            .filter(|bound| !bound.is_maybe && !matches!(bound.name(), "Send" | "Sync" | "Sized"))
            .collect();
        let converted = real.iter().find_map(|bound| {
            let is_conversion = matches!(
                bound.name(),
                "Into" | "Equivalent" | "Comparable" | "Borrow"
            );
            let first = bound.arguments.first().filter(|_| is_conversion)?;
            let first = library.resolve(first, known);
            (!first.has_parameter() && !first.is_primitive("str")).then_some(first)
        });
        if results.contains(name) && real.is_empty() {
            known.insert(name.clone(), Type::Unknown(SEEN.to_owned()));
        } else if let Some(converted) = converted {
            known.insert(name.clone(), converted);
        } else if real.iter().all(|bound| MARKERS.contains(&bound.name())) {
            known.insert(name.clone(), Type::primitive("u32"));
        }
    }
    for (name, bounds) in open {
        if !known.contains_key(&name) {
            let one = library.resolve(&Type::Impl(bounds), known);
            known.insert(name, one);
        }
    }
}

/// What is asked of a parameter, where it stands and in `where` clauses.
fn bounds_of(generics: &Generics, name: &str) -> Vec<Bound> {
    let own = generics.parameters.iter();
    let own = own.filter(|parameter| parameter.name == name);
    let own = own.flat_map(|parameter| parameter.bounds.clone());
    let predicates = generics.predicates.iter();
    let predicates = predicates.filter(|(one, _)| *one == Type::Parameter(name.to_owned()));
    own.chain(predicates.flat_map(|(_, bounds)| bounds.clone()))
        .collect()
}

/// The `Q` of `K: Borrow<Q>` is `K`.
fn borrowed(library: &Library, generics: &Generics, known: &mut Substitution) {
    let own = generics.parameters.iter();
    let own = own.map(|parameter| (Type::Parameter(parameter.name.clone()), &parameter.bounds));
    let predicates = generics
        .predicates
        .iter()
        .map(|(one, bounds)| (one.clone(), bounds));
    let asked: Vec<(Type, &Vec<Bound>)> = own.chain(predicates).collect();
    for (one, bounds) in asked {
        let one = library.resolve(&one, known);
        for bound in bounds {
            let first = bound.arguments.first();
            if let ("Borrow" | "AsRef" | "Into", Some(Type::Parameter(name))) =
                (bound.name(), first)
                && !one.has_parameter()
            {
                known.entry(name.clone()).or_insert_with(|| one.clone());
            }
        }
    }
}

/// Parameters that are the result of a closure.
fn closure_results(open: &[(String, Vec<Bound>)], function: &Function) -> HashSet<String> {
    let of_arguments = function.inputs.iter().filter_map(|(_, one)| match one {
        Type::Impl(bounds) => Some(bounds),
        _ => None,
    });
    let all = open
        .iter()
        .map(|(_, bounds)| bounds)
        .chain(of_arguments)
        .flatten();
    let results = all.filter_map(|bound| match bound.callable.as_ref()?.1.as_ref() {
        Type::Parameter(name) => Some(name.clone()),
        _ => None,
    });
    results.collect()
}
