//! A share of a test's executions in which every plain access that conflicts with one of another thread
//! is a scheduling point, not only those that were seen to race.
//!
//! Which accesses race depends on the schedule: two that synchronisation happened to order in all
//! executions so far may not be ordered in the next one, and a bug may need a switch between them. Most
//! conflicting accesses are never apart from a lock, so that this is worth a share only.

use raddle_abi::control::PlanEnd;
use raddle_abi::plan::{Granularity, Reexecution};
use raddle_schedule::rng::mix;

use crate::test_run::{Ended, TestRun};

/// One in so many executions, about, is of this kind.
const SHARE: u64 = 4;
/// The strategy that is given a share: the default.
const STRATEGY: &str = "portfolio";
/// Changes the seed, so that these executions are not those of the others with more points.
const SALT: u64 = 0x636f_6e66_6c69_6374;

/// How far the share of a test is.
#[derive(Default)]
pub(crate) struct ConflictShare {
    /// What the strategy has learnt.
    experience: Vec<u8>,
    /// Executions so far.
    explored: u64,
    /// Nothing is left to run, or the program does not bear it.
    is_done: bool,
}

/// Runs the share that belongs to `size` executions of the usual kind.
pub(crate) fn share(test: &mut TestRun<'_>, size: u64, reexecution: Reexecution) -> Ended<()> {
    let tally = &test.course.tally;
    let options = test.session.options;
    let is_wanted = options.strategy == STRATEGY
        && options.granularity == Granularity::Racy
        && tally.conflicting.len() > tally.racy.len();
    let executions = size / (SHARE - 1);
    if !is_wanted || executions == 0 || test.course.conflict_share.is_done {
        return Ok(());
    }
    let mut request = test.request(STRATEGY, executions);
    request.racy.clone_from(&tally.conflicting);
    request.seed = mix(request.seed ^ SALT).wrapping_add(test.course.conflict_share.explored);
    request.reexecution = reexecution;
    let mut experience = std::mem::take(&mut test.course.conflict_share.experience);
    let outcome = test.plan_with(&request, &mut experience);
    let share = &mut test.course.conflict_share;
    share.experience = experience;
    let outcome = outcome?;
    share.explored += outcome.executions;
    let is_early = outcome.end == PlanEnd::Complete && outcome.executions < executions;
    share.is_done = outcome.died.is_some() || outcome.end == PlanEnd::Broken || is_early;
    test.sighted(&outcome.findings, &request);
    test.course.tally.explored += outcome.executions;
    test.course.add_hash(outcome.plan_hash);
    Ok(())
}
