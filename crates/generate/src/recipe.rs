//! How a value is made: as code of the harness, which takes bytes of the test to choose, and as
//! the literal that the same bytes come to ([`literal`](crate::literal)), for a test that people read.
//!
//! Both take bytes in the same order: depth first, from left to right. Where bytes are missing
//! they are 0, so that the smallest value is the one without bytes.

use crate::constants::range;

/// Values of a domain are few, so that calls meet each other.
pub(crate) const SMALL: u8 = 4;
/// Texts.
pub(crate) const TEXTS: [&str; 4] = ["", "a", "b", "ab"];
/// Most elements of a collection.
pub(crate) const LONGEST: u8 = 3;

/// How a value is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recipe {
    /// A small number of this type.
    Number(String),
    /// A power of two of this type, from 1: for capacities, where 0 is often refused.
    Capacity(String),
    /// `false` or `true`.
    Flag,
    /// A letter.
    Letter,
    /// A `String`.
    Text,
    /// A `&'static str`.
    StaticText,
    /// Always the same.
    Fixed(String),
    /// Text around the values of others: `Box::new(` .. `)`, `path(` .. `, ` .. `)`.
    Around {
        /// Before the first.
        before: String,
        /// Between two, and names of fields.
        parts: Vec<(String, Recipe)>,
        /// After the last.
        after: String,
    },
    /// A reference to a value, which gets a place of its own.
    Reference {
        /// Whether it is `&mut`.
        mutable: bool,
        /// The value.
        value: Box<Recipe>,
        /// What follows the place: `[..]` for slices.
        after: &'static str,
    },
    /// `Some` or `None`.
    Optional(Box<Recipe>),
    /// One of several.
    Choice(Vec<Recipe>),
    /// A collection of this type.
    Many {
        /// `Vec<_>`.
        collection: String,
        /// An element.
        element: Box<Recipe>,
    },
    /// A closure.
    Closure(Box<Closure>),
    /// A byte as it is.
    Byte,
    /// A value that the user supplies, which can be written down as a literal.
    Shown {
        /// Number of the function that gives it.
        number: usize,
        /// Its type.
        kind: String,
        /// How it is made, by one byte.
        value: Box<Recipe>,
    },
    /// What an earlier call returned.
    Fed {
        /// Number of its type among those that are fed back.
        fed: usize,
        /// What the argument is called.
        name: String,
        /// What takes its place if there is none; without that the call is not made.
        plain: Option<Box<Recipe>>,
    },
}

/// A closure that notes down what it is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closure {
    /// Types of its parameters, as far as they can be written.
    pub parameters: Vec<String>,
    /// Parameters that it writes to, and what.
    pub writes: Vec<(usize, Recipe)>,
    /// What it returns.
    pub result: Returned,
    /// The type of that, where a value of it may not tell.
    pub returns: String,
    /// What of its calls is a result.
    pub notes: Noted,
}

/// What of the calls of a closure is a part of the result of whoever calls it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Noted {
    /// What it was given, and that it was called: it is called once at most.
    #[default]
    Once,
    /// What it was given last: it makes a new value of an old one, and may be called again if that is too late.
    Last,
    /// Nothing: it may be called as often as is needed.
    Nothing,
}

impl Noted {
    /// The function that notes it down.
    pub(crate) const fn function(self) -> Option<&'static str> {
        match self {
            Self::Once => Some("note"),
            Self::Last => Some("note_last"),
            Self::Nothing => None,
        }
    }
}

/// What a closure returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Returned {
    /// Nothing.
    Unit,
    /// One of its arguments.
    Argument(usize),
    /// What it was given, as text.
    Seen,
    /// A value, the same each time.
    Value(Recipe),
    /// The same in the place of an argument, so that who keeps it keeps something else.
    Changed(Recipe),
}

impl Recipe {
    /// `before` value `after`.
    pub fn wrapped(before: &str, value: Recipe, after: &str) -> Self {
        Self::Around {
            before: before.to_owned(),
            parts: vec![(String::new(), value)],
            after: after.to_owned(),
        }
    }

    /// A call, tuple or the like.
    pub fn list(before: impl Into<String>, values: Vec<Recipe>, after: &str) -> Self {
        Self::Around {
            before: before.into(),
            parts: values
                .into_iter()
                .map(|value| (String::new(), value))
                .collect(),
            after: after.to_owned(),
        }
    }
}

impl Recipe {
    /// Recipes that it is made of.
    fn parts(&self) -> Vec<&Recipe> {
        match self {
            Self::Around { parts, .. } => parts.iter().map(|(_, part)| part).collect(),
            Self::Choice(options) => options.iter().collect(),
            Self::Reference { value, .. } | Self::Optional(value) | Self::Shown { value, .. } => {
                vec![value]
            }
            Self::Many { element, .. } => vec![element],
            Self::Fed { plain, .. } => plain.iter().map(|plain| &**plain).collect(),
            _ => Vec::new(),
        }
    }

    /// Closures in it.
    pub fn closures(&self) -> Vec<&Closure> {
        match self {
            Self::Closure(closure) => vec![closure],
            _ => self.parts().into_iter().flat_map(Self::closures).collect(),
        }
    }

    /// What of it is fed back: the number of its type, what the argument is called, and whether
    /// something else can take its place.
    pub fn fed(&self) -> Vec<(usize, &str, bool)> {
        let mut found = match self {
            Self::Fed { fed, name, plain } => vec![(*fed, name.as_str(), plain.is_some())],
            Self::Closure(closure) => closure.values().into_iter().flat_map(Self::fed).collect(),
            _ => Vec::new(),
        };
        found.extend(self.parts().into_iter().flat_map(Self::fed));
        found
    }
}

/// Code of the harness: statements, and an expression that follows them. Bytes come from `u`.
#[derive(Clone, Debug, Default)]
pub struct Snippet {
    /// Before the expression.
    pub statements: String,
    /// The value.
    pub expression: String,
}

impl Snippet {
    fn block(&self) -> String {
        match self.statements.is_empty() {
            true => self.expression.clone(),
            false => format!("{{ {}{} }}", self.statements, self.expression),
        }
    }
}

/// Gives variables of generated code their names.
#[derive(Clone, Debug, Default)]
pub struct Names(usize);

impl Names {
    /// A name that was not given before.
    pub fn fresh(&mut self) -> String {
        self.0 += 1;
        format!("a{}", self.0)
    }
}

impl Recipe {
    /// As code of the harness.
    pub fn code(&self, names: &mut Names) -> Snippet {
        let only = |expression: String| Snippet {
            statements: String::new(),
            expression,
        };
        match self {
            Self::Number(name) => only(match range(name) {
                Some((least, most)) => format!("(u.number({least}, {most}) as {name})"),
                None => format!("(u.small() as {name})"),
            }),
            Self::Capacity(name) => only(format!("((1u64 << u.small()) as {name})")),
            Self::Flag => only("u.flag()".to_owned()),
            Self::Letter => only("u.letter()".to_owned()),
            Self::Text => only("u.text()".to_owned()),
            Self::StaticText => only("u.static_text()".to_owned()),
            Self::Fixed(text) => only(text.clone()),
            Self::Around {
                before,
                parts,
                after,
            } => {
                let mut snippet = only(before.clone());
                for (index, (label, part)) in parts.iter().enumerate() {
                    let separator = if index == 0 { "" } else { ", " };
                    let place = snippet.place(part, names);
                    snippet.expression += &format!("{separator}{label}{place}");
                }
                snippet.expression += after;
                snippet
            }
            Self::Reference {
                mutable,
                value,
                after,
            } => {
                let mut snippet = Snippet::default();
                let place = snippet.place(value, names);
                let word = if *mutable { "mut " } else { "" };
                snippet.expression = format!("&{word}{place}{after}");
                snippet
            }
            Self::Optional(value) => {
                let value = value.code(names).block();
                only(format!("if u.flag() {{ Some({value}) }} else {{ None }}"))
            }
            Self::Choice(options) => {
                let count = options.len();
                let arms = options.iter().enumerate().map(|(index, option)| {
                    let pattern = match index + 1 == count {
                        true => "_".to_owned(),
                        false => index.to_string(),
                    };
                    format!("{pattern} => {}, ", option.code(names).block())
                });
                let arms: String = arms.collect();
                only(format!("match u.one_of({count}) {{ {arms}}}"))
            }
            Self::Many {
                collection,
                element,
            } => {
                let element = element.code(names).block();
                only(format!(
                    "(0..u.count()).map(|_| {element}).collect::<{collection}>()"
                ))
            }
            Self::Closure(closure) => closure.code(names),
            Self::Byte => only("u.byte()".to_owned()),
            Self::Shown { value, .. } => value.code(names),
            Self::Fed {
                fed, plain: None, ..
            } => only(format!("u.given(feed, |fed| &fed.{fed})")),
            Self::Fed {
                fed,
                plain: Some(plain),
                ..
            } => {
                let plain = plain.code(names).block();
                let name = names.fresh();
                only(format!(
                    "{{ let {name} = match u.again(feed, |fed| &fed.{fed}) {{ Some({name}) => {name}, None => {plain} }}; u.go_on(); {name} }}"
                ))
            }
        }
    }
}

impl Snippet {
    /// Gives a value a place of its own and returns its name.
    fn place(&mut self, value: &Recipe, names: &mut Names) -> String {
        let value = value.code(names);
        let name = names.fresh();
        self.statements += &value.statements;
        self.statements += &format!("let mut {name} = {}; ", value.expression);
        name
    }
}

impl Closure {
    /// What it writes and returns.
    fn values(&self) -> Vec<&Recipe> {
        let mut values: Vec<_> = self.writes.iter().map(|(_, value)| value).collect();
        if let Returned::Value(value) | Returned::Changed(value) = &self.result {
            values.push(value);
        }
        values
    }

    fn code(&self, names: &mut Names) -> Snippet {
        let mut snippet = Snippet::default();
        let parameters: Vec<_> = self.parameters.iter().map(|_| names.fresh()).collect();
        let mut body = String::new();
        for name in &parameters {
            body += &format!("noted.push_str(&show!({name})); ");
        }
        for (index, value) in &self.writes {
            let place = snippet.place(value, names);
            body += &format!("*{} = {place}.clone(); ", parameters[*index]);
        }
        let result = match &self.result {
            Returned::Unit => "()".to_owned(),
            Returned::Argument(index) => parameters[*index].clone(),
            Returned::Seen => "noted.clone()".to_owned(),
            Returned::Value(value) | Returned::Changed(value) => {
                format!("{}.clone()", snippet.place(value, names))
            }
        };
        let list = self.list(&parameters);
        let note = self.notes.function();
        let note = note.map_or_else(String::new, |name| format!("{name}(&noted); "));
        snippet.expression =
            format!("move |{list}| {{ let mut noted = String::new(); {body}{note}{result} }}");
        snippet
    }

    pub(crate) fn list(&self, names: &[String]) -> String {
        let parameters = names.iter().zip(&self.parameters);
        let parameters: Vec<_> = parameters
            .map(|(name, one)| match one.is_empty() {
                true => name.clone(),
                false => format!("{name}: {one}"),
            })
            .collect();
        parameters.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::{Closure, Names, Noted, Recipe, Returned};
    use crate::literal::Bytes;

    fn number() -> Recipe {
        Recipe::Number("u32".to_owned())
    }

    #[test]
    fn a_literal_is_what_the_bytes_come_to() {
        let pair = Recipe::list(
            "(",
            vec![number(), Recipe::Optional(Box::new(number()))],
            ")",
        );
        assert_eq!(
            pair.literal(&mut Bytes::new(&[5, 1, 2])),
            "(1u32, Some(2u32))"
        );
        assert_eq!(pair.literal(&mut Bytes::new(&[])), "(0u32, None)");
        let many = Recipe::Many {
            collection: "Vec<_>".to_owned(),
            element: Box::new(Recipe::Text),
        };
        let text = many.literal(&mut Bytes::new(&[2, 1, 2]));
        assert_eq!(text, r#"vec![String::from("a"), String::from("b")]"#);
    }

    #[test]
    fn the_harness_takes_bytes_in_the_order_of_literals() {
        let reference = Recipe::Reference {
            mutable: false,
            value: Box::new(Recipe::Flag),
            after: "",
        };
        let call = Recipe::list("f(", vec![number(), reference], ")");
        let code = call.code(&mut Names::default());
        let number = code.statements.find("u.number(");
        assert!(number.is_some() && number < code.statements.find("u.flag()"));
        assert_eq!(code.expression, "f(a1, a3)");
        assert_eq!(call.literal(&mut Bytes::new(&[3, 1])), "f(3u32, &true)");
    }

    #[test]
    fn closures_write_and_return_what_bytes_say() {
        let closure = Recipe::Closure(Box::new(Closure {
            parameters: vec!["&mut u32".to_owned()],
            writes: vec![(0, number())],
            result: Returned::Value(Recipe::Flag),
            returns: String::new(),
            notes: Noted::Once,
        }));
        let literal = closure.literal(&mut Bytes::new(&[2, 1]));
        assert_eq!(
            literal,
            "move |value: &mut u32| { let _ = format!(\"{value:?}\"); *value = 2u32; true }"
        );
        let literal = closure.literal(&mut Bytes::new(&[2, 1]).noting(true));
        assert!(
            literal.contains(r#"note(&format!("{value:?}"))"#),
            "{literal}"
        );
        assert_eq!(closure.closures().len(), 1);
        let fallible = Recipe::Closure(Box::new(Closure {
            parameters: Vec::new(),
            writes: Vec::new(),
            result: Returned::Value(Recipe::wrapped("Ok(", number(), ")")),
            returns: "Result<u32, String>".to_owned(),
            notes: Noted::Once,
        }));
        let literal = fallible.literal(&mut Bytes::new(&[2]));
        assert_eq!(literal, "move || -> Result<u32, String> { Ok(2u32) }");
        let code = closure.code(&mut Names::default());
        assert!(code.expression.contains("show!(a1)"), "{}", code.expression);
    }
}
