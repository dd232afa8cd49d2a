//! How a method is called: the call with its arguments, and the function of the harness that makes it.

use crate::arguments::{Maker, Refusal};
use crate::feedback::is_parameter;
use crate::library::Library;
use crate::methods::{Method, Step};
use crate::model::{Type, is_std};
use crate::recipe::{Names, Recipe, Snippet};
use crate::results::{Class, shown};
use crate::supplied::FILE;

/// What the user can write so that a method is called after all.
pub(crate) fn in_a_function(library: &Library, one: &Type, method: &Method<'_>) -> String {
    let name = &method.function.name;
    let written = library.written(one).unwrap_or_else(|| one.short());
    format!("write `pub fn {name}(object: &{written})` in {FILE}, which calls it")
}

/// The call; or why an argument cannot be made, and what the user can write so that it is.
pub(crate) fn call(
    maker: Maker<'_>,
    method: &Method<'_>,
    receiver: &str,
) -> Result<Recipe, (Refusal, String)> {
    let library = maker.library;
    let maker = maker.calling(&method.function.name);
    let inputs = method.function.inputs.iter().skip(1);
    let arguments = inputs.map(|(name, input)| {
        let one = library.resolve(input, &method.known);
        let target = match &one {
            Type::Reference { target, .. } => target,
            one => one,
        };
        // Whatever is of a parameter's type comes from the user, or is a key of the crate's own.
        let is_foreign = !matches!(target, Type::Path(path, _) if !is_std(path));
        let maker = match is_parameter(input) && is_foreign {
            true => maker.feeding(&[]),
            false => maker,
        };
        let value = maker.value(&one, name);
        value.map_err(|why| {
            let remedy = match library.written(target) {
                Some(written) => format!("write `pub fn values() -> Vec<{written}>` in {FILE}"),
                None => {
                    let own = method.known.get("Self").cloned();
                    in_a_function(library, &own.unwrap_or(Type::unit()), method)
                }
            };
            (format!("argument `{name}`: {why}"), remedy)
        })
    });
    let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
    let separator = if arguments.is_empty() { "" } else { ", " };
    if let Some(path) = method.supplied {
        let before = format!("{path}({receiver}{separator}");
        return Ok(Recipe::list(before, arguments, ")"));
    }
    let name = format!("{}{}", method.function.name, turbofish(method));
    let Some(of_trait) = &method.found.of_trait else {
        return Ok(Recipe::list(format!("{receiver}.{name}("), arguments, ")"));
    };
    let path = library.public_path(&of_trait.path);
    let unnamed = || {
        let own = method.known.get("Self").cloned().unwrap_or(Type::unit());
        let remedy = in_a_function(library, &own, method);
        ("its trait cannot be named".to_owned(), remedy)
    };
    let mut path = path.ok_or_else(unnamed)?;
    let written = of_trait.arguments.iter();
    let written: Option<Vec<_>> = written
        .map(|one| library.written(&library.resolve(one, &method.known)))
        .collect();
    if let Some(written) = written.filter(|written| !written.is_empty()) {
        path += &format!("::<{}>", written.join(", "));
    }
    let before = format!("{path}::{name}({receiver}{separator}");
    Ok(Recipe::list(before, arguments, ")"))
}

/// Constants have to be named: nothing else says what they are.
fn turbofish(method: &Method<'_>) -> String {
    let parameters = &method.function.generics.parameters;
    let is_needed = parameters.iter().any(|parameter| parameter.is_const);
    if !is_needed || parameters.iter().any(|parameter| parameter.is_synthetic) {
        return String::new();
    }
    let arguments = parameters
        .iter()
        .map(|parameter| match method.known.get(&parameter.name) {
            Some(Type::Const(value)) => value.clone(),
            _ => "_".to_owned(),
        });
    let arguments: Vec<_> = arguments.collect();
    format!("::<{}>", arguments.join(", "))
}

/// A recipe's code for this object.
pub(crate) fn code_on(call: &Recipe, object: &str, names: &mut Names) -> Snippet {
    let mut snippet = call.code(names);
    snippet.expression = snippet.expression.replace("{o}", object);
    for text in [&mut snippet.expression, &mut snippet.statements] {
        *text = text.replace("{other}", "other");
    }
    snippet
}

/// Body of an operation: what it returns is given to later calls, and held as long as the scheduler likes.
pub(crate) fn body(
    library: &Library,
    first: &Step,
    output: &Type,
    class: &Class,
    is_future: bool,
    give: &str,
) -> String {
    let snippet = code_on(&first.call, "o", &mut Names::default());
    let value = match is_future {
        true => format!(
            "match drive({}) {{ Some(r) => r, None => return String::from(\"Pending\") }}",
            snippet.expression
        ),
        false => snippet.expression,
    };
    let text = shown(library, output, "r");
    let held = match class.is_held() {
        true => "keep.until(move || { drop(r); String::new() }); ",
        false => "",
    };
    let statements = snippet.statements;
    format!("{statements}let mut r = {value}; {give}let text = {text}; {held}text")
}
