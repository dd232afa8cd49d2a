//! The type as the user names it.

use crate::library::Library;
use crate::model::{Bound, Generics, Parameter, Substitution, Type, is_std};
use crate::rustdoc::RustdocError;

/// Why a type's name leads nowhere. The sentences say what to do.
#[derive(Debug, thiserror::Error)]
pub enum TypeError {
    /// It cannot be read.
    #[error(
        "`{0}` is not the name of a type; name it as Rust code does, like `my_crate::Pool` or `dashmap::DashMap<u32, u32>`"
    )]
    Syntax(String),
    /// It has no path.
    #[error("say where `{0}` comes from, like `my_crate::{0}`")]
    NoPath(String),
    /// There is no such type.
    #[error("`{crate_name}` has no public type `{name}`{suggestion}")]
    Unknown {
        /// The crate.
        crate_name: String,
        /// The whole name.
        name: String,
        /// What may be meant.
        suggestion: String,
    },
    /// It is there, but others cannot name it.
    #[error("`{0}` is private: others cannot call it, so there is nothing to generate")]
    Private(String),
    /// It is something else.
    #[error("`{0}` is no struct, enum or union")]
    NoType(String),
    /// The crate's description is not there.
    #[error(transparent)]
    Rustdoc(#[from] RustdocError),
}

/// The type with this name. Parameters that are left open get defaults: `u32`, or `String` where
/// a number will not do.
///
/// # Errors
///
/// If there is no such type.
pub fn find_type(library: &Library, name: &str) -> Result<Type, TypeError> {
    let parsed: syn::Type = syn::parse_str(name).map_err(|_| TypeError::Syntax(name.to_owned()))?;
    let converted = convert(library, &parsed, true).map_err(|error| match error {
        TypeError::Syntax(_) => TypeError::Syntax(name.to_owned()),
        other => other,
    })?;
    let Type::Path(path, mut arguments) = converted else {
        return Err(TypeError::NoType(name.to_owned()));
    };
    let krate = library.require(path.split("::").next().unwrap_or(&path))?;
    let alias = krate.aliases.get(&path).map(|alias| &alias.generics);
    let own = krate
        .definitions
        .get(&path)
        .map(|definition| &definition.generics);
    let generics = alias
        .or(own)
        .ok_or_else(|| TypeError::NoType(name.to_owned()))?;
    let open = generics.parameters.iter().skip(arguments.len());
    let open = open.take_while(|parameter| parameter.default.is_none());
    arguments.extend(open.map(|parameter| default(generics, parameter)));
    let given = Type::Path(path, arguments);
    let found = library.resolve(&given, &Substitution::new());
    if !matches!(&found, Type::Path(path, _) if library.definition(path).is_some()) {
        return Err(TypeError::NoType(name.to_owned()));
    }
    let spelling = name.split('<').next().unwrap_or(name).trim();
    let written: Option<Vec<_>> = given
        .arguments()
        .iter()
        .map(|one| library.written(one))
        .collect();
    if let Some(written) = written {
        library.call(
            &found,
            match written.is_empty() {
                true => spelling.to_owned(),
                false => format!("{spelling}<{}>", written.join(", ")),
            },
            generics.lifetimes,
        );
    }
    Ok(found)
}

/// What stands for a parameter that was left open.
fn default(generics: &Generics, parameter: &Parameter) -> Type {
    if parameter.is_const {
        return Type::Const("2".to_owned());
    }
    let is_text = |one: &Type| one.is_primitive("str") || one.std_name() == Some("String");
    let asks_for_text = |bound: &Bound| {
        let bindings = bound.bindings.iter().map(|(_, bound)| bound);
        bound.arguments.iter().chain(bindings).any(is_text)
    };
    let own = Type::Parameter(parameter.name.clone());
    let predicates = generics.predicates.iter().filter(|(one, _)| *one == own);
    let predicates = predicates.flat_map(|(_, bounds)| bounds);
    match parameter.bounds.iter().chain(predicates).any(asks_for_text) {
        true => Type::Path("alloc::string::String".to_owned(), Vec::new()),
        false => Type::primitive("u32"),
    }
}

fn convert(library: &Library, parsed: &syn::Type, is_outer: bool) -> Result<Type, TypeError> {
    match parsed {
        syn::Type::Tuple(tuple) if !is_outer => {
            let types = tuple.elems.iter().map(|one| convert(library, one, false));
            Ok(Type::Tuple(types.collect::<Result<_, _>>()?))
        }
        syn::Type::Reference(reference) if !is_outer => Ok(Type::Reference {
            mutable: reference.mutability.is_some(),
            target: Box::new(convert(library, &reference.elem, false)?),
        }),
        syn::Type::Ptr(pointer) if !is_outer => {
            let target = convert(library, &pointer.elem, false)?;
            let word = if pointer.mutability.is_some() {
                "mut"
            } else {
                "const"
            };
            let target = library.written(&target);
            let target = target.ok_or_else(|| TypeError::Syntax(String::new()))?;
            Ok(Type::Primitive(format!("*{word} {target}")))
        }
        syn::Type::Path(path) => by_path(library, &path.path, is_outer),
        _ => Err(TypeError::Syntax(String::new())),
    }
}

fn by_path(library: &Library, path: &syn::Path, is_outer: bool) -> Result<Type, TypeError> {
    let words: Vec<_> = path
        .segments
        .iter()
        .map(|one| one.ident.to_string())
        .collect();
    let name = words.join("::");
    let mut arguments = Vec::new();
    if let Some(segment) = path.segments.last()
        && let syn::PathArguments::AngleBracketed(list) = &segment.arguments
    {
        for argument in &list.args {
            match argument {
                syn::GenericArgument::Type(one) => arguments.push(convert(library, one, false)?),
                syn::GenericArgument::Const(syn::Expr::Lit(literal)) => {
                    arguments.extend(match &literal.lit {
                        syn::Lit::Int(number) => {
                            Some(Type::Const(number.base10_digits().to_owned()))
                        }
                        syn::Lit::Bool(truth) => Some(Type::Const(truth.value.to_string())),
                        _ => None,
                    });
                }
                _ => {}
            }
        }
    }
    if !is_outer && is_std(&name) {
        return Ok(Type::Path(canonical(&name), arguments));
    }
    if let [only] = words.as_slice() {
        let std = match only.as_str() {
            "String" => "alloc::string::String",
            "Vec" => "alloc::vec::Vec",
            "Option" => "core::option::Option",
            "Result" => "core::result::Result",
            "Arc" => "alloc::sync::Arc",
            "Box" => "alloc::boxed::Box",
            _ if is_outer => return Err(TypeError::NoPath(name)),
            _ => return Ok(Type::Primitive(name)),
        };
        return Ok(Type::Path(std.to_owned(), arguments));
    }
    let krate = library.require(&words[0])?;
    match krate.public.get(&name) {
        Some(canonical) => Ok(Type::Path(canonical.clone(), arguments)),
        None if krate.definitions.contains_key(&name) => Err(TypeError::Private(name)),
        None => Err(TypeError::Unknown {
            crate_name: words[0].clone(),
            suggestion: suggestion(&krate.public, &krate.definitions, &name),
            name,
        }),
    }
}

/// Where a type of the standard library is defined, by the path that users know.
fn canonical(path: &str) -> String {
    let rest = path.split_once("::").map_or(path, |(_, rest)| rest);
    let module = rest.split("::").next().unwrap_or(rest);
    let name = match module {
        "boxed" | "rc" | "string" | "vec" | "borrow" => "alloc",
        "cell" | "cmp" | "marker" | "num" | "option" | "ptr" | "result" | "time" => "core",
        "sync" if rest.ends_with("::Arc") => "alloc",
        _ => return path.to_owned(),
    };
    format!("{name}::{rest}")
}

/// A type of the same last word, or nothing.
fn suggestion(
    public: &std::collections::BTreeMap<String, String>,
    definitions: &std::collections::HashMap<String, crate::model::Definition>,
    name: &str,
) -> String {
    let wanted = crate::model::last(name);
    let similar = public.iter().find(|(path, canonical)| {
        crate::model::last(path) == wanted && definitions.contains_key(*canonical)
    });
    similar.map_or_else(String::new, |(path, _)| format!("; do you mean `{path}`?"))
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn paths_of_std_lead_to_definitions() {
        for (path, expected) in [
            ("std::rc::Rc", "alloc::rc::Rc"),
            ("std::sync::Arc", "alloc::sync::Arc"),
            ("core::cell::Cell", "core::cell::Cell"),
            ("std::cell::RefCell", "core::cell::RefCell"),
            ("std::sync::Mutex", "std::sync::Mutex"),
        ] {
            assert_eq!(canonical(path), expected);
        }
    }
}
