//! `cargo raddle test`: the crate's own tests under many schedules.

use raddle_campaign::{self as campaign, Options, Prediction, Target, TargetKind};
use raddle_report::{Conclusion, Event, Summary};

use crate::arguments::{TestCommand, is_program};
use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::interrupt::StopFlag;
use crate::known_commands::KnownCommand;
use crate::program::{self, ProgramSession};
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
    let regressions = schedules(&session.metadata.regressions())?;
    let mut targets = session.build(&arguments)?;
    targets.retain(|target| wanted(target, &selection));
    if targets.is_empty() {
        session.console.show(&Event::Summary(Summary {
            conclusion: Conclusion::NothingSelected,
            exit: Some(Exit::NothingToTest as u8),
            ..Summary::default()
        }));
        return Err(Failure::new(Exit::NothingToTest, nothing(&selection)));
    }
    if command.no_run {
        return Ok(Exit::Clean);
    }
    let options = Options {
        resume: command.resume,
        outcomes: command.outcomes,
        prediction,
        regressions,
        ..session.campaign_options()
    };
    let stored = StoredFlags::new(&session.flags, &arguments);
    explore(
        &mut session.console,
        &session.stop,
        &targets,
        &options,
        &stored,
        &session.uninstrumented,
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
    let regressions = schedules(&session.regressions())?;
    let target = session.target(path, &stored)?;
    if command.no_run {
        return Ok(Exit::Clean);
    }
    let options = Options {
        resume: command.resume,
        outcomes: command.outcomes,
        prediction,
        regressions,
        ..session.campaign_options()
    };
    explore(
        &mut session.console,
        &session.stop,
        &[target],
        &options,
        &stored,
        &session.uninstrumented,
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
    uninstrumented: &[String],
) -> Result<Exit, Failure> {
    let summary = explore_with(console, stop, targets, options, stored, &mut |_| {})?;
    let conclusion = match summary.conclusion {
        Conclusion::Clean if !uninstrumented.is_empty() => Conclusion::Uninstrumented,
        conclusion => conclusion,
    };
    let exit = Exit::of(conclusion, options.allows_inconclusive);
    console.show(&Event::Summary(Summary {
        exit: Some(exit as u8),
        conclusion,
        uninstrumented: uninstrumented.to_vec(),
        ..summary
    }));
    Ok(exit)
}

/// The same without the summary, which is returned; `told` gets each event first, and may say more
/// exactly what a finding is.
pub(super) fn explore_with(
    console: &mut Console,
    stop: &StopFlag,
    targets: &[Target],
    options: &Options,
    stored: &StoredFlags,
    told: &mut dyn FnMut(&mut campaign::Event),
) -> Result<Summary, Failure> {
    let (mut findings, mut ignored) = (0, 0);
    let result = campaign::run(targets, options, stop.as_atomic(), &mut |mut event| {
        told(&mut event);
        match &event {
            campaign::Event::Finding(finding) => {
                findings += usize::from(finding.timing.is_none() || options.denies_timing);
                stored.store(&options.results, &finding.id);
                let is_program = finding.target == program::TARGET;
                KnownCommand {
                    directory: &options.workspace_root,
                    program: is_program.then_some(finding.test.as_str()),
                    flags: stored,
                }
                .remember();
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
            return Err(Failure {
                exit: Exit::Findings,
                ..error.into()
            });
        }
        Err(error) => return Err(error.into()),
    };
    for &rule in &summary.unused_ignores {
        console.note(unused(&options.ignore[rule]));
    }
    let (findings, timing) = (summary.findings.len(), summary.timing.len());
    let denied = if options.denies_timing { timing } else { 0 };
    Ok(Summary {
        totals: summary.totals,
        findings,
        timing,
        ignored,
        conclusion: summary.totals.conclusion(findings + denied),
        uninstrumented: Vec::new(),
        exit: None,
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
