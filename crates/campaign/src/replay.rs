//! Repeats a stored schedule.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use raddle_abi::finding::Kind;
use raddle_trace::finding::Finding;
use raddle_trace::runner::{Outcome, PlanRequest, Runner};
use raddle_trace::text;

use crate::evidence::{Evidence, add_violations};
use crate::explain::Explainer;
use crate::runner::{Limits, Patience, ProcessRunner};
use crate::{Error, Options, Store, Target, machine_trouble, regressions, verdict};

/// A stored schedule, found by id or by path.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The schedule file.
    pub schedule: PathBuf,
    /// Name of the test, to be built and given to [`replay`] as a target.
    pub test: String,
    /// Name of the test's cargo target.
    pub target: String,
    /// Id of the finding.
    pub id: String,
    /// The finding, if the results directory has it.
    pub finding: Option<Finding>,
}

/// What a replay came to.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Executions run.
    pub runs: u64,
    /// Executions that showed the finding again.
    pub reproduced: u64,
    /// Where the program first left the schedule, in words.
    pub diverged: Option<String>,
    /// Other findings that came up instead, as kind and title.
    pub others: Vec<String>,
    /// The finding as seen in this replay.
    pub finding: Option<Finding>,
    /// Why nothing could be run, if so.
    pub not_testable: Option<String>,
    /// The trace of the first execution as text, if it was asked for and anything happened.
    pub trace: Option<String>,
    /// Whether the trace is only the beginning, because the rest did not fit.
    pub trace_is_cut: bool,
}

/// The id of a stored finding that is given by its beginning, if there is exactly one. Files and whole
/// ids are left as they are.
fn complete(id_or_file: &str, store: &Store) -> Result<String, Error> {
    let is_whole = store.stored_schedule(id_or_file).is_some() || Path::new(id_or_file).exists();
    let mut matches = match is_whole || id_or_file.is_empty() {
        true => Vec::new(),
        false => store.ids(id_or_file),
    };
    match matches.len() {
        0 => Ok(id_or_file.to_owned()),
        1 => Ok(matches.remove(0)),
        _ => Err(Error::AmbiguousFinding {
            id: id_or_file.to_owned(),
            matches,
        }),
    }
}

/// Finds a stored schedule by finding id (in the results directory), which may be given by a
/// beginning that no other one has, or by file path.
///
/// # Errors
///
/// If there is neither, or the file cannot be read.
pub fn find_stored(id_or_file: &str, results: &Path) -> Result<Stored, Error> {
    let store = Store::open(results)?;
    let id_or_file = &complete(id_or_file, &store)?;
    let finding = store.finding(id_or_file)?;
    // A schedule may be there without its finding, if the disk was full then.
    let schedule = store
        .stored_schedule(id_or_file)
        .unwrap_or_else(|| PathBuf::from(id_or_file));
    if !schedule.is_file() {
        let results = results.to_owned();
        return Err(Error::UnknownFinding {
            id: id_or_file.to_owned(),
            results,
        });
    }
    let file = regressions::read(&schedule)?;
    let finding = match finding {
        Some(finding) => Some(finding),
        None => store.finding(&file.finding)?,
    };
    Ok(Stored {
        schedule,
        test: file.test,
        target: file.target,
        id: file.finding,
        finding,
    })
}

/// Repeats `stored` on `target`, `times` times, each in a new process. With `trace`, writes
/// down what the first one did.
///
/// # Errors
///
/// If the schedule file cannot be read any more.
pub fn replay(
    target: &Target,
    stored: &Stored,
    times: u64,
    trace: bool,
    options: &Options,
    stop: &AtomicBool,
) -> Result<Replay, Error> {
    let schedule = regressions::read(&stored.schedule)?;
    let mut explainer = Explainer::new(&target.exe, options);
    explainer.begin(target);
    let mut result = Replay {
        runs: 0,
        reproduced: 0,
        diverged: None,
        others: Vec::new(),
        finding: None,
        not_testable: None,
        trace: None,
        trace_is_cut: false,
    };
    let is_stopped = || stop.load(Ordering::Relaxed);
    let patience = || match is_stopped() {
        true => Patience::Short,
        false => Patience::Long,
    };
    let uncounted = AtomicU64::new(0);
    while result.runs < times && !is_stopped() {
        let mut runner = ProcessRunner::new(target, Limits::from(options), &patience, &uncounted);
        let plan = schedule.plan();
        let plan = PlanRequest {
            reexecution: options.reexecution,
            // Only the first replay is explained, but the monitor looks at each.
            record: result.runs == 0 || schedule.kind == Kind::AtomicSet,
            // An order of events leaves choices, which should not be the same ones each time.
            seed: match plan.events.is_empty() {
                true => plan.seed,
                false => plan.seed.wrapping_add(result.runs),
            },
            ..plan
        };
        let mut outcome = match runner.run(&plan) {
            Ok(outcome) => outcome,
            Err(error) => {
                if let Some(error) = machine_trouble::of(&error) {
                    return Err(error);
                }
                result.not_testable = Some(verdict::of_error(&error));
                break;
            }
        };
        if let Some(death) = &outcome.died
            && outcome.findings.is_empty()
        {
            let place = explainer.stack_in_words(runner.stuck_at());
            let seconds = options.watchdog.as_secs();
            result.not_testable = Some(verdict::of_death(death, place.as_deref(), seconds));
            break;
        }
        result.runs += 1;
        explainer.first_thread = runner.first_thread();
        add_violations(&mut outcome, schedule.kind, plan.seed, &mut explainer);
        if trace
            && result.runs == 1
            && let Some(recording) = &outcome.recording
        {
            let build = explainer.build();
            let named = explainer.trace(recording, &build, &stored.test);
            result.trace = named.map(|trace| text::write(&trace));
            result.trace_is_cut = recording.overflow;
        }
        note(
            &mut result,
            &outcome,
            target,
            stored,
            &mut explainer,
            options,
        );
        if let Some(index) = outcome.diverged {
            result
                .diverged
                .get_or_insert_with(|| regressions::diverged(&schedule, index));
        }
    }
    Ok(result)
}

/// Counts what one replay showed.
fn note(
    result: &mut Replay,
    outcome: &Outcome,
    target: &Target,
    stored: &Stored,
    explainer: &mut Explainer,
    options: &Options,
) {
    let same = outcome
        .findings
        .iter()
        .find(|raw| explainer.shows(raw, &stored.id));
    if let Some(raw) = same {
        result.reproduced += 1;
        if result.finding.is_none() {
            let mut finding =
                explainer.explain_as(&stored.id, target, raw, outcome.recording.as_ref());
            finding.schedule = stored.schedule.display().to_string();
            finding.confirmed = true;
            finding.size = stored.finding.as_ref().and_then(|finding| finding.size);
            let violation = stored
                .finding
                .as_ref()
                .and_then(|finding| finding.violation.clone());
            let evidence = Evidence {
                violation,
                outcome: None,
            };
            evidence.complete(&mut finding);
            result.finding = Some(finding);
        }
        return;
    }
    for raw in &outcome.findings {
        let finding = explainer.explain(target, raw, None);
        if options.ignore.iter().any(|rule| rule.matches(&finding)) {
            continue;
        }
        let other = format!("{}: {}", raw.kind.word(), finding.title);
        if !result.others.contains(&other) {
            result.others.push(other);
        }
    }
}
