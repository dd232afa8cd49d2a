//! What can be told from a result: how it becomes text, and whether something is held with it.

use crate::library::Library;
use crate::model::{Type, last};

/// Results in results: no more than so many.
const DEEPEST: usize = 4;
/// Elements of an iterator that are shown.
const SHOWN: usize = 64;

/// What a result is to an oracle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Class {
    /// `()`.
    Unit,
    /// Its text says everything about it.
    Plain,
    /// What it refers to says everything; something may be locked as long as it is there.
    Guard(Box<Class>),
    /// It has methods of its own, and something may be locked as long as it is there.
    Handle,
    /// Its elements say everything.
    Iterator(Box<Class>),
    /// It has to be driven.
    Future,
    /// An address, which is different each time.
    Address,
    /// Its text may say something.
    Open,
}

impl Class {
    /// Whether something may be held with it.
    pub fn is_held(&self) -> bool {
        matches!(self, Self::Guard(_) | Self::Handle)
    }

    /// For people.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Unit => "nothing",
            Self::Plain => "value",
            Self::Guard(_) => "guard",
            Self::Handle => "handle",
            Self::Iterator(_) => "iterator",
            Self::Future => "future",
            Self::Address => "address",
            Self::Open => "opaque",
        }
    }
}

/// What a result of this type is.
pub fn class(library: &Library, one: &Type) -> Class {
    class_within(library, one, 0)
}

fn class_within(library: &Library, one: &Type, depth: usize) -> Class {
    if depth > DEEPEST {
        return Class::Open;
    }
    let inner = |one: &Type| class_within(library, one, depth + 1);
    let worst = |types: &[Type]| {
        let classes = types.iter().map(inner);
        let mut special = classes.filter(|class| !matches!(class, Class::Plain | Class::Unit));
        special.next().unwrap_or(Class::Plain)
    };
    match one {
        _ if one.is_unit() => Class::Unit,
        Type::Primitive(name) if name.starts_with('*') => Class::Address,
        Type::Primitive(_) => Class::Plain,
        Type::Unknown(text) if text == crate::arguments::SEEN => Class::Plain,
        Type::Tuple(types) => worst(types),
        Type::Reference { target, .. } | Type::Slice(target) | Type::Array(target, _) => {
            inner(target)
        }
        Type::RawPointer => Class::Address,
        _ => match one.std_name() {
            Some("Option" | "Result" | "Vec" | "Box" | "Arc" | "VecDeque" | "Poll") => {
                worst(one.arguments())
            }
            Some("NonNull" | "AtomicPtr") => Class::Address,
            Some("String" | "Range" | "RangeInclusive" | "PathBuf") => Class::Plain,
            _ => by_traits(library, one, depth),
        },
    }
}

fn by_traits(library: &Library, one: &Type, depth: usize) -> Class {
    let has = |name| library.has(one, name) == Some(true);
    let inner = |one: Option<Type>| {
        Box::new(one.map_or(Class::Open, |one| class_within(library, &one, depth + 1)))
    };
    if has("Future") {
        return Class::Future;
    }
    if has("Iterator") {
        return Class::Iterator(inner(item(library, one)));
    }
    if has("Deref") {
        return Class::Guard(inner(library.associated(one, "Target")));
    }
    let is_shown = has("Debug") || one.std_name().is_some();
    if is_shown && has("PartialEq") {
        return Class::Plain;
    }
    match has_methods(library, one) || is_bound(library, one) {
        true => Class::Handle,
        false => Class::Open,
    }
}

/// What an iterator gives.
fn item(library: &Library, one: &Type) -> Option<Type> {
    match one {
        Type::Impl(bounds) => bounds
            .iter()
            .find_map(|bound| bound.binding("Item"))
            .cloned(),
        _ => library.associated(one, "Item"),
    }
}

/// Whether something happens when it is dropped, or it refers to something: a guard without methods.
fn is_bound(library: &Library, one: &Type) -> bool {
    let Type::Path(path, _) = one else {
        return false;
    };
    let definition = library.definition(path);
    definition
        .is_some_and(|found| found.generics.lifetimes > 0 || library.has(one, "Drop") == Some(true))
}

/// Whether it has methods of its own.
pub(crate) fn has_methods(library: &Library, one: &Type) -> bool {
    library.implementations(one).iter().any(|(found, _)| {
        let functions = &found.functions;
        found.of_trait.is_none()
            && functions
                .iter()
                .any(|function| function.is_public && function.has_receiver())
    })
}

/// Code that makes text of a place with a value of this type. Iterators are used up.
pub fn shown(library: &Library, one: &Type, place: &str) -> String {
    shown_within(library, one, place, 0)
}

fn shown_within(library: &Library, one: &Type, place: &str, depth: usize) -> String {
    let class = class_within(library, one, 0);
    let probed = || format!("show!({place})");
    if depth > DEEPEST {
        return probed();
    }
    let name = format!("v{depth}");
    let inner = |index: usize, place: &str| match one.arguments().get(index) {
        Some(one) => shown_within(library, one, place, depth + 1),
        None => format!("show!({place})"),
    };
    // Iterators are taken out, everything else is only looked at.
    let (borrow, place_of_inner) = match class {
        Class::Iterator(_) => ("", name.clone()),
        _ => ("&", format!("(*{name})")),
    };
    match (&class, one) {
        (Class::Address, _) => "String::from(\"<address>\")".to_owned(),
        (Class::Unit, _) => "String::from(\"()\")".to_owned(),
        (Class::Plain, _) => probed(),
        _ if one.std_name() == Some("Option") => format!(
            "match {borrow}{place} {{ None => String::from(\"None\"), Some({name}) => format!(\"Some({{}})\", {}) }}",
            inner(0, &place_of_inner)
        ),
        _ if one.std_name() == Some("Result") => format!(
            "match {borrow}{place} {{ Ok({name}) => format!(\"Ok({{}})\", {}), Err({name}) => format!(\"Err({{}})\", {}) }}",
            inner(0, &place_of_inner),
            inner(1, &place_of_inner)
        ),
        (_, Type::Reference { target, .. }) => {
            shown_within(library, target, &format!("(*{place})"), depth + 1)
        }
        (Class::Iterator(_), _) => {
            let each = match item(library, one) {
                Some(item) => shown_within(library, &item, &name, depth + 1),
                None => format!("show!({name})"),
            };
            format!(
                "{place}.take({SHOWN}).map(|{name}| {each}).collect::<Vec<String>>().join(\", \")"
            )
        }
        (Class::Guard(_), Type::Path(..)) => format!("format!(\"*{{}}\", show!(*{place}))"),
        (Class::Handle, Type::Path(path, _)) => {
            format!("format!(\"{}{{}}\", show!({place}))", handle_word(path))
        }
        _ => probed(),
    }
}

/// Nothing is said about a handle but what it is.
fn handle_word(path: &str) -> String {
    format!("{}:", last(path))
}
