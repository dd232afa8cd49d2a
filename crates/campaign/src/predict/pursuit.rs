//! Something predicted, and the directed executions that try to show it.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use raddle_abi::plan::Memory;
use raddle_analysis::plan::{Aim, Order};
use raddle_trace::event::Trace;
use raddle_trace::program_map::ProgramMap;
use raddle_trace::runner::{Outcome, PlanRequest};

use super::{ANY_IN, Hunt, Prediction, record_next, recorded, seen};
use crate::test_run::{Ended, TestRun};

/// Something that a directed execution may show.
pub(super) trait Quarry: Sized {
    /// In how many ways it can show.
    const WAYS: u64;

    /// What a recording says about other executions.
    fn predict(trace: &Trace) -> Vec<Self>;

    /// Site keys that tell it from others, over all recordings.
    fn key(&self, trace: &Trace) -> Vec<u64>;

    /// The order that shows it in one of its ways.
    fn order(&self, trace: &Trace, aim: Aim, way: u64) -> Option<Order>;

    /// Whether an execution has shown it.
    fn is_shown(outcome: &Outcome) -> bool;

    /// Those of a test.
    fn pool(hunt: &mut Hunt) -> &mut Pool<Self>;
}

/// What was predicted and has not been tried.
pub(super) struct Pool<Q> {
    seen: HashSet<Vec<u64>>,
    pub waiting: VecDeque<Arc<Predicted<Q>>>,
    /// How many were predicted in all.
    pub predicted: usize,
    /// How many have shown in one of their ways.
    pub shown: usize,
}

/// One of them with the recording that it comes from.
pub(super) struct Predicted<Q> {
    pub quarry: Q,
    pub trace: Arc<Trace>,
}

impl<Q> Default for Pool<Q> {
    fn default() -> Self {
        Self {
            seen: HashSet::new(),
            waiting: VecDeque::new(),
            predicted: 0,
            shown: 0,
        }
    }
}

/// Takes up what a recording leads to.
pub(super) fn take_up<Q: Quarry>(test: &mut TestRun<'_>, trace: &Arc<Trace>) {
    let pool = Q::pool(&mut test.course.hunt);
    for quarry in Q::predict(trace) {
        if pool.seen.insert(quarry.key(trace)) {
            pool.predicted += 1;
            pool.waiting.push_back(Arc::new(Predicted {
                quarry,
                trace: Arc::clone(trace),
            }));
        }
    }
}

/// Records executions and takes up what they lead to, until there are enough of them.
pub(super) fn profile<Q: Quarry>(
    test: &mut TestRun<'_>,
    map: &ProgramMap,
    prediction: Prediction,
) -> Ended<()> {
    while test.course.hunt.profiles < prediction.profiles && !test.allowance.is_over() {
        if let Some(trace) = record_next(test, map)? {
            take_up::<Q>(test, &Arc::new(trace));
        }
        test.allowance.explored();
        test.allowance.ran();
    }
    Ok(())
}

/// Tries everything that waits.
pub(super) fn pursue_all<Q: Quarry>(
    test: &mut TestRun<'_>,
    map: &ProgramMap,
    prediction: Prediction,
) -> Ended<()> {
    // A share of an exploration does not depend on time.
    let is_share = test.course.hunt.most_tries.is_some();
    while (is_share && !test.session.is_over()) || !test.allowance.is_over() {
        let Some(predicted) = Q::pool(&mut test.course.hunt).waiting.pop_front() else {
            break;
        };
        let mut is_shown = false;
        for way in 0..Q::WAYS {
            is_shown |= pursue(test, map, &predicted, way, prediction)?;
        }
        Q::pool(&mut test.course.hunt).shown += usize::from(is_shown);
        test.allowance.ran();
    }
    Ok(())
}

/// Tries one way of one of them; whether it has shown.
fn pursue<Q: Quarry>(
    test: &mut TestRun<'_>,
    map: &ProgramMap,
    predicted: &Predicted<Q>,
    way: u64,
    prediction: Prediction,
) -> Ended<bool> {
    let mut is_shown = false;
    for attempt in 0..prediction.tries.div_ceil(Q::WAYS) {
        let is_over = test.session.is_over() || !test.course.hunt.may_try();
        if is_over || (is_shown && !prediction.all_tries) {
            break;
        }
        let Predicted { quarry, trace } = predicted;
        let Some(order) = quarry.order(trace, aim(attempt), way) else {
            break;
        };
        let outcome = directed(test, map, order, attempt)?;
        is_shown |= Q::is_shown(&outcome);
        if outcome.died.is_some() {
            break;
        }
    }
    Ok(is_shown)
}

/// Which events a try is about: those that were recorded, or any.
pub(super) const fn aim(attempt: u64) -> Aim {
    match attempt % ANY_IN {
        1 => Aim::Any,
        _ => Aim::Same,
    }
}

/// Whether the monitor should look at an execution: the order was realised, or the program failed, perhaps
/// before it came to the end of the order.
pub(super) fn is_remarkable(outcome: &Outcome) -> bool {
    outcome.realised > 0 || !outcome.findings.is_empty()
}

/// A plan of one execution that follows an order.
pub(super) fn request(test: &TestRun<'_>, order: Order, attempt: u64) -> PlanRequest {
    let request = PlanRequest {
        memory: Memory::Sc,
        ..test.request("directed(random)", 1)
    };
    PlanRequest {
        seed: request.seed.wrapping_add(attempt),
        threads: order.threads,
        events: order.events,
        rules: order.rules,
        ..request
    }
}

/// Runs one execution that follows an order. If it did so to the end, or failed on the way, the monitor looks at it.
pub(super) fn directed(
    test: &mut TestRun<'_>,
    map: &ProgramMap,
    order: Order,
    attempt: u64,
) -> Ended<Outcome> {
    let request = request(test, order, attempt);
    let outcome = test.plan(&request)?;
    test.sighted(&outcome.findings, &request);
    test.course.tally.explored += outcome.executions;
    test.course.hunt.monitored.tries += 1;
    if is_remarkable(&outcome)
        && let Some(trace) = recorded(test, &request)
    {
        let execution = test.course.tally.explored;
        seen::look_at_try(test, &trace, map, execution);
    }
    Ok(outcome)
}
