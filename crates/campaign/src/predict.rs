//! Prediction in place of exploration: a few recorded executions, what analysis makes of them, and
//! directed executions that make it real.
//!
//! [`asset`] is the way that users take; the other engines are what it is compared with. In
//! whatever an engine made happen, the independent monitor looks for violations ([`seen`]), so
//! that they are counted alike. Whatever else these executions show (a panic, a deadlock, a race)
//! is taken up like any other sighting.

mod asset;
mod blocks;
mod deadlocks;
mod engines;
mod monitored;
mod pursuit;
mod races;
mod random;
mod real;
pub(crate) mod seen;
mod serial_order;
mod severity;
mod share;
mod words;

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use raddle_abi::plan::Memory;
use raddle_analysis::lock_order::Deadlock;
use raddle_analysis::lock_pattern::Broken;
use raddle_analysis::monitor::Observed;
use raddle_analysis::race::Race;
use raddle_analysis::windows::Vwls;
use raddle_trace::event::{SiteIndex, Trace};
use raddle_trace::program_map::ProgramMap;
use raddle_trace::runner::{PlanRequest, RawRecording};

use crate::test_run::{Ended, TestRun};
use crate::{Verdict, explain};
use pursuit::Pool;
use seen::Seen;

pub use engines::Engine;
pub(crate) use share::share;

/// Strategies of the recorded executions, in turn.
const PROFILES: [&str; 4] = ["serial", "random", "pos", "pct(3)"];
/// Of so many tries, one is on any accesses at the same sites; the others are on those that were recorded.
const ANY_IN: u64 = 4;

/// How to predict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// What finds violations.
    pub engine: Engine,
    /// Executions that are recorded.
    pub profiles: u64,
    /// Directed executions per prediction; executions of engines that do not predict.
    pub tries: u64,
    /// Make all tries, also after the first that shows what was predicted.
    pub all_tries: bool,
    /// Which locks a unit gives up before it is held.
    pub vwls: Vwls,
    /// Report violations of which every access is atomic like any other.
    pub is_strict: bool,
}

impl Default for Prediction {
    fn default() -> Self {
        Self {
            engine: Engine::default(),
            profiles: 3,
            tries: 100,
            all_tries: false,
            vwls: Vwls::Needed,
            is_strict: false,
        }
    }
}

/// How far the prediction of a test is.
#[derive(Default)]
pub(crate) struct Hunt {
    /// Recorded executions so far.
    profiles: u64,
    /// What the engine predicted.
    predicted: usize,
    /// What of that became real.
    real: usize,
    /// Time that the engine took, without that for findings.
    spent: Duration,
    /// What the monitor has seen.
    monitored: Seen,
    /// Whether what the monitor sees is told in another way.
    is_quiet: bool,
    /// Tries that prediction has in an exploration.
    most_tries: Option<u64>,
    /// Violations that became findings, by set and functions.
    told: HashSet<real::Kind>,
    /// Cycles that match no pattern and were judged.
    cycles: HashSet<real::Kind>,
    /// Violations that became no findings.
    harmless: usize,
    /// Kinds of violations that an outcome was known of, or a failure, or a reason why they are meant.
    judged: HashSet<real::Kind>,
    /// Violations that nothing could be compared with, in words, one of each kind.
    unjudged: BTreeMap<real::Kind, String>,
    violations: asset::Violations,
    deadlocks: Pool<Deadlock>,
    races: Pool<Race>,
    blocks: Pool<Broken>,
}

impl Hunt {
    /// Whether another execution may try to show something.
    fn may_try(&self) -> bool {
        self.most_tries
            .is_none_or(|left| self.monitored.tries < left)
    }
}

/// The map that stands beside the executable.
fn program_map(test: &TestRun<'_>) -> Ended<ProgramMap> {
    explain::program_map(&test.target.exe, &test.options().overrides).map_err(|error| {
        Verdict::NotTestable {
            why: format!(
                "prediction needs the types of the program, which cannot be read: {error}"
            ),
        }
    })
}

/// Runs one more execution, writes down everything that it does, and lets the monitor look at it.
fn record(
    test: &mut TestRun<'_>,
    map: &ProgramMap,
    strategy: &str,
) -> Ended<Option<(Trace, Vec<Observed>)>> {
    let mut request = test.request(strategy, 1);
    request.seed = request.seed.wrapping_add(test.course.hunt.profiles);
    // What is predicted from has loads of the newest values.
    request.memory = Memory::Sc;
    request.record = true;
    let outcome = test.plan(&request)?;
    test.sighted(&outcome.findings, &request);
    test.course.tally.explored += 1;
    test.course.hunt.profiles += 1;
    let Some(recording) = &outcome.recording else {
        return Ok(None);
    };
    if test.course.hunt.most_tries.is_some() && recording.events.len() > share::MOST_EVENTS {
        return Ok(None);
    }
    if recording.overflow && test.session.options.prediction.is_some() {
        let note = "only the beginning of an execution fitted into its recording";
        test.session.note(test.target, note.to_owned());
    }
    Ok(named(test, recording).map(|trace| {
        let execution = test.course.tally.explored;
        let observed = seen::look(test, &trace, map, execution);
        if test.course.hunt.is_quiet {
            let prediction = test.session.options.prediction.unwrap_or_default();
            real::show_cycles(test, map, &request, &outcome, &observed, prediction);
        }
        (trace, observed)
    }))
}

/// Records the next execution that is predicted from.
fn record_next(test: &mut TestRun<'_>, map: &ProgramMap) -> Ended<Option<Trace>> {
    let number = test.course.hunt.profiles;
    let strategy = PROFILES[number as usize % PROFILES.len()];
    Ok(record(test, map, strategy)?.map(|(trace, _)| trace))
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

/// A recording as a trace, without what only people need: that is looked up for what is told.
fn named(test: &mut TestRun<'_>, recording: &RawRecording) -> Option<Trace> {
    test.explainer().rough_trace(recording)
}

fn site_key(trace: &Trace, site: SiteIndex) -> u64 {
    trace.sites.get(site.0 as usize).map_or(0, |site| site.key)
}

fn key_of(trace: &Trace, site: Option<SiteIndex>) -> u64 {
    site.map_or(0, |site| site_key(trace, site))
}
