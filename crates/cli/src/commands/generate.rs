//! `cargo raddle generate`: concurrent tests for a type, from its name alone.

mod confirm;
mod sources;
mod trials;

use std::ffi::OsString;
use std::time::{Duration, Instant};

use raddle_campaign::{self as campaign, Options, Overrides};
use raddle_generate::calibrate::calibrate;
use raddle_generate::discovery::{Discovery, DiscoveryError, discover};
use raddle_generate::harness::{Harness, HarnessError, Subject};
use raddle_generate::library::Library;
use raddle_generate::print::{Printer, is_about_results};
use raddle_generate::program::Program;
use raddle_generate::search::{self, Report, Search, Settings, Violation, shrink_violation};
use raddle_report::{Event, GeneratedTest, Note, Operation, PairCell, PairCoverage, Spent};
use raddle_trace::runner::{Runner, RunnerError};

use crate::arguments::GenerateCommand;
use crate::cache::{self, Cache};
use crate::cargo_flags::CargoFlags;
use crate::documentation::Documentation;
use crate::exit::{Exit, Failure};
use crate::metadata::Metadata;
use crate::personality;
use crate::probe::{self, Checked};
use crate::scratch::{self, Dependency, Scratch};
use crate::session::Session;
use crate::withdrawn;

/// Most rounds in which the compiler judges.
const ROUNDS: usize = 20;
/// Rounds in which crates are described that others turn out to be made of.
const DESCRIPTIONS: usize = 3;
/// Time for making tests smaller when the time is over.
const LAST: Duration = Duration::from_secs(60);

pub(super) fn run(command: GenerateCommand) -> Result<Exit, Failure> {
    let names = crate_names(&command.subject);
    if names.is_empty() {
        let subject = &command.subject;
        let sentence = format!("say where `{subject}` comes from, like `my_crate::{subject}`");
        return Err(Failure::new(Exit::Usage, sentence));
    }
    let scratch = match &command.package {
        Some(package) => published(package, &command.cargo, &names)?,
        None => beside(&command.cargo, &names)?,
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
    let mut session = Session::open(flags, command.run.clone(), command.output)?;
    if command.package.is_some() {
        session
            .console
            .note("code from the registry is downloaded, built and run");
    }
    let discovery = Discovery {
        constants: sources::constants(&session.metadata, &command.subject),
        ..describe(&mut session, &scratch, &command, &names)?
    };
    let mut harness = Harness::new(&discovery);
    choose(&mut harness, &discovery, &command)?;
    judge(&mut session, &scratch, &mut harness)?;
    if command.list {
        show(&mut session, &discovery, &harness);
        return Ok(Exit::Clean);
    }
    generate(&mut session, &scratch, &command, &discovery, &harness)
}

/// The crates that a type's name begins with.
fn crate_names(subject: &str) -> Vec<String> {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let paths = subject.split(|letter| !is_word(letter));
    let mut names: Vec<_> = paths
        .filter_map(|path| path.split_once("::"))
        .map(|(name, _)| name.to_owned())
        .filter(|name| !["std", "core", "alloc"].contains(&name.as_str()))
        .collect();
    names.dedup();
    names
}

/// A project for a package of the registry.
fn published(package: &str, flags: &CargoFlags, names: &[String]) -> Result<Scratch, Failure> {
    let Some((name, version)) = package.split_once('@') else {
        let sentence =
            format!("`--crate {package}` lacks a version, as in `--crate {package}@1.0.0`");
        return Err(Failure::new(Exit::Usage, sentence));
    };
    let directory = cache::root()?
        .join("scratch")
        .join(format!("{name}-{version}"));
    if !names.iter().any(|known| *known == name.replace('-', "_")) {
        let sentence = format!("the type does not come from `{name}`: name it from there on");
        return Err(Failure::new(Exit::Usage, sentence));
    }
    let features = flags
        .features
        .iter()
        .flat_map(|list| list.split([',', ' ']))
        .filter(|name| !name.is_empty())
        .map(str::to_owned);
    let features: Vec<String> = features.collect();
    let dependency = Dependency::published(name, version, &features);
    let scratch = Scratch::create(directory, &[dependency], None)?;
    scratch.lock(|| {
        let is_offline = flags.offline || flags.frozen;
        match withdrawn::resolves(&scratch.manifest(), is_offline) {
            true => None,
            false => withdrawn::lock(scratch::NAME, name, version),
        }
    })?;
    Ok(scratch)
}

/// A project beside the user's.
fn beside(flags: &CargoFlags, names: &[String]) -> Result<Scratch, Failure> {
    let metadata = Metadata::load(flags)?;
    let mut dependencies = Vec::new();
    for name in names {
        let package = metadata.library(name).ok_or_else(|| {
            let sentence = format!(
                "there is no library `{name}` in this workspace or among its dependencies; for one \
                 of the registry use `--crate NAME@VERSION`"
            );
            Failure::new(Exit::Usage, sentence)
        })?;
        dependencies.push(Dependency::of(&metadata, package));
    }
    let directory = metadata.results().join("generate").join(names.join("-"));
    let lock = metadata.workspace_root.join("Cargo.lock");
    let scratch = Scratch::create(directory, &dependencies, Some(&lock))?;
    Ok(scratch.for_user(metadata.results()))
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
        let library = Library::open(documentation.descriptions());
        // What it looks for and does not find is described next.
        let _ = discover(&library, &command.subject);
        wanted = library.missing();
        wanted.retain(|name| !known.contains(name) && session.metadata.library(name).is_some());
    }
    let library = Library::open(documentation.descriptions());
    discover(&library, &command.subject).map_err(|error| {
        let exit = match &error {
            DiscoveryError::Type(_) => Exit::Usage,
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
        if !is_wanted || command.skip.contains(&operation.name) {
            harness.leave_out(index, "it was not asked for");
        }
    }
    Ok(())
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
            Checked::Broken(text) => return Err(Failure::new(Exit::ProgramBroken, text.trim())),
        }
    }
    let sentence = "the program for the tests does not compile after many rounds";
    Err(Failure::new(Exit::Internal, sentence))
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
        .map(|(index, operation)| Operation {
            name: operation.name.clone(),
            signature: operation.signature.clone(),
            returns: operation.class.word(),
            refused: harness
                .dropped()
                .get(&Subject::Operation(index))
                .map(|why| format!("the compiler says: {why}; wrap it in a method of your own")),
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
) -> Result<Exit, Failure> {
    let targets = session.build(&[])?;
    let Some(target) = targets.first() else {
        let sentence = "cargo built no program for the tests";
        return Err(Failure::new(Exit::Internal, sentence));
    };
    let options = session.campaign_options();
    let most = command.run.max_findings.unwrap_or(1);
    let settings = Settings {
        guidance: command.guidance,
        threads: usize::from(command.threads),
        schedules: command.schedules,
        strategy: options.strategy.clone(),
        seed: options.seed,
        deadline: Instant::now() + options.time,
        most_violations: usize::try_from(most).unwrap_or(usize::MAX),
    };
    let map = campaign::program_map(&target.exe, &Overrides::default())
        .map_err(|error| Failure::new(Exit::Internal, error))?;
    let mut program = Program::new(discovery, harness).compiled(discovery, &map);
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
    let broken = |error: RunnerError| Failure::new(Exit::ProgramBroken, error);
    let excluded = campaign::with_runner(target, &patient, stop.as_atomic(), |runner| {
        calibrate(&mut program, runner, settings.seed)
    });
    for one in excluded.map_err(broken)? {
        session
            .console
            .note(format!("`{}` is not called: {}", one.name, one.why));
    }
    if program.methods.is_empty() {
        let sentence = "no method is left that a test could call";
        return Err(Failure::new(Exit::NothingToTest, sentence));
    }
    let mut search = Search::new(&program, &settings);
    let printer = Printer {
        discovery,
        program: &program,
    };
    let exit = loop {
        let found = campaign::with_runner(target, &patient, stop.as_atomic(), |runner| {
            let before = search.go_on(runner, &|| stop.check().is_err())?;
            let new = search.report.violations[before..].iter();
            new.map(|violation| write(&printer, &settings, violation, runner))
                .collect::<Result<Vec<_>, RunnerError>>()
        });
        let written = found.map_err(broken)?;
        let is_over = written.is_empty();
        if is_over && session.stop.check().is_err() {
            break Exit::Interrupted;
        }
        let tests: Vec<_> = written.into_iter().flatten().collect();
        match (is_over, tests.is_empty()) {
            (true, _) => break Exit::Clean,
            (false, true) => continue,
            (false, false) => {}
        }
        // What the written test does not show is passed over, and the search goes on.
        match confirm::confirm(session, scratch, tests)? {
            Exit::Clean => {}
            exit => break exit,
        }
    };
    conclude(session, &program, &search.report);
    Ok(exit)
}

/// Makes the test of a violation as small as it gets, and writes it down; nothing if there are too
/// many orders of its calls to say that it is one.
fn write(
    printer: &Printer<'_>,
    settings: &Settings,
    violation: &Violation,
    runner: &mut dyn Runner,
) -> Result<Option<GeneratedTest>, RunnerError> {
    let shrunk = shrink_violation(printer.program, settings, violation, runner)?;
    if !shrunk.failure.is_certain {
        return Ok(None);
    }
    let right = match is_about_results(shrunk.failure.kind) {
        true => printer.right_results(&shrunk.test, runner),
        false => None,
    };
    Ok(Some(GeneratedTest {
        kind: shrunk.failure.kind.word(),
        name: printer.name(&shrunk.test, &shrunk.failure),
        text: shrunk.failure.text.clone(),
        source: printer.print(&shrunk.test, &shrunk.failure, right.as_ref()),
        file: String::new(),
        finding: String::new(),
        schedule: String::new(),
        tests: violation.tests,
        seconds: violation.time.as_secs_f64(),
    }))
}

/// Shows what was covered, and what only weak methods show.
fn conclude(session: &mut Session, program: &Program, report: &Report) {
    session
        .console
        .show(&Event::Coverage(Box::new(coverage(program, report))));
    for note in &report.notes {
        let text = format!("{note}, but only methods show it that may do so");
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
        spent: spent(&report.spent),
        over_time: report.over_time.clone(),
    }
}
