//! How one call of a test is written down.

use std::fmt::Write;

use crate::feedback::Layer;
use crate::hands::on_own;
use crate::holding::Access;
use crate::literal::Bytes;
use crate::methods::Operation;
use crate::print::Printer;
use crate::program::Weakness;
use crate::recipe::{Noted, Recipe};
use crate::remembered::{Memory, Presence};
use crate::results::Class;
use crate::test_case::Call;

/// The text of a call that is not made because there is nothing to give to it.
const UNMADE: &str = "String::from(\"nothing to give\")";

/// Where a call stands, and how it is written down.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// What earlier calls returned.
    pub memory: &'a Memory,
    /// Before each line.
    pub indent: &'a str,
    /// Which results are compared.
    pub compares: Compared,
}

/// Whether results are compared, and which ones bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compared {
    /// They are not.
    No,
    /// Those of calls at the same time.
    Concurrent,
    /// Those of calls when all threads have ended.
    After,
}

impl Printer<'_> {
    /// What a call calls.
    pub(crate) fn operation(&self, call: &Call) -> &Operation {
        &self.discovery.operations[usize::from(call.operation)]
    }

    /// What the arguments of a call are made of, and whether it is made on the second of two objects.
    pub(crate) fn bytes<'b>(&'b self, call: &'b Call) -> (Bytes<'b>, bool) {
        let bytes = Bytes::new(&call.bytes).meaning(&self.discovery.constants);
        let mut bytes = bytes.showing(&self.shown);
        let is_second = self.discovery.is_paired && bytes.flag();
        (bytes, is_second)
    }

    /// Whether the results of a call can be compared.
    pub(crate) fn is_compared(&self, call: &Call, when: Compared) -> bool {
        let operation = self.operation(call);
        let is_strong = self.program.weakness(call.operation) == Weakness::None;
        let binds = match when {
            Compared::No => false,
            Compared::Concurrent => is_strong,
            // Nobody sees what a future has done so far when all others are over.
            Compared::After => is_strong || operation.is_future,
        };
        binds && operation.is_written() && (operation.class != Class::Unit || notes(operation))
    }

    /// Writes down the call with this number.
    pub(crate) fn print_call(
        &self,
        (id, call): (usize, &Call),
        place: Place<'_>,
        text: &mut String,
    ) {
        let operation = self.operation(call);
        let objects = self.objects();
        let is_compared = self.is_compared(call, place.compares);
        let has_notes = is_compared && notes(operation);
        let (bytes, is_second) = self.bytes(call);
        let mut bytes = bytes.remembering(place.memory.known(id)).noting(has_notes);
        let none = String::new();
        let named = |part: usize| objects.get(part).unwrap_or(&none);
        let (object, other) = match is_second {
            true => (named(1), named(0)),
            false => (named(operation.part), objects.last().unwrap_or(&none)),
        };
        let call = &operation.steps[0].call;
        let first = match operation.access {
            Access::Shared | Access::None => on_object(call, object, other, &mut bytes),
            Access::Own | Access::Drop | Access::Make => on_own(call, object, &mut bytes),
        };
        let second = operation.steps.get(1);
        let second = second.map(|second| second_call(&second.call, &mut bytes));
        let variable = place.memory.variable(id);
        let lines = match variable.filter(|_| !bytes.is_unmade) {
            _ if bytes.is_unmade && is_compared => vec![format!("results.push({UNMADE});")],
            _ if bytes.is_unmade => Vec::new(),
            _ if operation.access == Access::Make => vec![format!("{object} = {first};")],
            Some(variable) => remember(
                operation,
                &first,
                variable,
                &bytes,
                (is_compared, has_notes),
            ),
            None if is_compared => {
                let line = compared(operation, &first, has_notes);
                let otherwise = format!("results.push({UNMADE});");
                vec![if_given(&bytes, &line, &otherwise)]
            }
            None => {
                let line = statement(operation, &first, second);
                vec![match bytes.asked.is_empty() {
                    true => line,
                    false => given(&bytes, &line),
                }]
            }
        };
        for line in lines {
            let _ = writeln!(text, "{}{line}", place.indent);
        }
    }
}

/// Lets others run while something is held.
const WAIT: &str = "std::thread::yield_now();";

/// A call whose result is compared.
fn compared(operation: &Operation, first: &str, has_notes: bool) -> String {
    let noted = if has_notes { " + &noted()" } else { "" };
    let is_simple = operation.has_simple_text() || operation.class == Class::Unit;
    match (is_simple, operation.is_future, operation.class.is_held()) {
        (true, true, _) => format!(
            "results.push(drive({first}).map_or(\"Pending\".to_owned(), |one| format!(\"{{one:?}}\")){noted});"
        ),
        (true, false, false) if has_notes => {
            format!("results.push(format!(\"{{:?}}{{}}\", {first}, noted()));")
        }
        (true, false, false) => format!("results.push(format!(\"{{:?}}\", {first}));"),
        (_, true, is_held) => {
            let held = if is_held { " drop(r);" } else { "" };
            let wait = if is_held { WAIT } else { "" };
            format!(
                "match drive({first}) {{ Some(r) => {{ results.push({}{noted}); {wait}{held} }} None => results.push(\"Pending\".to_owned()), }}",
                operation.written_text()
            )
        }
        (_, false, is_held) => {
            let then = if is_held {
                format!(" {WAIT} drop(r);")
            } else {
                String::new()
            };
            let text = operation.written_text();
            format!("{{ let r = {first}; results.push({text}{noted});{then} }}")
        }
    }
}

/// A call whose result nobody looks at but as the program that found the failure did.
fn statement(operation: &Operation, first: &str, second: Option<String>) -> String {
    let looked = |call: &str| match operation.class {
        Class::Unit => format!("{call};"),
        _ if operation.is_of_values() => format!("let _ = {call};"),
        _ => {
            let text = operation.written_text();
            let then = match operation.class.is_held() && operation.steps.len() == 1 {
                true => format!(" {WAIT} drop(r);"),
                false => String::new(),
            };
            format!("{{ let r = {call}; let _ = {text};{then} }}")
        }
    };
    match second {
        Some(second) => {
            let second = looked(&second);
            match operation.steps[1].takes {
                Some(word) => {
                    format!("if let {word}(mut handle) = {first} {{ {WAIT} {second} }}")
                }
                None => format!("{{ let mut handle = {first}; {WAIT} {second} }}"),
            }
        }
        None if operation.is_future && operation.is_of_values() => {
            format!("let _ = drive({first});")
        }
        None if operation.is_future => {
            let then = match operation.class.is_held() {
                true => format!(" {WAIT} drop(r);"),
                false => String::new(),
            };
            let text = operation.written_text();
            format!("if let Some(r) = drive({first}) {{ let _ = {text};{then} }}")
        }
        None => looked(first),
    }
}

impl Operation {
    /// Whether a test that is written down can compare its results: what says everything, and is the same each time.
    pub(crate) fn is_written(&self) -> bool {
        let is_told = matches!(
            self.class,
            Class::Unit | Class::Plain | Class::Guard(_) | Class::Iterator(_)
        );
        is_told && self.steps.len() == 1
    }

    /// Whether `{:?}` is the text of its result.
    fn has_simple_text(&self) -> bool {
        let is_debug = self.text == "show!(r)" && self.is_shown;
        is_debug || self.text == "format!(\"{r:?}\")"
    }

    /// Code that makes text of its result, as a test says it.
    fn written_text(&self) -> String {
        match self.has_simple_text() {
            true => "format!(\"{r:?}\")".to_owned(),
            false => self.text.clone(),
        }
    }

    /// Whether its result is all values: to look at it is no access to memory of others.
    fn is_of_values(&self) -> bool {
        self.class == Class::Plain && !self.signature.contains(" -> &") && !self.returns_places()
    }

    fn returns_places(&self) -> bool {
        let returned = self.signature.rsplit_once(" -> ").map(|(_, output)| output);
        returned.is_some_and(|output| {
            output.contains('&') || output.contains("Arc<") || output.contains("Rc<")
        })
    }
}

/// A call whose result later ones are given.
fn remember(
    operation: &Operation,
    first: &str,
    (name, presence): (&str, Presence),
    bytes: &Bytes<'_>,
    (is_compared, has_notes): (bool, bool),
) -> Vec<String> {
    let noted = if has_notes { " + &noted()" } else { "" };
    let layer = operation
        .gives
        .as_ref()
        .map_or(Layer::Bare, |gives| gives.layer);
    let taken = |result: &str| match (presence, layer) {
        (Presence::Always, Layer::Option | Layer::Result) => format!("{result}.unwrap()"),
        (_, Layer::Result) => format!("{result}.ok()"),
        _ => result.to_owned(),
    };
    match (is_compared, bytes.asked.is_empty(), layer) {
        (false, true, _) => vec![format!("let {name} = {};", taken(first))],
        (true, true, _) => vec![
            format!("let made = {first};"),
            format!("results.push(format!(\"{{made:?}}\"){noted});"),
            format!("let {name} = {};", taken("made")),
        ],
        (false, false, Layer::Bare) => {
            vec![format!(
                "let {name} = {};",
                if_given(bytes, &format!("Some({first})"), "None")
            )]
        }
        (false, false, _) => vec![format!(
            "let {name} = {};",
            if_given(bytes, &taken(first), "None")
        )],
        (true, false, _) => {
            let made = if_given(bytes, &format!("Some({first})"), "None");
            let shown = format!(
                "made.as_ref().map_or_else(|| {UNMADE}, |made| format!(\"{{made:?}}\"){noted})"
            );
            let inner = match layer {
                Layer::Bare => "made".to_owned(),
                _ => format!("made.and_then(|made| {})", taken("made")),
            };
            vec![
                format!("let made = {made};"),
                format!("results.push({shown});"),
                format!("let {name} = {inner};"),
            ]
        }
    }
}

/// A statement that needs what earlier calls may not have returned.
fn given(bytes: &Bytes<'_>, line: &str) -> String {
    let lets: Vec<_> = asked(bytes);
    let open: String = lets.iter().map(|one| format!("if {one} {{ ")).collect();
    format!("{open}{line}{}", " }".repeat(lets.len()))
}

/// An expression that needs the same, or another one.
fn if_given(bytes: &Bytes<'_>, expression: &str, otherwise: &str) -> String {
    asked(bytes)
        .iter()
        .rev()
        .fold(expression.to_owned(), |inner, one| {
            format!("if {one} {{ {inner} }} else {{ {otherwise} }}")
        })
}

/// What has to be there for a call to be made.
fn asked(bytes: &Bytes<'_>) -> Vec<String> {
    let mut all = bytes.asked.clone();
    all.sort();
    all.dedup();
    let one = |(name, is_copy): (String, bool)| match is_copy {
        true => format!("let Some({name}) = {name}"),
        false => format!("let Some({name}) = {name}.clone()"),
    };
    all.into_iter().map(one).collect()
}

/// Whether closures note something down that is a part of the result.
fn notes(operation: &Operation) -> bool {
    let mut closures = operation.steps.iter().flat_map(|step| step.call.closures());
    closures.any(|closure| closure.notes != Noted::Nothing)
}

fn second_call(call: &Recipe, bytes: &mut Bytes<'_>) -> String {
    let text = call.literal(bytes);
    let text = text
        .replace("(&mut {o}).", "handle.")
        .replace("(&{o}).", "handle.");
    text.replace("{o}", "handle")
}

/// A call on an object in an `Arc`.
fn on_object(call: &Recipe, object: &str, other: &str, bytes: &mut Bytes<'_>) -> String {
    let text = call.literal(bytes);
    text.replace("(&**{other})", &format!("&*{other}"))
        .replace(
            "{other}.clone()",
            &format!("std::sync::Arc::clone(&{other})"),
        )
        .replace("(&**{o}).", &format!("{object}."))
        .replace("(&***{o}).", &format!("{object}."))
        .replace("(&****{o}).", &format!("{object}."))
        .replace("(&***{o})", &format!("&**{object}"))
        .replace("(&****{o})", &format!("&***{object}"))
        .replace("(&**{o})", &format!("&*{object}"))
        .replace("(&mut &**{o})", &format!("&mut &*{object}"))
        .replace("(&&**{o})", &format!("&&*{object}"))
        .replace("&**{o}", &format!("&*{object}"))
        .replace("{o}.clone()", &format!("std::sync::Arc::clone(&{object})"))
        .replace("{o}.", &format!("{object}."))
        .replace("{o}", &format!("&{object}"))
}
