//! `cargo raddle replay ID|FILE`: the execution of a finding again.

use std::path::{Path, PathBuf};

use raddle_campaign::{self as campaign, Options, Stored, Target, find_stored};
use raddle_report::{Event, Replay};
use raddle_schedule::schedule_file::Schedule;

use crate::arguments::ReplayCommand;
use crate::cargo_flags::CargoFlags;
use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::interrupt::StopFlag;
use crate::metadata::Metadata;
use crate::program::{self, ProgramSession};
use crate::session::Session;
use crate::stored_flags::StoredFlags;

pub(super) fn run(command: ReplayCommand) -> Result<Exit, Failure> {
    if let Some((stored, results)) = program::find_stored(&command.finding, &command.program)? {
        return run_program(command, &stored, &results);
    }
    let results = Metadata::load(&command.cargo)?.results();
    let stored = find_stored(&command.finding, &results)?;
    let (flags, arguments) = how_built(command.cargo, &stored, &results);
    let mut session = Session::open(flags, command.run, command.output)?;
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
    let remembered = StoredFlags::load(results, &stored.id);
    let flags = match remembered {
        Some(remembered) => remembered.with(&command.program),
        None => StoredFlags::of_program(&arguments(stored), &command.program),
    };
    let mut session = ProgramSession::open(command.program, command.run, command.output)?;
    let target = session.target(&stored.test, &flags)?;
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
    if let Some(why) = replay.not_testable {
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
    console.show(&Event::Replay(Box::new(Replay {
        id: stored.id.clone(),
        runs: replay.runs,
        reproduced,
        diverged: replay.diverged,
        others: replay.others,
        finding: replay.finding,
    })));
    if reproduced > 0 {
        return Ok(Exit::Findings);
    }
    stop.check()?;
    Ok(Exit::Clean)
}

/// The flags of the run that found it, unless the user names others.
fn how_built(given: CargoFlags, stored: &Stored, results: &Path) -> (CargoFlags, Vec<String>) {
    if !given.chooses() {
        if let Some(remembered) = StoredFlags::load(results, &stored.id)
            && let Some(flags) = remembered.cargo_flags()
        {
            let manifest_path = given.manifest_path.or(flags.manifest_path);
            let target_dir = given.target_dir.or(flags.target_dir);
            let flags = CargoFlags {
                manifest_path,
                target_dir,
                ..flags
            };
            return (flags, remembered.arguments);
        }
        if let Some(flags) = program_flags(&given, &stored.target) {
            return (flags, arguments(stored));
        }
    }
    (given, arguments(stored))
}

/// The program's arguments, as the schedule file has them.
fn arguments(stored: &Stored) -> Vec<String> {
    let contents = std::fs::read(&stored.schedule).unwrap_or_default();
    Schedule::parse(&contents).map_or_else(|_| Vec::new(), |schedule| schedule.arguments)
}

/// Programs are built only when they are named.
fn program_flags(given: &CargoFlags, target: &str) -> Option<CargoFlags> {
    let target = target.rsplit(':').next()?;
    let mut flags = given.clone();
    match target.split_once('/')? {
        ("bin", name) => flags.bin.push(name.to_owned()),
        ("example", name) => flags.example.push(name.to_owned()),
        _ => return None,
    }
    Some(flags)
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
                stored.test, stored.target
            ),
        )
    })
}
