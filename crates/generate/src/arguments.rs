//! From the type of an argument to how values of it are made.

use crate::constructors::constructors;
use crate::feedback::Fed;
use crate::library::Library;
use crate::model::{Bound, Substitution, Type, is_std, last};
use crate::recipe::{Closure, Noted, Recipe, Returned};
use crate::supplied::Supplied;

/// Values in values: no more than so many.
const DEEPEST: usize = 4;

/// Traits that say nothing about what a value is.
pub const MARKERS: &[&str] = &[
    "Send",
    "Sync",
    "Sized",
    "Unpin",
    "UnwindSafe",
    "RefUnwindSafe",
    "Copy",
    "Clone",
    "Debug",
    "Display",
    "Hash",
    "Eq",
    "PartialEq",
    "Ord",
    "PartialOrd",
    "Default",
    "Any",
    "Freeze",
];

/// A type that stands for the text of what a closure was given.
pub const SEEN: &str = "what a closure was given";

/// Why no value of a type can be made, for people.
pub type Refusal = String;

/// Makes recipes.
#[derive(Clone, Copy)]
pub struct Maker<'a> {
    /// What is known about types.
    pub library: &'a Library,
    depth: usize,
    /// The type under test, of which another object is there to be passed.
    own: Option<&'a Type>,
    /// Types of which earlier calls return values.
    fed: &'a [Fed],
    /// What the user supplies.
    supplied: &'a Supplied,
    /// The method that arguments are made for.
    method: &'a str,
}

impl<'a> Maker<'a> {
    /// With what is known about types.
    pub const fn new(library: &'a Library) -> Self {
        Self {
            library,
            depth: 0,
            own: None,
            fed: &[],
            supplied: Supplied::NONE,
            method: "",
        }
    }

    /// The same, with what the user supplies.
    pub const fn supplied_with(self, supplied: &'a Supplied) -> Self {
        Self { supplied, ..self }
    }

    /// What the user supplies.
    pub(crate) const fn supplied(self) -> &'a Supplied {
        self.supplied
    }

    /// The same for arguments of this method.
    pub(crate) const fn calling(self, method: &'a str) -> Self {
        Self { method, ..self }
    }

    /// The same, with values of these types that earlier calls returned.
    pub const fn feeding(self, fed: &'a [Fed]) -> Self {
        Self { fed, ..self }
    }

    /// Types of which earlier calls return values.
    pub(crate) const fn fed(self) -> &'a [Fed] {
        self.fed
    }

    /// The same for calls on an object of this type, which another one of it can be given to.
    pub const fn beside(self, own: &'a Type) -> Self {
        Self {
            own: Some(own),
            ..self
        }
    }

    /// The same for what lies one deeper.
    pub(crate) const fn deeper(self) -> Self {
        Self {
            depth: self.depth + 1,
            ..self
        }
    }

    /// How deep this one lies.
    pub(crate) const fn depth(self) -> usize {
        self.depth
    }

    /// How a value of this type is made; `hint` is the name of the argument.
    pub fn value(self, one: &Type, hint: &str) -> Result<Recipe, Refusal> {
        if let Some(other) = self.other(one) {
            return Ok(Recipe::Fixed(other.to_owned()));
        }
        if self.depth <= DEEPEST
            && let Some(value) = self.supplied.value(self, one, (self.method, hint))
        {
            return Ok(value);
        }
        if let Some(fed) = self.fed.iter().position(|fed| fed.one == *one) {
            let plain = self.feeding(&[]).value(one, hint);
            return Ok(Recipe::Fed {
                fed,
                name: hint.to_owned(),
                plain: plain.ok().map(Box::new),
            });
        }
        if self.depth > DEEPEST {
            return Err(format!("`{}` goes too deep", one.short()));
        }
        match one {
            Type::Primitive(name) => primitive(name, hint),
            Type::Tuple(types) => {
                let values: Result<Vec<_>, _> =
                    types.iter().map(|inner| self.value(inner, "")).collect();
                let after = if types.len() == 1 { ",)" } else { ")" };
                Ok(Recipe::list("(", values?, after))
            }
            Type::Reference { mutable, target } => self.reference(*mutable, target, hint),
            Type::Array(inner, length) => {
                let count: usize = length
                    .parse()
                    .map_err(|_| format!("an array of `{length}` elements"))?;
                let value = self.deeper().value(inner, "")?;
                Ok(Recipe::list("[", vec![value; count.min(64)], "]"))
            }
            Type::Impl(bounds) | Type::Dyn(bounds) => self.bounded(bounds),
            Type::Unknown(text) if text == SEEN => Ok(Recipe::Fixed("String::new()".to_owned())),
            Type::Path(path, types) if is_std(path) => self.std_value(last(path), path, types),
            Type::Path(..) => {
                let found = constructors(self.deeper().feeding(&[]), one);
                let found = found.into_iter().find(|found| found.parts.len() == 1);
                let found = found.map(|found| found.recipe);
                let recipes = found.into_iter().chain(self.arbitrary(one));
                let mut recipes: Vec<Recipe> = recipes.collect();
                match recipes.len() {
                    0 => Err(format!("nothing makes a `{}`", one.short())),
                    1 => Ok(recipes.remove(0)),
                    _ => Ok(Recipe::Choice(recipes)),
                }
            }
            Type::Parameter(name) => Err(format!("it is not known what `{name}` is")),
            Type::FunctionPointer => Err("function pointers are not made".to_owned()),
            Type::RawPointer => Err("raw pointers are not made".to_owned()),
            other => Err(format!("`{}` is not made", other.short())),
        }
    }

    /// A value that the crate `arbitrary` makes, if the type says how.
    fn arbitrary(self, one: &Type) -> Option<Recipe> {
        let implementations = self.library.implementations(one);
        let is_said = implementations.iter().any(|(found, known)| {
            let path = found.of_trait.as_ref().map(|of_trait| &of_trait.path);
            let is_it = path
                .is_some_and(|path| path.starts_with("arbitrary::") && last(path) == "Arbitrary");
            is_it && self.library.violated(&found.generics, known).is_none()
        });
        let written = self.library.written(one)?;
        let before = format!("arbitrary_value::<{written}>(");
        let is_there = is_said && self.library.offers_arbitrary();
        is_there.then(|| Recipe::wrapped(&before, Recipe::Byte, ")"))
    }

    /// The other object of the type under test, if that is what is asked for: only objects that
    /// threads share make calls meet.
    fn other(self, one: &Type) -> Option<&'static str> {
        let own = self.own.filter(|_| self.depth == 0)?;
        match one {
            Type::Reference {
                mutable: false,
                target,
            } if **target == *own => Some("(&**{other})"),
            _ if one.std_name() == Some("Arc") && one.arguments().first() == Some(own) => {
                Some("{other}.clone()")
            }
            _ => None,
        }
    }

    fn reference(self, mutable: bool, target: &Type, hint: &str) -> Result<Recipe, Refusal> {
        let of = |value: Recipe, after: &'static str| Recipe::Reference {
            mutable,
            value: Box::new(value),
            after,
        };
        match target {
            Type::Primitive(name) if name == "str" => {
                match self.feeding(&[]).value(&owned(target), hint)? {
                    // It may have to be there for ever.
                    Recipe::Text if !mutable => Ok(Recipe::StaticText),
                    value => Ok(of(value, "[..]")),
                }
            }
            Type::Slice(inner) => Ok(of(self.collection("Vec", inner)?, "[..]")),
            Type::Dyn(bounds) => Ok(of(self.bounded(bounds)?, "")),
            _ => Ok(of(self.value(target, hint)?, "")),
        }
    }

    fn collection(self, name: &str, element: &Type) -> Result<Recipe, Refusal> {
        let collection = match name {
            "Vec" => "Vec<_>".to_owned(),
            _ => format!("std::collections::{name}<_>"),
        };
        Ok(Recipe::Many {
            collection,
            element: Box::new(self.deeper().value(element, "")?),
        })
    }

    fn std_value(self, name: &str, path: &str, types: &[Type]) -> Result<Recipe, Refusal> {
        let fixed = |text: &str| Ok(Recipe::Fixed(text.to_owned()));
        let inner = |index: usize| match types.get(index) {
            Some(one) => self.deeper().value(one, ""),
            None => Err(format!("`{name}` lacks an argument")),
        };
        match name {
            "String" => Ok(Recipe::Text),
            "PathBuf" => Ok(Recipe::wrapped(
                "std::path::PathBuf::from(",
                Recipe::Text,
                ")",
            )),
            "Duration" => {
                let number = Recipe::Number("u64".to_owned());
                Ok(Recipe::wrapped(
                    "std::time::Duration::from_millis(",
                    number,
                    ")",
                ))
            }
            "Instant" => {
                let number = Recipe::Number("u64".to_owned());
                let before = "(std::time::Instant::now() + std::time::Duration::from_millis(";
                Ok(Recipe::wrapped(before, number, "))"))
            }
            "Option" => Ok(Recipe::Optional(Box::new(inner(0)?))),
            "Result" => Ok(Recipe::Choice(vec![
                Recipe::wrapped("Ok(", inner(0)?, ")"),
                Recipe::wrapped("Err(", inner(1)?, ")"),
            ])),
            "Vec" | "VecDeque" | "HashSet" | "BTreeSet" | "BinaryHeap" | "LinkedList" => {
                match types.first() {
                    Some(element) => self.collection(name, element),
                    None => Err(format!("`{name}` lacks an argument")),
                }
            }
            "HashMap" | "BTreeMap" => Ok(Recipe::Many {
                collection: format!("std::collections::{name}<_, _>"),
                element: Box::new(Recipe::list("(", vec![inner(0)?, inner(1)?], ")")),
            }),
            "Box" | "Arc" | "Rc" | "Mutex" | "RwLock" | "Cell" | "RefCell" | "Reverse"
            | "Wrapping" => self.boxed(name, path, types),
            "Range" => Ok(Recipe::Around {
                before: "(".to_owned(),
                parts: vec![(String::new(), inner(0)?)],
                after: "..)".to_owned(),
            }),
            "Ordering" if path.contains("atomic") => fixed("std::sync::atomic::Ordering::SeqCst"),
            "Ordering" => fixed("std::cmp::Ordering::Less"),
            "RandomState" => fixed("std::hash::RandomState::new()"),
            "PhantomData" => fixed("std::marker::PhantomData"),
            "BuildHasherDefault" => fixed("Default::default()"),
            _ => Err(format!("std's `{name}` is not made")),
        }
    }

    fn boxed(self, name: &str, path: &str, types: &[Type]) -> Result<Recipe, Refusal> {
        let inner = match types.first() {
            Some(Type::Dyn(bounds)) => self.bounded(bounds)?,
            Some(Type::Slice(_)) => return Err(format!("slices in a `{name}` are not made")),
            Some(one) if one.is_primitive("str") => {
                return Ok(Recipe::wrapped(
                    &format!("{}::from(", shown(path)),
                    Recipe::Text,
                    ")",
                ));
            }
            Some(one) => self.deeper().value(one, "")?,
            None => return Err(format!("`{name}` lacks an argument")),
        };
        let path = shown(path);
        Ok(Recipe::wrapped(&format!("{path}::new("), inner, ")"))
    }

    /// A value of some type that has these traits.
    pub fn bounded(self, bounds: &[Bound]) -> Result<Recipe, Refusal> {
        let callable = bounds
            .iter()
            .find_map(|bound| Some((bound, bound.callable.as_ref()?)));
        if let Some((bound, (inputs, output))) = callable {
            if bounds.iter().any(|bound| bound.name().starts_with("Async")) {
                return Err("async closures are not made".to_owned());
            }
            return self.closure(inputs, output, noted(bound.name(), inputs, output));
        }
        for bound in bounds {
            let first = bound.arguments.first();
            match bound.name() {
                "IntoIterator" | "Iterator" | "ExactSizeIterator" | "DoubleEndedIterator" => {
                    return self.iterator(bound.binding("Item"));
                }
                "Into" | "TryInto" | "Borrow" | "Equivalent" | "Comparable" | "ToOwned" => {
                    if let Some(first) = first {
                        return self.value(&owned(first), "");
                    }
                }
                "AsRef" => match first {
                    Some(Type::Slice(inner)) => return self.collection("Vec", inner),
                    Some(one) if one.is_primitive("str") => return Ok(Recipe::Text),
                    Some(Type::Path(path, _)) if last(path) == "Path" => return Ok(Recipe::Text),
                    _ => return Err(format!("`{}` is not made", bound.short())),
                },
                "ToString" => return Ok(Recipe::Text),
                "RangeBounds" => {
                    let one = first.cloned().unwrap_or_else(|| Type::primitive("u32"));
                    let range = Type::Path("core::ops::range::Range".to_owned(), vec![one]);
                    return self.value(&range, "");
                }
                "BuildHasher" => return self.std_value("RandomState", "", &[]),
                "Error" => return Ok(Recipe::Fixed("std::fmt::Error".to_owned())),
                "Future" => return Err("futures are not made".to_owned()),
                name if MARKERS.contains(&name) => {}
                _ => return self.implementor(bound),
            }
        }
        Ok(Recipe::Number("u32".to_owned()))
    }

    fn iterator(self, item: Option<&Type>) -> Result<Recipe, Refusal> {
        let number = Type::primitive("u32");
        let (element, after) = match item.unwrap_or(&number) {
            Type::Reference {
                mutable: false,
                target,
            } => (&**target, ".iter()"),
            one => (one, ".into_iter()"),
        };
        Ok(Recipe::wrapped("", self.collection("Vec", element)?, after))
    }

    /// A value of a type that the trait's crate says has it.
    fn implementor(self, bound: &Bound) -> Result<Recipe, Refusal> {
        let found = self.library.one_trait(&bound.path);
        let implementors = found.into_iter().flat_map(|found| found.implementors);
        let none = Substitution::new();
        implementors
            .map(|one| self.library.resolve(&one, &none))
            .filter(|one| !one.has_parameter())
            .find_map(|one| self.deeper().value(&one, "").ok())
            .ok_or_else(|| format!("nothing is known that is `{}`", bound.short()))
    }

    fn closure(self, inputs: &[Type], output: &Type, notes: Noted) -> Result<Recipe, Refusal> {
        let mut writes = Vec::new();
        for (index, input) in inputs.iter().enumerate() {
            if let Type::Reference {
                mutable: true,
                target,
            } = input
                && self.library.has(target, "Clone") == Some(true)
                && let Ok(value) = self.deeper().value(target, "")
            {
                writes.push((index, value));
            }
        }
        let result = match output {
            one if one.is_unit() => Returned::Unit,
            Type::Unknown(text) if text == SEEN => Returned::Seen,
            one if inputs.contains(one) => {
                let index = inputs.iter().position(|input| input == one).unwrap_or(0);
                match self.deeper().value(one, "") {
                    Ok(value) if !matches!(one, Type::Reference { .. }) => Returned::Changed(value),
                    _ => Returned::Argument(index),
                }
            }
            Type::Reference { .. } => {
                return Err(format!("a closure that returns `{}`", output.short()));
            }
            one if self.library.has(one, "Future") == Some(true) => {
                return Err("a closure that returns a future".to_owned());
            }
            one => {
                let value = self.deeper().value(one, "");
                Returned::Value(value.map_err(|why| format!("a closure's result: {why}"))?)
            }
        };
        let parameters = inputs.iter().map(|input| match input {
            Type::Reference { mutable, target } => {
                let word = if *mutable { "mut " } else { "" };
                let target = self.library.written(target);
                format!("&{word}{}", target.unwrap_or_else(|| "_".to_owned()))
            }
            one => self.library.written(one).unwrap_or_default(),
        });
        // `Ok(1)` alone does not say what an error would be.
        let is_open =
            matches!(output, Type::Path(path, types) if is_std(path) && !types.is_empty());
        let returns = match is_open && matches!(result, Returned::Value(_) | Returned::Changed(_)) {
            true => self.library.written(output),
            false => None,
        };
        Ok(Recipe::Closure(Box::new(Closure {
            parameters: parameters.collect(),
            writes,
            result,
            returns: returns.unwrap_or_default(),
            notes,
        })))
    }
}

/// What of the calls of a closure with this trait is a result. One that is given something to change, or of which to make
/// something new, tells by its last call what became of it; predicates and the like tell nothing.
fn noted(of_trait: &str, inputs: &[Type], output: &Type) -> Noted {
    let is_changed = |input: &Type| !matches!(input, Type::Reference { mutable: false, .. });
    match of_trait {
        "FnOnce" => Noted::Once,
        _ if !output.is_primitive("bool") && inputs.iter().any(is_changed) => Noted::Last,
        _ => Noted::Nothing,
    }
}

fn primitive(name: &str, hint: &str) -> Result<Recipe, Refusal> {
    let is_capacity = ["cap", "size", "amount"]
        .iter()
        .any(|word| hint.contains(word));
    match name {
        "bool" => Ok(Recipe::Flag),
        "char" => Ok(Recipe::Letter),
        "str" | "never" => Err(format!("`{name}` has no size")),
        // A raw pointer.
        _ if name.starts_with('*') => {
            let number = Recipe::Number("usize".to_owned());
            Ok(Recipe::wrapped("(", number, &format!(" as {name})")))
        }
        _ if is_capacity => Ok(Recipe::Capacity(name.to_owned())),
        _ => Ok(Recipe::Number(name.to_owned())),
    }
}

/// `String` for `str`, which has no size.
fn owned(one: &Type) -> Type {
    match one.is_primitive("str") {
        true => Type::Path("alloc::string::String".to_owned(), Vec::new()),
        false => one.clone(),
    }
}

fn shown(path: &str) -> String {
    path.replacen("alloc::", "std::", 1)
        .replacen("core::", "std::", 1)
}
