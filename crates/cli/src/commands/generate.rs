//! `cargo raddle generate`: concurrent tests for a type, from its name alone.

mod compare;
mod confirm;
mod project;
mod sources;
mod supplied;
mod trials;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use raddle_campaign::{self as campaign, Options, Overrides};
use raddle_generate::calibrate::calibrate;
use raddle_generate::discovery::{Discovery, DiscoveryError, discover};
use raddle_generate::harness::{Harness, HarnessError, Subject};
use raddle_generate::library::Library;
use raddle_generate::literal::Shown;
use raddle_generate::print::{Printer, is_about_results};
use raddle_generate::program::Program;
use raddle_generate::search::{self, Report, Search, Settings, Violation, shrink_violation};
use raddle_generate::supplied::CRATE;
use raddle_report::{
    Event, ExcusedResults, GeneratedTest, Note, Operation, PairCell, PairCoverage, Spent,
    UncheckedResults,
};
use raddle_trace::runner::{Runner, RunnerError};

use self::confirm::Confirmed;
use crate::arguments::{GenerateCommand, Relaxation};
use crate::cache::Cache;
use crate::cargo_flags::CargoFlags;
use crate::config::Config;
use crate::documentation::Documentation;
use crate::exit::{Exit, Failure};
use crate::metadata::Metadata;
use crate::personality;
use crate::probe::{self, Checked};
use crate::scratch::{self, Scratch};
use crate::session::Session;

/// Most rounds in which the compiler judges.
const ROUNDS: usize = 20;
/// Rounds in which crates are described that others turn out to be made of.
const DESCRIPTIONS: usize = 3;
/// Calls that never returned are worth a note from this number on.
const MANY_WAITS: u64 = 20;
/// Time for making tests smaller when the time is over.
const LAST: Duration = Duration::from_secs(60);

pub(super) fn run(command: GenerateCommand) -> Result<Exit, Failure> {
    let names = project::crate_names(&command.subject);
    if names.is_empty() {
        let sentence = project::without_crate(&command.subject);
        return Err(Failure::new(Exit::Usage, sentence));
    }
    let scratch = match &command.package {
        Some(package) => project::published(package, &command, &names)?,
        None => project::beside(&command, &names)?,
    };
    let flags = CargoFlags {
        bin: vec![scratch::NAME.to_owned()],
        manifest_path: Some(scratch.manifest()),
        locked: false,
        frozen: false,
        offline: command.cargo.offline || command.cargo.frozen,
        config: command.cargo.config.clone(),
        ..CargoFlags::default()
    };
    let findings = match &command.package {
        Some(_) => flags.place(),
        None => command.cargo.place(),
    };
    let (run, output) = (command.run.clone(), command.output);
    let mut session = Session::open_with_findings_in(&findings, flags, run, output)?;
    let relaxed = adopt(&mut session, &command)?;
    if command.package.is_some() {
        session
            .console
            .note("code from the registry is downloaded, built and run");
    }
    let discovery = Discovery {
        constants: sources::constants(&session.metadata, &command.subject),
        supplied: scratch
            .harness()
            .and_then(|file| fs::read_to_string(file).ok()),
        ..describe(&mut session, &scratch, &command, &names)?
    };
    let mut harness = Harness::new(&discovery);
    choose(&mut harness, &discovery, &command)?;
    judge(&mut session, &scratch, &mut harness)?;
    if command.list {
        show(&mut session, &discovery, &harness);
        return Ok(Exit::Clean);
    }
    generate(
        &mut session,
        &scratch,
        &command,
        &discovery,
        &harness,
        &relaxed,
    )
}

/// Takes over what the raddle.toml of the user's workspace says, or that of the current directory for a package of the
/// registry, and returns which methods it and the command relax.
fn adopt(session: &mut Session, command: &GenerateCommand) -> Result<Vec<Relaxation>, Failure> {
    let directory = match &command.package {
        Some(_) => PathBuf::from("."),
        None => Metadata::load(&command.cargo)?.workspace_root,
    };
    let config = Config::load(&directory)?;
    session.run = command.run.clone().over(config.run);
    session.ignore = config.ignore;
    let rules = config.relax.into_iter();
    let rules = rules.filter(|rule| rule.is_about(&command.subject));
    let rules = rules.map(|rule| Relaxation {
        method: rule.method,
        reason: rule.reason,
    });
    Ok(rules.chain(command.relax.iter().cloned()).collect())
}

/// Relaxes the methods of a program that the user names.
fn relax(program: &mut Program, relaxed: &[Relaxation]) -> Result<(), Failure> {
    for Relaxation { method, reason } in relaxed {
        if !program.relax(method, reason) {
            let sentence = format!("there is no operation `{method}` to relax; `--list` shows all");
            return Err(Failure::new(Exit::Usage, sentence));
        }
    }
    Ok(())
}

/// Finds out what the type offers.
fn describe(
    session: &mut Session,
    scratch: &Scratch,
    command: &GenerateCommand,
    names: &[String],
) -> Result<Discovery, Failure> {
    let release = &session.toolchain.release;
    let text = format!("the runtime for rustc {release} (once per toolchain)");
    let console = &mut session.console;
    let cache = Cache::prepare(&session.toolchain, || console.status("Compiling", text))?;
    let target = scratch.target();
    let manifest = scratch.manifest();
    let flags = cargo_flags(&session.flags);
    let documentation = Documentation {
        manifest: &manifest,
        directory: &target,
        wrapper: cache.program(personality::RUSTDOC_JSON),
        rustdoc: session.toolchain.sysroot.join("bin/rustdoc"),
        flags: &flags,
        stop: &session.stop,
    };
    let described = documentation.descriptions().join(format!("{CRATE}.json"));
    match scratch.harness() {
        Some(file) => {
            session
                .console
                .status("Describing", file.display().to_string());
            let package = packages(&session.metadata, &[CRATE.to_owned()]);
            let described = documentation.make(&package);
            described.map_err(|failure| match failure.exit {
                Exit::Interrupted => failure,
                _ => broken(file, ""),
            })?;
        }
        // There may have been one the last time.
        None => drop(fs::remove_file(described)),
    }
    let has_arbitrary = session.metadata.library(supplied::ARBITRARY).is_some();
    // A dependency of a dependency is nothing that the program could name.
    let has_arbitrary = has_arbitrary && command.package.is_none();
    let mut known: Vec<String> = Vec::new();
    let mut wanted: Vec<String> = names.to_vec();
    for _ in 0..DESCRIPTIONS {
        let packages = packages(&session.metadata, &wanted);
        if packages.is_empty() {
            break;
        }
        session.console.status("Describing", wanted.join(", "));
        documentation.make(&packages)?;
        known.append(&mut wanted);
        let library = Library::open(documentation.descriptions()).with_arbitrary(has_arbitrary);
        // What it looks for and does not find is described next.
        let _ = discover(&library, &command.subject);
        wanted = library.missing();
        wanted.retain(|name| !known.contains(name) && session.metadata.library(name).is_some());
    }
    let library = Library::open(documentation.descriptions()).with_arbitrary(has_arbitrary);
    discover(&library, &command.subject).map_err(|error| {
        let exit = match &error {
            DiscoveryError::Type(_) | DiscoveryError::Supplied(_) => Exit::Usage,
            _ => Exit::NothingToTest,
        };
        Failure::new(exit, error)
    })
}

/// Packages with these libraries, as cargo names them.
fn packages(metadata: &Metadata, names: &[String]) -> Vec<String> {
    let found = names.iter().filter_map(|name| metadata.library(name));
    found
        .map(|package| format!("{}@{}", package.name, package.version))
        .collect()
}

fn cargo_flags(flags: &CargoFlags) -> Vec<OsString> {
    let without = CargoFlags {
        manifest_path: None,
        ..flags.clone()
    };
    without.common()
}

/// Leaves out what the user does not want.
fn choose(
    harness: &mut Harness<'_>,
    discovery: &Discovery,
    command: &GenerateCommand,
) -> Result<(), Failure> {
    let operations = discovery.operations.iter();
    for name in command.op.iter().chain(&command.skip) {
        if operations.clone().all(|operation| operation.name != *name) {
            let sentence = format!("there is no operation `{name}`; `--list` shows all");
            return Err(Failure::new(Exit::Usage, sentence));
        }
    }
    for (index, operation) in operations.enumerate() {
        let is_wanted = command.op.is_empty() || command.op.contains(&operation.name);
        let is_skipped = command.skip.iter().any(|name| calls(&operation.name, name));
        if !is_wanted || is_skipped {
            harness.leave_out(index);
        }
    }
    Ok(())
}

/// Whether an operation is the method of that name, or a method of what that one returns.
fn calls(operation: &str, name: &str) -> bool {
    let rest = operation.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Lets the compiler judge until nothing is left that does not compile.
fn judge(
    session: &mut Session,
    scratch: &Scratch,
    harness: &mut Harness<'_>,
) -> Result<(), Failure> {
    let flags = cargo_flags(&session.flags);
    session.console.status(
        "Checking",
        format!("{} operations", harness.operations().len()),
    );
    for _ in 0..ROUNDS {
        scratch.write_program(&harness.source())?;
        let manifest = scratch.manifest();
        let checked = probe::check(
            &manifest,
            &scratch.target(),
            scratch::NAME,
            &flags,
            &session.stop,
        )?;
        match checked {
            Checked::Good => return Ok(()),
            Checked::Complaints(complaints) => {
                harness.drop_refused(&complaints).map_err(refused)?;
            }
            Checked::Broken(text) => {
                let is_of = |file: &&Path| text.contains(&file.display().to_string());
                return Err(match scratch.harness().filter(is_of) {
                    Some(file) => broken(file, &text),
                    None => Failure::new(Exit::ProgramBroken, text.trim()),
                });
            }
        }
    }
    let sentence = "the program for the tests does not compile after many rounds";
    Err(Failure::new(Exit::Internal, sentence))
}

/// The user's harness file does not compile.
fn broken(file: &Path, said: &str) -> Failure {
    let sentence = format!(
        "the harness file {} does not compile\n{said}",
        file.display()
    );
    Failure::new(Exit::Usage, sentence.trim())
}

fn refused(error: HarnessError) -> Failure {
    let exit = match &error {
        HarnessError::Stuck(_) => Exit::Internal,
        _ => Exit::NothingToTest,
    };
    Failure::new(exit, error)
}

/// Shows what can be called, and what cannot.
fn show(session: &mut Session, discovery: &Discovery, harness: &Harness<'_>) {
    let refused = discovery.refused.iter().map(|refused| Operation {
        name: refused.name.clone(),
        signature: refused.signature.clone(),
        returns: "value",
        refused: Some(format!("{}; {}", refused.why, refused.remedy)),
    });
    let all = discovery
        .operations
        .iter()
        .enumerate()
        .filter(|(index, _)| !harness.is_superseded(*index) && !harness.is_wrong_guess(*index))
        .map(|(index, operation)| Operation {
            name: operation.name.clone(),
            signature: operation.signature.clone(),
            returns: operation.class.word(),
            refused: harness
                .dropped()
                .get(&Subject::Operation(index))
                .map(ToString::to_string),
        });
    for operation in all.chain(refused) {
        session.console.show(&Event::Operation(operation));
    }
}

fn generate(
    session: &mut Session,
    scratch: &Scratch,
    command: &GenerateCommand,
    discovery: &Discovery,
    harness: &Harness<'_>,
    relaxed: &[Relaxation],
) -> Result<Exit, Failure> {
    let targets = session.build(&[])?;
    let Some(target) = targets.first() else {
        let sentence = "cargo built no program for the tests";
        return Err(Failure::new(Exit::Internal, sentence));
    };
    let options = session.campaign_options();
    let most = usize::try_from(session.run.max_findings.unwrap_or(1)).unwrap_or(usize::MAX);
    let mut settings = Settings {
        guidance: command.guidance,
        threads: command.threads.map(usize::from),
        schedules: command.schedules,
        strategy: options.strategy.clone(),
        memory: options.memory_model,
        seed: options.seed,
        deadline: Instant::now() + options.time,
        most_violations: 1,
    };
    let map = campaign::program_map(&target.exe, &Overrides::default())
        .map_err(|error| Failure::new(Exit::Internal, error))?;
    let mut program = Program::new(discovery, harness).compiled(discovery, &map);
    relax(&mut program, relaxed)?;
    let patient = Options {
        // What was found is made smaller when the time is over.
        time: options.time + LAST,
        ..options.clone()
    };
    if let Some(count) = command.trials {
        let trials = trials::Trials {
            target,
            program: &program,
            settings: &settings,
            options: &patient,
            time: options.time,
        };
        return trials.run(session, count);
    }
    let stop = session.stop.clone();
    let excluded = campaign::with_runner(target, &patient, stop.as_atomic(), |runner| {
        calibrate(&mut program, runner, settings.seed)
    });
    // Calibration leaves the search at least half of the time.
    let least = Instant::now() + options.time / 2;
    settings.deadline = settings.deadline.max(least);
    for one in excluded.map_err(broken_program)? {
        session
            .console
            .note(format!("`{}` is not called: {}", one.name, one.why));
    }
    if program.methods.is_empty() {
        let sentence = "no method is left that a test could call";
        return Err(Failure::new(Exit::NothingToTest, sentence));
    }
    if let Some(why) = program.deferred_work() {
        session.console.note(format!(
            "{why}: work is left to whoever comes by, so that results of calls are not judged"
        ));
    }
    let printer = Printer {
        discovery,
        program: &program,
        shown: Shown::new(),
    };
    if let Some(count) = command.compare {
        let compare = compare::Compare {
            scratch,
            harness,
            printer: &printer,
            options: &patient,
        };
        return compare.run(session, target, (usize::from(count), settings.seed));
    }
    let mut search = Search::new(&program, &settings);
    let mut outcome = Outcome::default();
    let exit = loop {
        let found = campaign::with_runner(target, &patient, stop.as_atomic(), |runner| {
            let before = search.go_on(runner, &|| stop.check().is_err())?;
            let new = search.report.violations.iter().enumerate().skip(before);
            let written = new.map(|(number, violation)| {
                let written = write(&printer, &settings, violation, runner)?;
                Ok(written.map(|(test, key)| Written { number, key, test }))
            });
            written.collect::<Result<Vec<_>, RunnerError>>()
        });
        let written = found.map_err(broken_program)?;
        if written.is_empty() {
            let is_stopped = session.stop.check().is_err();
            outcome.is_untested = search.report.tally.tests == 0;
            break outcome.exit(is_stopped, options.allows_inconclusive);
        }
        let mut tests: Vec<_> = written.into_iter().flatten().collect();
        // Tests of different calls may become the same one when they are made smaller.
        let mut keys = BTreeSet::new();
        tests.retain(|test| !search.is_settled(&test.key) && keys.insert(test.key.clone()));
        if tests.is_empty() {
            continue;
        }
        let begun = Instant::now();
        let sources: Vec<_> = tests.iter().map(|written| &written.test).collect();
        let confirmed = confirm::confirm(session, scratch, &sources)?;
        for index in &confirmed.settled {
            // What the user does not want to hear about is not looked for any further either.
            search.settle(tests[*index].number, &tests[*index].key);
        }
        // What the written test does not show is passed over, and costs the search no time.
        if confirmed.settled.is_empty() {
            let lost = begun
                .elapsed()
                .min(options.time.saturating_sub(outcome.lost));
            outcome.lost += lost;
            search.extend(lost);
        }
        outcome.add(confirmed);
        if outcome.is_interrupted || outcome.findings.len() >= most {
            break outcome.exit(false, options.allows_inconclusive);
        }
    };
    conclude(session, &program, &search.report, outcome.count());
    Ok(exit)
}

/// The program of the tests cannot be run.
fn broken_program(error: RunnerError) -> Failure {
    Failure::new(Exit::ProgramBroken, error)
}

/// A test that was written for a violation.
struct Written {
    /// Number of the violation.
    number: usize,
    /// What tells the failure of the small test apart from others.
    key: String,
    /// The test.
    test: GeneratedTest,
}

/// What the tests that were written came to.
#[derive(Default)]
struct Outcome {
    /// Ids of findings that need threads, each once.
    findings: BTreeSet<String>,
    /// Tests that fail without any concurrency.
    sequential: usize,
    /// Tests that do not show what they were written for.
    unconfirmed: usize,
    /// Time that went into tests that showed nothing.
    lost: Duration,
    is_interrupted: bool,
    /// The time was over before the first test.
    is_untested: bool,
}

impl Outcome {
    fn add(&mut self, confirmed: Confirmed) {
        self.findings.extend(confirmed.findings);
        self.sequential += confirmed.sequential;
        self.unconfirmed += confirmed.unconfirmed;
        self.is_interrupted |= confirmed.is_interrupted;
    }

    fn count(&self) -> usize {
        self.findings.len() + self.sequential
    }

    fn exit(&self, is_stopped: bool, allows_inconclusive: bool) -> Exit {
        match self.count() {
            0 if is_stopped || self.is_interrupted => Exit::Interrupted,
            // What was seen and could not be shown again may be there all the same.
            0 if self.unconfirmed > 0 && !allows_inconclusive => Exit::Inconclusive,
            0 if self.is_untested && !allows_inconclusive => Exit::Inconclusive,
            0 => Exit::Clean,
            _ => Exit::Findings,
        }
    }
}

/// Makes the test of a violation as small as it gets, and writes it down, with the key of its failure; nothing if there are too
/// many orders of its calls to say that it is one, or if they do not give the same each time.
fn write(
    printer: &Printer<'_>,
    settings: &Settings,
    violation: &Violation,
    runner: &mut dyn Runner,
) -> Result<Option<(GeneratedTest, String)>, RunnerError> {
    let shrunk = shrink_violation(printer.program, settings, violation, runner)?;
    if !shrunk.failure.is_certain {
        return Ok(None);
    }
    let is_random =
        is_about_results(shrunk.failure.kind) && !printer.is_repeatable(&shrunk.test, runner)?;
    if is_random {
        return Ok(None);
    }
    let right = match is_about_results(shrunk.failure.kind) {
        true => printer.right_results(&shrunk.test, runner),
        false => None,
    };
    let printer = &Printer {
        shown: printer.supplied_values(&shrunk.test, runner)?,
        ..*printer
    };
    let test = GeneratedTest {
        kind: shrunk.failure.kind.word(),
        name: printer.name(&shrunk.test, &shrunk.failure),
        text: shrunk.failure.text.clone(),
        source: printer.print(
            &shrunk.test,
            &shrunk.failure,
            right.as_ref(),
            Some(&shrunk.history),
        ),
        file: String::new(),
        finding: String::new(),
        schedule: String::new(),
        tests: violation.tests,
        seconds: violation.time.as_secs_f64(),
    };
    Ok(Some((test, shrunk.failure.key)))
}

/// Shows what was covered, what no order explains, and which methods never returned.
fn conclude(session: &mut Session, program: &Program, report: &Report, findings: usize) {
    let coverage = PairCoverage {
        findings,
        ..coverage(program, report)
    };
    session.console.show(&Event::Coverage(Box::new(coverage)));
    for (number, waits) in &report.waits {
        if waits.ended == 0 && waits.begun >= MANY_WAITS {
            session.console.note(format!(
                "`{}` never returned, in {} calls, whatever else was called: it waits for itself, or for \
                 something that no method does",
                program.name(*number),
                waits.begun
            ));
        }
    }
    for note in &report.notes {
        let text = note.clone();
        session.console.campaign_event(campaign::Event::Note(Note {
            text,
            is_detail: true,
            ..Note::default()
        }));
    }
}

fn spent(spent: &search::Spent) -> Spent {
    Spent {
        generating: spent.generating.as_secs_f64(),
        running: spent.running.as_secs_f64(),
        counting: spent.counting.as_secs_f64(),
        judging: spent.judging.as_secs_f64(),
    }
}

fn unchecked(program: &Program, report: &Report) -> Vec<UncheckedResults> {
    let checks = &report.checks;
    let unchecked = checks.unchecked.iter().map(|(number, results)| {
        let why = program.unchecked(*number);
        UncheckedResults {
            method: program.name(*number).to_owned(),
            why: why.unwrap_or_else(|| "may read stale values".to_owned()),
            results: *results,
            unexplained: checks.unexplained.get(number).copied().unwrap_or(0),
        }
    });
    unchecked.collect()
}

fn excused(report: &Report) -> Vec<ExcusedResults> {
    let excused = report.checks.excused.iter();
    let excused = excused.map(|(excuse, executions)| ExcusedResults {
        why: excuse.words(),
        executions: *executions,
    });
    excused.collect()
}

fn coverage(program: &Program, report: &Report) -> PairCoverage {
    let numbers: Vec<usize> = program
        .methods
        .keys()
        .map(|number| usize::from(*number))
        .collect();
    let index = |number: usize| {
        numbers
            .iter()
            .position(|known| *known == number)
            .unwrap_or(0)
    };
    let pairs = report
        .coverage
        .counts()
        .iter()
        .map(|((first, second), count)| PairCell {
            first: index(*first),
            second: index(*second),
            tried: count.tried,
            covered: count.covered,
        });
    PairCoverage {
        methods: program
            .methods
            .values()
            .map(|method| method.name.clone())
            .collect(),
        pairs: pairs.collect(),
        tests: report.tally.tests,
        invalid: report.tally.invalid,
        executions: report.tally.executions,
        findings: 0,
        repeated_races: report.repeated,
        checked_results: report.checks.checked,
        unchecked: unchecked(program, report),
        excused: excused(report),
        spent: spent(&report.spent),
        over_time: report.over_time.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::calls;

    #[test]
    fn a_method_of_what_another_one_returns_calls_that_one() {
        assert!(calls("insert", "insert"));
        assert!(calls("insert.key", "insert"));
        assert!(!calls("insert_all", "insert"));
        assert!(!calls("insert", "insert.key"));
    }
}
