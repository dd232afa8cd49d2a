//! Prediction as a part of exploration: a small share of a test's executions.
//!
//! After the first executions of a test one is recorded. If that leads to predictions, a few more are
//! recorded, and a tenth of the test's executions goes into tries. Recordings are read without debug
//! information, which would take longer than all the executions of a short test; it is needed for a
//! violation that happened. Only findings are told. What is done does not depend on time, because a
//! race that is found here changes what is explored afterwards.

use raddle_analysis::lock_order::Deadlock;

use super::{Prediction, asset, pursuit};
use crate::test_run::{Ended, TestRun};

/// Executions that are explored before.
const AFTER: u64 = 16;
/// One in so many executions is a try.
const SHARE: u64 = 10;
/// The least budget of a test that has a share.
const LEAST_BUDGET: u64 = 100;
/// Events of an execution that is predicted from. Reading longer ones would take more time than
/// exploring the test does.
pub(super) const MOST_EVENTS: usize = 100_000;
/// Directed executions per prediction.
const TRIES: u64 = 20;

/// Predicts, if it is time for that and has not been done. With `is_last`, no execution follows.
pub(crate) fn share(test: &mut TestRun<'_>, is_last: bool) {
    let explored = test.course.tally.explored;
    let is_due = explored >= AFTER || (is_last && explored > 0);
    let budget = test.course.budget(test.options());
    let is_wanted = test.session.options.predicts && budget >= LEAST_BUDGET;
    if !is_due || !is_wanted || test.course.tally.predicted {
        return;
    }
    test.course.tally.predicted = true;
    let hunt = &mut test.course.hunt;
    hunt.is_quiet = true;
    hunt.most_tries = Some(budget / SHARE);
    // What comes next goes on as if nothing had come between.
    let longest = test.course.tally.longest;
    // A program that cannot be predicted from is explored all the same, and what ends the test
    // ends it there.
    let _ = predict(test);
    test.course.tally.longest = longest;
    test.course.tally.explored = explored;
}

fn predict(test: &mut TestRun<'_>) -> Ended<()> {
    let Some(map) = test.explainer().map() else {
        return Ok(());
    };
    let prediction = Prediction {
        tries: TRIES,
        ..Prediction::default()
    };
    for _ in 0..prediction.profiles {
        asset::profile(test, &map, prediction)?;
        let hunt = &test.course.hunt;
        if hunt.predicted + hunt.deadlocks.predicted == 0 || test.session.is_over() {
            return Ok(());
        }
    }
    while !test.session.is_over() && test.course.hunt.may_try() {
        let Some(candidate) = test.course.hunt.violations.next(asset::ENOUGH) else {
            break;
        };
        asset::confirm(test, &map, candidate, prediction)?;
    }
    if test.course.hunt.may_try() {
        pursuit::pursue_all::<Deadlock>(test, &map, prediction)?;
    }
    Ok(())
}
