//! Which methods change what which others show, found by calling each with and without the other.
//!
//! Tests of a pair are prepared by calls that the pair's methods notice, and are looked at
//! afterwards by methods that notice the pair. A method that nobody notices changes nothing.
//!
//! What is found is true, but not all that is true is found: it depends on states and arguments
//! that chance has chosen. What takes something away shows in none of them if nothing is there, so
//! that what is known to matter to a method makes the states in which it is looked at once more.

use std::collections::BTreeSet;

use raddle_schedule::rng::Rng;
use raddle_trace::runner::{PlanRequest, Runner, RunnerError};

use crate::compose::Composer;
use crate::history::{History, Step};
use crate::order;
use crate::program::{Method, Program};
use crate::select::Guidance;
use crate::test_case::{Call, TestCase};

/// Most states in which methods are looked at, and the fewest.
const STATES: (usize, usize) = (12, 3);
/// Plans after which fewer states have to do.
const PLANS: usize = 2_000;
/// Fewer calls than this make a state.
const PREFIX: u64 = 6;
/// How often methods are looked at in states that matter to them, and of how many calls these are.
const CLOSER: (usize, u64) = (2, 4);
/// Methods that look at the same time: an order has names for 16 threads, and one is needed.
pub(crate) const LOOKING: usize = 15;

/// What a method shows in some state.
type Shown = Option<Vec<Option<String>>>;

/// Finds out about every method of a program that returns, and the same in the same state.
///
/// # Errors
///
/// If the program cannot be run.
pub fn find(
    program: &mut Program,
    runner: &mut dyn Runner,
    rng: &mut Rng,
) -> Result<(), RunnerError> {
    let quiet = program.numbers(is_quiet);
    let changing = program.numbers(|method| is_quiet(method) && method.changes());
    let groups = quiet.len().div_ceil(LOOKING);
    let states = PLANS / (groups * changing.len()).max(1);
    for number in &changing {
        if let Some(method) = program.methods.get_mut(number) {
            method.calibration.is_pure = true;
        }
    }
    for number in 0..states.clamp(STATES.1, STATES.0) {
        let count = match number {
            0 => 0,
            _ => rng.below(PREFIX),
        };
        let state = State::new(program, &changing, count, rng);
        for group in quiet.chunks(LOOKING) {
            compare(program, &state, group, &changing, runner, rng)?;
        }
    }
    for _ in 0..CLOSER.0 {
        for noticed in noticed_together(program, &quiet) {
            let by: Vec<u16> = noticed.iter().copied().collect();
            let state = State::new(program, &by, CLOSER.1, rng);
            let is_theirs = |one: &&u16| by.iter().any(|by| program.affects(*by, **one));
            let group = quiet.iter().filter(is_theirs).copied();
            let group: Vec<u16> = group.take(LOOKING).collect();
            compare(program, &state, &group, &changing, runner, rng)?;
        }
    }
    Ok(())
}

/// Whether a method can be looked at. What a thread drops is no longer there to look at, and others have theirs.
pub(crate) fn is_quiet(method: &Method) -> bool {
    method.is_quiet() && !method.access.is_loose()
}

/// Sets of methods that somebody notices, each once.
fn noticed_together(program: &Program, quiet: &[u16]) -> BTreeSet<BTreeSet<u16>> {
    let noticed = |one: &u16| {
        let by = quiet.iter().filter(|by| program.affects(**by, *one));
        by.copied().collect::<BTreeSet<u16>>()
    };
    let sets = quiet.iter().map(noticed);
    sets.filter(|set| !set.is_empty()).collect()
}

/// An object, and what was called before.
pub(crate) struct State {
    /// The number of its constructor, and what its arguments are made of.
    object: (u8, Vec<u8>),
    /// What many arguments are made of.
    common: Vec<u8>,
    prefix: Vec<Call>,
}

impl State {
    /// Of the simplest object.
    pub(crate) fn new(program: &Program, operations: &[u16], count: u64, rng: &mut Rng) -> Self {
        let constructor = program.constructors.first().copied().unwrap_or(0);
        let mut state = Self {
            object: (constructor, vec![2; 4]),
            common: composer(program).object(rng).1,
            prefix: Vec::new(),
        };
        let prefix = (0..count).filter_map(|_| {
            let operation = operations.get(rng.below(operations.len() as u64) as usize)?;
            Some(state.call(program, *operation, rng))
        });
        state.prefix = prefix.collect();
        state
    }

    /// The same, of any object.
    pub(crate) fn of_any(self, program: &Program, rng: &mut Rng) -> Self {
        Self {
            object: composer(program).object(rng),
            ..self
        }
    }

    /// A call whose arguments are those of others in half of the cases: most methods notice what
    /// is done with a key only if they are given the same one.
    fn call(&self, program: &Program, operation: u16, rng: &mut Rng) -> Call {
        let mut call = composer(program).call(operation, rng);
        let own = call.bytes.len().checked_sub(self.common.len());
        if let Some(own) = own.filter(|_| rng.below(2) == 0) {
            call.bytes[own..].copy_from_slice(&self.common);
        }
        call
    }
}

const fn composer(program: &Program) -> Composer<'_> {
    Composer {
        program,
        guidance: Guidance::Random,
        threads: Some(1),
    }
}

/// Compares what a group of methods shows in a state with what it shows after each change.
pub(crate) fn compare(
    program: &mut Program,
    state: &State,
    group: &[u16],
    changing: &[u16],
    runner: &mut dyn Runner,
    rng: &mut Rng,
) -> Result<(), RunnerError> {
    let looking = group.iter().map(|one| state.call(program, *one, rng));
    let looking: Vec<Call> = looking.collect();
    let before = look(state, &[], &looking, runner)?;
    for number in changing {
        let changes = [state.call(program, *number, rng)];
        let after = look(state, &changes, &looking, runner)?;
        let shown = group.iter().zip(before.iter().zip(&after));
        let shown = shown
            .filter(|(_, (before, after))| before != after && after.is_some())
            .map(|(looking, _)| *looking);
        if let Some(method) = program.methods.get_mut(number) {
            method.shown_by.extend(shown);
            method.calibration.is_pure &= before == after;
            method.calibration.changes_new |= state.prefix.is_empty() && before != after;
        }
    }
    Ok(())
}

/// What each of the methods that look shows, each on an object of its own.
fn look(
    state: &State,
    changes: &[Call],
    looking: &[Call],
    runner: &mut dyn Runner,
) -> Result<Vec<Shown>, RunnerError> {
    let others = looking.iter().map(|call| vec![call.clone()]);
    let test = TestCase {
        constructor: state.object.0,
        bytes: state.object.1.clone(),
        prefix: state.prefix.clone(),
        threads: [changes.to_vec()].into_iter().chain(others).collect(),
        after: Vec::new(),
    };
    // What a call returned is used too, if it can be.
    let both = |thread: usize| [order::next(thread); 2];
    let orders: Vec<Vec<u8>> = (1..=looking.len())
        .map(|thread| [both(0), both(thread)].concat())
        .collect();
    let outcome = runner.run(&PlanRequest {
        strategy: "serial".to_owned(),
        oracles: 0,
        input: test.encode(&orders),
        marks: true,
        ..PlanRequest::default()
    })?;
    let execution = outcome.marks.first();
    let histories = execution.map(|execution| History::read(&test, execution));
    let histories = histories.unwrap_or_default();
    let results = |steps: &Vec<Step>| steps.iter().map(|step| step.result.clone()).collect();
    let shown = (0..looking.len()).map(|index| {
        let history = histories.get(&index).filter(|history| history.is_whole)?;
        history.threads.get(index + 1).map(results)
    });
    Ok(shown.collect())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use raddle_abi::mark::{End, kind};
    use raddle_schedule::rng::Rng;
    use raddle_trace::runner::{
        Marked, MarkedExecution, Outcome, PlanRequest, Runner, RunnerError,
    };

    use super::find;
    use crate::history::GONE;
    use crate::order;
    use crate::program::{Method, Program};

    /// Methods of a door by their numbers: the first closes it, so that whoever looks after that
    /// sees nothing of who opened it.
    pub(crate) const METHODS: [&str; 4] = ["close", "color", "look", "open"];

    /// The number of a method that only looks, after which some doors fall shut: those of the second constructor.
    pub(crate) const GET: u16 = 60;

    /// Runs orders with a door.
    pub(crate) struct Door;

    /// What can be done with a door.
    pub(crate) fn program() -> Program {
        let method = |name: &&str| Method {
            name: (*name).to_owned(),
            ..Method::default()
        };
        let methods = METHODS.iter().map(method);
        Program {
            methods: (0..).zip(methods).collect::<BTreeMap<_, _>>(),
            constructors: vec![0],
            ..Program::default()
        }
    }

    impl Runner for Door {
        fn run(&mut self, request: &PlanRequest) -> Result<Outcome, RunnerError> {
            let mut bytes = request.input.iter().copied();
            let mut next = || usize::from(bytes.next().unwrap_or(0));
            let falls_shut = next() == 1;
            for _ in 0..next() {
                let _ = next();
            }
            let calls = |next: &mut dyn FnMut() -> usize| -> Vec<usize> {
                let count = next();
                let one = |next: &mut dyn FnMut() -> usize| {
                    let operation = next() + (next() << 8);
                    for _ in 0..next() {
                        let _ = next();
                    }
                    operation
                };
                (0..count).map(|_| one(next)).collect()
            };
            let prefix = calls(&mut next);
            let threads: Vec<_> = (0..next()).map(|_| calls(&mut next)).collect();
            let _after = calls(&mut next);
            let orders = next() + (next() << 8);
            let mut marks = Vec::new();
            for number in 0..orders {
                let number = (number as u32) << 16;
                let mut mark = |kind: u16, call: u32, text: String| {
                    marks.push(Marked {
                        kind,
                        thread: 0,
                        number: number | call,
                        point: 0,
                        bytes: text.into_bytes(),
                    });
                };
                let name = |operation: usize| match METHODS.get(operation) {
                    Some(name) => *name,
                    None if operation == usize::from(GET) => "get",
                    None => "color",
                };
                let after = |is_open: bool, operation: usize| match name(operation) {
                    "close" => false,
                    "open" => true,
                    "get" if falls_shut => false,
                    _ => is_open,
                };
                let mut is_open = prefix.iter().fold(false, |state, one| after(state, *one));
                let mut left: Vec<_> = threads.iter().map(|calls| calls.iter()).collect();
                let turns: Vec<usize> = (0..next()).map(|_| next()).collect();
                for turn in turns {
                    let thread = order::thread(turn as u8);
                    let Some(operation) = left[thread].next() else {
                        continue;
                    };
                    let id = prefix.len() + threads[..thread].iter().map(Vec::len).sum::<usize>();
                    mark(kind::CALL, id as u32, String::new());
                    let text = match name(*operation) {
                        "get" | "look" => format!("{is_open}"),
                        _ => String::new(),
                    };
                    is_open = after(is_open, *operation);
                    mark(kind::RETURN, id as u32, text);
                }
                mark(kind::RETURN, GONE, String::new());
            }
            Ok(Outcome {
                marks: vec![MarkedExecution {
                    seed: 0,
                    length: 0,
                    marks,
                    end: Some(End::Passed),
                    decisions: Vec::new(),
                }],
                ..Outcome::default()
            })
        }
    }

    #[test]
    fn what_another_method_hides_is_seen() {
        let mut program = program();
        find(&mut program, &mut Door, &mut Rng::new(1)).unwrap();
        let changing = program.numbers(Method::changes);
        let names: Vec<_> = changing
            .iter()
            .map(|number| program.name(*number))
            .collect();
        assert_eq!(names, ["close", "open"]);
        assert!(program.affects(3, 2) && program.affects(0, 2));
        assert!(!program.affects(3, 1));
        // A new door is closed.
        let new = |number: u16| program.methods[&number].calibration.changes_new;
        assert!(new(3) && !new(0));
    }

    #[test]
    fn who_takes_something_away_is_seen_among_many_others() {
        for seed in 0..8 {
            let mut program = program();
            let color = program.methods[&1].clone();
            program
                .methods
                .extend((4..60).map(|number| (number, color.clone())));
            find(&mut program, &mut Door, &mut Rng::new(seed)).unwrap();
            assert!(program.affects(0, 2), "{seed}");
            assert_eq!(program.numbers(Method::changes), [0, 3]);
        }
    }
}
