//! What a crate offers to others, free of any version of rustdoc's format.
//!
//! Paths are canonical (where an item is defined) unless they are called public. Types are as
//! written: defaults of generic parameters and aliases are filled in by [`crate::library`].

use std::collections::{BTreeMap, HashMap};

use crate::promises::Hedge;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// `u32`, `str`, `!`; as an argument that the user names, also `*mut u8`.
    Primitive(String),
    /// `(A, B)`; `()` without elements.
    Tuple(Vec<Type>),
    /// `&T` or `&mut T`.
    Reference {
        /// Whether it is `&mut`.
        mutable: bool,
        /// What it refers to.
        target: Box<Type>,
    },
    /// `[T]`.
    Slice(Box<Type>),
    /// `[T; N]`.
    Array(Box<Type>, String),
    /// A struct, enum, union or alias with its type and const arguments.
    Path(String, Vec<Type>),
    /// A generic parameter, also `Self`.
    Parameter(String),
    /// `impl A + B`.
    Impl(Vec<Bound>),
    /// `dyn A + B`.
    Dyn(Vec<Bound>),
    /// `<T as Trait>::Name`.
    Projection(Box<Type>, String),
    /// `fn(..)`.
    FunctionPointer,
    /// `*const T` or `*mut T`.
    RawPointer,
    /// A const argument.
    Const(String),
    /// What rustdoc has and this model has not.
    Unknown(String),
}

impl Type {
    /// `()`.
    pub const fn unit() -> Self {
        Self::Tuple(Vec::new())
    }

    /// A primitive type.
    pub fn primitive(name: &str) -> Self {
        Self::Primitive(name.to_owned())
    }

    /// `&T`.
    pub fn reference(target: Self) -> Self {
        Self::Reference {
            mutable: false,
            target: Box::new(target),
        }
    }

    /// Whether this is `()`.
    pub fn is_unit(&self) -> bool {
        matches!(self, Self::Tuple(elements) if elements.is_empty())
    }

    /// Whether this is that primitive.
    pub fn is_primitive(&self, name: &str) -> bool {
        matches!(self, Self::Primitive(primitive) if primitive == name)
    }

    /// The last word of the path of a type of the standard library.
    pub fn std_name(&self) -> Option<&str> {
        match self {
            Self::Path(path, _) if is_std(path) => Some(last(path)),
            _ => None,
        }
    }

    /// The arguments of a path.
    pub fn arguments(&self) -> &[Self] {
        match self {
            Self::Path(_, arguments) => arguments,
            _ => &[],
        }
    }

    /// Whether a generic parameter is left in it.
    pub fn has_parameter(&self) -> bool {
        match self {
            Self::Parameter(_) => true,
            Self::Tuple(types) | Self::Path(_, types) => types.iter().any(Self::has_parameter),
            Self::Reference { target: inner, .. }
            | Self::Slice(inner)
            | Self::Array(inner, _)
            | Self::Projection(inner, _) => inner.has_parameter(),
            _ => false,
        }
    }

    /// With these types in the place of parameters.
    pub fn substitute(&self, known: &Substitution) -> Self {
        let all = |types: &[Self]| types.iter().map(|one| one.substitute(known)).collect();
        match self {
            Self::Parameter(name) => known.get(name).unwrap_or(self).clone(),
            Self::Tuple(types) => Self::Tuple(all(types)),
            Self::Path(path, types) => Self::Path(path.clone(), all(types)),
            Self::Reference { mutable, target } => Self::Reference {
                mutable: *mutable,
                target: Box::new(target.substitute(known)),
            },
            Self::Slice(inner) => Self::Slice(Box::new(inner.substitute(known))),
            Self::Array(inner, length) => {
                let length = match known.get(length) {
                    Some(Self::Const(value)) => value.clone(),
                    _ => length.clone(),
                };
                Self::Array(Box::new(inner.substitute(known)), length)
            }
            Self::Projection(inner, name) => {
                let is_own = **inner == Self::Parameter("Self".to_owned());
                match known.get(&format!("Self::{name}")).filter(|_| is_own) {
                    Some(found) => found.clone(),
                    None => Self::Projection(Box::new(inner.substitute(known)), name.clone()),
                }
            }
            Self::Impl(bounds) => Self::Impl(Bound::substitute_all(bounds, known)),
            Self::Dyn(bounds) => Self::Dyn(Bound::substitute_all(bounds, known)),
            Self::Const(name) => known.get(name).unwrap_or(self).clone(),
            Self::Primitive(_) | Self::FunctionPointer | Self::RawPointer | Self::Unknown(_) => {
                self.clone()
            }
        }
    }

    /// For people: last words of paths only.
    pub fn short(&self) -> String {
        let list = |types: &[Self]| {
            let shown: Vec<_> = types.iter().map(Self::short).collect();
            shown.join(", ")
        };
        match self {
            Self::Primitive(name) | Self::Parameter(name) | Self::Const(name) => name.clone(),
            Self::Unknown(text) => text.clone(),
            Self::Tuple(types) => format!("({})", list(types)),
            Self::Reference { mutable, target } => {
                let word = if *mutable { "mut " } else { "" };
                format!("&{word}{}", target.short())
            }
            Self::Slice(inner) => format!("[{}]", inner.short()),
            Self::Array(inner, length) => format!("[{}; {length}]", inner.short()),
            Self::Path(path, types) if types.is_empty() => last(path).to_owned(),
            Self::Path(path, types) => format!("{}<{}>", last(path), list(types)),
            Self::Impl(bounds) => format!("impl {}", Bound::list(bounds)),
            Self::Dyn(bounds) => format!("dyn {}", Bound::list(bounds)),
            Self::Projection(inner, name) => format!("<{}>::{name}", inner.short()),
            Self::FunctionPointer => "fn".to_owned(),
            Self::RawPointer => "*ptr".to_owned(),
        }
    }
}

/// Types by the names of parameters; `Self` and `Self::Name` among them.
pub type Substitution = HashMap<String, Type>;

/// A trait with what is asked of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The trait.
    pub path: String,
    /// Its type arguments.
    pub arguments: Vec<Type>,
    /// `Fn(A, B) -> C`: arguments and result.
    pub callable: Option<(Vec<Type>, Box<Type>)>,
    /// `Item = T`.
    pub bindings: Vec<(String, Type)>,
    /// `?Sized`.
    pub is_maybe: bool,
}

impl Bound {
    /// The trait's own name.
    pub fn name(&self) -> &str {
        last(&self.path)
    }

    /// What an associated type is bound to.
    pub fn binding(&self, name: &str) -> Option<&Type> {
        let binding = self.bindings.iter().find(|(bound, _)| bound == name);
        binding.map(|(_, bound)| bound)
    }

    /// With these types in the place of parameters.
    pub fn substitute_all(bounds: &[Self], known: &Substitution) -> Vec<Self> {
        let types = |types: &[Type]| types.iter().map(|one| one.substitute(known)).collect();
        let one = |bound: &Self| Self {
            path: bound.path.clone(),
            arguments: types(&bound.arguments),
            callable: bound
                .callable
                .as_ref()
                .map(|(inputs, output)| (types(inputs), Box::new(output.substitute(known)))),
            bindings: bound
                .bindings
                .iter()
                .map(|(name, bound)| (name.clone(), bound.substitute(known)))
                .collect(),
            is_maybe: bound.is_maybe,
        };
        bounds.iter().map(one).collect()
    }

    fn list(bounds: &[Self]) -> String {
        let shown: Vec<_> = bounds.iter().map(Self::short).collect();
        shown.join(" + ")
    }

    /// For people.
    pub fn short(&self) -> String {
        let list = |types: &[Type]| {
            let shown: Vec<_> = types.iter().map(Type::short).collect();
            shown.join(", ")
        };
        if let Some((inputs, output)) = &self.callable {
            let output = match output.is_unit() {
                true => String::new(),
                false => format!(" -> {}", output.short()),
            };
            return format!("{}({}){output}", self.name(), list(inputs));
        }
        let bindings = self.bindings.iter();
        let bindings = bindings.map(|(name, bound)| format!("{name} = {}", bound.short()));
        let arguments = self.arguments.iter().map(Type::short).chain(bindings);
        let arguments: Vec<_> = arguments.collect();
        match arguments.is_empty() {
            true => self.name().to_owned(),
            false => format!("{}<{}>", self.name(), arguments.join(", ")),
        }
    }
}

/// Generic parameters and what is asked of them. Lifetimes have no names here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Generics {
    /// In order.
    pub parameters: Vec<Parameter>,
    /// `where` clauses.
    pub predicates: Vec<(Type, Vec<Bound>)>,
    /// How many lifetimes are among them.
    pub lifetimes: usize,
}

/// A generic parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What is asked of it.
    pub bounds: Vec<Bound>,
    /// What it is if nothing is said.
    pub default: Option<Type>,
    /// Whether it is a constant.
    pub is_const: bool,
    /// Whether it stands for an `impl Trait` argument.
    pub is_synthetic: bool,
}

/// A function or method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its own parameters.
    pub generics: Generics,
    /// Names and types of arguments; the first is called `self` in a method.
    pub inputs: Vec<(String, Type)>,
    /// What it returns.
    pub output: Type,
    /// `unsafe fn`.
    pub is_unsafe: bool,
    /// `async fn`.
    pub is_async: bool,
    /// Whether others may call it; methods of traits always may.
    pub is_public: bool,
    /// Whether its documentation speaks of panics.
    pub may_panic: bool,
    /// What its documentation does not promise, if it says so.
    pub hedge: Option<Hedge>,
    /// Whether its documentation says how often closures are called.
    pub counts_calls: bool,
}

impl Function {
    /// Whether it is a method.
    pub fn has_receiver(&self) -> bool {
        self.inputs.first().is_some_and(|(name, _)| name == "self")
    }
}

/// An `impl` block that names a type (blanket ones do not).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Implementation {
    /// Its parameters.
    pub generics: Generics,
    /// What it is for: the type, or a reference to it.
    pub subject: Type,
    /// The trait, if it is of one.
    pub of_trait: Option<Bound>,
    /// Its functions.
    pub functions: Vec<Function>,
    /// Its associated types.
    pub associated: Vec<(String, Type)>,
    /// Methods that the trait provides.
    pub provided: Vec<String>,
}

impl Implementation {
    /// One for a type, with nothing in it.
    pub fn of(subject: Type) -> Self {
        Self {
            generics: Generics::default(),
            subject,
            of_trait: None,
            functions: Vec::new(),
            associated: Vec::new(),
            provided: Vec::new(),
        }
    }
}

/// A struct, enum or union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its parameters.
    pub generics: Generics,
    /// How it is written down.
    pub shape: Shape,
    /// Its `impl` blocks, those for `&Self` included.
    pub implementations: Vec<Implementation>,
    /// Traits that it does not have, whatever its arguments: `Sync` of whatever has a cell.
    pub denied: Vec<String>,
}

/// How values of a type are written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `struct Name;`
    Unit,
    /// All fields are public, and it is not `non_exhaustive`.
    Fields(Vec<(String, Type)>),
    /// The same for a tuple struct.
    Tuple(Vec<Type>),
    /// Variants whose fields are all known.
    Variants(Vec<Variant>),
    /// Not at all: only functions make it.
    Opaque,
}

/// A variant of an enum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// Names and types of its fields; names are numbers where they have none.
    pub fields: Vec<(String, Type)>,
    /// Whether the fields have names.
    pub has_names: bool,
}

/// `type Name<..> = ..;`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// Its parameters.
    pub generics: Generics,
    /// What it stands for.
    pub target: Type,
}

/// A trait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trait {
    /// Its parameters.
    pub generics: Generics,
    /// Its methods, provided ones included.
    pub functions: Vec<Function>,
    /// Types that have it.
    pub implementors: Vec<Type>,
}

/// What one crate offers.
#[derive(Clone, Debug, Default)]
pub struct Crate {
    /// Its name in paths.
    pub name: String,
    /// Public paths and the canonical ones behind them, also of items of other crates.
    pub public: BTreeMap<String, String>,
    /// Shortest public path of each own item, by canonical path.
    pub shortest: HashMap<String, String>,
    /// Modules of other crates that are offered as a whole: public path and canonical path.
    pub reexported: Vec<(String, String)>,
    /// Types by canonical path.
    pub definitions: HashMap<String, Definition>,
    /// Aliases by canonical path.
    pub aliases: HashMap<String, Alias>,
    /// Traits by canonical path.
    pub traits: HashMap<String, Trait>,
    /// Public functions outside of types, by public path.
    pub functions: BTreeMap<String, Function>,
}

/// The last word of a path.
pub fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// Whether a path is one of the standard library.
pub fn is_std(path: &str) -> bool {
    ["std::", "core::", "alloc::"]
        .iter()
        .any(|start| path.starts_with(start))
}
