//! A test as people write it: an ordinary `#[test]` of the crate, which fails under some schedule.
//!
//! If results are what is wrong, it says which results orders of the calls give.

use std::collections::BTreeSet;
use std::fmt::Write;

use raddle_abi::finding::Kind;
use raddle_trace::runner::Runner;

use crate::discovery::Discovery;
use crate::hands::{Hands, on_own};
use crate::history::{History, Step};
use crate::holding::Access;
use crate::judge::Failure;
use crate::methods::Operation;
use crate::model::last;
use crate::program::{Program, Weakness};
use crate::recipe::{Bytes, Recipe};
use crate::results::Class;
use crate::sequential::{Orders, all_orders};
use crate::test_case::{Call, TestCase, runs};

/// Orders that are run to say which results are right.
const ORDERS: usize = 2_000;
/// Results that a test says are right.
const RIGHT: usize = 40;

/// Equal calls that are written as a loop, if there are no fewer.
const LOOP: usize = 4;

/// Results of all calls that are compared, in order: those of each thread, and those after.
pub type Results = Vec<Vec<String>>;

/// Writes tests down.
pub struct Printer<'a> {
    /// What is called.
    pub discovery: &'a Discovery,
    /// What is known about it.
    pub program: &'a Program,
}

impl Printer<'_> {
    /// The results that orders give; `None` if there are too many to say, or to find out.
    pub fn right_results(
        &self,
        test: &TestCase,
        runner: &mut dyn Runner,
    ) -> Option<BTreeSet<Results>> {
        let orders = all_orders(&self.program.most_steps(test), ORDERS)?;
        let mut runs = Orders::new(test, runner, ORDERS);
        runs.run(&orders);
        let whole = orders.iter().filter_map(|order| runs.history(order));
        let right: BTreeSet<Results> = whole.map(|history| self.results(test, history)).collect();
        let is_said = !right.is_empty() && right.len() <= RIGHT && runs.error.is_none();
        is_said.then_some(right)
    }

    /// The results of a run that are compared.
    pub fn results(&self, test: &TestCase, history: &History) -> Results {
        let of = |steps: &[Step], when: Compared| -> Vec<String> {
            let compared = steps.iter().filter(|step| {
                let call = test.call(step.call);
                !step.is_second && call.is_some_and(|call| self.is_compared(call, when))
            });
            compared.filter_map(|step| step.result.clone()).collect()
        };
        let after = of(&history.after, Compared::After);
        history
            .threads
            .iter()
            .map(|steps| of(steps, Compared::Concurrent))
            .chain([after])
            .collect()
    }

    fn is_compared(&self, call: &Call, when: Compared) -> bool {
        let operation = &self.discovery.operations[usize::from(call.operation)];
        let notes = notes(operation);
        let is_plain = operation.class == Class::Plain && notes != Notes::Unprintable;
        let is_shown = is_plain || (operation.class == Class::Unit && notes == Notes::Printable);
        let is_strong = self.program.weakness(call.operation) == Weakness::None;
        let binds = match when {
            Compared::No => false,
            Compared::Concurrent => is_strong,
            // Nobody sees what a future has done so far when all others are over.
            Compared::After => is_strong || operation.is_future,
        };
        is_shown && operation.steps.len() == 1 && binds
    }

    /// The test's name.
    pub fn name(&self, test: &TestCase, failure: &Failure) -> String {
        let mut words = vec![failure.kind.word().replace('-', "_")];
        let names = test.threads.iter().flatten();
        for call in names {
            let name = self.program.name(call.operation).to_lowercase();
            let name: String = name
                .chars()
                .map(|one| if one.is_alphanumeric() { one } else { '_' })
                .collect();
            let name = name.replace("__", "_").trim_matches('_').to_owned();
            if !words.contains(&name) {
                words.push(name);
            }
        }
        words.truncate(5);
        words.join("_")
    }

    /// The test's source. With `right`, results are compared.
    pub fn print(
        &self,
        test: &TestCase,
        failure: &Failure,
        right: Option<&BTreeSet<Results>>,
    ) -> String {
        let compares = right.is_some();
        let concurrent = match compares {
            true => Compared::Concurrent,
            false => Compared::No,
        };
        let mut text = format!(
            "/// {}.\n#[test]\nfn {}() {{\n",
            // A panic may have several lines.
            failure.text.replace('\n', "\n/// "),
            self.name(test, failure)
        );
        self.print_objects(test, &mut text);
        self.print_calls(&test.prefix, "    ", Compared::No, &mut text);
        // Whoever needs no other thread needs none at all.
        if failure.kind == Kind::Sequential
            && let [calls] = test.threads.as_slice()
        {
            self.print_calls(calls, "    ", Compared::No, &mut text);
            self.print_calls(&test.after, "    ", Compared::No, &mut text);
            return text + "}\n";
        }
        let names: Vec<String> = (1..=test.threads.len())
            .map(|number| format!("thread_{number}"))
            .collect();
        let hands = Hands::new(self, test);
        for (thread, (name, calls)) in names.iter().zip(&test.threads).enumerate() {
            let _ = writeln!(text, "    let {name} = std::thread::spawn({{");
            for line in hands.taken(thread) {
                let _ = writeln!(text, "        {line}");
            }
            text.push_str("        move || {\n");
            if compares {
                text.push_str("            let mut results: Vec<String> = Vec::new();\n");
            }
            self.print_calls(calls, "            ", concurrent, &mut text);
            if let Some(left) = hands.left(thread, compares) {
                let _ = writeln!(text, "            {left}");
            }
            text.push_str("        }\n    });\n");
        }
        match right {
            None => {
                for (thread, name) in names.iter().enumerate() {
                    let back = hands.back(thread, false);
                    let back = back.map_or_else(String::new, |names| format!("let {names} = "));
                    let _ = writeln!(text, "    {back}{name}.join().unwrap();");
                }
                self.print_calls(&test.after, "    ", Compared::No, &mut text);
            }
            Some(right) => self.print_comparison(test, (&names, &hands), right, &mut text),
        }
        text.push_str("}\n");
        if text.contains("drive(") {
            text.push_str(DRIVE);
        }
        if text.contains("noted()") {
            text.push_str(NOTES);
        }
        text
    }

    fn print_comparison(
        &self,
        test: &TestCase,
        (names, hands): (&[String], &Hands<'_>),
        right: &BTreeSet<Results>,
        text: &mut String,
    ) {
        let mut joined = Vec::new();
        for (thread, name) in names.iter().enumerate() {
            match hands.back(thread, true).filter(|_| hands.has_left(thread)) {
                Some(back) => {
                    let _ = writeln!(text, "    let {back} = {name}.join().unwrap();");
                    joined.push(format!("results_{}", thread + 1));
                }
                None => joined.push(format!("{name}.join().unwrap()")),
            }
        }
        let _ = writeln!(text, "    let mut found = vec![{}];", joined.join(", "));
        text.push_str("    let mut results: Vec<String> = Vec::new();\n");
        self.print_calls(&test.after, "    ", Compared::After, text);
        text.push_str("    found.push(results);\n    // What the calls return one after the other, in any order.\n");
        text.push_str("    let right: &[&[&[&str]]] = &[\n");
        for results in right {
            let lists = results.iter().map(|list| {
                let list: Vec<_> = list.iter().map(|one| format!("{one:?}")).collect();
                format!("&[{}]", list.join(", "))
            });
            let lists: Vec<_> = lists.collect();
            let _ = writeln!(text, "        &[{}],", lists.join(", "));
        }
        text.push_str("    ];\n    assert!(\n        right.iter().any(|right| found == *right),\n");
        text.push_str("        \"no order of the calls gives {found:?}\"\n    );\n");
    }

    pub(crate) fn objects(&self) -> Vec<String> {
        let parts = &self.discovery.parts;
        let names: Vec<String> = parts.iter().map(|part| snake(part)).collect();
        let is_unique = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
        let all = names.iter().enumerate();
        all.map(|(index, name)| match is_unique(name) {
            true => name.clone(),
            false => format!("{name}_{index}"),
        })
        .collect()
    }

    fn print_objects(&self, test: &TestCase, text: &mut String) {
        let constructor = &self.discovery.constructors[usize::from(test.constructor)];
        let mut bytes = Bytes::new(&test.bytes).meaning(&self.discovery.constants);
        let objects = self.objects();
        if objects.is_empty() {
            return;
        }
        if self.discovery.is_paired {
            for object in &objects {
                let value = constructor.recipe.literal(&mut bytes);
                let value = match constructor.in_arc {
                    true => value,
                    false => format!("std::sync::Arc::new({value})"),
                };
                let _ = writeln!(text, "    let {object} = {value};");
            }
            return;
        }
        let value = constructor.recipe.literal(&mut bytes);
        match objects.as_slice() {
            [object] if constructor.in_arc => {
                let _ = writeln!(text, "    let {object} = {value};");
            }
            objects => {
                let hands = Hands::new(self, test);
                let names: Vec<_> = (0..objects.len()).map(|part| hands.made(part)).collect();
                match (names.as_slice(), self.discovery.holdings[0].is_own()) {
                    ([object], false) => {
                        let _ = writeln!(text, "    let {object} = std::sync::Arc::new({value});");
                        return;
                    }
                    ([object], true) => {
                        let _ = writeln!(text, "    let {object} = {value};");
                    }
                    (several, _) => {
                        let _ = writeln!(text, "    let ({}) = {value};", several.join(", "));
                    }
                }
                for (object, holding) in objects.iter().zip(&self.discovery.holdings) {
                    if !holding.is_own() {
                        let _ = writeln!(text, "    let {object} = std::sync::Arc::new({object});");
                    }
                }
            }
        }
    }

    /// Calls, those that are repeated in a loop.
    fn print_calls(&self, calls: &[Call], indent: &str, compares: Compared, text: &mut String) {
        for run in runs(calls) {
            let call = &calls[run.start];
            if run.len() < LOOP {
                for _ in run {
                    self.print_call(call, indent, compares, text);
                }
                continue;
            }
            let _ = writeln!(text, "{indent}for _ in 0..{} {{", run.len());
            self.print_call(call, &format!("{indent}    "), compares, text);
            let _ = writeln!(text, "{indent}}}");
        }
    }

    fn print_call(&self, call: &Call, indent: &str, compares: Compared, text: &mut String) {
        let operation = &self.discovery.operations[usize::from(call.operation)];
        let objects = self.objects();
        let is_compared = self.is_compared(call, compares);
        let has_notes = is_compared && notes(operation) == Notes::Printable;
        let bytes = Bytes::new(&call.bytes).meaning(&self.discovery.constants);
        let mut bytes = bytes.noting(has_notes);
        let none = String::new();
        let named = |part: usize| objects.get(part).unwrap_or(&none);
        let (object, other) = match self.discovery.is_paired && bytes.flag() {
            true => (named(1), named(0)),
            false => (named(operation.part), objects.last().unwrap_or(&none)),
        };
        let call = &operation.steps[0].call;
        let first = match operation.access {
            Access::Shared | Access::None => on_object(call, object, other, &mut bytes),
            Access::Own | Access::Drop | Access::Make => on_own(call, object, &mut bytes),
        };
        if operation.access == Access::Make {
            let _ = writeln!(text, "{indent}{object} = {first};");
            return;
        }
        let line = match operation.steps.get(1) {
            Some(second) => {
                let second = second_call(operation, &second.call, &mut bytes);
                let wait = "std::thread::yield_now();";
                match operation.steps[1].takes {
                    Some(word) => {
                        format!("if let {word}(mut handle) = {first} {{ {wait} {second}; }}")
                    }
                    None => format!("{{ let mut handle = {first}; {wait} {second}; }}"),
                }
            }
            None if operation.is_future && is_compared => format!(
                "results.push(drive({first}).map_or(\"Pending\".to_owned(), |one| format!(\"{{one:?}}\")));"
            ),
            None if operation.is_future => format!("let _ = drive({first});"),
            None if operation.class.is_held() => {
                // What a guard refers to is looked at, as it was when the failure was seen.
                let looks = match operation.is_shown {
                    true => "let _ = format!(\"{held:?}\"); ",
                    false => "",
                };
                format!("{{ let held = {first}; {looks}std::thread::yield_now(); drop(held); }}")
            }
            None if has_notes => {
                format!("results.push(format!(\"{{:?}}{{}}\", {first}, noted()));")
            }
            None if is_compared => {
                format!("results.push(format!(\"{{:?}}\", {first}));")
            }
            None if operation.class == Class::Unit => format!("{first};"),
            None => format!("let _ = {first};"),
        };
        let _ = writeln!(text, "{indent}{line}");
    }
}

/// Whether results are compared, and which ones bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compared {
    /// They are not.
    No,
    /// Those of calls at the same time.
    Concurrent,
    /// Those of calls when all threads have ended.
    After,
}

/// Whether closures note something down that is a part of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Notes {
    /// There are none.
    None,
    /// They do, and a test can do the same.
    Printable,
    /// They do, and how it looks is not known.
    Unprintable,
}

fn notes(operation: &Operation) -> Notes {
    const SHOWN: &[&str] = &[
        "u8", "u16", "u32", "u64", "usize", "i32", "i64", "bool", "char", "String",
    ];
    let closures = operation.steps.iter().flat_map(|step| step.call.closures());
    let mut result = Notes::None;
    for closure in closures {
        let is_shown = closure
            .parameters
            .iter()
            .all(|one| SHOWN.contains(&one.trim_start_matches('&').trim_start_matches("mut ")));
        match is_shown {
            true => result = Notes::Printable,
            false => return Notes::Unprintable,
        }
    }
    result
}

fn second_call(operation: &Operation, call: &Recipe, bytes: &mut Bytes<'_>) -> String {
    let text = call.literal(bytes);
    let text = text
        .replace("(&mut {o}).", "handle.")
        .replace("(&{o}).", "handle.");
    let text = text.replace("{o}", "handle");
    match operation.class == Class::Unit {
        true => text,
        false => format!("let _ = {text}"),
    }
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

/// `crossbeam_queue::ArrayQueue<u32>` as `array_queue`.
fn snake(part: &str) -> String {
    let name = last(part.split('<').next().unwrap_or(part));
    let mut result = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !result.is_empty() {
            result.push('_');
        }
        result.extend(letter.to_lowercase());
    }
    result
}

/// Whether results are what is wrong.
pub fn is_about_results(kind: Kind) -> bool {
    kind == Kind::Linearizability
}

/// What closures were given.
const NOTES: &str = r#"
thread_local! {
    static NOTED: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
}

fn note(text: &str) {
    NOTED.with_borrow_mut(|noted| {
        noted.push('|');
        noted.push_str(text);
    });
}

fn noted() -> String {
    NOTED.take()
}
"#;

/// Drives a future that nobody wakes.
const DRIVE: &str = r"
fn drive<F: Future>(future: F) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    for _ in 0..100 {
        if let std::task::Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return Some(result);
        }
        std::thread::yield_now();
    }
    None
}
";
