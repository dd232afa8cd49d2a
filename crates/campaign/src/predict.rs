//! Prediction in place of exploration: a few recorded executions, what analysis makes of them, and
//! directed executions that make it real.
//!
//! AssetFuzzer's phase II. For each potential violation directed plans are tried, first on the very
//! accesses that were recorded, then on any at the same sites. A violation is real if the whole
//! order was realised *and* the independent monitor sees the same pattern, between the same
//! functions, in a recording of that execution. Whatever else these executions show (a panic, a
//! deadlock, a race) is taken up like any other sighting.

mod monitored;
mod words;

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::Arc;

use raddle_analysis::monitor::monitor;
use raddle_analysis::plan::{Aim, order};
use raddle_analysis::predict::{self as phase_one, Violation};
use raddle_analysis::windows::Vwls;
use raddle_trace::event::{SiteIndex, Trace};
use raddle_trace::program_map::ProgramMap;
use raddle_trace::runner::{PlanRequest, RawRecording};

use crate::Verdict;
use crate::test_run::{Ended, TestRun};

/// Strategies of the recorded executions, in turn.
const PROFILES: [&str; 4] = ["serial", "random", "pos", "pct(3)"];
/// Of so many tries, one is on the accesses that were recorded; the others are on any.
const SAME_IN: u64 = 2;

/// What finds violations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// Prediction and directed executions.
    #[default]
    Asset,
    /// The monitor alone, under random schedules.
    Monitor,
}

/// How to predict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// What finds violations.
    pub engine: Engine,
    /// Executions that are recorded.
    pub profiles: u64,
    /// Directed executions per potential violation; executions of the monitor.
    pub tries: u64,
    /// Which locks a unit gives up before it is held.
    pub vwls: Vwls,
}

impl Default for Prediction {
    fn default() -> Self {
        Self {
            engine: Engine::Asset,
            profiles: 3,
            tries: 100,
            vwls: Vwls::Needed,
        }
    }
}

/// How far the prediction of a test is.
#[derive(Default)]
pub(crate) struct Hunt {
    /// Recorded executions so far.
    profiles: u64,
    seen: HashSet<Key>,
    /// Those that have not been tried.
    candidates: VecDeque<Candidate>,
    predicted: usize,
    real: usize,
    /// What the monitor has seen.
    observed: HashSet<monitored::Kind>,
}

/// What tells potential violations apart: pattern, and site key and context of each access.
type Key = (u8, Vec<(u64, u64)>);

struct Candidate {
    violation: Violation,
    trace: Arc<Trace>,
}

/// Lets the engine work until nothing is left or the time is over.
pub(crate) fn predict(test: &mut TestRun<'_>, prediction: Prediction) -> Ended<()> {
    match prediction.engine {
        Engine::Asset => hunt(test, prediction),
        Engine::Monitor => monitored::watch(test, prediction),
    }
}

/// Predicts and confirms.
fn hunt(test: &mut TestRun<'_>, prediction: Prediction) -> Ended<()> {
    let map = program_map(test)?;
    while test.course.hunt.profiles < prediction.profiles && !test.allowance.is_over() {
        profile(test, &map, prediction)?;
        test.allowance.explored();
    }
    while !test.allowance.is_over() {
        let Some(candidate) = test.course.hunt.candidates.pop_front() else {
            break;
        };
        confirm(test, &map, &candidate, prediction)?;
    }
    if test.course.tally.explored == 0 {
        return Err(test.course.out_of_time(test.session));
    }
    let hunt = &test.course.hunt;
    if hunt.candidates.is_empty() && hunt.profiles >= prediction.profiles {
        test.course.is_searched = true;
        let note = words::summary(hunt.predicted, hunt.real);
        test.session.note(test.target, note);
    }
    Ok(())
}

/// The map that stands beside the executable.
fn program_map(test: &TestRun<'_>) -> Ended<ProgramMap> {
    let mut path = test.target.exe.clone().into_os_string();
    path.push(".raddle-map");
    let path = PathBuf::from(path);
    let read = File::open(&path)
        .map_err(Into::into)
        .and_then(|file| ProgramMap::read(BufReader::new(file)));
    read.map_err(|error| Verdict::NotTestable {
        why: format!("prediction needs the types of the program, which cannot be read: {error}"),
    })
}

/// Runs one more execution, and writes down everything that it does.
fn record(test: &mut TestRun<'_>, strategy: &str) -> Ended<Option<Trace>> {
    let mut request = test.request(strategy, 1);
    request.seed = request.seed.wrapping_add(test.course.hunt.profiles);
    request.record = true;
    let outcome = test.plan(&request)?;
    test.sighted(&outcome.findings, &request);
    test.course.tally.explored += 1;
    test.course.hunt.profiles += 1;
    let Some(recording) = &outcome.recording else {
        return Ok(None);
    };
    if recording.overflow {
        let note = "only the beginning of an execution fitted into its recording";
        test.session.note(test.target, note.to_owned());
    }
    Ok(named(test, recording))
}

/// Records an execution and predicts from it.
fn profile(test: &mut TestRun<'_>, map: &ProgramMap, prediction: Prediction) -> Ended<()> {
    let number = test.course.hunt.profiles;
    let strategy = PROFILES[number as usize % PROFILES.len()];
    let Some(trace) = record(test, strategy)? else {
        return Ok(());
    };
    let options = phase_one::Options {
        vwls: prediction.vwls,
    };
    let predicted = phase_one::predict(&trace, map, options);
    if let Some(note) = words::limits(&predicted) {
        test.session.note(test.target, note);
    }
    let trace = Arc::new(trace);
    let hunt = &mut test.course.hunt;
    for violation in predicted.violations {
        if hunt.seen.insert(key(&violation, &trace)) {
            hunt.predicted += 1;
            hunt.candidates.push_back(Candidate {
                violation,
                trace: Arc::clone(&trace),
            });
        }
    }
    // What is atomic all through may well be meant so.
    let candidates = hunt.candidates.make_contiguous();
    candidates.sort_by_key(|candidate| candidate.violation.is_atomic);
    Ok(())
}

fn named(test: &mut TestRun<'_>, recording: &RawRecording) -> Option<Trace> {
    let name = test.target.name.clone();
    let explainer = test.explainer();
    let build = explainer.build();
    explainer.trace(recording, &build, &name)
}

fn key(violation: &Violation, trace: &Trace) -> Key {
    let names = violation.accesses.iter().map(|access| {
        let site = access.site.map_or(0, |site| site_key(trace, site));
        (site, access.context)
    });
    (violation.pattern.number, names.collect())
}

fn site_key(trace: &Trace, site: SiteIndex) -> u64 {
    trace.sites.get(site.0 as usize).map_or(0, |site| site.key)
}

/// Tries to make a potential violation real.
fn confirm(
    test: &mut TestRun<'_>,
    map: &ProgramMap,
    candidate: &Candidate,
    prediction: Prediction,
) -> Ended<()> {
    for attempt in 0..prediction.tries {
        if test.session.is_over() {
            break;
        }
        let aim = match attempt % SAME_IN {
            0 => Aim::Same,
            _ => Aim::Any,
        };
        let Some(request) = directed(test, candidate, aim, attempt) else {
            break;
        };
        let outcome = test.plan(&request)?;
        test.course.tally.explored += outcome.executions;
        test.sighted(&outcome.findings, &request);
        if outcome.died.is_some() {
            break;
        }
        if outcome.realised > 0
            && let Some(trace) = recorded(test, &request)
            && is_seen(&trace, map, candidate)
        {
            test.course.hunt.real += 1;
            let note = words::real(&candidate.violation, &candidate.trace, map, attempt + 1);
            test.session.note(test.target, note);
            break;
        }
    }
    Ok(())
}

/// One execution in the order of the violation.
fn directed(
    test: &TestRun<'_>,
    candidate: &Candidate,
    aim: Aim,
    attempt: u64,
) -> Option<PlanRequest> {
    let order = order(&candidate.violation, &candidate.trace, aim)?;
    let request = test.request("directed(random)", 1);
    Some(PlanRequest {
        seed: request.seed.wrapping_add(attempt),
        threads: order.threads,
        events: order.events,
        rules: order.rules,
        ..request
    })
}

/// The same execution again, with everything written down.
fn recorded(test: &mut TestRun<'_>, request: &PlanRequest) -> Option<Trace> {
    let request = PlanRequest {
        record: true,
        ..request.clone()
    };
    let outcome = test.repeat(&request)?;
    let recording = outcome.recording?;
    named(test, &recording)
}

/// Whether the monitor sees the violation in an execution: the same pattern, on a set of the same
/// type, between the same functions.
fn is_seen(trace: &Trace, map: &ProgramMap, candidate: &Candidate) -> bool {
    let violation = &candidate.violation;
    let expected = [violation.u.function, violation.v.function]
        .map(|function| site_key(&candidate.trace, function));
    monitor(trace, map).iter().any(|observed| {
        let functions: Vec<_> = observed
            .parties
            .iter()
            .map(|party| site_key(trace, party.function))
            .collect();
        observed.pattern == violation.pattern.number
            && observed.set == violation.set
            && functions == expected
    })
}
