//! Looks at each method alone before any test: whether it returns, panics or gives different results
//! in the same state, or to another thread. What it changes is then found by [`effects`].

use raddle_abi::mark::End;
use raddle_schedule::rng::Rng;
use raddle_trace::runner::{Death, PlanRequest, Runner, RunnerError};

use crate::compose::Composer;
use crate::deferral;
use crate::effects;
use crate::history::{History, Step, is_panic};
use crate::holding::Holding;
use crate::meetings;
use crate::program::{Calibration, Program};
use crate::select::Guidance;
use crate::test_case::{Call, Manner, TestCase};

/// States in which each method is looked at.
const STATES: u64 = 4;
/// Most calls that make such a state.
const PREFIX: u64 = 3;
/// How often it is called in the same state.
const TIMES: usize = 4;

/// A method that cannot be part of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excluded {
    /// Its name.
    pub name: String,
    /// Why, for people.
    pub why: &'static str,
}

/// Finds out about every method of a program, and takes out those that no test survives.
///
/// # Errors
///
/// If the program cannot be run.
pub fn calibrate(
    program: &mut Program,
    runner: &mut dyn Runner,
    seed: u64,
) -> Result<Vec<Excluded>, RunnerError> {
    let mut rng = Rng::new(seed);
    let mut excluded = Vec::new();
    let numbers: Vec<u16> = program.methods.keys().copied().collect();
    for number in numbers {
        let mut calibration = Calibration::default();
        let mut why = None;
        for state in 0..STATES {
            let test = in_some_state(program, number, state, &mut rng);
            why = look(&test, runner, &mut calibration)?;
            if why.is_some() {
                break;
            }
            // Once is enough: it takes as long as all other states together.
            if state + 1 == STATES && !calibration.is_random {
                calibration.is_random = is_random_in_others(program, &test, runner)?;
            }
            // What there is only one of is called by one thread only.
            let is_only = program.methods[&number].holding == Holding::Owned;
            if !calibration.blocks && !calibration.is_random && !is_only {
                let other = composer(program).call(number, &mut rng);
                let depends = dependence(&test, &other, runner)?;
                calibration.depends_on_thread = depends.on_threads;
                calibration.depends_on_time = depends.on_time;
                calibration.is_random = depends.on_threads || depends.on_time;
            }
        }
        match why {
            Some(why) => excluded.extend(program.methods.remove(&number).map(|method| Excluded {
                name: method.name,
                why,
            })),
            None => {
                if let Some(method) = program.methods.get_mut(&number) {
                    method.calibration = calibration;
                }
            }
        }
    }
    effects::find(program, runner, &mut rng)?;
    meetings::find(program, runner, &mut rng)?;
    deferral::find(program, runner, &mut rng)?;
    Ok(excluded)
}

const fn composer(program: &Program) -> Composer<'_> {
    Composer {
        program,
        guidance: Guidance::Random,
        threads: Some(1),
    }
}

/// A call of the method, after some others that are known to return. The first state is that of a
/// new object.
fn in_some_state(program: &Program, number: u16, state: u64, rng: &mut Rng) -> TestCase {
    let composer = composer(program);
    let known: Vec<u16> = program
        .methods
        .range(..number)
        .filter(|(_, method)| method.changes() && !method.calibration.blocks)
        .map(|(number, _)| *number)
        .collect();
    let count = if state == 0 { 0 } else { 1 + rng.below(PREFIX) };
    let prefix = (0..count).filter_map(|_| {
        let operation = known.get(rng.below(known.len() as u64) as usize)?;
        Some(composer.call(*operation, rng))
    });
    let prefix = prefix.collect();
    let call = composer.call(number, rng);
    TestCase {
        constructor: program.constructors.first().copied().unwrap_or(0),
        bytes: vec![2; 4],
        prefix,
        threads: vec![vec![call]],
        after: Vec::new(),
    }
}

/// Whether results are random in objects that other constructors make. Nothing else is said about these.
fn is_random_in_others(
    program: &Program,
    test: &TestCase,
    runner: &mut dyn Runner,
) -> Result<bool, RunnerError> {
    for constructor in program.constructors.iter().skip(1) {
        let other = TestCase {
            constructor: *constructor,
            ..test.clone()
        };
        let mut calibration = Calibration::default();
        let why = look(&other, runner, &mut calibration)?;
        if why.is_none() && calibration.is_random {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What results of a method depend on besides the calls before.
#[derive(Clone, Copy, Default)]
struct Dependence {
    /// The thread that calls: keys may have its number in them, for example, and ids of threads are used again.
    on_threads: bool,
    /// The time that passes: others do what is left to do in it.
    on_time: bool,
}

/// Whether it makes a difference that two calls are made by two threads, one after the other, or with a pause. Orders
/// are made by one thread, without a pause, and say nothing about such results then.
fn dependence(
    test: &TestCase,
    other: &Call,
    runner: &mut dyn Runner,
) -> Result<Dependence, RunnerError> {
    let twice = TestCase {
        threads: [&test.threads[..], &[vec![other.clone()]]].concat(),
        ..test.clone()
    };
    let mut results = |manner: Manner| -> Result<Option<Vec<Results>>, RunnerError> {
        let orders = [vec![0, 0, 1, 1], vec![1, 1, 0, 0]];
        let outcome = runner.run(&PlanRequest {
            strategy: "serial".to_owned(),
            oracles: 0,
            input: twice.encode_in(&orders, manner),
            marks: true,
            ..PlanRequest::default()
        })?;
        let Some(execution) = outcome.marks.first() else {
            return Ok(None);
        };
        let histories = History::read(&twice, execution);
        let is_whole =
            histories.len() == orders.len() && histories.values().all(|one| one.is_whole);
        let of = |steps: &Vec<Step>| steps.iter().map(|step| step.result.clone()).collect();
        let results = histories
            .values()
            .map(|one| one.threads.iter().map(of).collect());
        Ok(is_whole.then(|| results.collect()))
    };
    let Some(plain) = results(Manner::PLAIN)? else {
        return Ok(Dependence::default());
    };
    let mut found = Dependence::default();
    for manner in Manner::BY_THREADS {
        found.on_threads |= results(manner)?.is_some_and(|other| other != plain);
    }
    found.on_time = results(Manner::PAUSED)?.is_some_and(|other| other != plain);
    Ok(found)
}

/// Results of an order, by thread.
type Results = Vec<Vec<Option<String>>>;

fn look(
    test: &TestCase,
    runner: &mut dyn Runner,
    calibration: &mut Calibration,
) -> Result<Option<&'static str>, RunnerError> {
    // In one process, so that addresses and random numbers differ.
    let orders = vec![vec![0, 0]; TIMES];
    let outcome = runner.run(&PlanRequest {
        strategy: "serial".to_owned(),
        oracles: 0,
        input: test.encode_in(&orders, Manner::MOVED),
        marks: true,
        ..PlanRequest::default()
    })?;
    if let Some(Death::Stuck { .. } | Death::Memory { .. }) = outcome.died {
        return Ok(Some(
            "it does not return, and nobody else can run in the meantime",
        ));
    }
    let Some(execution) = outcome.marks.first() else {
        calibration.blocks = true;
        return Ok(None);
    };
    if execution.end == Some(End::Failed) {
        return Ok(Some("it ends the process"));
    }
    let histories = History::read(test, execution);
    let results = |history: &History| -> Vec<Option<String>> {
        history
            .concurrent()
            .map(|step| step.result.clone())
            .collect()
    };
    let all: Vec<_> = histories.values().map(results).collect();
    calibration.blocks |= all.iter().flatten().any(Option::is_none);
    calibration.panics |= all
        .iter()
        .flatten()
        .flatten()
        .any(|result| is_panic(result));
    if all.len() == TIMES && all.windows(2).any(|two| two[0] != two[1]) {
        calibration.is_random = true;
        calibration.depends_on_thread = false;
    }
    Ok(None)
}
