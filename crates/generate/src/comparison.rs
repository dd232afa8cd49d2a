//! Whether tests that are written down do what the program of the tests does: random tests are run in both forms, in
//! one program and under the same schedule, and have to have the same history.
//!
//! What is the same, exactly. Both forms run under the strategy `serial`: a thread goes on until it ends, waits or
//! yields. So calls are made in the same order, and held results are held for as long. Then these have to be equal, event
//! by event and in one order over all threads:
//!
//! - functions of the crate under test that are entered and left: iterators are advanced as far, futures are driven as
//!   far, closures are called as often, and everything is dropped at the same time;
//! - atomic operations, fences, locks and blocking operations of these functions and of what they call, with the values
//!   that are read and written, as far as these are no addresses;
//! - plain accesses to heap blocks that the crate allocates, and to those with objects that threads share, by any code:
//!   closures and results read what they read in the other form;
//! - the results that a test compares, word for word.
//!
//! Values of plain accesses are not compared, since unions and padding are copied with whatever is in them: what is
//! different there shows in results. Plain accesses to anything else are left out: handles of one thread and held results lie on the heap in one form, and
//! on the stack in the other. A test in which a call panics, or that does not end, is not compared: its forms end
//! differently, by design.

use std::collections::{BTreeMap, BTreeSet};

use raddle_abi::finding::Kind;
use raddle_abi::mark::{End, kind};
use raddle_abi::record::RawEvent;
use raddle_abi::site::{Operation, SiteId};
use raddle_schedule::rng::Rng;
use raddle_trace::runner::{Outcome, PlanRequest, RawRecording, Runner, RunnerError};
use raddle_trace::site_table::SiteTable;

use crate::addresses::without_addresses;
use crate::compose::Composer;
use crate::harness::printed_input;
use crate::history::{GONE, History, MAKING, is_panic};
use crate::judge::Failure;
use crate::pairs::{Coverage, Pair};
use crate::print::{Ending, Printer};
use crate::program::Program;
use crate::select::Guidance;
use crate::test_case::TestCase;

/// How often a pair is said to have been tried before: tests get longer, and three threads.
const TRIED: u64 = 7;
/// Values of so many bytes may be addresses, unless they are smaller than any.
const POINTER: u32 = 8;
/// No address is smaller.
const LOWEST_ADDRESS: u64 = 1 << 16;
/// Events before a difference that are told.
const CONTEXT: usize = 4;

/// A random test with its two printed forms.
#[derive(Clone, Debug)]
pub struct Case {
    /// The test.
    pub test: TestCase,
    /// Its history in the program of the tests.
    history: History,
    /// The form without results, and the one that compares them.
    pub printed: [String; 2],
}

/// What comparing a case led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compared {
    /// Both forms do the same: so many events.
    Same(usize),
    /// They do not; in words.
    Different(String),
    /// The recording was too long, or the program could not be run to its end.
    Incomplete,
}

/// Random tests, as many as `count` that run to their end without a panic, with their printed forms; and how many were
/// drawn for that.
///
/// # Errors
///
/// If the program cannot be run.
pub fn draw(
    printer: &Printer<'_>,
    (count, seed): (usize, u64),
    runner: &mut dyn Runner,
) -> Result<(Vec<Case>, usize), RunnerError> {
    let program = printer.program;
    let composer = Composer {
        program,
        guidance: Guidance::Pairs,
        threads: None,
    };
    let pairs = pairs(program);
    let mut rng = Rng::new(seed);
    let (mut cases, mut drawn) = (Vec::new(), 0);
    while cases.len() < count && drawn < 4 * count && !pairs.is_empty() {
        let pair = pairs[rng.below(pairs.len() as u64) as usize];
        let tried = 1 + rng.below(TRIED) as u32;
        let mut tests = composer.tests(pair, tried, &mut rng);
        let test = tests.swap_remove(rng.below(tests.len() as u64) as usize);
        drawn += 1;
        let outcome = run(test.encode(&[]), false, runner)?;
        let Some(history) = ended(&test, &outcome) else {
            continue;
        };
        let printer = Printer {
            shown: printer.supplied_values(&test, runner)?,
            ..*printer
        };
        cases.push(Case {
            printed: [Ending::Join, Ending::Report]
                .map(|ending| written(&printer, &test, &history, ending)),
            test,
            history,
        });
    }
    Ok((cases, drawn))
}

fn pairs(program: &Program) -> Vec<Pair> {
    let methods = program.methods.keys().map(|number| usize::from(*number));
    let methods: Vec<_> = methods.collect();
    let coverage = Coverage::among(&methods, |pair| program.can_meet(pair));
    coverage.counts().keys().copied().collect()
}

/// The history of a test that ended without a panic.
fn ended(test: &TestCase, outcome: &Outcome) -> Option<History> {
    let execution = outcome.marks.first()?;
    let history = History::of(test, execution);
    let steps = history.prefix.iter().chain(history.concurrent());
    let mut results = steps.chain(&history.after).map(|step| &step.result);
    let has_panic = results.any(|result| result.as_deref().is_some_and(is_panic));
    let is_whole = history.is_whole && history.unmade.is_none() && !has_panic;
    let is_whole = is_whole && history.drop_panic.is_none();
    let has_passed = is_whole && execution.end == Some(End::Passed);
    has_passed.then(|| history.clone())
}

/// A printed form as a function that the program of the tests can call. A `#[test]` would be left out of it.
fn written(
    printer: &Printer<'_>,
    test: &TestCase,
    history: &History,
    ending: Ending<'_>,
) -> String {
    let failure = Failure {
        kind: Kind::Linearizability,
        text: String::new(),
        key: String::new(),
        sites: Vec::new(),
        execution: 0,
        is_certain: true,
    };
    let source = printer.print_with(test, &failure, ending, Some(history));
    let head = format!("#[test]\nfn {}()", printer.name(test, &failure));
    source.replacen(&head, "pub fn run()", 1)
}

/// Runs an input under the serial schedule.
fn run(input: Vec<u8>, record: bool, runner: &mut dyn Runner) -> Result<Outcome, RunnerError> {
    runner.run(&PlanRequest {
        strategy: "serial".to_owned(),
        oracles: 0,
        input,
        marks: true,
        record,
        ..PlanRequest::default()
    })
}

/// Compares the forms of cases, by the program that has the printed forms in it: two of each case, in order.
pub struct Comparison<'a> {
    /// What wrote them.
    pub printer: &'a Printer<'a>,
    /// Sites of the program.
    pub sites: &'a SiteTable,
    /// Name of the program's own crate.
    pub own: &'a str,
}

impl Comparison<'_> {
    /// Compares the case with this number.
    ///
    /// # Errors
    ///
    /// If the program cannot be run.
    pub fn compare(
        &self,
        (number, case): (usize, &Case),
        runner: &mut dyn Runner,
    ) -> Result<Compared, RunnerError> {
        let outcome = run(case.test.encode(&[]), true, runner)?;
        let Some(expected) = self.observed(&outcome) else {
            return Ok(Compared::Incomplete);
        };
        let results = self.printer.results(&case.test, &case.history);
        let results = format!("{results:?}");
        for (form, expects_results) in [(0, false), (1, true)] {
            let index = u16::try_from(2 * number + form).unwrap_or(u16::MAX);
            let outcome = run(printed_input(index), true, runner)?;
            let Some(found) = self.observed(&outcome) else {
                return Ok(Compared::Incomplete);
            };
            let told = |number: u32| {
                let marks = outcome.marks.first().map(|one| one.marks.as_slice());
                let mut marks = marks.unwrap_or_default().iter();
                let mark = marks.find(|mark| mark.kind == kind::RETURN && mark.number == number)?;
                Some(without_addresses(
                    String::from_utf8_lossy(&mark.bytes).into_owned(),
                ))
            };
            if let Some(text) = told(GONE).filter(|text| is_panic(text)) {
                return Ok(Compared::Different(format!(
                    "the written test panics: {text}"
                )));
            }
            let told = told(MAKING);
            if expects_results && told.as_ref() != Some(&results) {
                let told = told.unwrap_or_default();
                let text = format!("results are {results} and in the written test {told}");
                return Ok(Compared::Different(text));
            }
            if let Some(text) = difference(&expected, &found) {
                return Ok(Compared::Different(text));
            }
        }
        Ok(Compared::Same(expected.len()))
    }

    /// What an execution did, if all of it is known.
    fn observed(&self, outcome: &Outcome) -> Option<Vec<Observed>> {
        let recording = outcome.recording.as_ref()?;
        let has_ended = outcome.marks.first().is_some_and(|one| {
            let is_end = |number: u32| number == GONE;
            one.marks.iter().any(|mark| is_end(mark.number))
        });
        (has_ended && !recording.overflow).then(|| self.events(recording))
    }

    fn events(&self, recording: &RawRecording) -> Vec<Observed> {
        let mut places = Places {
            sites: self.sites,
            own: self.own,
            known: BTreeMap::new(),
        };
        let shared = places.shared_blocks(recording);
        let mut walk = Walk::default();
        let mut all = Vec::new();
        for (time, event) in recording.events.iter().enumerate() {
            let Some(operation) = Operation::from_number(event.operation) else {
                continue;
            };
            let place = places.place(event.site);
            walk.step(time, event, operation, &place);
            let is_of_crate = place.is_of_crate() || walk.is_in_crate(event.thread);
            let is_seen = match operation {
                Operation::Enter | Operation::Leave => place.is_of_crate(),
                Operation::Read | Operation::Write => walk
                    .block(event.address)
                    .is_some_and(|block| block.is_of_crate || shared.contains(&block.born)),
                Operation::AtomicLoad
                | Operation::AtomicStore
                | Operation::AtomicRmw
                | Operation::AtomicCas
                | Operation::VolatileRead
                | Operation::VolatileWrite
                | Operation::Fence
                | Operation::Yield
                | Operation::Spawn
                | Operation::Join
                | Operation::FutexWait
                | Operation::FutexWake
                | Operation::LockWant
                | Operation::LockAcquire
                | Operation::LockRelease
                | Operation::Sleep => is_of_crate,
                _ => false,
            };
            if is_seen {
                all.push(Observed::new(event, operation, place));
            }
        }
        all
    }
}

/// One event, as far as it has to be the same.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Observed {
    thread: u16,
    operation: Operation,
    /// Where it stands, if that is code of the crate under test.
    place: Option<String>,
    len: u32,
    value: Option<u64>,
}

impl Observed {
    fn new(event: &RawEvent, operation: Operation, place: Place) -> Self {
        let is_value =
            event.len < POINTER || (event.len == POINTER && event.value < LOWEST_ADDRESS);
        // Plain accesses also copy what was never written.
        let has_value = !matches!(
            operation,
            Operation::Read
                | Operation::Write
                | Operation::Enter
                | Operation::Spawn
                | Operation::Join
                | Operation::LockWant
                | Operation::LockAcquire
                | Operation::LockRelease
        );
        Self {
            thread: event.thread,
            operation,
            place: match place {
                Place::Crate(text) => Some(text),
                Place::Own | Place::Other => None,
            },
            len: event.len,
            value: (is_value && has_value).then_some(event.value),
        }
    }
}

impl std::fmt::Display for Observed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = self.operation.word();
        write!(formatter, "thread {} {word}", self.thread)?;
        if let Some(text) = &self.place {
            write!(formatter, " at {text}")?;
        }
        match self.value {
            Some(value) => write!(formatter, " of {} bytes: {value}", self.len),
            None => write!(formatter, " of {} bytes", self.len),
        }
    }
}

/// The first difference, in words.
fn difference(expected: &[Observed], found: &[Observed]) -> Option<String> {
    let same = expected.iter().zip(found);
    let at = same.take_while(|(one, other)| one == other).count();
    if at == expected.len() && at == found.len() {
        return None;
    }
    let word = |event: Option<&Observed>| match event {
        Some(event) => format!("`{event}`"),
        None => "the end".to_owned(),
    };
    let before = expected[at.saturating_sub(CONTEXT)..at].iter();
    let before: Vec<_> = before.map(|event| word(Some(event))).collect();
    Some(format!(
        "event {at} is {}, and in the written test {}; before: {}",
        word(expected.get(at)),
        word(found.get(at)),
        before.join(", ")
    ))
}

/// Whose code a site is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// The crate under test, or one that it depends on; function, line and column. A function may have several copies in
    /// the program, so that sites differ.
    Crate(String),
    /// The program of the tests, which has both forms in it.
    Own,
    /// The standard library, where it is not known what calls it, or nothing.
    Other,
}

impl Place {
    const fn is_of_crate(&self) -> bool {
        matches!(self, Self::Crate(_))
    }
}

struct Places<'a> {
    sites: &'a SiteTable,
    own: &'a str,
    known: BTreeMap<SiteId, Place>,
}

impl Places<'_> {
    fn place(&mut self, site: SiteId) -> Place {
        if let Some(known) = self.known.get(&site) {
            return known.clone();
        }
        let place = match self.sites.site(site).map(|site| site.user_location()) {
            None => Place::Other,
            Some(call) if call.is_std || call.function.is_empty() => Place::Other,
            Some(call) if is_in(&call.function, self.own) => Place::Own,
            Some(call) => Place::Crate(format!("{}:{}:{}", call.function, call.line, call.column)),
        };
        self.known.insert(site, place.clone());
        place
    }

    /// When blocks were allocated, not by the crate, that code of the crate accesses in several threads: objects.
    fn shared_blocks(&mut self, recording: &RawRecording) -> BTreeSet<usize> {
        let mut walk = Walk::default();
        let mut threads: BTreeMap<usize, BTreeSet<u16>> = BTreeMap::new();
        for (time, event) in recording.events.iter().enumerate() {
            let Some(operation) = Operation::from_number(event.operation) else {
                continue;
            };
            let place = self.place(event.site);
            walk.step(time, event, operation, &place);
            let is_access = matches!(
                operation,
                Operation::Read
                    | Operation::Write
                    | Operation::AtomicLoad
                    | Operation::AtomicStore
                    | Operation::AtomicRmw
                    | Operation::AtomicCas
            );
            // The thread that makes and drops everything does not count: handles of one thread would be shared.
            if is_access
                && event.thread != 0
                && place.is_of_crate()
                && let Some(block) = walk.block(event.address)
            {
                threads.entry(block.born).or_default().insert(event.thread);
            }
        }
        let shared = threads.into_iter().filter(|(_, threads)| threads.len() > 1);
        shared.map(|(born, _)| born).collect()
    }
}

/// Whether a function belongs to a crate.
fn is_in(function: &str, name: &str) -> bool {
    let path = function.trim_start_matches(['<', '&', '(', '[', ' ']);
    let path = path.strip_prefix("mut ").unwrap_or(path);
    let rest = path.strip_prefix(name);
    rest.is_some_and(|rest| rest.starts_with("::"))
}

/// A heap block.
#[derive(Clone, Copy)]
struct Block {
    end: u64,
    /// Number of the event that allocated it.
    born: usize,
    is_of_crate: bool,
}

/// What is known at one event of a recording.
#[derive(Default)]
struct Walk {
    /// For each thread, whether the functions that it runs are the crate's.
    running: BTreeMap<u16, Vec<bool>>,
    blocks: BTreeMap<u64, Block>,
}

impl Walk {
    fn step(&mut self, time: usize, event: &RawEvent, operation: Operation, place: &Place) {
        match operation {
            Operation::Enter if *place != Place::Other => {
                let running = self.running.entry(event.thread).or_default();
                running.push(place.is_of_crate());
            }
            Operation::Leave if *place != Place::Other => {
                let running = self.running.entry(event.thread).or_default();
                running.pop();
            }
            Operation::Alloc => {
                let block = Block {
                    end: event.address + event.value,
                    born: time,
                    is_of_crate: self.is_in_crate(event.thread),
                };
                self.blocks.insert(event.address, block);
            }
            Operation::Free => drop(self.blocks.remove(&event.address)),
            _ => {}
        }
    }

    /// Whether the innermost function of a thread that is not the standard library's is the crate's.
    fn is_in_crate(&self, thread: u16) -> bool {
        let running = self.running.get(&thread);
        running.and_then(|running| running.last()) == Some(&true)
    }

    fn block(&self, address: u64) -> Option<Block> {
        let (_, block) = self.blocks.range(..=address).next_back()?;
        (address < block.end).then_some(*block)
    }
}
