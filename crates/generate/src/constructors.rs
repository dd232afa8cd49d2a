//! What makes an object: its constructors, `Default`, literals, conversions, and functions of its
//! crate. One that makes a pair, of a sender and a receiver for example, makes all of its parts.

use crate::arguments::{Maker, Refusal};
use crate::library::{Library, unify};
use crate::model::{Function, Shape, Substitution, Type, last};
use crate::recipe::Recipe;
use crate::solve::solve;

/// Objects that are made from others: no more than so many.
const DEEPEST: usize = 4;
/// Functions outside of types are looked at for objects that lie no deeper.
const DEEPEST_FREE: usize = 2;

/// One way to make an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constructor {
    /// For people.
    pub label: String,
    /// How.
    pub recipe: Recipe,
    /// What it makes: the object alone, or all elements of a tuple.
    pub parts: Vec<Type>,
    /// Whether each part comes in an `Arc`.
    pub in_arc: bool,
    /// The best ones come first.
    pub(crate) rank: usize,
}

impl Constructor {
    /// Makes nothing, for calls that need no object.
    pub(crate) fn nothing() -> Self {
        Self {
            label: "nothing".to_owned(),
            recipe: Recipe::Fixed("()".to_owned()),
            parts: Vec::new(),
            in_arc: false,
            rank: 0,
        }
    }

    /// Whether it makes one object, as it is.
    pub fn is_single(&self) -> bool {
        self.parts.len() == 1 && !self.in_arc
    }

    /// Whether it is a function of the type, and nothing that is written down or converted.
    pub fn is_called(&self) -> bool {
        self.label.ends_with(')')
    }
}

/// What makes a value of this type, the simplest first.
pub fn constructors(maker: Maker<'_>, one: &Type) -> Vec<Constructor> {
    let Type::Path(path, _) = one else {
        return Vec::new();
    };
    if maker.depth() > DEEPEST || maker.library.public_path(path).is_none() {
        return Vec::new();
    }
    let mut found = shapes(maker, one, path);
    found.extend(of_implementations(maker, one));
    if maker.depth() <= DEEPEST_FREE {
        found.extend(free_functions(maker, one, path));
    }
    found.sort_by(|a, b| (a.rank, &a.label).cmp(&(b.rank, &b.label)));
    found
}

/// Values written down field by field.
fn shapes(maker: Maker<'_>, one: &Type, path: &str) -> Vec<Constructor> {
    let Some(definition) = maker.library.definition(path) else {
        return Vec::new();
    };
    let written = maker.library.public_path(path).unwrap_or_default();
    let known = maker.library.parameters(one);
    let value = |name: &str, field: &Type| {
        maker
            .deeper()
            .value(&maker.library.resolve(field, &known), name)
    };
    let named = |before: String, fields: &[(String, Type)]| -> Result<Recipe, Refusal> {
        let parts = fields
            .iter()
            .map(|(name, field)| Ok((format!("{name}: "), value(name, field)?)));
        Ok(Recipe::Around {
            before: format!("{before} {{ "),
            parts: parts.collect::<Result<_, Refusal>>()?,
            after: " }".to_owned(),
        })
    };
    let plain = |before: String, fields: &[(String, Type)]| -> Result<Recipe, Refusal> {
        let values = fields.iter().map(|(name, field)| value(name, field));
        let values = values.collect::<Result<Vec<_>, Refusal>>()?;
        Ok(Recipe::list(format!("{before}("), values, ")"))
    };
    let (label, rank, recipe) = match &definition.shape {
        Shape::Unit => ("unit struct", 0, Ok(Recipe::Fixed(written))),
        Shape::Fields(fields) => ("literal", 2, named(written, fields)),
        Shape::Tuple(types) => {
            let fields: Vec<_> = types
                .iter()
                .map(|one| (String::new(), one.clone()))
                .collect();
            ("literal", 2, plain(written, &fields))
        }
        Shape::Variants(variants) => {
            let options = variants.iter().filter_map(|variant| {
                let path = format!("{written}::{}", variant.name);
                match (variant.has_names, variant.fields.is_empty()) {
                    (false, true) => Some(Recipe::Fixed(path)),
                    (true, _) => named(path, &variant.fields).ok(),
                    (false, false) => plain(path, &variant.fields).ok(),
                }
            });
            let options: Vec<_> = options.collect();
            match options.is_empty() {
                true => return Vec::new(),
                false => ("variants", 0, Ok(Recipe::Choice(options))),
            }
        }
        Shape::Opaque => return Vec::new(),
    };
    let recipe = recipe.ok();
    recipe
        .map(|recipe| Constructor {
            label: label.to_owned(),
            recipe,
            parts: vec![one.clone()],
            in_arc: false,
            rank,
        })
        .into_iter()
        .collect()
}

fn of_implementations(maker: Maker<'_>, one: &Type) -> Vec<Constructor> {
    let library = maker.library;
    let Some(written) = library.written(one) else {
        return Vec::new();
    };
    let mut result = Vec::new();
    for (found, known) in library.implementations(one) {
        let is_on_reference = matches!(found.subject, Type::Reference { .. });
        if is_on_reference || library.violated(&found.generics, &known).is_some() {
            continue;
        }
        let Some(of_trait) = &found.of_trait else {
            let functions = found.functions.iter().filter(|function| function.is_public);
            result.extend(functions.filter_map(|function| {
                let callee = format!("<{written}>::{}", function.name);
                let rank = if function.name == "new" { 0 } else { 3 };
                returning(maker, one, function, &known, &callee, rank)
            }));
            continue;
        };
        let argument = of_trait.arguments.first();
        let argument = argument.map(|argument| library.resolve(argument, &known));
        let argument = argument.filter(|argument| !argument.has_parameter() && argument != one);
        let (label, recipe, rank) = match (last(&of_trait.path), argument) {
            ("Default", _) => {
                let text = format!("<{written} as Default>::default()");
                ("Default".to_owned(), Ok(Recipe::Fixed(text)), 1)
            }
            ("From", Some(argument)) => {
                let value = maker.deeper().value(&argument, "");
                let before = format!("<{written} as From<_>>::from(");
                let recipe = value.map(|value| Recipe::wrapped(&before, value, ")"));
                (format!("From<{}>", argument.short()), recipe, 6)
            }
            ("FromIterator", Some(argument)) => {
                let many = Type::Path("alloc::vec::Vec".to_owned(), vec![argument.clone()]);
                let value = maker.deeper().value(&many, "");
                let after = format!(".into_iter().collect::<{written}>()");
                let recipe = value.map(|value| Recipe::wrapped("", value, &after));
                (format!("FromIterator<{}>", argument.short()), recipe, 6)
            }
            _ => continue,
        };
        result.extend(recipe.ok().map(|recipe| Constructor {
            label,
            recipe,
            parts: vec![one.clone()],
            in_arc: false,
            rank,
        }));
    }
    result
}

/// Functions of the crate that return the object.
fn free_functions(maker: Maker<'_>, one: &Type, path: &str) -> Vec<Constructor> {
    let krate = maker.library.find(path.split("::").next().unwrap_or(path));
    let mut result = Vec::new();
    for (callee, function) in krate.iter().flat_map(|krate| &krate.functions) {
        if function.has_receiver() {
            continue;
        }
        let none = Substitution::new();
        let output = maker.library.resolve(&function.output, &none);
        let mut known = Substitution::new();
        if made(&output, one, &mut known).is_none() {
            continue;
        }
        solve(maker.library, &function.generics, function, &mut known);
        if maker.library.violated(&function.generics, &known).is_some() {
            continue;
        }
        let callee = format!("{callee}{}", explicit(maker.library, function, &known));
        result.extend(returning(maker, one, function, &known, &callee, 5));
    }
    result
}

/// The type arguments of a function as a call writes them; nothing if there are none.
pub(crate) fn explicit(library: &Library, function: &Function, known: &Substitution) -> String {
    let parameters = function.generics.parameters.iter();
    let named = parameters.filter(|one| !one.is_synthetic);
    let named: Vec<_> = named
        .map(|parameter| {
            let one = known.get(&parameter.name);
            let written = one.and_then(|one| library.written(one));
            written.unwrap_or_else(|| "_".to_owned())
        })
        .collect();
    match named.is_empty() {
        true => String::new(),
        false => format!("::<{}>", named.join(", ")),
    }
}

/// A function that returns the object, if it does and its arguments can be made.
pub(crate) fn returning(
    maker: Maker<'_>,
    one: &Type,
    function: &Function,
    known: &Substitution,
    callee: &str,
    rank: usize,
) -> Option<Constructor> {
    if function.has_receiver() || function.is_unsafe || function.is_async {
        return None;
    }
    let mut known = known.clone();
    solve(maker.library, &function.generics, function, &mut known);
    let output = maker.library.resolve(&function.output, &known);
    let made = made(&output, one, &mut known)?;
    let inputs = function.inputs.iter().map(|(name, input)| {
        maker
            .deeper()
            .value(&maker.library.resolve(input, &known), name)
    });
    let arguments = inputs.collect::<Result<Vec<_>, Refusal>>().ok()?;
    let names: Vec<_> = function
        .inputs
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    // Most arguments make it worse, but `new` is meant to be called.
    let rank = if rank == 0 { 0 } else { rank + arguments.len() };
    Some(Constructor {
        label: format!("{}({})", function.name, names.join(", ")),
        recipe: Recipe::list(format!("{callee}("), arguments, &format!("){}", made.after)),
        parts: made.parts,
        in_arc: made.in_arc,
        rank,
    })
}

/// How the object is got out of what a function returns.
pub(crate) struct Made {
    pub(crate) parts: Vec<Type>,
    pub(crate) after: &'static str,
    pub(crate) in_arc: bool,
}

/// How what a function returns holds the object.
pub(crate) fn made(output: &Type, one: &Type, known: &mut Substitution) -> Option<Made> {
    let mut is = |pattern: &Type| {
        !matches!(pattern, Type::Parameter(_) | Type::Projection(..)) && unify(pattern, one, known)
    };
    let alone = |after: &'static str, in_arc: bool| Made {
        parts: vec![one.clone()],
        after,
        in_arc,
    };
    if is(output) {
        return Some(alone("", false));
    }
    let first = output.arguments().first();
    match (output.std_name(), output) {
        (Some("Option" | "Result"), _) if first.is_some_and(&mut is) => {
            Some(alone(".into_iter().next().unwrap()", false))
        }
        (Some("Arc"), _) if first.is_some_and(&mut is) => Some(alone("", true)),
        (_, Type::Tuple(types)) if types.iter().any(&mut is) => Some(Made {
            parts: types.iter().map(|part| part.substitute(known)).collect(),
            after: "",
            in_arc: false,
        }),
        _ => None,
    }
}
