//! States in which two methods have to do with each other: what one of them returns depends on
//! whether the other was called before. What matters for each other one after the other is worth
//! being tried at the same time, with the same arguments and in the same state.
//!
//! Such states are looked for among those that the pair's methods notice
//! ([`effects`](crate::effects) says what they notice); of some pairs none is found, though there
//! may be one.

use raddle_schedule::rng::Rng;
use raddle_trace::runner::{PlanRequest, Runner, RunnerError};

use crate::compose::Composer;
use crate::history::{History, Step, is_panic};
use crate::order;
use crate::program::{Meeting, Program};
use crate::select::Guidance;
use crate::test_case::{Call, TestCase};

/// Most states that are tried for each pair.
const STATES: usize = 16;
/// Meetings after which no more are looked for.
const ENOUGH: usize = 6;
/// Plans, over all pairs.
const PLANS: usize = 4_000;
/// Fewest and most calls that make a state. Few leave little behind, and it is large objects that
/// methods spend time on.
const PREFIX: (u64, u64) = (3, 5);
/// Arguments that are tried for each of the two.
const VARIANTS: usize = 4;
/// Places that are kept of one state.
const KEPT: usize = 2;

/// Looks for states of every pair of methods that return, and the same in the same state.
///
/// # Errors
///
/// If the program cannot be run.
pub fn find(
    program: &mut Program,
    runner: &mut dyn Runner,
    rng: &mut Rng,
) -> Result<(), RunnerError> {
    let mut pairs = pairs(program);
    let mut plans = PLANS;
    for state in 0..STATES {
        let count = match state {
            0 => 0,
            _ => PREFIX.0 + rng.below(PREFIX.1 - PREFIX.0 + 1),
        };
        // Who is left out if there are too many is a matter of chance.
        let mut waiting = std::mem::take(&mut pairs);
        while !waiting.is_empty() && plans > 0 {
            let pair = waiting.swap_remove(rng.below(waiting.len() as u64) as usize);
            plans -= 1;
            let found = meet(program, pair, &noticed(program, pair), count, runner, rng)?;
            let known = program.meetings.get(&pair).map_or(0, Vec::len);
            if known + found.len() < ENOUGH {
                pairs.push(pair);
            }
            if !found.is_empty() {
                program.meetings.entry(pair).or_default().extend(found);
            }
        }
    }
    Ok(())
}

/// Pairs that something is known of which makes a meeting possible: one notices the other, or
/// both notice the same.
fn pairs(program: &Program) -> Vec<(u16, u16)> {
    let quiet = program.numbers(|method| method.is_quiet());
    let changes = |number: u16| program.methods[&number].changes();
    let all = quiet.iter().enumerate();
    let all = all.flat_map(|(index, one)| quiet[index..].iter().map(|other| (*one, *other)));
    let is_known = |(one, other): &(u16, u16)| {
        let both = |by: &u16| program.affects(*by, *one) && program.affects(*by, *other);
        let of_each_other = program.affects(*one, *other) || program.affects(*other, *one);
        (changes(*one) || changes(*other)) && (of_each_other || quiet.iter().any(both))
    };
    all.filter(is_known).collect()
}

/// Methods that one of the two notices.
fn noticed(program: &Program, pair: (u16, u16)) -> Vec<u16> {
    let changing = program.numbers(|method| method.is_quiet() && method.changes());
    let is_noticed = |by: &u16| program.affects(*by, pair.0) || program.affects(*by, pair.1);
    changing.into_iter().filter(is_noticed).collect()
}

/// Looks at a pair in one state.
fn meet(
    program: &Program,
    pair: (u16, u16),
    noticed: &[u16],
    count: u64,
    runner: &mut dyn Runner,
    rng: &mut Rng,
) -> Result<Vec<Meeting>, RunnerError> {
    let composer = Composer {
        program,
        guidance: Guidance::Random,
        threads: Some(1),
    };
    let (constructor, bytes) = composer.object(rng);
    let prefix = (0..count).filter_map(|_| {
        let operation = noticed.get(rng.below(noticed.len() as u64) as usize)?;
        Some(composer.call(*operation, rng))
    });
    let prefix: Vec<Call> = prefix.collect();
    let mut variants = |operation: u16| -> Vec<Call> {
        let mut calls: Vec<_> = (0..VARIANTS)
            .map(|_| composer.call(operation, rng))
            .collect();
        calls.dedup();
        calls
    };
    let (ones, others) = (variants(pair.0), variants(pair.1));
    let count = ones.len();
    let calls: Vec<Call> = ones.into_iter().chain(others).collect();
    let test = TestCase {
        constructor,
        bytes,
        prefix,
        threads: calls.iter().map(|call| vec![call.clone()]).collect(),
        after: Vec::new(),
    };
    let mut meeting = mutual(&test, count, runner)?;
    let mut found = Vec::new();
    while !meeting.is_empty() && found.len() < KEPT {
        let (one, other) = meeting.swap_remove(rng.below(meeting.len() as u64) as usize);
        found.push(Meeting {
            constructor: test.constructor,
            bytes: test.bytes.clone(),
            prefix: test.prefix.clone(),
            calls: [calls[one].clone(), calls[other].clone()],
        });
    }
    Ok(found)
}

/// Which of the first threads' calls have to do with which of the others'.
fn mutual(
    test: &TestCase,
    first: usize,
    runner: &mut dyn Runner,
) -> Result<Vec<(usize, usize)>, RunnerError> {
    let threads = test.threads.len();
    let combinations = (0..first).flat_map(|one| (first..threads).map(move |other| (one, other)));
    let combinations: Vec<(usize, usize)> = combinations.collect();
    // What a call returned is used too, if it can be.
    let both = |thread: usize| [order::next(thread); 2];
    let alone = (0..threads).map(|thread| both(thread).to_vec());
    let after_each_other = combinations.iter().flat_map(|(one, other)| {
        let (one, other) = (both(*one), both(*other));
        [[one, other].concat(), [other, one].concat()]
    });
    let orders: Vec<Vec<u8>> = alone.chain(after_each_other).collect();
    let outcome = runner.run(&PlanRequest {
        strategy: "serial".to_owned(),
        oracles: 0,
        input: test.encode(&orders),
        marks: true,
        ..PlanRequest::default()
    })?;
    let execution = outcome.marks.first();
    let histories = execution.map(|execution| History::read(test, execution));
    let histories = histories.unwrap_or_default();
    let shown = |order: usize, thread: usize| {
        let history = histories.get(&order).filter(|history| history.is_whole)?;
        let steps = history.threads.get(thread)?.iter();
        steps.map(returned).collect::<Option<Vec<&str>>>()
    };
    let differ = |order: usize, thread: usize| {
        let (alone, after) = (shown(thread, thread), shown(order, thread));
        alone.is_some() && after.is_some() && alone != after
    };
    let orders = (threads..).step_by(2);
    let found = orders
        .zip(combinations)
        .filter(|(order, (one, other))| differ(*order, *other) || differ(*order + 1, *one));
    Ok(found.map(|(_, combination)| combination).collect())
}

/// What a step returned, if it did.
fn returned(step: &Step) -> Option<&str> {
    step.result.as_deref().filter(|result| !is_panic(result))
}

#[cfg(test)]
mod tests {
    use raddle_schedule::rng::Rng;

    use super::find;
    use crate::effects;
    use crate::effects::tests::{Door, METHODS, program};

    #[test]
    fn methods_meet_where_one_changes_what_the_other_returns() {
        let mut program = program();
        let mut rng = Rng::new(1);
        effects::find(&mut program, &mut Door, &mut rng).unwrap();
        find(&mut program, &mut Door, &mut rng).unwrap();
        let named = |(one, other): (u16, u16)| {
            let name = |number: u16| METHODS[usize::from(number)];
            (name(one), name(other))
        };
        let pairs: Vec<_> = program.meetings.keys().copied().map(named).collect();
        assert_eq!(pairs, [("close", "look"), ("look", "open")]);
        for (pair, meetings) in &program.meetings {
            for meeting in meetings {
                let mut last = meeting
                    .prefix
                    .iter()
                    .map(|call| METHODS[usize::from(call.operation)]);
                let is_open = last.next_back() == Some("open");
                assert_eq!(is_open, named(*pair).0 == "close", "{pair:?} {meeting:?}");
                assert_eq!(
                    [pair.0, pair.1],
                    [0, 1].map(|at| meeting.calls[at].operation)
                );
            }
        }
    }
}
