//! The program that can do whatever tests of a type do: one function per operation and one line
//! per function, so that what the compiler says about a line is about one operation.
//!
//! Operations are proposed liberally, and the compiler judges: [`Harness::drop_refused`] takes out
//! what does not compile, with the compiler's reason, until the rest does.

use std::collections::BTreeMap;

use crate::discovery::Discovery;
use crate::recipe::{Names, Snippet};

/// The part that is the same for all types.
const PRELUDE: &str = include_str!("../template/prelude.rs");

/// What a line of the program is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// Whether a part can be shared at all.
    Part(usize),
    /// A constructor.
    Constructor(usize),
    /// An operation.
    Operation(usize),
}

/// What the compiler says about a line of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// From 1.
    pub line: usize,
    /// Its message.
    pub message: String,
}

/// Why the program cannot be made to compile.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum HarnessError {
    /// A part cannot be shared.
    #[error(
        "`{part}` cannot be shared between threads ({message}); tests need objects that are `Send` \
         and `Sync`"
    )]
    NotShared {
        /// Its type.
        part: String,
        /// The compiler's message.
        message: String,
    },
    /// Nothing that makes an object compiles.
    #[error("nothing that makes a `{subject}` compiles: {message}")]
    NoConstructor {
        /// The type.
        subject: String,
        /// The compiler's last message.
        message: String,
    },
    /// No operation compiles.
    #[error("no method of `{subject}` can be called: {message}")]
    NoOperation {
        /// The type.
        subject: String,
        /// The compiler's last message.
        message: String,
    },
    /// The compiler complains about what is always the same.
    #[error("the program for the tests does not compile, which is a bug in raddle: {0}")]
    Stuck(String),
}

/// The program, and what of the type is still in it.
#[derive(Clone, Debug)]
pub struct Harness<'a> {
    discovery: &'a Discovery,
    dropped: BTreeMap<Subject, String>,
}

impl<'a> Harness<'a> {
    /// A program that proposes everything.
    pub const fn new(discovery: &'a Discovery) -> Self {
        Self {
            discovery,
            dropped: BTreeMap::new(),
        }
    }

    /// What was taken out, with the compiler's reason.
    pub const fn dropped(&self) -> &BTreeMap<Subject, String> {
        &self.dropped
    }

    /// Numbers of the operations that are in the program.
    pub fn operations(&self) -> Vec<usize> {
        let all = 0..self.discovery.operations.len();
        all.filter(|index| !self.dropped.contains_key(&Subject::Operation(*index)))
            .collect()
    }

    /// Numbers of the constructors that are in the program.
    pub fn constructors(&self) -> Vec<usize> {
        let all = 0..self.discovery.constructors.len();
        all.filter(|index| !self.dropped.contains_key(&Subject::Constructor(*index)))
            .collect()
    }

    /// Takes out an operation that is not wanted.
    pub fn leave_out(&mut self, operation: usize, why: &str) {
        self.dropped
            .insert(Subject::Operation(operation), why.to_owned());
    }

    /// The program's source.
    pub fn source(&self) -> String {
        let mut source = PRELUDE.to_owned();
        for (line, _) in self.lines() {
            source.push_str(&line);
            source.push('\n');
        }
        source
    }

    /// Lines after the prelude.
    fn lines(&self) -> Vec<(String, Option<Subject>)> {
        let discovery = self.discovery;
        let mut lines = vec![(discovery.constants.code(), None)];
        let parts: Vec<_> = discovery
            .parts
            .iter()
            .map(|part| format!("pub Arc<{part}>"))
            .collect();
        lines.push((format!("pub struct Parts({});", parts.join(", ")), None));
        for (index, part) in discovery.parts.iter().enumerate() {
            let line = format!(
                "const _: fn() = || {{ fn shared<T: Send + Sync + 'static>() {{}} shared::<{part}>(); }};"
            );
            lines.push((line, Some(Subject::Part(index))));
        }
        for index in self.constructors() {
            lines.push((self.constructor(index), Some(Subject::Constructor(index))));
        }
        for index in self.operations() {
            let operation = &discovery.operations[index];
            let objects = match discovery.is_paired {
                true => "let (o, other) = if u.flag() { (&o.1, &o.0) } else { (&o.0, &o.1) };"
                    .to_owned(),
                false => format!("let o = &o.{};", operation.part),
            };
            let line = format!(
                "fn op_{index}(o: &'static Parts, u: &mut Source<'_>, keep: &mut Keep) -> String {{ {objects} {} }} // {}",
                operation.body, operation.name
            );
            lines.push((line, Some(Subject::Operation(index))));
        }
        let arms = |indices: Vec<usize>, name: &str, arguments: &str| -> String {
            let arms = indices.into_iter();
            arms.map(|index| format!("{index} => {name}_{index}({arguments}), "))
                .collect()
        };
        lines.push((
            format!(
                "fn make(constructor: u8, u: &mut Source<'_>) -> Parts {{ match constructor {{ {}_ => panic!(\"no such constructor\") }} }}",
                arms(self.constructors(), "make", "u")
            ),
            None,
        ));
        lines.push((
            format!(
                "fn call(operation: u16, o: &'static Parts, u: &mut Source<'_>, keep: &mut Keep) -> String {{ match operation {{ {}_ => panic!(\"no such operation\") }} }}",
                arms(self.operations(), "op", "o, u, keep")
            ),
            None,
        ));
        lines
    }

    fn constructor(&self, index: usize) -> String {
        let constructor = &self.discovery.constructors[index];
        let snippet = constructor.recipe.code(&mut Names::default());
        let parts = match (constructor.parts.len(), constructor.in_arc) {
            (1, true) => "made".to_owned(),
            (1, false) => "Arc::new(made)".to_owned(),
            (count, _) => {
                let parts: Vec<_> = (0..count)
                    .map(|part| format!("Arc::new(made.{part})"))
                    .collect();
                parts.join(", ")
            }
        };
        let Snippet {
            statements,
            expression,
        } = snippet;
        let label = &constructor.label;
        if self.discovery.is_paired {
            let one = format!("{{ {statements}let made = {expression}; {parts} }}");
            return format!(
                "fn make_{index}(u: &mut Source<'_>) -> Parts {{ let one = {one}; let other = {one}; Parts(one, other) }} // {label}"
            );
        }
        format!(
            "fn make_{index}(u: &mut Source<'_>) -> Parts {{ {statements}let made = {expression}; Parts({parts}) }} // {label}"
        )
    }

    /// Takes out what the compiler refuses.
    ///
    /// # Errors
    ///
    /// If nothing is left.
    pub fn drop_refused(&mut self, complaints: &[Complaint]) -> Result<(), HarnessError> {
        let lines = self.lines();
        let first = PRELUDE.lines().count() + 1;
        let before = self.dropped.len();
        for complaint in complaints {
            let subject = complaint
                .line
                .checked_sub(first)
                .and_then(|index| lines.get(index));
            match subject.and_then(|(_, subject)| *subject) {
                Some(Subject::Part(index)) => {
                    return Err(HarnessError::NotShared {
                        part: self.discovery.parts[index].clone(),
                        message: complaint.message.clone(),
                    });
                }
                Some(subject) => {
                    self.dropped
                        .entry(subject)
                        .or_insert_with(|| complaint.message.clone());
                }
                None => {}
            }
        }
        let message = || {
            complaints
                .first()
                .map_or_else(String::new, |one| one.message.clone())
        };
        let subject = || self.discovery.subject.short();
        if self.dropped.len() == before {
            return Err(HarnessError::Stuck(message()));
        }
        if self.constructors().is_empty() {
            return Err(HarnessError::NoConstructor {
                subject: subject(),
                message: message(),
            });
        }
        if self.operations().is_empty() {
            return Err(HarnessError::NoOperation {
                subject: subject(),
                message: message(),
            });
        }
        Ok(())
    }
}
