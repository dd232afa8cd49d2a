//! The crates that a type may be made of, read when they are first asked for, and what can be
//! said about types with them: what an alias stands for, which arguments are left out, what an
//! associated type is.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use crate::model::{
    Crate, Definition, Generics, Implementation, Substitution, Trait, Type, is_std, last,
};
use crate::rustdoc::{self, RustdocError};

/// Aliases of aliases: no more than so many.
const DEEPEST: usize = 8;

/// How the user writes a type.
struct Name {
    one: Type,
    written: String,
    /// How many lifetimes it is given in a declaration.
    lifetimes: usize,
}

/// A directory of rustdoc's descriptions.
pub struct Library {
    directory: PathBuf,
    crates: RefCell<HashMap<String, Option<Rc<Crate>>>>,
    /// How the user writes types.
    names: RefCell<Vec<Name>>,
    /// Whether the program can use the crate `arbitrary`.
    has_arbitrary: bool,
}

impl Library {
    /// The descriptions in this directory.
    pub fn open(directory: PathBuf) -> Self {
        Self {
            directory,
            crates: RefCell::default(),
            names: RefCell::default(),
            has_arbitrary: false,
        }
    }

    /// The same; says whether the program can use the crate `arbitrary`.
    pub fn with_arbitrary(self, has_arbitrary: bool) -> Self {
        Self {
            has_arbitrary,
            ..self
        }
    }

    /// Whether the program can use the crate `arbitrary`.
    pub const fn offers_arbitrary(&self) -> bool {
        self.has_arbitrary
    }

    /// The crate with this name in paths, which has to be there.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn require(&self, name: &str) -> Result<Rc<Crate>, RustdocError> {
        let known = self.crates.borrow().get(name).cloned().flatten();
        if let Some(known) = known {
            return Ok(known);
        }
        let path = self.directory.join(format!("{name}.json"));
        let mut found = rustdoc::read(&path, name)?;
        // While it is looked into, it is not there: re-exports may go round.
        self.crates.borrow_mut().insert(name.to_owned(), None);
        for (at, module) in std::mem::take(&mut found.reexported) {
            self.graft(&mut found, &at, &module);
        }
        let found = Rc::new(found);
        let known = Some(Rc::clone(&found));
        self.crates.borrow_mut().insert(name.to_owned(), known);
        Ok(found)
    }

    /// The public names of another crate's module, offered by this one too.
    fn graft(&self, found: &mut Crate, at: &str, module: &str) {
        let name = module.split("::").next().unwrap_or(module);
        let Some(other) = self.find(name) else { return };
        let start = format!("{module}::");
        for (public, canonical) in &other.public {
            if let Some(rest) = public.strip_prefix(&start) {
                let path = format!("{at}::{rest}");
                found
                    .public
                    .entry(path)
                    .or_insert_with(|| canonical.clone());
            }
        }
    }

    /// Crates that were asked for and are not there.
    pub fn missing(&self) -> Vec<String> {
        let crates = self.crates.borrow();
        let missing = crates.iter().filter(|(_, found)| found.is_none());
        let mut missing: Vec<_> = missing.map(|(name, _)| name.clone()).collect();
        missing.sort();
        missing
    }

    /// The crate with this name in paths, if it is there.
    pub fn find(&self, name: &str) -> Option<Rc<Crate>> {
        if let Some(known) = self.crates.borrow().get(name) {
            return known.clone();
        }
        if ["std", "core", "alloc"].contains(&name) {
            return None;
        }
        let found = self.require(name).ok();
        self.crates
            .borrow_mut()
            .entry(name.to_owned())
            .or_insert_with(|| found.clone());
        found
    }

    fn crate_of(&self, path: &str) -> Option<Rc<Crate>> {
        self.find(path.split("::").next()?)
    }

    /// A type's definition.
    pub fn definition(&self, path: &str) -> Option<Definition> {
        self.crate_of(path)?.definitions.get(path).cloned()
    }

    /// A trait.
    pub fn one_trait(&self, path: &str) -> Option<Trait> {
        self.crate_of(path)?.traits.get(path).cloned()
    }

    /// How others write an item's path.
    pub fn public_path(&self, path: &str) -> Option<String> {
        if is_std(path) {
            return Some(std_path(path));
        }
        self.crate_of(path)?.shortest.get(path).cloned()
    }

    /// From here on a type is written like this, with so many lifetimes in declarations: the user knows where it comes from.
    pub fn call(&self, one: &Type, written: String, lifetimes: usize) {
        self.names.borrow_mut().push(Name {
            one: one.clone(),
            written,
            lifetimes,
        });
    }

    /// A type as declarations write it, which name its lifetimes; `None` if it cannot be named.
    pub fn declared(&self, one: &Type) -> Option<String> {
        let written = self.written(one)?;
        let names = self.names.borrow();
        let lifetimes = match (names.iter().find(|name| name.one == *one), one) {
            (Some(name), _) => name.lifetimes,
            (None, Type::Path(path, _)) => self
                .definition(path)
                .map_or(0, |found| found.generics.lifetimes),
            _ => 0,
        };
        if lifetimes == 0 {
            return Some(written);
        }
        let lifetimes = vec!["'static"; lifetimes].join(", ");
        Some(match written.split_once('<') {
            Some((path, arguments)) => format!("{path}<{lifetimes}, {arguments}"),
            None => format!("{written}<{lifetimes}>"),
        })
    }

    /// A type as Rust code writes it; `None` if it cannot be named.
    pub fn written(&self, one: &Type) -> Option<String> {
        let list = |types: &[Type]| {
            let written: Option<Vec<_>> = types.iter().map(|inner| self.written(inner)).collect();
            written.map(|written| written.join(", "))
        };
        let names = self.names.borrow();
        if let Some(name) = names.iter().find(|name| name.one == *one) {
            return Some(name.written.clone());
        }
        Some(match one {
            Type::Primitive(name) if name == "never" => "!".to_owned(),
            Type::Primitive(name) | Type::Const(name) => name.clone(),
            Type::Tuple(types) if types.len() == 1 => format!("({},)", list(types)?),
            Type::Tuple(types) => format!("({})", list(types)?),
            Type::Reference { mutable, target } => {
                let word = if *mutable { "mut " } else { "" };
                format!("&{word}{}", self.written(target)?)
            }
            Type::Slice(inner) => format!("[{}]", self.written(inner)?),
            Type::Array(inner, length) => format!("[{}; {length}]", self.written(inner)?),
            Type::Path(path, types) => {
                let path = self.public_path(path)?;
                match types.is_empty() {
                    true => path,
                    false => format!("{path}<{}>", list(types)?),
                }
            }
            _ => return None,
        })
    }

    /// A type as written, with `known` in the place of parameters, aliases followed, defaults
    /// filled in and associated types looked up.
    pub fn resolve(&self, one: &Type, known: &Substitution) -> Type {
        self.normalise(&one.substitute(known), 0)
    }

    fn normalise(&self, one: &Type, depth: usize) -> Type {
        let all = |types: &[Type]| -> Vec<Type> {
            types
                .iter()
                .map(|inner| self.normalise(inner, depth))
                .collect()
        };
        match one {
            Type::Tuple(types) => Type::Tuple(all(types)),
            Type::Reference { mutable, target } => Type::Reference {
                mutable: *mutable,
                target: Box::new(self.normalise(target, depth)),
            },
            Type::Slice(inner) => Type::Slice(Box::new(self.normalise(inner, depth))),
            Type::Array(inner, length) => {
                Type::Array(Box::new(self.normalise(inner, depth)), length.clone())
            }
            Type::Path(path, types) => self.complete(path, all(types), depth),
            Type::Projection(inner, name) => {
                let inner = self.normalise(inner, depth);
                let found = self.associated(&inner, name).filter(|_| depth < DEEPEST);
                match found {
                    Some(found) => self.normalise(&found, depth + 1),
                    None => Type::Projection(Box::new(inner), name.clone()),
                }
            }
            Type::Impl(bounds) => Type::Impl(self.bounds(bounds, depth)),
            Type::Dyn(bounds) => Type::Dyn(self.bounds(bounds, depth)),
            _ => one.clone(),
        }
    }

    fn bounds(&self, bounds: &[crate::model::Bound], depth: usize) -> Vec<crate::model::Bound> {
        let mut bounds = bounds.to_vec();
        for bound in &mut bounds {
            let own = bound.arguments.iter_mut();
            let bindings = bound.bindings.iter_mut().map(|(_, one)| one);
            let callable = bound.callable.iter_mut();
            let callable =
                callable.flat_map(|(inputs, output)| inputs.iter_mut().chain([&mut **output]));
            for one in own.chain(bindings).chain(callable) {
                *one = self.normalise(one, depth);
            }
        }
        bounds
    }

    /// A path with the arguments that were left out, or what it is an alias of.
    fn complete(&self, path: &str, mut types: Vec<Type>, depth: usize) -> Type {
        let Some(found) = self.crate_of(path) else {
            return Type::Path(path.to_owned(), types);
        };
        if let Some(alias) = found.aliases.get(path).filter(|_| depth < DEEPEST) {
            let known = self.fill(&alias.generics, &mut types);
            return self.normalise(&alias.target.substitute(&known), depth + 1);
        }
        if let Some(definition) = found.definitions.get(path) {
            self.fill(&definition.generics, &mut types);
        }
        Type::Path(path.to_owned(), types)
    }

    /// Adds the arguments that were left out, and says which parameter is which.
    fn fill(&self, generics: &Generics, types: &mut Vec<Type>) -> Substitution {
        let mut known = Substitution::new();
        for (index, parameter) in generics.parameters.iter().enumerate() {
            if index >= types.len() {
                let default = parameter.default.as_ref();
                let default = default.map(|one| self.normalise(&one.substitute(&known), 1));
                types.push(default.unwrap_or_else(|| Type::Parameter(parameter.name.clone())));
            }
            known.insert(parameter.name.clone(), types[index].clone());
        }
        known
    }

    /// Which parameter of a type's definition is which argument.
    pub fn parameters(&self, one: &Type) -> Substitution {
        let Type::Path(path, types) = one else {
            return Substitution::new();
        };
        let definition = self.definition(path);
        let names = definition
            .into_iter()
            .flat_map(|found| found.generics.parameters);
        names
            .map(|parameter| parameter.name)
            .zip(types.iter().cloned())
            .collect()
    }

    /// The `impl` blocks that fit a type, with what their parameters are then.
    pub fn implementations(&self, one: &Type) -> Vec<(Implementation, Substitution)> {
        let Type::Path(path, _) = one else {
            return Vec::new();
        };
        let definition = self.definition(path);
        let all = definition
            .into_iter()
            .flat_map(|found| found.implementations);
        all.filter_map(|found| {
            let subject = self.normalise(&found.subject, 0);
            let mut known = Substitution::new();
            let (fits, own) = match &subject {
                Type::Reference { mutable: true, .. } => return None,
                Type::Reference { target, .. } => {
                    (unify(target, one, &mut known), Type::reference(one.clone()))
                }
                subject => (unify(subject, one, &mut known), one.clone()),
            };
            if !fits {
                return None;
            }
            known.insert("Self".to_owned(), own);
            for (name, bound) in &found.associated {
                let bound = self.resolve(bound, &known);
                known.insert(format!("Self::{name}"), bound);
            }
            Some((found, known))
        })
        .collect()
    }

    /// What an associated type of a type is.
    pub fn associated(&self, one: &Type, name: &str) -> Option<Type> {
        match (one.std_name(), name) {
            (Some("Arc" | "Rc" | "Box"), "Target") | (Some("Vec"), "Item") => {
                return one.arguments().first().cloned();
            }
            _ => {}
        }
        let Type::Path(path, _) = one else {
            return None;
        };
        let definition = self.definition(path)?;
        definition.implementations.iter().find_map(|found| {
            let (_, bound) = found.associated.iter().find(|(bound, _)| bound == name)?;
            let mut known = Substitution::new();
            known.insert("Self".to_owned(), one.clone());
            unify(&found.subject, one, &mut known).then(|| bound.substitute(&known))
        })
    }
}

/// How std's own items are written: their definitions stand in modules that nobody names.
fn std_path(path: &str) -> String {
    let name = last(path);
    let module = match name {
        "Option" | "Result" | "Vec" | "String" | "Box" => return name.to_owned(),
        "HashMap" | "HashSet" | "BTreeMap" | "BTreeSet" | "VecDeque" | "BinaryHeap"
        | "LinkedList" => "collections",
        "RandomState" | "BuildHasherDefault" => "hash",
        _ if path.contains("::sync::atomic::") => "sync::atomic",
        _ => path.split("::").nth(1).unwrap_or(path),
    };
    format!("std::{module}::{name}")
}

/// Whether a type with parameters can be this one, and what the parameters are then.
pub fn unify(pattern: &Type, one: &Type, known: &mut Substitution) -> bool {
    let mut all = |patterns: &[Type], types: &[Type]| {
        patterns.len() == types.len()
            && patterns
                .iter()
                .zip(types)
                .all(|(pattern, one)| unify(pattern, one, known))
    };
    match (pattern, one) {
        (Type::Parameter(name), _) => match known.get(name) {
            Some(before) => before == one || before.has_parameter(),
            None => {
                known.insert(name.clone(), one.clone());
                true
            }
        },
        (Type::Const(name), Type::Const(value)) if name != value => match known.get(name) {
            Some(before) => before == one,
            None => {
                known.insert(name.clone(), one.clone());
                !name.starts_with(|first: char| first.is_ascii_digit())
            }
        },
        (Type::Path(path, patterns), Type::Path(other, types)) => {
            path == other && (patterns.len() < types.len() || all(patterns, types))
        }
        (Type::Tuple(patterns), Type::Tuple(types)) => all(patterns, types),
        (
            Type::Reference { mutable, target },
            Type::Reference {
                mutable: other,
                target: one,
            },
        ) => mutable == other && unify(target, one, known),
        (Type::Slice(pattern), Type::Slice(one))
        | (Type::Array(pattern, _), Type::Array(one, _)) => unify(pattern, one, known),
        (Type::Projection(..), _) => true,
        _ => pattern == one,
    }
}
