//! How the threads of a test hold an object: all of them the same one, each a handle of its own, or
//! one of them the only one that there is.

use crate::library::Library;
use crate::model::{Bound, Generics, Type, last};

/// How threads hold an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Holding {
    /// All of them the same one.
    #[default]
    Shared,
    /// Each has a clone of its own, all of which are handles of the same thing.
    Cloned,
    /// One of them has it, and the others have none.
    Owned,
}

impl Holding {
    /// Whether a thread has what it makes calls on for itself.
    pub fn is_own(self) -> bool {
        self != Self::Shared
    }
}

/// What a call does with the object that it is made on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// It uses the one that all threads share.
    #[default]
    Shared,
    /// It uses the thread's own.
    Own,
    /// The thread's own is gone afterwards.
    Drop,
    /// The thread has a new one afterwards.
    Make,
    /// There is none: it is a function.
    None,
}

impl Access {
    /// Whether it is made on a thread's own.
    pub fn is_own(self) -> bool {
        !matches!(self, Self::Shared | Self::None)
    }

    /// Whether threads come to new objects by it, or lose theirs.
    pub fn is_loose(self) -> bool {
        matches!(self, Self::Drop | Self::Make)
    }
}

/// How threads hold a part; `is_alone` says that there are no others.
pub fn holding(library: &Library, part: &Type, is_alone: bool) -> Holding {
    let is_clone = library.has(part, "Clone") == Some(true);
    let is_unshared = library.has(part, "Sync") == Some(false);
    match (is_clone, is_unshared) {
        (true, true) => Holding::Cloned,
        (false, true) => Holding::Owned,
        // One of a pair that is copied as a whole would belong to nothing.
        (true, false) if !is_alone || is_handle(library, part) => Holding::Cloned,
        (false, false) if !is_alone && is_exclusive(library, part) => Holding::Owned,
        _ => Holding::Shared,
    }
}

/// Whether clones of a type are handles of the same thing: it has something in it that may not be
/// `Clone`, and is `Clone` nevertheless. What is not known counts as a copy.
fn is_handle(library: &Library, one: &Type) -> bool {
    let Type::Path(path, _) = one else {
        return false;
    };
    let Some(definition) = library.definition(path) else {
        return false;
    };
    let has_default = |index: usize| {
        let parameter = definition.generics.parameters.get(index);
        parameter.is_none_or(|parameter| parameter.default.is_some() || parameter.is_const)
    };
    library.implementations(one).iter().any(|(found, known)| {
        let of_trait = found.of_trait.as_ref();
        let is_clone = of_trait.is_some_and(|of_trait| last(&of_trait.path) == "Clone");
        if !is_clone || library.violated(&found.generics, known).is_some() {
            return false;
        }
        let arguments = found.subject.arguments().iter().enumerate();
        let mut contents = arguments
            .filter(|(index, _)| !has_default(*index))
            .peekable();
        contents.peek().is_some()
            && contents.all(|(_, one)| match one {
                Type::Parameter(name) => !is_copied(&found.generics, name),
                _ => false,
            })
    })
}

/// Whether a parameter has to be `Clone`.
fn is_copied(generics: &Generics, name: &str) -> bool {
    let copies = |bounds: &[Bound]| {
        let mut names = bounds.iter().map(Bound::name);
        names.any(|name| matches!(name, "Clone" | "Copy"))
    };
    let mut own = generics.parameters.iter();
    let mut predicates = generics.predicates.iter();
    own.any(|parameter| parameter.name == name && copies(&parameter.bounds))
        || predicates
            .any(|(one, bounds)| *one == Type::Parameter(name.to_owned()) && copies(bounds))
}

/// Whether a type has methods that need all of it.
fn is_exclusive(library: &Library, one: &Type) -> bool {
    let exclusive = Type::Reference {
        mutable: true,
        target: Box::new(one.clone()),
    };
    library.implementations(one).iter().any(|(found, known)| {
        let functions = found.functions.iter().filter(|one| one.is_public);
        let mut receivers = functions
            .filter(|function| function.has_receiver())
            .map(|function| library.resolve(&function.inputs[0].1, known));
        found.of_trait.is_none() && receivers.any(|receiver| receiver == exclusive)
    })
}
