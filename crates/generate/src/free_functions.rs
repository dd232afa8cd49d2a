//! A function in the place of a type: there is no object, and calls of it meet in what lies behind it.

use crate::arguments::{Maker, Refusal};
use crate::constants::Constants;
use crate::constructors::Constructor;
use crate::discovery::{Discovery, DiscoveryError};
use crate::holding::Access;
use crate::invocation::body;
use crate::library::Library;
use crate::methods::{Operation, Step};
use crate::model::{Function, Substitution, Type, last};
use crate::recipe::Recipe;
use crate::results::{Class, class, shown};
use crate::solve::solve;
use crate::supplied::Supplied;

/// What a test can do with the function of this path; `None` if there is none.
pub(crate) fn one_function(
    library: &Library,
    name: &str,
) -> Option<Result<Discovery, DiscoveryError>> {
    let krate = library.find(name.split_once("::")?.0)?;
    let function = krate.functions.get(name)?;
    let operation = operation(library, name, function);
    Some(match operation {
        Ok(operation) => Ok(Discovery {
            constants: Constants::default(),
            shown: Vec::new(),
            supplied: None,
            subject: Type::Unknown(name.to_owned()),
            written: name.to_owned(),
            parts: Vec::new(),
            holdings: Vec::new(),
            is_paired: false,
            fed: Vec::new(),
            constructors: vec![Constructor::nothing()],
            operations: vec![operation],
            refused: Vec::new(),
        }),
        Err(why) => Err(DiscoveryError::NotCalled {
            name: name.to_owned(),
            why,
        }),
    })
}

fn operation(library: &Library, path: &str, function: &Function) -> Result<Operation, Refusal> {
    if function.is_unsafe {
        return Err("it is an `unsafe fn`".to_owned());
    }
    let mut known = Substitution::new();
    solve(library, &function.generics, function, &mut known);
    if let Some(why) = library.violated(&function.generics, &known) {
        return Err(why);
    }
    let supplied = Supplied::read(library)?;
    let maker = Maker::new(library)
        .supplied_with(&supplied)
        .calling(&function.name);
    let arguments = function.inputs.iter().map(|(name, input)| {
        let value = maker.value(&library.resolve(input, &known), name);
        value.map_err(|why| format!("argument `{name}`: {why}"))
    });
    let arguments = arguments.collect::<Result<Vec<_>, Refusal>>()?;
    let output = library.resolve(&function.output, &known);
    let class = class(library, &output);
    if class == Class::Future && !function.is_async {
        return Err("what its future comes to is not known".to_owned());
    }
    let types = function.inputs.iter();
    let types =
        types.map(|(name, input)| format!("{name}: {}", library.resolve(input, &known).short()));
    let types: Vec<_> = types.collect();
    let returned = match output.is_unit() {
        true => String::new(),
        false => format!(" -> {}", output.short()),
    };
    let step = Step {
        call: Recipe::list(format!("{path}("), arguments, ")"),
        takes: None,
    };
    Ok(Operation {
        name: last(path).to_owned(),
        signature: format!("{}({}){returned}", last(path), types.join(", ")),
        part: 0,
        access: Access::None,
        body: body(library, &step, &output, &class, function.is_async, ""),
        text: shown(library, &output, "r"),
        class,
        steps: vec![step],
        is_future: function.is_async,
        may_panic: function.may_panic,
        hedge: function.hedge,
        counts_calls: function.counts_calls,
        is_shown: library.has(&output, "Debug") == Some(true),
        value: None,
        gives: None,
        callee: None,
    })
}
