//! The program that can do whatever tests of a type do: one function per operation and one line
//! per function, so that what the compiler says about a line is about one operation.
//!
//! Operations are proposed liberally, and the compiler judges: [`Harness::drop_refused`] takes out
//! what does not compile, with the compiler's reason, until the rest does.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::discovery::Discovery;
use crate::futures;
use crate::holding::{Access, Holding};
use crate::methods::Operation;
use crate::recipe::{Names, Snippet};
use crate::supplied::FILE;

/// The part that is the same for all types.
pub(crate) const PRELUDE: &str = include_str!("../template/prelude.rs");
/// The first number of an operation that shows a value which the user supplies.
pub(crate) const SHOWN: usize = 1 << 14;
/// What makes values of a strategy of `proptest`.
const SAMPLE: &str = "pub fn sample<S: proptest::strategy::Strategy>(strategy: S, seed: u8) -> S::Value { use proptest::strategy::ValueTree; use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner}; let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]); let mut runner = TestRunner::new_with_rng(Config::default(), rng); match strategy.new_tree(&mut runner) { Ok(tree) => tree.current(), Err(_) => nothing() } }";
/// What makes values of types that say how to the crate `arbitrary`.
const ARBITRARY: &str = "pub fn arbitrary_value<T: for<'a> arbitrary::Arbitrary<'a>>(seed: u8) -> T { let bytes = spread(seed); let mut bytes = arbitrary::Unstructured::new(&bytes); T::arbitrary(&mut bytes).unwrap_or_else(|_| nothing()) }";

/// What a line of the program is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// Whether a part can be shared at all.
    Part(usize),
    /// A constructor.
    Constructor(usize),
    /// An operation.
    Operation(usize),
    /// A type whose values are fed back.
    Fed(usize),
}

/// What the compiler says about a line of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// From 1.
    pub line: usize,
    /// Its message.
    pub message: String,
}

/// Why something is not in the program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Absence {
    /// The compiler refuses it, with this message.
    #[error("the compiler says: {0}; wrap it in a function in {FILE}")]
    Refused(String),
    /// The user did not ask for it.
    #[error("it was not asked for")]
    Unwanted,
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
    dropped: BTreeMap<Subject, Absence>,
}

/// Input that makes the program run one of the tests that are written down in it.
pub fn printed_input(number: u16) -> Vec<u8> {
    let [low, high] = number.to_le_bytes();
    // No test has so many bytes for its constructor, and ends there.
    vec![u8::MAX, u8::MAX, low, high]
}

impl<'a> Harness<'a> {
    /// A program that proposes everything.
    pub const fn new(discovery: &'a Discovery) -> Self {
        Self {
            discovery,
            dropped: BTreeMap::new(),
        }
    }

    /// What was taken out, and why.
    pub const fn dropped(&self) -> &BTreeMap<Subject, Absence> {
        &self.dropped
    }

    /// Numbers of the operations that are in the program.
    pub fn operations(&self) -> Vec<usize> {
        let all = 0..self.discovery.operations.len();
        all.filter(|index| !self.dropped.contains_key(&Subject::Operation(*index)))
            .filter(|index| !self.is_superseded(*index))
            .collect()
    }

    /// Whether an operation is not needed, since it is called as one that returns a future.
    pub fn is_superseded(&self, operation: usize) -> bool {
        let operations = &self.discovery.operations;
        operation.checked_sub(1).is_some_and(|before| {
            futures::is_instead(&operations[before], &operations[operation])
                && !self.dropped.contains_key(&Subject::Operation(before))
        })
    }

    /// Whether an operation was only a guess, and a wrong one.
    pub fn is_wrong_guess(&self, operation: usize) -> bool {
        let operations = &self.discovery.operations;
        operations
            .get(operation + 1)
            .is_some_and(|next| futures::is_instead(&operations[operation], next))
            && self.dropped.contains_key(&Subject::Operation(operation))
    }

    /// Numbers of the constructors that are in the program.
    pub fn constructors(&self) -> Vec<usize> {
        let all = 0..self.discovery.constructors.len();
        all.filter(|index| !self.dropped.contains_key(&Subject::Constructor(*index)))
            .collect()
    }

    /// Takes out an operation that is not wanted.
    pub fn leave_out(&mut self, operation: usize) {
        self.dropped
            .insert(Subject::Operation(operation), Absence::Unwanted);
    }

    /// The program's source.
    pub fn source(&self) -> String {
        self.source_with(&[])
    }

    /// The same with tests that are written down, each with a function `run`. The program runs one of them if its
    /// input is [`printed_input`].
    pub fn source_with(&self, printed: &[String]) -> String {
        let mut source = PRELUDE.to_owned();
        for (line, _) in self.lines() {
            source.push_str(&line);
            source.push('\n');
        }
        let arms: String = (0..printed.len())
            .map(|number| format!("{number} => printed_{number}::run(), "))
            .collect();
        let _ = writeln!(
            source,
            "fn printed(number: u16) {{ match number {{ {arms}_ => panic!(\"no such test\") }} }}"
        );
        for (number, test) in printed.iter().enumerate() {
            let _ = writeln!(source, "mod printed_{number} {{\n{test}\n}}");
        }
        source
    }

    /// Lines after the prelude.
    fn lines(&self) -> Vec<(String, Option<Subject>)> {
        let discovery = self.discovery;
        let mut lines = vec![(discovery.constants.code(), None)];
        lines.extend(self.fed());
        lines.extend(self.parts());
        for index in self.constructors() {
            lines.push((self.constructor(index), Some(Subject::Constructor(index))));
        }
        for index in self.operations() {
            let operation = &discovery.operations[index];
            let part = operation.part;
            let object = match operation.access {
                Access::Shared if discovery.is_paired => {
                    "let (o, other) = if u.flag() { (&o.1, &o.0) } else { (&o.0, &o.1) };"
                        .to_owned()
                }
                Access::Shared => format!("let o = &o.{part};"),
                Access::Own => {
                    format!("let Some(o) = own.{part}.as_mut() else {{ return String::new() }};")
                }
                Access::Drop => {
                    format!("let Some(o) = own.{part}.take() else {{ return String::new() }};")
                }
                Access::Make => format!("let o = &mut own.{part};"),
                Access::None => String::new(),
            };
            let line = format!(
                "fn op_{index}(o: &'static Parts, own: &'static mut Own, u: &mut Source<'_>, keep: &mut Keep, feed: &mut Feed<'_>) -> String {{ {object} {} }} // {}",
                self.body(operation),
                operation.name
            );
            lines.push((line, Some(Subject::Operation(index))));
        }
        let arms = |indices: Vec<usize>, name: &str, arguments: &str| -> String {
            let arms = indices.into_iter();
            arms.map(|index| format!("{index} => {name}_{index}({arguments}), "))
                .collect()
        };
        let shown = discovery.shown.iter().map(|(number, recipe)| {
            let Snippet {
                statements,
                expression,
            } = recipe.code(&mut Names::default());
            let line = format!(
                "fn shown_{number}(u: &mut Source<'_>) -> String {{ {statements}show!({expression}) }}"
            );
            lines.push((line, None));
            format!("{} => shown_{number}(u), ", SHOWN + number)
        });
        let shown: String = shown.collect();
        for (word, code) in [
            ("sample(raddle_harness::", SAMPLE),
            ("arbitrary_value::<", ARBITRARY),
        ] {
            if lines.iter().any(|(line, _)| line.contains(word)) {
                lines.push((code.to_owned(), None));
            }
        }
        lines.push((
            format!(
                "fn make(constructor: u8, u: &mut Source<'_>) -> (Parts, Own) {{ match constructor {{ {}_ => panic!(\"no such constructor\") }} }}",
                arms(self.constructors(), "make", "u")
            ),
            None,
        ));
        lines.push((
            format!(
                "fn call(operation: u16, o: &'static Parts, own: &'static mut Own, u: &mut Source<'_>, keep: &mut Keep, feed: &mut Feed<'_>) -> String {{ match operation {{ {}{shown}_ => panic!(\"no such operation\") }} }}",
                arms(self.operations(), "op", "o, own, u, keep, feed")
            ),
            None,
        ));
        lines
    }

    /// What earlier calls returned, by type.
    fn fed(&self) -> Vec<(String, Option<Subject>)> {
        let all = self.discovery.fed.iter().enumerate();
        let mut lines: Vec<_> = all
            .map(|(index, fed)| {
                let subject = Subject::Fed(index);
                let written = match self.dropped.contains_key(&subject) {
                    true => "()",
                    false => &fed.written,
                };
                let line = format!("type Fed{index} = {written}; const _: fn() = || {{ fn fed<T: Clone + Send + Sync + 'static>() {{}} fed::<Fed{index}>(); }};");
                (line, Some(subject))
            })
            .collect();
        let fields =
            (0..self.discovery.fed.len()).map(|index| format!("pub Vec<Option<Fed{index}>>"));
        let fields: Vec<_> = fields.collect();
        let fields = fields.join(", ");
        lines.push((
            format!("#[derive(Default)] pub struct Fed({fields});"),
            None,
        ));
        lines
    }

    /// What an operation does. Results that cannot be kept are not fed back.
    fn body(&self, operation: &Operation) -> String {
        let gives = operation.gives.as_ref();
        let gives = gives.filter(|gives| self.dropped.contains_key(&Subject::Fed(gives.fed)));
        match gives {
            Some(gives) => operation.body.replacen(&gives.code, "", 1),
            None => operation.body.clone(),
        }
    }

    /// What all threads share, what each has of its own, and how they come to it.
    fn parts(&self) -> Vec<(String, Option<Subject>)> {
        let parts = &self.discovery.parts;
        let fields = |is_own: bool| -> String {
            let fields = parts.iter().zip(&self.discovery.holdings);
            let fields = fields.map(
                |(part, holding)| match (holding.is_own() == is_own, is_own) {
                    (false, _) => "pub ()".to_owned(),
                    (true, false) => format!("pub Arc<{part}>"),
                    (true, true) => format!("pub Option<Box<{part}>>"),
                },
            );
            fields.collect::<Vec<_>>().join(", ")
        };
        let mut lines = vec![
            (format!("pub struct Parts({});", fields(false)), None),
            (
                format!("#[derive(Default)] pub struct Own({});", fields(true)),
                None,
            ),
        ];
        for (index, (part, holding)) in parts.iter().zip(&self.discovery.holdings).enumerate() {
            let bounds = match holding.is_own() {
                true => "Send + 'static",
                false => "Send + Sync + 'static",
            };
            let check =
                format!("const _: fn() = || {{ fn held<T: {bounds}>() {{}} held::<{part}>(); }};");
            lines.push((check, Some(Subject::Part(index))));
            let lent = match holding {
                Holding::Shared => continue,
                Holding::Cloned => {
                    format!("if is_given {{ from.{index}.take() }} else {{ from.{index}.clone() }}")
                }
                Holding::Owned => format!("{{ let _ = is_given; from.{index}.take() }}"),
            };
            let line = format!(
                "fn lend_{index}(from: &mut Own, to: &mut Own, is_given: bool) {{ to.{index} = {lent}; }}"
            );
            lines.push((line, Some(Subject::Part(index))));
        }
        lines.extend(self.handing_over().into_iter().map(|line| (line, None)));
        lines
    }

    /// What the program has to know about parts that threads own.
    fn handing_over(&self) -> [String; 6] {
        let numbers = |is_wanted: &dyn Fn(Holding) -> bool| -> Vec<usize> {
            let all = self.discovery.holdings.iter().enumerate();
            all.filter(|(_, holding)| is_wanted(**holding))
                .map(|(index, _)| index)
                .collect()
        };
        let own = numbers(&Holding::is_own);
        let only = numbers(&|holding| holding == Holding::Owned);
        let arms = |arm: &dyn Fn(usize) -> String| -> String {
            own.iter().map(|part| arm(*part)).collect()
        };
        let operations = || {
            let numbers = self.operations().into_iter();
            numbers.map(|number| (number, &self.discovery.operations[number]))
        };
        let parts: String = operations()
            .filter(|(_, operation)| operation.access.is_own())
            .map(|(number, operation)| format!("{number} => Some({}), ", operation.part))
            .collect();
        let loose: String = operations()
            .filter(|(_, operation)| operation.access.is_loose())
            .map(|(number, _)| format!("{number} => true, "))
            .collect();
        [
            format!("const OWN_PARTS: &[usize] = &{own:?};"),
            format!("const ONLY_PARTS: &[usize] = &{only:?};"),
            format!(
                "fn own_part(operation: u16) -> Option<usize> {{ match operation {{ {parts}_ => None }} }}"
            ),
            format!(
                "fn is_loose(operation: u16) -> bool {{ match operation {{ {loose}_ => false }} }}"
            ),
            format!(
                "fn lend(part: usize, from: &mut Own, to: &mut Own, is_given: bool) {{ match part {{ {}_ => drop((from, to, is_given)) }} }}",
                arms(&|part| format!("{part} => lend_{part}(from, to, is_given), "))
            ),
            format!(
                "fn give(part: usize, from: &mut Own, to: &mut Own) {{ match part {{ {}_ => drop((from, to)) }} }}",
                arms(&|part| format!(
                    "{part} => if to.{part}.is_none() {{ to.{part} = from.{part}.take() }}, "
                ))
            ),
        ]
    }

    fn constructor(&self, index: usize) -> String {
        let constructor = &self.discovery.constructors[index];
        let snippet = constructor.recipe.code(&mut Names::default());
        let Snippet {
            statements,
            expression,
        } = snippet;
        let label = &constructor.label;
        if self.discovery.is_paired {
            let part = match constructor.in_arc {
                true => "made",
                false => "Arc::new(made)",
            };
            let one = format!("{{ {statements}let made = {expression}; {part} }}");
            return format!(
                "fn make_{index}(u: &mut Source<'_>) -> (Parts, Own) {{ let one = {one}; let other = {one}; (Parts(one, other), Own::default()) }} // {label}"
            );
        }
        let holdings = self.discovery.holdings.iter().enumerate();
        let (mut shared, mut own) = (Vec::new(), Vec::new());
        for (part, holding) in holdings {
            let made = match constructor.parts.len() {
                1 => "made".to_owned(),
                _ => format!("made.{part}"),
            };
            let (of_all, of_one) = match holding.is_own() {
                true => ("()".to_owned(), format!("Some(Box::new({made}))")),
                false if constructor.in_arc => (made, "()".to_owned()),
                false => (format!("Arc::new({made})"), "()".to_owned()),
            };
            shared.push(of_all);
            own.push(of_one);
        }
        format!(
            "fn make_{index}(u: &mut Source<'_>) -> (Parts, Own) {{ {statements}let made = {expression}; (Parts({}), Own({})) }} // {label}",
            shared.join(", "),
            own.join(", ")
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
                        .or_insert_with(|| Absence::Refused(complaint.message.clone()));
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
