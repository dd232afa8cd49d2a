//! Which variables of a test that is written down have the values that calls return for later ones
//! ([`feedback`](crate::feedback)).

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::feedback::{Layer, variable};
use crate::history::History;
use crate::literal::NOTHING;
use crate::methods::Operation;
use crate::print::Printer;
use crate::program::Weakness;
use crate::test_case::{Position, TestCase};

/// Names that a test has for other things.
const TAKEN: &[&str] = &[
    "", "_", "results", "found", "right", "held", "handle", "made", "value", "note", "noted",
    "drive", "self", "type", "match", "ref", "move", "in", "fn", "loop", "box", "as", "use", "mod",
    "where", "impl", "if", "else", "for", "while", "let", "mut", "pub", "static", "const",
    "struct", "enum", "true", "false", "return", "break", "continue", "trait", "unsafe", "async",
    "await", "dyn", "crate", "super", "extern", "gen", "final", "override", "virtual", "macro",
    "try", "yield", "abstract",
];

/// Whether a call returns something for later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// It does: the variable is the value.
    Always,
    /// That depends on the schedule, or is not known: the variable is an `Option`.
    Maybe,
    /// It does not.
    Never,
}

/// What an earlier call returned.
#[derive(Clone, Debug)]
pub(crate) struct Earlier {
    /// Number of the call.
    pub call: usize,
    /// The variable.
    pub name: String,
    /// Whether there is something in it.
    pub presence: Presence,
    /// Whether it is copied, and not cloned.
    pub is_copy: bool,
}

/// By number of the type that is fed back.
type Lists = BTreeMap<usize, Vec<Earlier>>;

/// What earlier calls returned, as the program of the tests has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Remembered {
    before: Option<Rc<Lists>>,
    own: Lists,
}

impl Remembered {
    /// The value of a type that a number between 0 and 3 means.
    pub(crate) fn earlier(&self, which: u8, fed: usize) -> Option<&Earlier> {
        let own = self.own.get(&fed).map_or(&[][..], Vec::as_slice);
        let before = match &self.before {
            Some(before) => before.get(&fed).map_or(&[][..], Vec::as_slice),
            None => own,
        };
        let first = before.get(usize::from(which) % before.len().max(1));
        match which {
            3 => own.last().or(before.last()),
            _ => first.or(own.last()),
        }
    }
}

#[cfg(test)]
impl Remembered {
    /// These values of the first type from before there were threads, and these of a thread.
    pub(crate) fn of(before: &[Earlier], own: &[Earlier]) -> Self {
        Self {
            before: Some(Rc::new(Lists::from([(0, before.to_vec())]))),
            own: Lists::from([(0, own.to_vec())]),
        }
    }
}

/// What is remembered in the course of a test.
pub(crate) struct Memory {
    /// What is known when each call is made.
    known: Vec<Remembered>,
    /// Variables of calls that have one, and whether there is something in them.
    variables: BTreeMap<usize, (String, Presence)>,
    /// Calls whose variables are used, by the position of those who use them.
    used: Vec<(Position, usize)>,
}

impl Memory {
    /// Of a test. A run of it says what calls before threads returned.
    pub(crate) fn new(printer: &Printer<'_>, test: &TestCase, history: Option<&History>) -> Self {
        let draft = Self::with_names(printer, test, history, &BTreeMap::new());
        let names = draft.names(printer, test);
        let mut memory = Self::with_names(printer, test, history, &names);
        memory.variables.retain(|call, _| names.contains_key(call));
        memory
    }

    /// What is known when a call is made.
    pub(crate) fn known(&self, call: usize) -> &Remembered {
        &self.known[call]
    }

    /// The variable that a call's value gets, if it gets one, and whether there is something in it. Nobody
    /// uses those whose name begins with `_`.
    pub(crate) fn variable(&self, call: usize) -> Option<(&str, Presence)> {
        let (name, presence) = self.variables.get(&call)?;
        Some((name, *presence))
    }

    /// Variables that a thread needs a clone of.
    pub(crate) fn cloned_for(
        &self,
        printer: &Printer<'_>,
        test: &TestCase,
        thread: usize,
    ) -> Vec<&str> {
        let calls: BTreeSet<usize> = self
            .used
            .iter()
            .filter(|(by, call)| {
                let is_before = matches!(test.position(*call), Some(Position::Prefix(_)));
                is_before && matches!(by, Position::Thread(of, _) if *of == thread)
            })
            .map(|(_, call)| *call)
            .collect();
        let is_cloned = |call: &&usize| {
            let gives = test
                .call(**call)
                .and_then(|call| printer.operation(call).gives.as_ref());
            gives.is_some_and(|gives| !printer.discovery.fed[gives.fed].is_copy)
        };
        let cloned = calls.iter().filter(is_cloned);
        cloned
            .filter_map(|call| Some(self.variable(*call)?.0))
            .collect()
    }

    fn with_names(
        printer: &Printer<'_>,
        test: &TestCase,
        history: Option<&History>,
        names: &BTreeMap<usize, String>,
    ) -> Self {
        let mut memory = Self {
            known: Vec::new(),
            variables: BTreeMap::new(),
            used: Vec::new(),
        };
        let count = test.prefix.len() + test.concurrent_calls() + test.after.len();
        let mut now = Remembered::default();
        for id in 0..count {
            let (Some(position), Some(call)) = (test.position(id), test.call(id)) else {
                break;
            };
            let is_first = matches!(position, Position::Thread(_, 0) | Position::After(0));
            if is_first {
                let before = now.before.take();
                let own = std::mem::take(&mut now.own);
                now.before = Some(before.unwrap_or_else(|| Rc::new(own)));
            }
            memory.known.push(now.clone());
            let operation = printer.operation(call);
            let mut bytes = printer.bytes(call).0.remembering(&now);
            for step in &operation.steps {
                let _ = step.call.literal(&mut bytes);
            }
            let (asked, is_unmade) = (!bytes.asked.is_empty(), bytes.is_unmade);
            let used = std::mem::take(&mut bytes.used).into_iter();
            memory.used.extend(used.map(|call| (position, call)));
            let is_before = matches!(position, Position::Prefix(_));
            let gives = operation.gives.as_ref();
            let Some(gives) = gives.filter(|gives| gives.by_threads || is_before) else {
                continue;
            };
            // Who is not called gives nothing at all.
            let said = history
                .filter(|_| is_before)
                .and_then(|history| said(id, history));
            if is_unmade || said == Some(NOTHING) {
                continue;
            }
            let presence = match gives.layer {
                _ if asked => Presence::Maybe,
                Layer::Bare => Presence::Always,
                _ if printer.program.weakness(call.operation) == Weakness::Random => {
                    Presence::Maybe
                }
                _ => presence(said),
            };
            let name = names.get(&id).cloned().unwrap_or_default();
            memory.variables.insert(id, (name.clone(), presence));
            now.own.entry(gives.fed).or_default().push(Earlier {
                call: id,
                name,
                presence,
                is_copy: printer.discovery.fed[gives.fed].is_copy,
            });
        }
        memory
    }

    /// Names of the variables that a test needs: those that are used, and those that keep something.
    fn names(&self, printer: &Printer<'_>, test: &TestCase) -> BTreeMap<usize, String> {
        let used: BTreeSet<usize> = self.used.iter().map(|(_, call)| *call).collect();
        let mut bases: Vec<(usize, String)> = Vec::new();
        for (call, (_, presence)) in &self.variables {
            let gives = test
                .call(*call)
                .and_then(|call| printer.operation(call).gives.as_ref());
            let Some(gives) = gives else { continue };
            let is_kept = !printer.discovery.fed[gives.fed].is_copy;
            if *presence != Presence::Never && (is_kept || used.contains(call)) {
                bases.push((*call, base(printer, gives.fed)));
            }
        }
        let count = |base: &str| bases.iter().filter(|(_, other)| other == base).count();
        let mut names = BTreeMap::new();
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        for (call, base) in &bases {
            let number = numbers.entry(base).or_default();
            *number += 1;
            let name = match count(base) {
                1 => base.clone(),
                _ => format!("{base}_{number}"),
            };
            let word = if used.contains(call) { "" } else { "_" };
            names.insert(*call, format!("{word}{name}"));
        }
        names
    }
}

/// What variables with values of a type are called.
fn base(printer: &Printer<'_>, fed: usize) -> String {
    let operations = printer.discovery.operations.iter();
    let mut names = operations.flat_map(Operation::fed);
    let name = names
        .find(|(one, ..)| *one == fed)
        .map_or("", |(_, name, _)| name);
    let name = variable(&printer.discovery.fed[fed], name);
    let is_taken = TAKEN.contains(&&*name) || printer.objects().contains(&name);
    match is_taken || name.starts_with("thread_") {
        true => format!("{}_value", name.trim_matches('_'))
            .trim_matches('_')
            .to_owned(),
        false => name,
    }
}

/// What a call before threads returned in a run.
fn said(id: usize, history: &History) -> Option<&str> {
    let mut steps = history.prefix.iter();
    let step = steps.find(|step| step.call == id && !step.is_second)?;
    step.result.as_deref()
}

/// What a result says about whether there is something in it.
fn presence(said: Option<&str>) -> Presence {
    let begins =
        |words: [&str; 2]| said.is_some_and(|text| words.iter().any(|word| text.starts_with(word)));
    match () {
        () if begins(["Some(", "Ok("]) => Presence::Always,
        () if begins(["None", "Err"]) => Presence::Never,
        () => Presence::Maybe,
    }
}
