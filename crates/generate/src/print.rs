//! A test as people write it: an ordinary `#[test]` of the crate, which fails under some schedule.
//!
//! If results are what is wrong, it says which results orders of the calls give.

use std::collections::BTreeSet;
use std::fmt::Write;

use raddle_abi::finding::Kind;
use raddle_trace::runner::{PlanRequest, Runner, RunnerError};

use crate::addresses::ADDRESS;
use crate::calls::{Compared, Place};
use crate::discovery::Discovery;
use crate::eviction::Evictions;
use crate::hands::Hands;
use crate::history::{History, Step};
use crate::judge::Failure;
use crate::literal::{Bytes, Shown};
use crate::model::last;
use crate::order;
use crate::program::Program;
use crate::remembered::Memory;
use crate::sequential::{Orders, all_orders};
use crate::test_case::{Call, Manner, TestCase};

/// Orders that are repeated, and how often.
const REPEATED: (usize, usize) = (4, 8);
/// Orders that are run to say which results are right.
const ORDERS: usize = 2_000;
/// Results that a test says are right.
const RIGHT: usize = 40;

/// Equal calls that are written as a loop, if there are no fewer.
const LOOP: usize = 4;

/// Results of all calls that are compared, in order: those of each thread, and those after.
pub type Results = Vec<Vec<String>>;

/// How a test that is written down ends.
#[derive(Clone, Copy)]
pub(crate) enum Ending<'a> {
    /// When threads have ended; results are not looked at.
    Join,
    /// It fails unless its results are among these.
    Compare(&'a BTreeSet<Results>),
    /// It tells its results to the program that it stands in.
    Report,
}

/// Whether calls as they are written have results that are compared.
fn has_results(calls: &str) -> bool {
    calls.contains("results.push(")
}

/// Writes tests down.
pub struct Printer<'a> {
    /// What is called.
    pub discovery: &'a Discovery,
    /// What is known about it.
    pub program: &'a Program,
    /// Values that the user supplies, as far as they are known.
    pub shown: Shown,
}

impl Printer<'_> {
    /// The results that orders give; `None` if there are too many to say, or to find out.
    pub fn right_results(
        &self,
        test: &TestCase,
        runner: &mut dyn Runner,
    ) -> Option<BTreeSet<Results>> {
        let evictions = Evictions::of(self.program, test);
        let (run, orders) = match &evictions {
            Evictions::Never => (test, all_orders(&self.program.most_steps(test), ORDERS)?),
            Evictions::Unknown => return None,
            Evictions::Possible(evicting) => {
                let steps = |call: &Call| self.program.steps_of(call);
                (&evicting.test, evicting.orders(&steps, ORDERS)?)
            }
        };
        let mut runs = Orders::new(run, runner, ORDERS);
        runs.run(&orders);
        let whole = orders.iter().filter_map(|order| runs.history(order));
        let results = whole.map(|history| {
            let mut results = self.results(run, history);
            // Evictions are nothing that a written test calls.
            results.drain(test.threads.len()..run.threads.len());
            results
        });
        let right: BTreeSet<Results> = results.collect();
        let is_said = !right.is_empty() && right.len() <= RIGHT && runs.error.is_none();
        is_said.then_some(right)
    }

    /// Whether orders give the same results each time and in each manner, as far as a few of them show. What is random only now and
    /// then, like the place of a key in a table of few places, may have been taken for the same before.
    ///
    /// # Errors
    ///
    /// If the program cannot be run.
    pub fn is_repeatable(
        &self,
        test: &TestCase,
        runner: &mut dyn Runner,
    ) -> Result<bool, RunnerError> {
        let steps = self.program.most_steps(test);
        let one_after_the_other = || {
            let threads = steps.iter().enumerate();
            let turns = threads.flat_map(|(thread, count)| vec![order::next(thread); *count]);
            vec![turns.collect()]
        };
        let orders: Vec<Vec<u8>> = all_orders(&steps, ORDERS).unwrap_or_else(one_after_the_other);
        let apart = orders.len().div_ceil(REPEATED.0);
        for order in orders.into_iter().step_by(apart) {
            let mut results: BTreeSet<Results> = BTreeSet::new();
            for manner in [&[Manner::PLAIN][..], &Manner::OTHERS].concat() {
                let outcome = runner.run(&PlanRequest {
                    strategy: "serial".to_owned(),
                    oracles: 0,
                    input: test.encode_in(&vec![order.clone(); REPEATED.1], manner),
                    marks: true,
                    ..PlanRequest::default()
                })?;
                let Some(execution) = outcome.marks.first() else {
                    continue;
                };
                let histories = History::read(test, execution);
                let whole = histories.values().filter(|history| history.is_whole);
                results.extend(whole.map(|history| self.results(test, history)));
            }
            // A test that is written down sees addresses as they are.
            let mut texts = results.iter().flatten().flatten();
            if results.len() > 1 || texts.any(|text| text.contains(ADDRESS)) {
                return Ok(false);
            }
        }
        Ok(true)
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

    /// The test's source. With `right`, results are compared. A run of it says what calls before threads
    /// returned.
    pub fn print(
        &self,
        test: &TestCase,
        failure: &Failure,
        right: Option<&BTreeSet<Results>>,
        history: Option<&History>,
    ) -> String {
        let ending = right.map_or(Ending::Join, Ending::Compare);
        self.print_with(test, failure, ending, history)
    }

    /// The same with any ending.
    pub(crate) fn print_with(
        &self,
        test: &TestCase,
        failure: &Failure,
        ending: Ending<'_>,
        history: Option<&History>,
    ) -> String {
        let compares = !matches!(ending, Ending::Join);
        let memory = Memory::new(self, test, history);
        let mut next = 0;
        let mut calls = |calls: &[Call], place: Place<'_>, text: &mut String| {
            let written = calls.iter().map(|call| {
                let mut written = String::new();
                self.print_call((next, call), place, &mut written);
                next += 1;
                written
            });
            print_repeated(&written.collect::<Vec<_>>(), place.indent, text);
        };
        let outside = Place {
            memory: &memory,
            indent: "    ",
            compares: Compared::No,
        };
        let inside = Place {
            indent: "            ",
            compares: match compares {
                true => Compared::Concurrent,
                false => Compared::No,
            },
            ..outside
        };
        // What a panic says may have several lines.
        let lines: Vec<&str> = failure.text.lines().map(str::trim).collect();
        let mut text = format!(
            "/// {}.\n#[test]\nfn {}() {{\n",
            lines.join(" "),
            self.name(test, failure)
        );
        self.print_objects(test, &mut text);
        calls(&test.prefix, outside, &mut text);
        // Whoever needs no other thread needs none at all.
        if failure.kind == Kind::Sequential
            && let [only] = test.threads.as_slice()
        {
            calls(only, outside, &mut text);
            calls(&test.after, outside, &mut text);
            return text + "}\n";
        }
        let names: Vec<String> = (1..=test.threads.len())
            .map(|number| format!("thread_{number}"))
            .collect();
        let hands = Hands::new(self, test);
        for (thread, (name, own)) in names.iter().zip(&test.threads).enumerate() {
            let _ = writeln!(text, "    let {name} = std::thread::spawn({{");
            for line in hands.taken(thread) {
                let _ = writeln!(text, "        {line}");
            }
            for name in memory.cloned_for(self, test, thread) {
                let _ = writeln!(text, "        let {name} = {name}.clone();");
            }
            text.push_str("        move || {\n");
            let mut made = String::new();
            calls(own, inside, &mut made);
            if compares {
                let word = if has_results(&made) { "mut " } else { "" };
                let _ = writeln!(
                    text,
                    "            let {word}results: Vec<String> = Vec::new();"
                );
            }
            text.push_str(&made);
            if let Some(left) = hands.left(thread, compares) {
                let _ = writeln!(text, "            {left}");
            }
            text.push_str("        }\n    });\n");
        }
        match ending {
            Ending::Join => {
                for (thread, name) in names.iter().enumerate() {
                    let back = hands.back(thread, false);
                    let back = back.map_or_else(String::new, |names| format!("let {names} = "));
                    let _ = writeln!(text, "    {back}{name}.join().unwrap();");
                }
                calls(&test.after, outside, &mut text);
            }
            Ending::Compare(_) | Ending::Report => {
                let after = Place {
                    compares: Compared::After,
                    ..outside
                };
                let mut made = String::new();
                calls(&test.after, after, &mut made);
                Self::print_joined((&names, &hands), has_results(&made), &mut text);
                text.push_str(&made);
                if has_results(&made) {
                    text.push_str("    found.push(results);\n");
                }
                match ending {
                    Ending::Compare(right) => print_comparison(right, &mut text),
                    _ => text.push_str("    crate::printed_results(&found);\n"),
                }
            }
        }
        text.push_str("}\n");
        let supplied = self.discovery.supplied.as_deref().unwrap_or_default();
        let harness = format!("\nmod raddle_harness {{\n{}\n}}\n", supplied.trim_end());
        for (word, functions) in [
            ("drive(", DRIVE),
            ("noted()", NOTED),
            ("note(&", NOTE),
            ("note_last(&", NOTE_LAST),
            ("pick(raddle_harness::", PICK),
            ("sample(raddle_harness::", SAMPLE),
            ("arbitrary_value::<", ARBITRARY),
            ("raddle_harness::", &harness),
        ] {
            if text.contains(word) {
                text.push_str(functions);
            }
        }
        // A macro has to stand before what uses it.
        match text.contains("show!(") {
            true => format!("{}\n{text}", show()),
            false => text,
        }
    }

    /// Prints how results of threads are gathered, and room for those of the calls after them if there are any.
    fn print_joined((names, hands): (&[String], &Hands<'_>), has_more: bool, text: &mut String) {
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
        let joined = joined.join(", ");
        let _ = match has_more {
            true => writeln!(
                text,
                "    let mut found = vec![{joined}];\n    let mut results: Vec<String> = Vec::new();"
            ),
            false => writeln!(text, "    let found = vec![{joined}, Vec::new()];"),
        };
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
        let bytes = Bytes::new(&test.bytes).meaning(&self.discovery.constants);
        let mut bytes = bytes.showing(&self.shown);
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
}

/// Calls as they are written, those that are repeated in a loop.
fn print_repeated(calls: &[String], indent: &str, text: &mut String) {
    for same in calls.chunk_by(|one, next| one == next) {
        if same.len() < LOOP || same[0].is_empty() {
            text.extend(same.iter().map(String::as_str));
            continue;
        }
        let _ = writeln!(text, "{indent}for _ in 0..{} {{", same.len());
        for line in same[0].lines() {
            let _ = writeln!(text, "    {line}");
        }
        let _ = writeln!(text, "{indent}}}");
    }
}

/// Compares what was found with what is right.
fn print_comparison(right: &BTreeSet<Results>, text: &mut String) {
    text.push_str("    // What the calls return one after the other, in any order.\n");
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

/// `crossbeam_queue::ArrayQueue<u32>` as `array_queue`.
pub(crate) fn snake(part: &str) -> String {
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

/// What values look like, as the harness has it.
fn show() -> &'static str {
    let prelude = crate::harness::PRELUDE;
    let begin = prelude.find("pub struct Shown<").unwrap_or(0);
    let end = prelude.find("// That is all.").unwrap_or(begin);
    &prelude[begin..end]
}

/// What closures were given.
const NOTED: &str = r"
thread_local! {
    static NOTED: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
    static LAST_NOTED: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
}

fn noted() -> String {
    NOTED.take() + &LAST_NOTED.take()
}
";

/// What notes it down.
const NOTE: &str = r"
fn note(text: &str) {
    NOTED.with_borrow_mut(|noted| {
        noted.push('|');
        noted.push_str(text);
    });
}
";

/// What notes down the last call only.
const NOTE_LAST: &str = r#"
fn note_last(text: &str) {
    LAST_NOTED.set(format!("|{text}"));
}
"#;

/// One of the values of a function of the harness file.
const PICK: &str = r"
fn pick<I: IntoIterator>(values: I, which: usize) -> I::Item {
    let values: Vec<_> = values.into_iter().collect();
    let which = which % values.len();
    values.into_iter().nth(which).unwrap()
}
";

/// A value of a strategy of the harness file.
const SAMPLE: &str = r"
fn sample<S: proptest::strategy::Strategy>(strategy: S, seed: u8) -> S::Value {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    strategy.new_tree(&mut runner).unwrap().current()
}
";

/// A value of a type that says to the crate `arbitrary` how it is made.
const ARBITRARY: &str = r"
fn arbitrary_value<T: for<'a> arbitrary::Arbitrary<'a>>(seed: u8) -> T {
    let mut state = u32::from(seed);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let bytes: Vec<u8> = (0..64).map(|_| next()).collect();
    T::arbitrary(&mut arbitrary::Unstructured::new(&bytes)).unwrap()
}
";

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
