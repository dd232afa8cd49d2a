//! The loop: select a pair, write its tests, run them under many schedules, count what was
//! covered, judge what came of them; until there is a violation, or no time left.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use raddle_abi::control::PlanEnd;
use raddle_abi::finding::Kind;
use raddle_abi::mark::End;
use raddle_abi::plan::{Memory, MethodAnchor, oracles};
use raddle_schedule::rng::{Rng, mix};
use raddle_trace::runner::{Outcome, PlanRequest, Runner, RunnerError};

use crate::compose::Composer;
use crate::history::History;
use crate::judge::{Excuse, Failure, Judge};
use crate::pairs::{Coverage, covered};
use crate::program::Program;
use crate::select::{Guidance, Selection};
use crate::shrink::shrink;
use crate::test_case::TestCase;

/// What the user may choose.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What decides about pairs.
    pub guidance: Guidance,
    /// Threads of a test; two, and three in some tests, unless the user says how many.
    pub threads: Option<usize>,
    /// Schedules under which each test is run.
    pub schedules: u64,
    /// The strategy that makes them.
    pub strategy: String,
    /// What loads may read.
    pub memory: Memory,
    /// Decides about everything that is left to chance.
    pub seed: u64,
    /// When to stop.
    pub deadline: Instant,
    /// Violations after which the search ends.
    pub most_violations: usize,
}

/// A test with what is wrong about it.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The test.
    pub test: TestCase,
    /// What is wrong.
    pub failure: Failure,
    /// Tests until then.
    pub tests: u64,
    /// Time until then.
    pub time: Duration,
}

/// How far a search is.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Tests.
    pub tests: u64,
    /// Executions, those of single orders left out.
    pub executions: u64,
    /// Tests whose objects could not be made.
    pub invalid: u64,
    /// Pairs covered.
    pub covered: usize,
    /// Pairs.
    pub pairs: usize,
}

/// What a search came to.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Violations, one of each kind and place.
    pub violations: Vec<Violation>,
    /// How far it got.
    pub tally: Tally,
    /// What was covered.
    pub coverage: Coverage,
    /// Pairs covered, by time in seconds, each time they became more.
    pub over_time: Vec<(f64, usize)>,
    /// What only weak methods show, each sentence once.
    pub notes: BTreeSet<String>,
    /// Calls of methods that were seen not to return when nobody else does anything.
    pub waits: BTreeMap<u16, Waits>,
    /// Races of accesses that were reported before, seen again with others.
    pub repeated: u64,
    /// What of the results was checked.
    pub checks: Checks,
    /// Where the time went.
    pub spent: Spent,
}

/// How many results were compared with what calls return one after the other.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    /// Results of concurrent calls that were.
    pub checked: u64,
    /// Those that were not, by method.
    pub unchecked: BTreeMap<u16, u64>,
    /// Executions whose results no order explains, though only unchecked ones differ, by method.
    pub unexplained: BTreeMap<u16, u64>,
    /// Different executions whose results no order explains and that are right all the same, by the reason.
    pub excused: BTreeMap<Excuse, u64>,
}

/// Calls of a method that may wait.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waits {
    /// All of them.
    pub begun: u64,
    /// Those that returned.
    pub ended: u64,
}

/// Where the time of a search went.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Selecting pairs and writing tests.
    pub generating: Duration,
    /// Running tests.
    pub running: Duration,
    /// Counting what was covered.
    pub counting: Duration,
    /// Comparing with what calls come to one after the other.
    pub judging: Duration,
}

/// A search, which goes on where it was left.
pub struct Search<'a> {
    program: &'a Program,
    settings: &'a Settings,
    /// What it has come to so far.
    pub report: Report,
    selection: Selection,
    rng: Rng,
    start: Instant,
    known: BTreeSet<String>,
    deadline: Instant,
    /// Keys of what was reported.
    settled: BTreeSet<String>,
    /// Sites of races that were reported.
    reported: BTreeSet<u32>,
    /// Sites of races that were found since the search went on.
    open: BTreeSet<u32>,
}

impl<'a> Search<'a> {
    /// Begins.
    pub fn new(program: &'a Program, settings: &'a Settings) -> Self {
        let methods: Vec<usize> = program
            .methods
            .keys()
            .map(|number| usize::from(*number))
            .collect();
        let mut report = Report {
            coverage: Coverage::among(&methods, |pair| program.can_meet(pair)),
            ..Report::default()
        };
        report.tally.pairs = report.coverage.len();
        let met = report.coverage.counts().keys().copied();
        let met = met.filter(|pair| program.have_met(*pair)).collect();
        let selection = Selection::new(settings.guidance, &report.coverage, &met);
        Self {
            program,
            settings,
            report,
            selection,
            rng: Rng::new(settings.seed),
            start: Instant::now(),
            known: BTreeSet::new(),
            deadline: settings.deadline,
            settled: BTreeSet::new(),
            reported: BTreeSet::new(),
            open: BTreeSet::new(),
        }
    }

    /// Searches until as many violations as wanted were found anew, or the time is over, and
    /// returns how many were known before. `is_stopped` is asked between tests.
    ///
    /// # Errors
    ///
    /// If the program cannot be run at all.
    pub fn go_on(
        &mut self,
        runner: &mut dyn Runner,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<usize, RunnerError> {
        let before = self.report.violations.len();
        self.open.clear();
        let enough = self.concurrent();
        let enough = enough.saturating_add(self.settings.most_violations);
        let composer = Composer {
            program: self.program,
            guidance: self.settings.guidance,
            threads: self.settings.threads,
        };
        loop {
            let begun = Instant::now();
            let Some(pair) = self.selection.next(&self.report.coverage, &mut self.rng) else {
                return Ok(before);
            };
            let tried = self.report.coverage.select(pair);
            let tests = composer.tests(pair, tried, &mut self.rng);
            self.report.spent.generating += begun.elapsed();
            for test in tests {
                let is_over = Instant::now() >= self.deadline || is_stopped();
                if is_over || self.concurrent() >= enough {
                    return Ok(before);
                }
                self.try_out(test, runner)?;
            }
        }
    }

    /// Remembers that a violation was reported, with the key of the small test that shows it: another race of one
    /// of the same accesses is no new one, and neither is another test that becomes the same when it is made smaller.
    pub fn settle(&mut self, violation: usize, key: &str) {
        self.settled.insert(key.to_owned());
        if let Some(violation) = self.report.violations.get(violation) {
            self.reported.extend(&violation.failure.sites);
        }
    }

    /// Whether a violation with this key was reported.
    pub fn is_settled(&self, key: &str) -> bool {
        self.settled.contains(key)
    }

    /// Lets the search go on for so much longer.
    pub fn extend(&mut self, time: Duration) {
        self.deadline += time;
    }

    /// Violations that need threads: others do not end the search.
    fn concurrent(&self) -> usize {
        let violations = self.report.violations.iter();
        violations
            .filter(|violation| violation.failure.kind != Kind::Sequential)
            .count()
    }

    fn try_out(&mut self, test: TestCase, runner: &mut dyn Runner) -> Result<(), RunnerError> {
        let report = &mut self.report;
        report.tally.tests += 1;
        let seed = mix(mix(self.settings.seed) ^ report.tally.tests);
        let begun = Instant::now();
        let anchors = &self.program.callees.anchors;
        let outcome = match self.program.may_block(&test) {
            true => run_if_it_ends(&test, self.settings, (seed, anchors), runner)?,
            false => run(&test, self.settings, (seed, anchors), runner)?,
        };
        report.spent.running += begun.elapsed();
        let begun = Instant::now();
        count(
            (self.program, &test),
            &outcome,
            report,
            self.start.elapsed(),
        );
        check_off(
            (self.program, &test),
            &outcome,
            self.settings.memory,
            report,
        );
        report.spent.counting += begun.elapsed();
        let begun = Instant::now();
        let judge = Judge {
            program: self.program,
            memory: self.settings.memory,
        };
        let judgement = judge.judge(&test, &outcome, runner);
        report.spent.judging += begun.elapsed();
        report.tally.invalid += u64::from(judgement.is_invalid);
        for operation in &judgement.unexplained {
            *report.checks.unexplained.entry(*operation).or_default() += 1;
        }
        for (text, excuse) in judgement.notes {
            *report.checks.excused.entry(excuse).or_default() += 1;
            report
                .notes
                .insert(format!("{text}, but {}", excuse.words()));
        }
        for failure in judgement.failures {
            // A test that nobody gets to the end of shows nothing but that.
            if failure.kind != Kind::Deadlock && !completes(&outcome) {
                continue;
            }
            let is_race = failure.kind == Kind::DataRace;
            if is_race
                && failure
                    .sites
                    .iter()
                    .any(|site| self.reported.contains(site))
            {
                report.repeated += 1;
                continue;
            }
            // Whether the other one is reported is not known yet: this one may be seen again if it is not.
            if is_race && failure.sites.iter().any(|site| self.open.contains(site)) {
                continue;
            }
            if self.known.insert(failure.key.clone()) {
                self.open.extend(&failure.sites);
                report.violations.push(Violation {
                    test: test.clone(),
                    failure,
                    tests: report.tally.tests,
                    time: self.start.elapsed(),
                });
            }
        }
        Ok(())
    }
}

/// Schedules by which a test that may never end shows that it does.
const PILOT: u64 = 3;
/// Schedules under which a smaller test may fail, in those of the search, and the least of them.
const SHRINKING: (u64, u64) = (4, 200);
/// Smaller tests that are tried.
const TRIES: usize = 300;
/// Most time that this takes.
const SHRINK_TIME: Duration = Duration::from_secs(20);

/// A violation with the smallest test that shows it, and what that test did.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The test.
    pub test: TestCase,
    /// What is wrong with it.
    pub failure: Failure,
    /// The execution that shows it.
    pub history: History,
}

/// Makes a violation's test as small as it gets.
///
/// # Errors
///
/// If the program cannot be run.
pub fn shrink_violation(
    program: &Program,
    settings: &Settings,
    violation: &Violation,
    runner: &mut dyn Runner,
) -> Result<Shrunk, RunnerError> {
    let more = Settings {
        schedules: settings
            .schedules
            .saturating_mul(SHRINKING.0)
            .max(SHRINKING.1),
        ..settings.clone()
    };
    let start = Instant::now();
    let mut last = None;
    let mut error = None;
    let mut fails = |test: &TestCase| {
        if error.is_some() || start.elapsed() > SHRINK_TIME {
            return false;
        }
        let outcome = match run(test, &more, (settings.seed, &[]), runner) {
            Ok(outcome) => outcome,
            Err(why) => {
                error = Some(why);
                return false;
            }
        };
        let judge = Judge {
            program,
            memory: settings.memory,
        };
        let judgement = judge.judge(test, &outcome, runner);
        let found = judgement.failures.into_iter().find(|failure| {
            let is_same_place = failure.kind == Kind::Linearizability
                || failure.kind == Kind::Deadlock
                || failure.key == violation.failure.key;
            failure.kind == violation.failure.kind && is_same_place
        });
        let Some(failure) = found else { return false };
        if failure.kind != Kind::Deadlock && !completes(&outcome) {
            return false;
        }
        let history = outcome.marks.get(failure.execution);
        let history = history
            .map(|execution| History::of(test, execution))
            .unwrap_or_default();
        last = Some(Shrunk {
            test: test.clone(),
            failure,
            history,
        });
        true
    };
    fails(&violation.test);
    shrink(&violation.test, TRIES, &mut fails);
    match (error, last) {
        (Some(error), _) => Err(error),
        (None, Some(shrunk)) => Ok(shrunk),
        (None, None) => Ok(Shrunk {
            test: violation.test.clone(),
            failure: violation.failure.clone(),
            history: History::default(),
        }),
    }
}

/// Runs a test under many schedules, the first of which has this seed, and marks entries of these
/// functions.
fn run(
    test: &TestCase,
    settings: &Settings,
    (seed, methods): (u64, &[MethodAnchor]),
    runner: &mut dyn Runner,
) -> Result<Outcome, RunnerError> {
    runner.run(&PlanRequest {
        strategy: settings.strategy.clone(),
        seed,
        executions: settings.schedules,
        max_points: 20_000,
        memory: settings.memory,
        oracles: oracles::RACE | oracles::HEAP,
        input: test.encode(&[]),
        marks: true,
        methods: methods.to_vec(),
        ..PlanRequest::default()
    })
}

/// The same for a test whose threads may all wait for ever: unless one of a few executions comes to
/// its end, there are no more. Threads that wait by spinning do so as long as an execution may be.
fn run_if_it_ends(
    test: &TestCase,
    settings: &Settings,
    begin: (u64, &[MethodAnchor]),
    runner: &mut dyn Runner,
) -> Result<Outcome, RunnerError> {
    let few = Settings {
        schedules: settings.schedules.min(PILOT),
        ..settings.clone()
    };
    let outcome = run(test, &few, begin, runner)?;
    match completes(&outcome) && few.schedules < settings.schedules {
        true => run(test, settings, begin, runner),
        false => Ok(outcome),
    }
}

/// Whether some execution came to its end.
fn completes(outcome: &Outcome) -> bool {
    outcome
        .marks
        .iter()
        .any(|execution| execution.end == Some(End::Passed))
}

/// Counts which results are checked, and which are not. Nothing to compare is no result.
fn check_off(
    (program, test): (&Program, &TestCase),
    outcome: &Outcome,
    memory: Memory,
    report: &mut Report,
) {
    let called: BTreeSet<u16> = test
        .threads
        .iter()
        .flatten()
        .map(|call| call.operation)
        .collect();
    let is_unchecked =
        |number: &u16| memory == Memory::Weak || program.unchecked(*number).is_some();
    let unchecked: BTreeSet<u16> = called.into_iter().filter(is_unchecked).collect();
    for execution in &outcome.marks {
        let history = History::of(test, execution);
        for step in history.concurrent().filter(|step| !step.is_second) {
            let has_result = step
                .result
                .as_deref()
                .is_some_and(|text| !["", "()"].contains(&text));
            let call = test.call(step.call).filter(|_| has_result);
            let Some(call) = call else { continue };
            match unchecked.contains(&call.operation) {
                true => *report.checks.unchecked.entry(call.operation).or_default() += 1,
                false => report.checks.checked += 1,
            }
        }
    }
}

fn count(
    (program, test): (&Program, &TestCase),
    outcome: &Outcome,
    report: &mut Report,
    time: Duration,
) {
    let mut total = BTreeMap::new();
    // A pair that is covered by dozens of equal calls is not covered dozens of times: it would hardly
    // be selected again.
    let most = if test.is_large() { 1 } else { u32::MAX };
    for execution in &outcome.marks {
        let history = History::of(test, execution);
        for (pair, count) in covered(&history.trace(test, &program.callees)) {
            *total.entry(pair).or_insert(0) += count.min(most);
        }
        for step in history.concurrent().filter(|step| !step.is_second) {
            let operation = test.call(step.call).map(|call| call.operation);
            let operation = operation.filter(|number| program.waits(*number));
            if let Some(number) = operation {
                let waits = report.waits.entry(number).or_default();
                waits.begun += 1;
                waits.ended += u64::from(step.ended.is_some());
            }
        }
    }
    report.coverage.add(&total, outcome.marks.len() as u64);
    report.tally.executions += outcome.executions;
    let covered = report.coverage.covered();
    if covered > report.tally.covered {
        report.over_time.push((time.as_secs_f64(), covered));
    }
    report.tally.covered = covered;
    debug_assert!(outcome.end != PlanEnd::Finding);
}
