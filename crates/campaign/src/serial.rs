//! Serial runs of every test, before it is explored.
//!
//! A first one, without the race oracle, is broken off as soon as there is a second thread. If
//! it comes to its end there is nothing to interleave, and that is all: most tests have one
//! thread. Otherwise there are three runs. They show that the program behaves the same when the schedule is the same, and whether
//! there is anything to interleave. A test that fails serially is explored only if it passes
//! under some other schedule: then its failure depends on the interleaving, else it does not.
//! The default strategy looks on in the last of them, and begins its search with what it has learnt.
//! The very first run may differ from all others: it may leave files that they find.
//! If it is so long that it is cut, executions are cut sooner from then on, and the three
//! runs are as short as what is explored later.

use raddle_abi::control::{PlanEnd, conditions};
use raddle_abi::finding::Kind;
use raddle_abi::plan::{Reexecution, oracles};
use raddle_trace::runner::{Death, Outcome, PlanRequest, RawFinding};

use crate::test_run::{Ended, TestRun};
use crate::{Verdict, nondeterminism, verdict};

/// Serial runs.
const RUNS: usize = 3;
/// How many times the limit of points a serial run may take.
const LONGEST: u64 = 10;
/// Executions in which a test that fails serially may pass.
const PROBES: u64 = 50;

/// The strategy of as many more, in which threads run one after the other in any order.
const IN_ANY_ORDER: &str = "pct(1)";
/// The strategy that learns from a serial run.
const DEFAULT: &str = "portfolio";

/// The serial runs of a test so far.
#[derive(Default)]
pub(crate) struct SerialRuns {
    first: Option<Outcome>,
    runs: usize,
    /// The first run differed, and is not counted.
    has_warmed_up: bool,
    sightings: Vec<Sighting>,
    /// A run was cut at the limit for serial ones.
    is_too_long: bool,
    /// The test was seen to start a thread, or to fail without.
    has_looked: bool,
    /// The test is worth exploring.
    is_settled: bool,
}

/// What a serial run found.
struct Sighting {
    raw: RawFinding,
    /// The limit of that run.
    max_points: u64,
}

impl SerialRuns {
    /// Whether what follows is exploration.
    pub const fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Scheduling points until the first execution is explored, if they can be foreseen.
    pub fn points_left(&self) -> Option<u64> {
        let first = self.first.as_ref()?;
        let left = RUNS.saturating_sub(self.runs) + 1;
        Some(first.points.saturating_mul(left as u64))
    }
}

/// Whether files that executions have left make the test behave otherwise than it did at first:
/// what it shows then says nothing about interleavings.
pub(crate) fn is_spoilt(test: &mut TestRun<'_>) -> bool {
    const LEAVES: u32 = conditions::NO_VIEW | conditions::FILES_OUTSIDE;
    if test.course.conditions & LEAVES == 0 {
        return false;
    }
    let Some(exit_code) = test
        .course
        .serial
        .first
        .as_ref()
        .map(|first| first.exit_code)
    else {
        return false;
    };
    let request = request(test);
    test.renew_worker();
    let outcome = test.try_out(&request);
    test.renew_worker();
    outcome.is_some_and(|outcome| outcome.cut == 0 && outcome.exit_code != exit_code)
}

/// Runs the test serially; `Ok` if it is worth exploring. What an earlier turn found out is
/// not found out again.
pub(crate) fn check(test: &mut TestRun<'_>) -> Ended<()> {
    if test.course.serial.is_settled {
        return Ok(());
    }
    if !test.course.serial.has_looked {
        let request = request(test);
        look(test, &request)?;
        test.course.serial.has_looked = true;
    }
    while test.course.serial.runs < RUNS {
        let request = request(test);
        run(test, &request)?;
    }
    settle(test)?;
    test.course.serial.is_settled = true;
    let request = request(test);
    for Sighting { raw, max_points } in std::mem::take(&mut test.course.serial.sightings) {
        let request = PlanRequest {
            max_points,
            ..request.clone()
        };
        test.sighted(&[raw], &request);
    }
    Ok(())
}

/// The plan of a serial run. How long the test is sets the limit for what follows.
fn request(test: &TestRun<'_>) -> PlanRequest {
    let max_points = test.options().max_points;
    PlanRequest {
        max_points: match test.course.serial.is_too_long {
            true => max_points,
            false => max_points.saturating_mul(LONGEST),
        },
        // The same points in each run, whatever the first one has shown: they are compared.
        racy: Vec::new(),
        ..test.request("serial", 1)
    }
}

/// Looks whether the test has a single thread and passes, which is then its verdict.
fn look(test: &mut TestRun<'_>, request: &PlanRequest) -> Ended<()> {
    let success = u32::from(test.target.success);
    let request = PlanRequest {
        oracles: request.oracles & oracles::HEAP,
        alone: true,
        ..request.clone()
    };
    let is_alone = |outcome: &Outcome| {
        outcome.end == PlanEnd::Complete
            && outcome.executions == 1
            && outcome.broken_off + outcome.cut == 0
            && outcome.threads <= 1
            && outcome.conditions & conditions::FOREIGN_THREAD == 0
            && outcome.findings.is_empty()
            && outcome.died.is_none()
            && outcome.exit_code == success
    };
    match test.plan_if(&request, is_alone)? {
        true => Err(Verdict::SingleThreaded),
        false => Ok(()),
    }
}

/// One serial run.
fn run(test: &mut TestRun<'_>, request: &PlanRequest) -> Ended<()> {
    let mut outcome = match taught(test, request)? {
        Some(outcome) => outcome,
        None => test.plan(request)?,
    };
    if let Some(death) = &outcome.died
        && !matches!(death, Death::Signal(signal) if *signal != libc::SIGKILL)
    {
        return Err(Verdict::NotTestable {
            why: test.death_in_words(death),
        });
    }
    let serial = &mut test.course.serial;
    let max_points = request.max_points;
    let found: Vec<Sighting> = outcome
        .findings
        .drain(..)
        .map(|raw| Sighting { raw, max_points })
        .collect();
    if outcome.cut > 0 && !serial.is_too_long {
        *serial = SerialRuns {
            is_too_long: true,
            has_looked: true,
            sightings: found,
            ..SerialRuns::default()
        };
        return Ok(());
    }
    if serial
        .first
        .as_ref()
        .is_some_and(|first| differ(first, &outcome))
    {
        if serial.has_warmed_up || serial.runs > 1 {
            let detail = nondeterminism::difference(test, request).unwrap_or_default();
            let meaning = nondeterminism::MEANING;
            let why = format!("runs with the same schedule differ, {meaning}.{detail}");
            return Err(Verdict::NotTestable { why });
        }
        // A worker does not tell again what it has told.
        *serial = SerialRuns {
            has_warmed_up: true,
            has_looked: true,
            is_too_long: serial.is_too_long,
            sightings: std::mem::take(&mut serial.sightings),
            ..SerialRuns::default()
        };
    }
    serial.runs += 1;
    serial.sightings.extend(found);
    serial.first.get_or_insert(outcome);
    Ok(())
}

/// The run from which the strategy of the search learns, unless it differs from the first one: a strategy that looks
/// on must not decide whether a test counts as deterministic.
fn taught(test: &mut TestRun<'_>, request: &PlanRequest) -> Ended<Option<Outcome>> {
    if !is_taught(test) {
        return Ok(None);
    }
    let request = PlanRequest {
        strategy: format!("serial({DEFAULT})"),
        ..request.clone()
    };
    let outcome = test.learning_plan(&request)?;
    let first = test.course.serial.first.as_ref();
    if first.is_some_and(|first| differ(first, &outcome)) {
        test.course.experience.clear();
        return Ok(None);
    }
    Ok(Some(outcome))
}

/// Whether the strategy of the search learns from the run that follows: from the last one, so that a
/// first run that differed has no part in it.
fn is_taught(test: &TestRun<'_>) -> bool {
    test.course.serial.runs + 1 == RUNS && test.options().strategy == DEFAULT
}

/// What the serial runs say: `Ok` if the test is worth exploring.
fn settle(test: &mut TestRun<'_>) -> Ended<()> {
    let serial = &test.course.serial;
    let first = serial.first.clone().unwrap_or_default();
    let failure = serial
        .sightings
        .iter()
        .map(|sighting| &sighting.raw)
        .find(|raw| raw.kind != Kind::DataRace)
        .cloned();
    // A test that is too long even so is cut where all are: its beginning is explored.
    test.course.tally.serial_points = if first.cut > 0 { 0 } else { first.points };
    let fails = failure.is_some() || first.exit_code != u32::from(test.target.success);
    if fails && !passes_otherwise(test, failure.as_ref())? {
        let reason = match &failure {
            Some(raw) => {
                let target = test.target;
                let finding = test.explainer().explain(target, raw, None);
                match raw.kind {
                    // The title may name no place.
                    Kind::Deadlock => format!("{}. {}", finding.title, finding.cause),
                    _ => finding.title,
                }
            }
            None => format!("exit code {}", first.exit_code),
        };
        return Err(Verdict::Failed {
            why: verdict::of_failure(&first, &reason),
        });
    }
    match test.course.tally.threads {
        0 | 1 if first.conditions & conditions::FOREIGN_THREAD != 0 => Err(Verdict::NotTestable {
            why: verdict::NATIVE_THREADS_ONLY.to_owned(),
        }),
        0 | 1 => Err(Verdict::SingleThreaded),
        _ => Ok(()),
    }
}

/// Whether two runs with the same schedule differ. How often a native thread is looked for in
/// vain depends on real time, and the second of two livelocks is recognised sooner.
fn differ(one: &Outcome, other: &Outcome) -> bool {
    let is_alone = (one.conditions | other.conditions) & conditions::FOREIGN_THREAD == 0;
    let is_endless = |outcome: &Outcome| outcome.occurrences[Kind::Livelock as usize] > 0;
    let are_endless = is_endless(one) && is_endless(other);
    (is_alone && !are_endless && one.last_hash != other.last_hash)
        || one.exit_code != other.exit_code
        || one.died != other.died
}

/// Whether some interleaving lets a test pass that fails serially.
fn passes_otherwise(test: &mut TestRun<'_>, failure: Option<&RawFinding>) -> Ended<bool> {
    if test.course.tally.threads <= 1 {
        return Ok(false);
    }
    // Where nearly every switch makes it fail, it may pass if one thread after the other runs.
    let strategies = [test.options().strategy.clone(), IN_ANY_ORDER.to_owned()];
    for strategy in strategies {
        let mut request = test.request(&strategy, PROBES);
        if failure.is_some_and(|raw| raw.kind == Kind::Crash) {
            // A crash breaks the worker, unless each execution has a process of its own.
            request.reexecution = Reexecution::Fork;
        }
        let outcome = test.plan(&request)?;
        test.renew_worker();
        let failures: u64 = Kind::ALL
            .iter()
            .filter(|&&kind| kind != Kind::DataRace)
            .map(|&kind| outcome.occurrences[kind as usize])
            .sum();
        // It is not known whether an aborted execution would have passed.
        if failures + outcome.broken_off < outcome.executions {
            return Ok(true);
        }
    }
    Ok(false)
}
