//! Searches that are only measured, for evaluations: each begins anew with a seed of its own, by which
//! methods are looked at before it too, and ends with what it finds first. Nothing is written down or
//! reported.

use std::time::{Duration, Instant};

use raddle_abi::finding::Kind;
use raddle_campaign::{self as campaign, Options, Target};
use raddle_generate::calibrate::calibrate;
use raddle_generate::program::Program;
use raddle_generate::search::{Search, Settings, Violation, shrink_violation};
use raddle_report::{Event, Trial};
use raddle_trace::runner::{Runner, RunnerError};

use crate::exit::{Exit, Failure};
use crate::session::Session;

/// What is searched, and how.
pub(super) struct Trials<'a> {
    /// The program.
    pub target: &'a Target,
    /// What it can do, not looked at yet.
    pub program: &'a Program,
    /// How; the seed is that of the first search.
    pub settings: &'a Settings,
    /// How the program is run.
    pub options: &'a Options,
    /// Time for each search.
    pub time: Duration,
}

impl Trials<'_> {
    /// Makes so many searches.
    pub(super) fn run(&self, session: &mut Session, count: u64) -> Result<Exit, Failure> {
        let stop = session.stop.clone();
        for number in 0..count {
            let settings = Settings {
                seed: self.settings.seed.wrapping_add(number),
                deadline: Instant::now() + self.time,
                most_violations: 1,
                ..self.settings.clone()
            };
            let trial =
                campaign::with_runner(self.target, self.options, stop.as_atomic(), |runner| {
                    self.one(&settings, runner, &|| stop.check().is_err())
                });
            let trial = trial.map_err(|error| Failure::new(Exit::ProgramBroken, error))?;
            session.console.show(&Event::Trial(Box::new(trial)));
            if session.stop.check().is_err() {
                return Ok(Exit::Interrupted);
            }
        }
        Ok(Exit::Clean)
    }

    fn one(
        &self,
        settings: &Settings,
        runner: &mut dyn Runner,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Trial, RunnerError> {
        let start = Instant::now();
        let mut program = self.program.clone();
        calibrate(&mut program, runner, settings.seed)?;
        let calibrating = start.elapsed();
        let settings = &Settings {
            deadline: settings.deadline + calibrating,
            ..settings.clone()
        };
        let mut search = Search::new(&program, settings);
        let found = loop {
            let before = search.go_on(runner, is_stopped)?;
            let mut new = search.report.violations[before..].iter();
            let violation = new.find(|found| found.failure.kind != Kind::Sequential);
            let Some(violation) = violation else {
                break None;
            };
            if is_certain(&program, settings, violation, runner)? {
                break Some(violation.clone());
            }
        };
        let report = &search.report;
        let seconds = match &found {
            Some(violation) => violation.time,
            None => start.elapsed() - calibrating,
        };
        Ok(Trial {
            seed: settings.seed,
            kind: found.as_ref().map(|found| found.failure.kind.word()),
            tests: found
                .as_ref()
                .map_or(report.tally.tests, |found| found.tests),
            text: found.map_or_else(String::new, |found| found.failure.text),
            seconds: seconds.as_secs_f64(),
            calibrating: calibrating.as_secs_f64(),
            executions: report.tally.executions,
            pairs: report.tally.pairs,
            spent: super::spent(&report.spent),
            over_time: report.over_time.clone(),
        })
    }
}

/// Whether it would be reported, as far as that can be said without a test that is written down.
fn is_certain(
    program: &Program,
    settings: &Settings,
    violation: &Violation,
    runner: &mut dyn Runner,
) -> Result<bool, RunnerError> {
    if violation.failure.is_certain {
        return Ok(true);
    }
    let shrunk = shrink_violation(program, settings, violation, runner)?;
    Ok(shrunk.failure.is_certain)
}
