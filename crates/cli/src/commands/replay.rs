//! `cargo raddle replay ID|FILE`: the execution of a finding again.
//!
//! The file is data: it may name a test of the build that it is replayed in. A program and its
//! arguments are the user's to name, now or when the finding was made.

use std::path::{Path, PathBuf};

use raddle_campaign::{self as campaign, LARGEST, Options, Stored, Target, find_stored, read_file};
use raddle_report::{Event, Replay, visible_line};
use raddle_schedule::schedule_file::Schedule;

use crate::arguments::ReplayCommand;
use crate::cargo_flags::CargoFlags;
use crate::console::{Console, own_name};
use crate::exit::{Exit, Failure};
use crate::interrupt::StopFlag;
use crate::known_commands::KnownCommand;
use crate::metadata::Metadata;
use crate::program::{self, ProgramSession};
use crate::scratch;
use crate::session::Session;
use crate::shell::shell_words;
use crate::stored_flags::StoredFlags;

pub(super) fn run(command: ReplayCommand) -> Result<Exit, Failure> {
    if let Some((stored, results)) = program::find_stored(&command.finding, &command.program)? {
        return run_program(command, &stored, &results);
    }
    if let Some(program) = &command.given {
        return Err(not_of_a_program(&command.finding, program));
    }
    let metadata = Metadata::load(&command.cargo)?;
    let stored = find_stored(&command.finding, &metadata.results())?;
    let place = command.cargo.place();
    let (flags, arguments) = how_built(command.cargo, command.rest, &stored, &metadata)?;
    let manifest = flags.manifest_path.as_deref();
    let restored = manifest.map(|manifest| scratch::restore_tests(manifest, &stored.id));
    let _occupied = restored.transpose()?;
    let mut session = Session::open_with_findings_in(&place, flags, command.run, command.output)?;
    session.branches = command.branches;
    let targets = session.build(&arguments)?;
    let target = find_target(&targets, &stored)?;
    let options = session.campaign_options();
    let (console, stop) = (&mut session.console, &session.stop);
    let wanted = Wanted {
        times: command.times,
        trace: command.trace,
    };
    repeat(console, stop, target, &stored, &wanted, &options)
}

/// The finding of a program that cargo does not build.
fn run_program(command: ReplayCommand, stored: &Stored, results: &Path) -> Result<Exit, Failure> {
    let (program, flags) = how_started(&command, stored, results)?;
    let mut session = ProgramSession::open(command.program, command.run, command.output)?;
    let target = session.target(&program, &flags)?;
    let options = session.campaign_options();
    let (console, stop) = (&mut session.console, &session.stop);
    let wanted = Wanted {
        times: command.times,
        trace: command.trace,
    };
    repeat(console, stop, &target, stored, &wanted, &options)
}

/// What the user wants of a replay.
struct Wanted {
    /// How often.
    times: u64,
    /// Where its trace goes.
    trace: Option<PathBuf>,
}

fn repeat(
    console: &mut Console,
    stop: &StopFlag,
    target: &Target,
    stored: &Stored,
    wanted: &Wanted,
    options: &Options,
) -> Result<Exit, Failure> {
    let is_traced = wanted.trace.is_some();
    let (times, stop_at) = (wanted.times, stop.as_atomic());
    let replay = campaign::replay(target, stored, times, is_traced, options, stop_at)?;
    if let Some(why) = replay.not_testable.filter(|_| replay.runs == 0) {
        return Err(Failure::new(
            Exit::ProgramBroken,
            format!("{} cannot be replayed: {why}", stored.id),
        ));
    }
    if let Some(path) = &wanted.trace {
        let trace = replay.trace.as_deref().unwrap_or_default();
        std::fs::write(path, trace).map_err(|error| {
            Failure::new(
                Exit::Unsupported,
                format!("cannot write the trace to {}: {error}", path.display()),
            )
        })?;
        if replay.trace_is_cut {
            console.note("the trace is only the beginning of the execution, the rest did not fit");
        }
    }
    let reproduced = replay.reproduced;
    let exit = match (reproduced, replay.others.is_empty()) {
        (1.., _) => Exit::Findings,
        (0, false) if !options.allows_inconclusive => Exit::Inconclusive,
        (0, _) => match stop.check() {
            Ok(()) => Exit::Clean,
            Err(failure) => failure.exit,
        },
    };
    console.show(&Event::Replay(Box::new(Replay {
        id: stored.id.clone(),
        runs: replay.runs,
        reproduced,
        diverged: replay.diverged,
        others: replay.others,
        finding: replay.finding,
        exit: exit as u8,
    })));
    Ok(exit)
}

/// The program and its arguments: those that the user names, or has named when `test` found it.
fn how_started(
    command: &ReplayCommand,
    stored: &Stored,
    results: &Path,
) -> Result<(String, StoredFlags), Failure> {
    if let Some(program) = &command.given {
        let flags = StoredFlags::of_program(&command.rest, &command.program);
        return Ok((program.clone(), flags));
    }
    let arguments = arguments(stored);
    let remembered = StoredFlags::load(results, &stored.id);
    let remembered = remembered.unwrap_or_else(|| StoredFlags {
        arguments: arguments.clone(),
        ..StoredFlags::default()
    });
    let known = KnownCommand {
        directory: &program::root()?,
        program: Some(&stored.test),
        flags: &remembered,
    };
    if remembered.arguments == arguments && known.is_known() {
        return Ok((stored.test.clone(), remembered.with(&command.program)));
    }
    let words = [&command.finding, &stored.test]
        .into_iter()
        .chain(&arguments);
    Err(unknown_program(
        &stored.test,
        &format!("{} replay {}", own_name(), shell_words(words)),
    ))
}

/// The flags of the run that found it, unless the user names others.
fn how_built(
    given: CargoFlags,
    rest: Vec<String>,
    stored: &Stored,
    metadata: &Metadata,
) -> Result<(CargoFlags, Vec<String>), Failure> {
    let program = program_name(&stored.target);
    if !given.has_programs() && !rest.is_empty() {
        return Err(Failure::new(
            Exit::Usage,
            "arguments after `--` are for a program: name it with --bin or --example",
        ));
    }
    let is_program_given = program.is_none() || given.has_programs();
    if is_program_given && (given.chooses() || !rest.is_empty()) {
        return Ok((given, rest));
    }
    let arguments = arguments(stored);
    let remembered = StoredFlags::load(&metadata.results(), &stored.id);
    let flags = remembered.as_ref().and_then(StoredFlags::cargo_flags);
    if let (Some(remembered), Some(flags)) = (&remembered, flags.clone())
        && !given.chooses()
    {
        let known = KnownCommand {
            directory: &metadata.workspace_root,
            program: None,
            flags: remembered,
        };
        let is_same = program.is_none() || flags.has_programs();
        if is_same && remembered.arguments == arguments && known.is_known() {
            // A generated test is in a project of its own, wherever the user's is.
            let is_generated = flags
                .manifest_path
                .as_ref()
                .is_some_and(|manifest| scratch::kept_tests(manifest, &stored.id).is_some());
            let flags = match is_generated {
                true => flags,
                false => flags.in_place_of(&given),
            };
            return Ok((flags, arguments));
        }
    }
    if let Some((flag, name)) = program {
        let mut words = vec![&stored.id, &flag, &name];
        let end = "--".to_owned();
        if !arguments.is_empty() {
            words.push(&end);
            words.extend(&arguments);
        }
        let command = format!("{} replay {}", own_name(), shell_words(words));
        return Err(unknown_program(&stored.target, &command));
    }
    let chosen = flags.map_or_else(CargoFlags::default, CargoFlags::choices);
    Ok((chosen.in_place_of(&given), Vec::new()))
}

fn unknown_program(program: &str, command: &str) -> Failure {
    Failure::new(
        Exit::Usage,
        format!(
            "the schedule is of the program `{}`, which `test` has not run here in this way; \
             a file does not decide what is run: if it is the right program, name it, as in `{}`",
            visible_line(program),
            visible_line(command)
        ),
    )
}

fn not_of_a_program(finding: &str, program: &str) -> Failure {
    Failure::new(
        Exit::Usage,
        format!("{finding} is not of a program like `{program}`, but of a target of cargo's"),
    )
}

/// The program's arguments, as the schedule file has them.
fn arguments(stored: &Stored) -> Vec<String> {
    let contents = read_file(&stored.schedule, LARGEST).unwrap_or_default();
    Schedule::parse(&contents).map_or_else(|_| Vec::new(), |schedule| schedule.arguments)
}

/// The flag and the name by which a program of cargo's is run; `None` for tests.
fn program_name(target: &str) -> Option<(String, String)> {
    let target = target.rsplit(':').next()?;
    let (kind, name) = target.split_once('/')?;
    matches!(kind, "bin" | "example").then(|| (format!("--{kind}"), name.to_owned()))
}

fn find_target<'a>(targets: &'a [Target], stored: &Stored) -> Result<&'a Target, Failure> {
    let found = targets
        .iter()
        .find(|target| target.is(&stored.target, &stored.test));
    found.ok_or_else(|| {
        Failure::new(
            Exit::NothingToTest,
            format!(
                "there is no test `{}` in {} any more; if it needs other cargo flags, give them to `replay`",
                visible_line(&stored.test),
                visible_line(&stored.target)
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::program_name;

    #[test]
    fn only_programs_have_a_flag() {
        let name = |target| program_name(target).map(|(flag, name)| format!("{flag} {name}"));
        assert_eq!(name("bin/a").as_deref(), Some("--bin a"));
        assert_eq!(name("member:example/b").as_deref(), Some("--example b"));
        assert_eq!(name("bins/a"), None);
        assert_eq!(name("tests/a"), None);
        assert_eq!(name("lib"), None);
    }
}
