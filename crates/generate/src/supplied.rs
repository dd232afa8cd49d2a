//! What the user supplies in a file of his own: values, constructors and operations, as ordinary functions. What
//! one is for is said by its signature, and by the module that it stands in if it is for one argument only.
//!
//! The file is a library of the project that runs the tests, described by rustdoc like any other crate.

use crate::arguments::{Maker, Refusal};
use crate::constructors::{Constructor, returning};
use crate::library::Library;
use crate::model::{Bound, Function, Implementation, Substitution, Type, is_std, last};
use crate::recipe::Recipe;

/// The crate that the file becomes.
pub const CRATE: &str = "raddle_harness";
/// The file, unless it has another name.
pub const FILE: &str = "raddle-harness.rs";

/// Collections whose elements are values.
const LISTS: &[&str] = &[
    "Vec",
    "VecDeque",
    "BTreeSet",
    "HashSet",
    "LinkedList",
    "BinaryHeap",
];

/// A function of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Supply {
    /// Its number.
    number: usize,
    /// Its path in the program.
    path: String,
    /// The method and the argument that it is for, if it is for one only.
    place: Option<(String, String)>,
    /// Itself.
    function: Function,
    /// What it gives, if it may be for values.
    values: Option<Values>,
}

/// How a function gives values, and of which type.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Values {
    /// All of them.
    List(Type),
    /// A strategy of `proptest` that makes them.
    Strategy(Type),
    /// One each time that it is called.
    One(Type),
}

impl Values {
    const fn one(&self) -> &Type {
        match self {
            Self::List(one) | Self::Strategy(one) | Self::One(one) => one,
        }
    }
}

/// What the file has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Supplied(Vec<Supply>);

impl Supplied {
    /// Nothing.
    pub const NONE: &'static Self = &Self(Vec::new());

    /// What the file has, if there is one; or which function means nothing, and why.
    pub(crate) fn read(library: &Library) -> Result<Self, String> {
        let found = library.find(CRATE);
        let functions = found.iter().flat_map(|found| &found.functions);
        let supplies = functions.enumerate().map(|(number, (path, function))| {
            let names: Vec<&str> = path.split("::").skip(1).collect();
            let place = match names.as_slice() {
                [method, argument] => Some(((*method).to_owned(), (*argument).to_owned())),
                _ => None,
            };
            let none = Substitution::new();
            let inputs = function.inputs.iter();
            let inputs = inputs.map(|(name, input)| (name.clone(), library.resolve(input, &none)));
            let function = Function {
                inputs: inputs.collect(),
                output: library.resolve(&function.output, &none),
                ..function.clone()
            };
            let mut supply = Supply {
                number,
                path: path.clone(),
                values: None,
                function,
                place,
            };
            // What an operation returns is a result, and no value for arguments.
            if supply.object().is_none() {
                supply.values = values(&supply.function);
            }
            match meaningless(&supply, names.len()) {
                Some(why) => Err(format!("`{}` means nothing: {why}", names.join("::"))),
                None => Ok(supply),
            }
        });
        Ok(Self(supplies.collect::<Result<_, _>>()?))
    }

    /// Says what is wrong with functions for arguments of these methods.
    pub(crate) fn check(&self, library: &Library, parts: &[Type]) -> Result<(), String> {
        for supply in &self.0 {
            let (Some((method, argument)), Some(values)) = (&supply.place, &supply.values) else {
                continue;
            };
            let all = parts.iter().flat_map(|part| library.implementations(part));
            let all: Vec<(Implementation, Substitution)> = all.collect();
            let functions = all.iter().flat_map(|(found, known)| {
                let functions = found.functions.iter();
                functions.map(move |function| (function, known))
            });
            let mut methods = functions.filter(|(one, _)| one.name == *method).peekable();
            if methods.peek().is_none() {
                // It is for another type.
                continue;
            }
            let inputs = methods.flat_map(|(function, known)| {
                let inputs = function.inputs.iter().filter(|(name, _)| name == argument);
                inputs.map(move |(_, input)| library.resolve(input, known))
            });
            let inputs: Vec<Type> = inputs.collect();
            let name = format!("`{method}::{argument}` means nothing");
            if inputs.is_empty() {
                return Err(format!("{name}: `{method}` has no argument `{argument}`"));
            }
            let fits = |input: &Type| {
                let target = match input {
                    Type::Reference { target, .. } => target,
                    one => one,
                };
                let is_open = input.has_parameter() || matches!(target, Type::Impl(_));
                is_open || [input, target].contains(&values.one()) || is_text(values.one(), target)
            };
            if !inputs.iter().any(fits) {
                let (given, wanted) = (values.one().short(), inputs[0].short());
                return Err(format!(
                    "{name}: it gives `{given}`, and the argument is `{wanted}`"
                ));
            }
        }
        Ok(())
    }

    /// How a value of this type is made for an argument of a method, if the user says so.
    pub(crate) fn value(
        &self,
        maker: Maker<'_>,
        one: &Type,
        (method, argument): (&str, &str),
    ) -> Option<Recipe> {
        let is_for = |supply: &&Supply| match &supply.place {
            Some(place) => *place == (method.to_owned(), argument.to_owned()),
            None => false,
        };
        let own: Vec<&Supply> = self.0.iter().filter(is_for).collect();
        let all: Vec<&Supply> = self
            .0
            .iter()
            .filter(|supply| supply.place.is_none())
            .collect();
        [own, all].into_iter().find_map(|supplies| {
            let gives = |supply: &&Supply| {
                let values = supply.values.as_ref();
                values.is_some_and(|values| values.one() == one)
            };
            let recipes = supplies.into_iter().filter(gives);
            let mut recipes: Vec<_> = recipes
                .filter_map(|supply| supply.recipe(maker).ok())
                .collect();
            match recipes.len() {
                0 | 1 => recipes.pop(),
                _ => Some(Recipe::Choice(recipes)),
            }
        })
    }

    /// Functions whose values can be written down as literals, by number.
    pub(crate) fn shown(&self) -> Vec<(usize, Recipe)> {
        let recipes = self.0.iter().filter_map(Supply::chosen);
        recipes
            .filter_map(|recipe| match recipe {
                Recipe::Shown { number, value, .. } => Some((number, *value)),
                _ => None,
            })
            .collect()
    }

    /// What makes objects of this type.
    pub(crate) fn constructors(&self, maker: Maker<'_>, one: &Type) -> Vec<Constructor> {
        let none = Substitution::new();
        let all = self.0.iter().filter(|supply| supply.place.is_none());
        let all = all.filter(|supply| supply.object().as_ref() != Some(one));
        all.filter_map(|supply| returning(maker, one, &supply.function, &none, &supply.path, 0))
            .collect()
    }

    /// Functions that are operations on objects of this type, by their paths, as methods of it.
    pub(crate) fn operations(&self, one: &Type) -> Vec<(&str, Function)> {
        let all = self.0.iter().filter(|supply| supply.place.is_none());
        let own = all.filter(|supply| supply.object().as_ref() == Some(one));
        own.map(|supply| {
            let mut function = supply.function.clone();
            if let Some((name, _)) = function.inputs.first_mut() {
                "self".clone_into(name);
            }
            (supply.path.as_str(), function)
        })
        .collect()
    }
}

impl Supply {
    /// The type whose objects it is called with: that of its first argument, if that is a reference or an `Arc`.
    fn object(&self) -> Option<Type> {
        let (_, first) = self.function.inputs.first()?;
        let referred = match first {
            Type::Reference { target, .. } => &**target,
            one => one,
        };
        let is_arc = referred.std_name() == Some("Arc");
        let object = match is_arc {
            true => referred.arguments().first()?,
            false => referred,
        };
        let is_own = matches!(object, Type::Path(path, _) if !is_std(path));
        (is_own && (is_arc || referred != first)).then(|| object.clone())
    }

    fn recipe(&self, maker: Maker<'_>) -> Result<Recipe, Refusal> {
        if let Some(chosen) = self.chosen() {
            return Ok(chosen);
        }
        let inputs = self.function.inputs.iter();
        let inputs = inputs.map(|(name, input)| maker.deeper().value(input, name));
        let arguments = inputs.collect::<Result<Vec<_>, Refusal>>()?;
        Ok(Recipe::list(format!("{}(", self.path), arguments, ")"))
    }

    /// One of its values, by a byte.
    fn chosen(&self) -> Option<Recipe> {
        let (how, one) = match self.values.as_ref()? {
            Values::List(one) => ("pick", one),
            Values::Strategy(one) => ("sample", one),
            Values::One(_) => return None,
        };
        let before = format!("{how}({}(), ", self.path);
        let value = Recipe::wrapped(&before, Recipe::Byte, ")");
        let kind = match one {
            // Not every float has a literal.
            Type::Primitive(name) if !["f32", "f64"].contains(&name.as_str()) => name.clone(),
            one if one.std_name() == Some("String") => "String".to_owned(),
            _ => return Some(value),
        };
        Some(Recipe::Shown {
            number: self.number,
            kind,
            value: Box::new(value),
        })
    }
}

/// What a function gives, if it gives something.
fn values(function: &Function) -> Option<Values> {
    let output = &function.output;
    let is_plain = function.inputs.is_empty();
    let bound = |bounds: &[Bound], traits: &[&str], name: &str| {
        let mut bounds = bounds.iter().filter(|bound| traits.contains(&bound.name()));
        bounds.find_map(|bound| bound.binding(name).cloned())
    };
    let found = match output {
        _ if output.is_unit() => return None,
        Type::Impl(bounds) => {
            let strategy = bound(bounds, &["Strategy"], "Value").map(Values::Strategy);
            let iterator = || bound(bounds, &["IntoIterator", "Iterator"], "Item");
            strategy.or_else(|| iterator().map(Values::List))
        }
        Type::Array(element, _) => Some(Values::List((**element).clone())),
        Type::Path(path, arguments) => match (last(path), arguments.first()) {
            ("BoxedStrategy" | "SBoxedStrategy", Some(one)) => Some(Values::Strategy(one.clone())),
            (name, Some(one)) if is_std(path) && LISTS.contains(&name) => {
                Some(Values::List(one.clone()))
            }
            _ => None,
        },
        _ => None,
    };
    match found {
        Some(found) => is_plain.then_some(found),
        None => (!matches!(output, Type::Impl(_))).then(|| Values::One(output.clone())),
    }
}

/// Why a function has no meaning for tests.
fn meaningless(supply: &Supply, depth: usize) -> Option<String> {
    let function = &supply.function;
    let why = match (&supply.values, supply.object()) {
        _ if function.is_unsafe => "it is an `unsafe fn`",
        _ if !function.generics.parameters.is_empty() => {
            "it is generic, and nothing says what its parameters are"
        }
        _ if depth > 2 => {
            "it stands in a module of a module; values for an argument are `pub mod METHOD { pub fn ARGUMENT() }`"
        }
        (None, _) if supply.place.is_some() => "it gives no values for an argument",
        (Some(_), _) if function.is_async => "it is an `async fn`, and values are made at once",
        (None, None) => {
            "it gives neither values (`-> Vec<T>`, `-> impl Strategy<Value = T>`, `-> T`), nor is its first \
             argument an object (`&T`)"
        }
        _ => return None,
    };
    Some(why.to_owned())
}

/// Whether a `String` can stand for a `str`.
fn is_text(given: &Type, wanted: &Type) -> bool {
    wanted.is_primitive("str") && given.std_name() == Some("String")
}
