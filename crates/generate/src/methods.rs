//! What can be called on an object: methods whose receiver it can be (`receivers`), those of traits
//! that the type or a reference to it has, those of what it dereferences to, and methods of the
//! handles that they return.

use std::collections::BTreeSet;

use crate::arguments::Maker;
use crate::callees::Callee;
use crate::feedback::{self, Gives, Value};
use crate::futures;
use crate::handles::on_handle;
use crate::holding::{Access, Holding};
use crate::invocation::{body, call, in_a_function};
use crate::library::Library;
use crate::model::{Function, Implementation, Substitution, Type, is_std, last};
use crate::promises::Hedge;
use crate::receivers::{Receiver, receiver_of};
use crate::recipe::Recipe;
use crate::results::{Class, class, shown};
use crate::solve::solve;
use crate::targets::add_targets;

/// Traits of std whose methods are not worth a test: they only show, compare or convert.
const DULL: &[&str] = &[
    "Debug",
    "Display",
    "Drop",
    "From",
    "Hash",
    "PartialOrd",
    "Ord",
    "Borrow",
    "AsRef",
    "Any",
    "Default",
    "FromIterator",
    "Serialize",
    "Deserialize",
    "Index",
    "Deref",
    "Error",
    "PartialEq",
    "Eq",
    "Not",
    "DerefMut",
    "IndexMut",
    "BorrowMut",
    "AsMut",
    "Extend",
];

/// Something that a test may do with one of its objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// `push`, `entry.or_insert`, `Read::read`.
    pub name: String,
    /// For people.
    pub signature: String,
    /// Which of the objects it is called on.
    pub part: usize,
    /// What it does with it.
    pub access: Access,
    /// What its result is.
    pub class: Class,
    /// How it is written down, with `{o}` for the object.
    pub steps: Vec<Step>,
    /// Body of its function in the harness.
    pub body: String,
    /// Code that makes text of its result, `r`; the same in the harness and in a test that is written down.
    pub text: String,
    /// Whether it returns a future, which is driven.
    pub is_future: bool,
    /// Whether panics are a part of what it promises.
    pub may_panic: bool,
    /// What its documentation does not promise, if it says so.
    pub hedge: Option<Hedge>,
    /// Whether its documentation says how often closures are called.
    pub counts_calls: bool,
    /// Whether its result has `Debug`.
    pub is_shown: bool,
    /// What its result has in it for later calls.
    pub value: Option<Value>,
    /// What it gives them.
    pub gives: Option<Gives>,
    /// The method that it calls first, if it calls one.
    pub callee: Option<Callee>,
}

impl Operation {
    /// What of its arguments is fed back.
    pub fn fed(&self) -> Vec<(usize, &str, bool)> {
        let steps = self.steps.iter();
        steps.flat_map(|step| step.call.fed()).collect()
    }

    /// Whether it is given another object of the type under test.
    pub fn takes_other(&self) -> bool {
        self.body.contains("(&**other)") || self.body.contains("other.clone()")
    }
}

/// One call of an operation. A second one is made on what the first returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The call, with `{o}` for what it is made on.
    pub call: Recipe,
    /// How a handle is taken out of the result, if it is not the result.
    pub takes: Option<&'static str>,
}

/// A method that is not called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its name.
    pub name: String,
    /// For people.
    pub signature: String,
    /// Why.
    pub why: String,
    /// What the user can do about it.
    pub remedy: String,
}

/// What can be done with one object, and what cannot.
#[derive(Clone, Debug, Default)]
pub struct Methods {
    /// What can.
    pub operations: Vec<Operation>,
    /// What cannot.
    pub refused: Vec<Refused>,
}

/// A method with all that is known about it.
pub(crate) struct Method<'a> {
    /// Where it stands.
    pub found: &'a Implementation,
    /// Itself.
    pub function: Function,
    /// What parameters are.
    pub known: Substitution,
    /// Its path, if it is a function that the user supplies.
    pub supplied: Option<&'a str>,
}

/// The methods of a part of the test's objects, which threads hold like this.
pub fn methods(maker: Maker<'_>, one: &Type, part: usize, holding: Holding) -> Methods {
    let mut result = Methods::default();
    let supplied = maker.supplied().operations(one);
    let found = Implementation::of(one.clone());
    for (path, function) in &supplied {
        let method = Method {
            found: &found,
            function: function.clone(),
            known: Substitution::from([("Self".to_owned(), one.clone())]),
            supplied: Some(path),
        };
        add(maker, one, (part, holding), method, &mut result);
    }
    // What the user supplies is there in the place of a method with the same name.
    let is_replaced = |function: &Function| {
        let mut supplied = supplied.iter();
        supplied.any(|(_, own)| own.name == function.name)
    };
    for (found, known) in maker.library.implementations(one) {
        let functions = functions(maker.library, &found).into_iter();
        for function in functions.filter(|function| !is_replaced(function)) {
            let method = Method {
                found: &found,
                function,
                known: known.clone(),
                supplied: None,
            };
            add(maker, one, (part, holding), method, &mut result);
        }
    }
    add_targets(maker, one, (part, holding), &mut result);
    result.operations.sort_by(|a, b| a.name.cmp(&b.name));
    // The same with and without a future stand side by side: the compiler says which it is.
    let mut known = BTreeSet::new();
    result
        .operations
        .retain(|one| known.insert((one.name.clone(), one.signature.clone(), one.is_future)));
    result.refused.sort_by(|a, b| a.name.cmp(&b.name));
    result
        .refused
        .dedup_by(|a, b| a.name == b.name && a.signature == b.signature);
    result
}

/// Functions that others may call, those that a trait provides included.
pub(crate) fn functions(library: &Library, found: &Implementation) -> Vec<Function> {
    let Some(of_trait) = &found.of_trait else {
        let functions = found.functions.iter();
        return functions
            .filter(|function| function.is_public && function.has_receiver())
            .cloned()
            .collect();
    };
    let is_on_reference = matches!(found.subject, Type::Reference { .. });
    let name = last(&of_trait.path);
    if DULL.contains(&name) && (is_std(&of_trait.path) || !is_on_reference) {
        return Vec::new();
    }
    let mut result = found.functions.clone();
    let of_trait = library.one_trait(&of_trait.path);
    // What a trait hides from its documentation is hidden in its implementations too, and what it says
    // about panics holds for them.
    if let Some(of_trait) = &of_trait {
        result.retain_mut(|own| {
            let mut declared = of_trait.functions.iter();
            let declared = declared.find(|one| one.name == own.name && one.is_public);
            own.may_panic |= declared.is_some_and(|one| one.may_panic);
            declared.is_some()
        });
    }
    let provided = of_trait.into_iter().flat_map(|one| one.functions);
    let provided = provided.filter(|function| function.is_public);
    result.extend(provided.filter(|function| {
        let is_own = found.functions.iter().any(|own| own.name == function.name);
        found.provided.contains(&function.name) && !is_own
    }));
    result.retain(Function::has_receiver);
    result
}

fn add(
    maker: Maker<'_>,
    one: &Type,
    (part, holding): (usize, Holding),
    method: Method<'_>,
    result: &mut Methods,
) {
    let library = maker.library;
    let (_, receiver) = &method.function.inputs[0];
    let receiver = library.resolve(receiver, &method.known);
    match receiver_of(&receiver, one, &method, holding) {
        Receiver::Taken(code, access) => {
            add_received(maker, (one, code), (part, access), method, result);
        }
        Receiver::Refused(why, remedy) => result.refused.push(Refused {
            name: name(&method),
            signature: signature(library, &method),
            why: why.to_owned(),
            remedy: remedy.to_owned(),
        }),
    }
}

/// Adds a method of a type, for which the receiver is written like this.
pub(crate) fn add_received(
    maker: Maker<'_>,
    (one, receiver): (&Type, &str),
    (part, access): (usize, Access),
    method: Method<'_>,
    result: &mut Methods,
) {
    let library = maker.library;
    let mut method = method;
    let signature = signature(library, &method);
    let name = name(&method);
    let refuse = |result: &mut Methods, why: String, remedy: &str| {
        result.refused.push(Refused {
            name: name.clone(),
            signature: signature.clone(),
            why,
            remedy: remedy.to_owned(),
        });
    };
    if method.function.name.starts_with('_') {
        let why = "its name begins with `_`, by which its crate says that it is not for others";
        return refuse(
            result,
            why.to_owned(),
            &in_a_function(library, one, &method),
        );
    }
    if method.function.is_unsafe {
        let why = "it is an `unsafe fn`".to_owned();
        return refuse(result, why, &in_a_function(library, one, &method));
    }
    let violated = library.violated(&method.found.generics, &method.known);
    if let Some(why) = violated {
        return refuse(result, why, "name the type with other arguments");
    }
    solve(
        library,
        &method.found.generics,
        &method.function,
        &mut method.known,
    );
    solve(
        library,
        &method.function.generics,
        &method.function,
        &mut method.known,
    );
    if let Some(why) = library.violated(&method.function.generics, &method.known) {
        return refuse(result, why, "name the type with other arguments");
    }
    let call = match call(maker, &method, receiver) {
        Ok(call) => call,
        Err((why, remedy)) => return refuse(result, why, &remedy),
    };
    let output = output(library, &method);
    let class = class(library, &output);
    let returned = library.resolve(&method.function.output, &method.known);
    let is_future = method.function.is_async || self::class(library, &returned) == Class::Future;
    let callee = Some(Callee {
        subject: one.clone(),
        of_trait: method.found.of_trait.as_ref().map(|one| one.path.clone()),
        name: method.function.name.clone(),
    });
    let first = Step { call, takes: None };
    let mut operation = Operation {
        name: name.clone(),
        signature: signature.clone(),
        part,
        access,
        steps: vec![first.clone()],
        body: body(library, &first, &output, &class, is_future, ""),
        text: shown(library, &output, "r"),
        class,
        is_future,
        may_panic: may_panic(&method),
        hedge: method.function.hedge,
        counts_calls: method.function.counts_calls,
        is_shown: library.has(&output, "Debug") == Some(true),
        value: Value::of(library, &method.function.output, &output),
        gives: None,
        callee: callee.clone(),
    };
    if let Some(gives) = feedback::gives(maker.fed(), &operation) {
        let class = &operation.class;
        operation.body = body(library, &first, &output, class, is_future, &gives.code);
        operation.gives = Some(gives);
    }
    let driven = futures::proposed(library, &operation, &first, &returned);
    result.operations.extend(driven);
    result.operations.push(operation);
    if !is_future {
        let method_hedge = method.function.hedge;
        let handles = on_handle(maker, one, &first, &output);
        result.operations.extend(handles.into_iter().map(
            |(method, steps, class, (body, text))| Operation {
                name: format!("{name}.{}", method.0),
                signature: format!("{name}(..).{}", method.1),
                part,
                access,
                class,
                steps,
                body,
                text,
                is_future: false,
                may_panic: true,
                hedge: method_hedge,
                counts_calls: false,
                is_shown: false,
                value: None,
                gives: None,
                callee: callee.clone(),
            },
        ));
    }
}

/// Whether panics are a part of what a method promises: its documentation speaks of them, or it is
/// an operator, which has no other way to say that there is no result.
fn may_panic(method: &Method<'_>) -> bool {
    let of_trait = method.found.of_trait.as_ref();
    let is_operator = of_trait.is_some_and(|of_trait| of_trait.path.contains("::ops::"));
    method.function.may_panic || is_operator
}

pub(crate) fn name(method: &Method<'_>) -> String {
    match &method.found.of_trait {
        Some(of_trait) => format!("{}::{}", last(&of_trait.path), method.function.name),
        None => method.function.name.clone(),
    }
}

pub(crate) fn signature(library: &Library, method: &Method<'_>) -> String {
    let inputs = method.function.inputs.iter().skip(1);
    let inputs: Vec<_> = inputs
        .map(|(name, input)| format!("{name}: {}", library.resolve(input, &method.known).short()))
        .collect();
    let output = library.resolve(&method.function.output, &method.known);
    let output = match output.is_unit() {
        true => String::new(),
        false => format!(" -> {}", output.short()),
    };
    let word = if method.function.is_async {
        "async "
    } else {
        ""
    };
    format!("{word}{}({}){output}", name(method), inputs.join(", "))
}

/// The type of the result; of a future, what it comes to.
pub(crate) fn output(library: &Library, method: &Method<'_>) -> Type {
    let output = library.resolve(&method.function.output, &method.known);
    if method.function.is_async || class(library, &output) != Class::Future {
        return output;
    }
    let of_impl = match &output {
        Type::Impl(bounds) => bounds
            .iter()
            .find_map(|bound| bound.binding("Output"))
            .cloned(),
        one => library.associated(one, "Output"),
    };
    of_impl.unwrap_or(Type::Unknown("?".to_owned()))
}
