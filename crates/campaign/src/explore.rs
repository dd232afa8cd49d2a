//! Explores one test in batches of executions.
//!
//! The size of a batch depends on nothing but what executions did (their scheduling points),
//! never on time, because what a batch finds changes the plan of the next one: the same seed
//! gives the same executions and the same hash on every machine. Batches are still short
//! enough for the user to see findings at once; within a batch, stopping is prompt.

use raddle_abi::control::PlanEnd;
use raddle_abi::plan::Reexecution;
use raddle_trace::runner::{Death, Outcome};

use crate::conflicts;
use crate::predict;
use crate::test_run::{Ended, TestRun};

/// Scheduling points per batch.
const BATCH_POINTS: u64 = 400_000;
/// Most executions per batch.
const BATCH_EXECUTIONS: u64 = 4096;
/// Workers given up by the watchdog before the test is left alone.
const STUCK: u32 = 3;
/// Workers broken by crashes before each execution gets a process of its own.
const BROKEN: u32 = 2;

/// Runs the user's strategy until the budget is used up.
pub(crate) fn explore(test: &mut TestRun<'_>) -> Ended<()> {
    let strategy = test.options().strategy.clone();
    let mut reexecution = test.options().reexecution;
    let (mut stuck, mut broken) = (0, 0);
    test.recall();
    loop {
        if test.course.tally.explored > 0 {
            test.allowance.explored();
        }
        let budget = test.course.budget(test.options());
        if test.course.is_done(test.session.options) || test.allowance.is_over() {
            break;
        }
        predict::share(test, false);
        let size = test
            .course
            .batch
            .size()
            .min(budget - test.course.tally.explored);
        conflicts::share(test, size, reexecution)?;
        let mut request = test.request(&strategy, size);
        request.seed = request.seed.wrapping_add(test.course.tally.explored);
        request.reexecution = reexecution;
        let outcome = test.learning_plan(&request)?;
        test.allowance.ran();
        test.course.batch.ran(&outcome);
        test.sighted(&outcome.findings, &request);
        test.course.tally.explored += outcome.executions;
        let part = test.course.tally.explored as f64 / budget as f64;
        let mut estimate = test.session.estimate();
        estimate.advance(test.course.index, part, outcome.search_progress);
        drop(estimate);
        // With another set of scheduling points there is more to search.
        let is_same = test.request(&strategy, 0).racy == request.racy;
        test.course.time = request.time;
        test.course.searched = outcome.searched.filter(|_| is_same);
        let is_early = outcome.end == PlanEnd::Complete && outcome.executions < request.executions;
        test.course.is_searched = is_early && test.course.searched.is_some();
        test.course.add_hash(outcome.plan_hash);
        match (&outcome.died, outcome.end) {
            (None, PlanEnd::Broken) | (Some(Death::Signal(_)), _) => {
                broken += 1;
                if broken == BROKEN {
                    // A crash costs a new worker each time, unless a child takes it.
                    reexecution = Reexecution::Fork;
                }
                if outcome.executions == 0 {
                    // The execution that broke the worker was not counted.
                    test.course.tally.explored += 1;
                }
            }
            (Some(death), _) => {
                let words = test.death_in_words(death);
                let seed = request.seed.wrapping_add(outcome.executions);
                test.unconfirmed_death(death, format!("execution with seed {seed}: {words}"));
                test.course.tally.explored += 1;
                stuck += 1;
                if stuck == STUCK {
                    test.course.is_given_up = true;
                    break;
                }
            }
            (None, _) => {}
        }
        test.save();
    }
    if test.course.is_searched {
        predict::share(test, true);
    }
    if test.course.tally.explored == 0 && !test.course.is_done(test.session.options) {
        Err(test.course.out_of_time(test.session))
    } else {
        Ok(())
    }
}

/// Decides how many executions the next batch has.
#[derive(Default)]
pub(crate) struct Batch {
    last: u64,
    executions: u64,
    points: u64,
}

impl Batch {
    fn size(&mut self) -> u64 {
        let per_execution = self
            .points
            .checked_div(self.executions)
            .unwrap_or(u64::MAX)
            .max(1);
        let wanted = (BATCH_POINTS / per_execution).clamp(1, BATCH_EXECUTIONS);
        self.last = wanted.min(self.last * 4).max(1);
        self.last
    }

    fn ran(&mut self, outcome: &Outcome) {
        self.executions += outcome.executions;
        self.points += outcome.points;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(batch: &mut Batch, executions: u64, points: u64) {
        batch.ran(&Outcome {
            executions,
            points,
            ..Outcome::default()
        });
    }

    #[test]
    fn batches_grow_and_stay_short_for_long_executions() {
        let mut batch = Batch::default();
        assert_eq!(batch.size(), 1);
        ran(&mut batch, 1, 10);
        assert_eq!(batch.size(), 4);
        ran(&mut batch, 4, 40);
        assert_eq!(batch.size(), 16);
        ran(&mut batch, 1, 100_000_000);
        assert_eq!(batch.size(), 1);
    }
}
