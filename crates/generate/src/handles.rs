//! Calls on what a method returned: methods of handles, and writing through guards.

use crate::arguments::Maker;
use crate::invocation::{call, code_on};
use crate::library::Library;
use crate::methods::{Method, Step, functions, output as output_of, signature};
use crate::model::{Substitution, Type};
use crate::recipe::{Names, Recipe};
use crate::results::{Class, class, shown};
use crate::solve::solve;

/// Name and signature, steps, what the result is, and the body with the code that makes text of the result.
pub(crate) type OnHandle = ((String, String), Vec<Step>, Class, (String, String));

/// Calls on what a method returned.
pub(crate) fn on_handle(
    maker: Maker<'_>,
    one: &Type,
    first: &Step,
    output: &Type,
) -> Vec<OnHandle> {
    let library = maker.library;
    let (takes, handle) = match output.std_name() {
        Some("Option") => (Some("Some"), output.arguments().first()),
        Some("Result") => (Some("Ok"), output.arguments().first()),
        _ => (None, Some(output)),
    };
    let Some(handle) = handle.filter(|handle| *handle != one) else {
        return Vec::new();
    };
    let is_held = class(library, handle).is_held();
    if !is_held || handle.std_name().is_some() {
        return Vec::new();
    }
    let mut result = Vec::new();
    for (found, known) in library.implementations(handle) {
        if found.of_trait.is_some() || library.violated(&found.generics, &known).is_some() {
            continue;
        }
        for function in functions(library, &found) {
            let mut method = Method {
                found: &found,
                function,
                known: known.clone(),
                supplied: None,
            };
            let Some(receiver) = handle_receiver(library, handle, &method) else {
                continue;
            };
            if method.function.is_unsafe || method.function.is_async {
                continue;
            }
            solve(
                library,
                &found.generics,
                &method.function,
                &mut method.known,
            );
            solve(
                library,
                &method.function.generics,
                &method.function,
                &mut method.known,
            );
            let is_violated = library
                .violated(&method.function.generics, &method.known)
                .is_some();
            let Ok(call) = call(maker, &method, receiver) else {
                continue;
            };
            if is_violated {
                continue;
            }
            let second = Step { call, takes };
            let output = output_of(library, &method);
            let body = body_on_handle(library, first, &second, &output);
            let body = (body, shown(library, &output, "r"));
            let names = (method.function.name.clone(), signature(library, &method));
            let class = class(library, &output);
            result.push((names, vec![first.clone(), second], class, body));
        }
    }
    result.extend(write_through(maker, first, takes, handle));
    result
}

/// Writes to what a guard refers to.
fn write_through(
    maker: Maker<'_>,
    first: &Step,
    takes: Option<&'static str>,
    guard: &Type,
) -> Option<OnHandle> {
    let library = maker.library;
    if library.has(guard, "DerefMut") != Some(true) {
        return None;
    }
    let target = library.associated(guard, "Target")?;
    let target = library.resolve(&target, &Substitution::new());
    let value = maker.deeper().value(&target, "").ok()?;
    let second = Step {
        call: Recipe::list("*{o} = ", vec![value], ""),
        takes,
    };
    let body = body_on_handle(library, first, &second, &Type::unit());
    let body = (body, shown(library, &Type::unit(), "r"));
    let names = (
        "write".to_owned(),
        format!("write(value: {})", target.short()),
    );
    Some((names, vec![first.clone(), second], Class::Unit, body))
}

fn handle_receiver(library: &Library, handle: &Type, method: &Method<'_>) -> Option<&'static str> {
    let (_, receiver) = &method.function.inputs[0];
    match library.resolve(receiver, &method.known) {
        one if one == *handle => Some("{o}"),
        Type::Reference { mutable, target } if *target == *handle => match mutable {
            true => Some("(&mut {o})"),
            false => Some("(&{o})"),
        },
        _ => None,
    }
}

/// The second call is made when the scheduler likes, with arguments that are made before.
fn body_on_handle(library: &Library, first: &Step, second: &Step, output: &Type) -> String {
    let mut names = Names::default();
    let one = code_on(&first.call, "o", &mut names);
    let other = code_on(&second.call, "h", &mut names);
    let taken = match second.takes {
        Some("Some") => "let Some(mut h) = r else { return String::from(\"None\") }; ",
        Some(_) => "let Ok(mut h) = r else { return String::from(\"Err\") }; ",
        None => "let mut h = r; ",
    };
    let text = shown(library, output, "r");
    format!(
        "{}{}let mut r = {}; {taken}keep.until(move || {{ let mut r = {}; {text} }}); String::new()",
        one.statements, other.statements, one.expression, other.expression
    )
}
