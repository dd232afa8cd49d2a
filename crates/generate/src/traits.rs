//! Which traits a type has, as far as descriptions say so: yes, no, or not known, in which case
//! the compiler judges.

use crate::library::Library;
use crate::model::{Bound, Generics, Substitution, Type, last};

/// Bounds of bounds: no more than so many.
const DEEPEST: usize = 6;

/// Traits that a type has only if its crate says so: what is not listed is not there.
const LISTED: &[&str] = &[
    "Debug",
    "Display",
    "Clone",
    "Copy",
    "PartialEq",
    "Eq",
    "Hash",
    "Ord",
    "PartialOrd",
    "Default",
    "Iterator",
    "Deref",
    "Future",
];

/// Traits that are left to the compiler.
const AUTOMATIC: &[&str] = &[
    "Send",
    "Sync",
    "Sized",
    "Unpin",
    "UnwindSafe",
    "RefUnwindSafe",
    "Freeze",
];

impl Library {
    /// Whether a type has a trait.
    pub fn has(&self, one: &Type, name: &str) -> Option<bool> {
        self.has_within(one, name, 0)
    }

    /// Whether a bound is known not to hold; what it is then, for people.
    pub fn violated(&self, generics: &Generics, known: &Substitution) -> Option<String> {
        self.violated_within(generics, known, 0)
    }

    fn violated_within(
        &self,
        generics: &Generics,
        known: &Substitution,
        depth: usize,
    ) -> Option<String> {
        let own = generics.parameters.iter().filter_map(|parameter| {
            let one = known.get(&parameter.name)?;
            Some((one.clone(), &parameter.bounds))
        });
        let predicates = generics.predicates.iter();
        let predicates = predicates.map(|(one, bounds)| (self.resolve(one, known), bounds));
        let asked: Vec<(Type, &Vec<Bound>)> = own.chain(predicates).collect();
        asked.into_iter().find_map(|(one, bounds)| {
            if one.has_parameter() || matches!(one, Type::Impl(_)) {
                return None;
            }
            bounds.iter().find_map(|bound| {
                let name = bound.name();
                let is_open = bound.is_maybe || AUTOMATIC.contains(&name);
                if is_open || self.has_within(&one, name, depth) != Some(false) {
                    return None;
                }
                Some(format!("`{}` is not `{name}`", one.short()))
            })
        })
    }

    fn has_within(&self, one: &Type, name: &str, depth: usize) -> Option<bool> {
        if depth > DEEPEST {
            return None;
        }
        let all = |types: &[Type]| {
            let mut result = Some(true);
            for inner in types {
                match self.has_within(inner, name, depth + 1) {
                    Some(true) => {}
                    Some(false) => return Some(false),
                    None => result = None,
                }
            }
            result
        };
        match one {
            Type::Primitive(primitive) => Some(primitive_has(primitive, name)),
            Type::Tuple(_) | Type::Slice(_) | Type::Array(..)
                if matches!(name, "Iterator" | "Deref" | "Future") =>
            {
                Some(false)
            }
            Type::Tuple(types) => all(types),
            Type::Slice(inner) | Type::Array(inner, _) => self.has_within(inner, name, depth + 1),
            Type::Reference { mutable, target } => match name {
                "Clone" | "Copy" => Some(!mutable),
                "Deref" => Some(true),
                "Default" => Some(target.is_primitive("str") || matches!(**target, Type::Slice(_))),
                "Iterator" if !mutable => Some(false),
                _ => self.has_within(target, name, depth + 1),
            },
            Type::Impl(bounds) | Type::Dyn(bounds) => Some(bounds.iter().any(|bound| {
                let is_iterator = name == "Iterator" && bound.name().ends_with("Iterator");
                bound.name() == name || (is_iterator && bound.name() != "IntoIterator")
            })),
            Type::Path(_, types) => match one.std_name() {
                Some(std) => std_has(std, name, types, &all),
                None => self.crate_says(one, name, depth),
            },
            _ => None,
        }
    }

    fn crate_says(&self, one: &Type, name: &str, depth: usize) -> Option<bool> {
        let Type::Path(path, _) = one else {
            return None;
        };
        if self.definition(path)?.denied.iter().any(|no| no == name) {
            return Some(false);
        }
        let mut result = LISTED.contains(&name).then_some(false);
        for (found, known) in self.implementations(one) {
            let of_trait = found.of_trait.as_ref();
            let is_same = of_trait.is_some_and(|of_trait| last(&of_trait.path) == name);
            if !is_same || matches!(found.subject, Type::Reference { .. }) {
                continue;
            }
            match self.violated_within(&found.generics, &known, depth + 1) {
                None => return Some(true),
                Some(_) => result = Some(false),
            }
        }
        result
    }
}

fn primitive_has(primitive: &str, name: &str) -> bool {
    let is_pointer = primitive.starts_with('*');
    match name {
        "Default" | "Display" | "Send" | "Sync" if is_pointer => false,
        "Eq" | "Ord" | "Hash" => !matches!(primitive, "f32" | "f64"),
        "Copy" | "Clone" | "Default" => !matches!(primitive, "str" | "never"),
        "Iterator" | "Deref" | "Future" | "Drop" | "BuildHasher" | "Error" => false,
        _ => true,
    }
}

/// What is known of the standard library's types.
fn std_has(
    std: &str,
    name: &str,
    types: &[Type],
    all: &dyn Fn(&[Type]) -> Option<bool>,
) -> Option<bool> {
    match std {
        "Option" | "Result" | "Vec" | "Box" | "VecDeque" | "BTreeMap" | "HashMap" | "BTreeSet"
        | "HashSet" | "Range" | "RangeInclusive" | "Poll" | "Reverse" | "Cow" | "Wrapping" => {
            match name {
                "Default" if std != "Result" => Some(true),
                "Copy" if matches!(std, "Option" | "Result") => all(types),
                "Copy" | "Future" => Some(false),
                "Hash" if std.starts_with("Hash") => Some(false),
                "Iterator" => Some(std.starts_with("Range")),
                "Deref" => Some(matches!(std, "Vec" | "Box" | "Cow")),
                // The hasher is no part of what is compared.
                _ if std == "HashMap" => all(&types[..types.len().min(2)]),
                _ if std == "HashSet" => all(&types[..types.len().min(1)]),
                _ => all(types),
            }
        }
        "Arc" | "Rc" => match name {
            "Clone" | "Deref" => Some(true),
            "Copy" | "Iterator" => Some(false),
            _ => all(types),
        },
        "String" | "PathBuf" | "OsString" => Some(!matches!(name, "Copy" | "Iterator" | "Future")),
        "Duration" => Some(!matches!(name, "Iterator" | "Future" | "Deref")),
        "Instant" | "ThreadId" | "Layout" | "TypeId" | "SystemTime" => {
            Some(!matches!(name, "Default" | "Iterator" | "Future" | "Deref"))
        }
        "Ordering" | "PhantomData" | "RecvError" | "NonZero" | "Infallible" => {
            Some(!matches!(name, "Iterator" | "Deref" | "Future" | "Default"))
        }
        "RandomState" | "BuildHasherDefault" => Some(matches!(
            name,
            "Clone" | "Default" | "BuildHasher" | "Debug"
        )),
        "Iter" | "IntoIter" | "Drain" | "Chain" | "Flatten" if name == "Iterator" => Some(true),
        "Weak" => Some(matches!(name, "Clone" | "Debug" | "Default")),
        _ => None,
    }
}
