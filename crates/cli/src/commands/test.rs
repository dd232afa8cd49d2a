//! `cargo raddle test`: the crate's own tests under many schedules.

use raddle_campaign::{self as campaign, Options, Prediction, Target, TargetKind};
use raddle_report::{Event, Summary};

use crate::arguments::{TestCommand, is_program};
use crate::console::{Console, print_error};
use crate::exit::{Exit, Failure};
use crate::interrupt::StopFlag;
use crate::program::ProgramSession;
use crate::session::{Session, schedules};
use crate::stored_flags::StoredFlags;
use crate::test_arguments::TestSelection;

pub(super) fn run(command: TestCommand) -> Result<Exit, Failure> {
    run_with(command, None)
}

/// With a prediction, in place of exploration.
pub(super) fn run_with(
    command: TestCommand,
    prediction: Option<Prediction>,
) -> Result<Exit, Failure> {
    if let Some(path) = command.filter.clone().filter(|filter| is_program(filter)) {
        return run_program(&path, command, prediction);
    }
    command.program.refuse()?;
    let (selection, arguments) = split_rest(&command)?;
    let mut session = Session::open(command.cargo, command.run, command.output)?;
    let mut targets = session.build(&arguments)?;
    targets.retain(|target| wanted(target, &selection));
    if targets.is_empty() {
        session.console.show(&Event::Summary(Summary::default()));
        return Err(Failure::new(Exit::NothingToTest, nothing(&selection)));
    }
    if command.no_run {
        return Ok(Exit::Clean);
    }
    let options = Options {
        resume: command.resume,
        prediction,
        regressions: schedules(&session.metadata.regressions()),
        ..session.campaign_options()
    };
    let stored = StoredFlags::new(&session.flags, &arguments);
    explore(
        &mut session.console,
        &session.stop,
        &targets,
        &options,
        &stored,
    )
}

/// A program that cargo does not build.
fn run_program(
    path: &str,
    command: TestCommand,
    prediction: Option<Prediction>,
) -> Result<Exit, Failure> {
    let TestCommand { program, run, .. } = command;
    let stored = StoredFlags::of_program(&command.rest, &program);
    let mut session = ProgramSession::open(program, run, command.output)?;
    let target = session.target(path, &stored)?;
    if command.no_run {
        return Ok(Exit::Clean);
    }
    let options = Options {
        resume: command.resume,
        prediction,
        regressions: schedules(&session.regressions()),
        ..session.campaign_options()
    };
    explore(
        &mut session.console,
        &session.stop,
        &[target],
        &options,
        &stored,
    )
}

/// What stands after `--` belongs to libtest, or to the program if one is run.
fn split_rest(command: &TestCommand) -> Result<(TestSelection, Vec<String>), Failure> {
    if !command.cargo.has_programs() {
        let selection = TestSelection::parse(command.filter.as_ref(), &command.rest)?;
        return Ok((selection, Vec::new()));
    }
    if command.cargo.has_tests() && !command.rest.is_empty() {
        return Err(Failure::new(
            Exit::Usage,
            "arguments after `--` could be for the tests or for the program: run them one after the other",
        ));
    }
    let selection = TestSelection::parse(command.filter.as_ref(), &[])?;
    Ok((selection, command.rest.clone()))
}

/// Programs that were asked for by name need not match a filter.
fn wanted(target: &Target, selection: &TestSelection) -> bool {
    let named = target.target.contains("bin/") || target.target.contains("example/");
    match target.kind {
        TargetKind::Main if named => true,
        _ => selection.wants(&target.name, target.ignored),
    }
}

fn nothing(selection: &TestSelection) -> String {
    match selection.filters.as_slice() {
        [] => "there is nothing to test here: no test was selected".to_owned(),
        filters => format!(
            "no test matches `{}`; `cargo raddle list` shows all tests",
            filters.join("`, `")
        ),
    }
}

/// Runs a campaign, and shows what it says.
fn explore(
    console: &mut Console,
    stop: &StopFlag,
    targets: &[Target],
    options: &Options,
    stored: &StoredFlags,
) -> Result<Exit, Failure> {
    explore_with(console, stop, targets, options, stored, &mut |_| {})
}

/// The same; `told` gets each event first, and may say more exactly what a finding is.
pub(super) fn explore_with(
    console: &mut Console,
    stop: &StopFlag,
    targets: &[Target],
    options: &Options,
    stored: &StoredFlags,
    told: &mut dyn FnMut(&mut campaign::Event),
) -> Result<Exit, Failure> {
    let (mut findings, mut ignored) = (0, 0);
    let result = campaign::run(targets, options, stop.as_atomic(), &mut |mut event| {
        told(&mut event);
        match &event {
            campaign::Event::Finding(finding) => {
                findings += 1;
                stored.store(&options.results, &finding.id);
            }
            campaign::Event::Ignored { .. } => ignored += 1,
            _ => {}
        }
        console.campaign_event(event);
    });
    let summary = match result {
        Ok(summary) => summary,
        Err(error) if findings > 0 => {
            // What was found matters more than why the search ended.
            print_error(&error.into());
            return Ok(Exit::Findings);
        }
        Err(error) => return Err(error.into()),
    };
    for &rule in &summary.unused_ignores {
        console.note(unused(&options.ignore[rule]));
    }
    console.show(&Event::Summary(Summary {
        totals: summary.totals,
        findings: summary.findings.len(),
        ignored,
    }));
    Ok(if !summary.findings.is_empty() {
        Exit::Findings
    } else if summary.totals.interrupted {
        Exit::Interrupted
    } else {
        Exit::Clean
    })
}

fn unused(rule: &campaign::IgnoreRule) -> String {
    let what = match (&rule.id, rule.kind, &rule.function) {
        (Some(id), ..) => format!("for `{id}`"),
        (None, kind, function) => format!(
            "for kind `{}` in `{}`",
            kind.map_or("any", |kind| kind.word()),
            function.as_deref().unwrap_or("*")
        ),
    };
    format!("the [[ignore]] {what} in raddle.toml matched nothing in this run")
}
