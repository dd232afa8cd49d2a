//! Executions under random schedules, of which the monitor looks at those that fail: what every
//! other engine is compared with.

use raddle_trace::program_map::ProgramMap;
use raddle_trace::runner::PlanRequest;

use super::{Prediction, program_map, recorded, seen, words};
use crate::test_run::{Ended, TestRun};

/// Executions of a plan.
const BATCH: u64 = 64;
/// Plans that end with the process before the test is left alone.
const BROKEN: u32 = 3;

/// Runs the test under random schedules.
pub(super) fn run(test: &mut TestRun<'_>, prediction: Prediction) -> Ended<()> {
    let map = program_map(test)?;
    let mut broken = 0;
    while test.course.hunt.monitored.tries < prediction.tries && !test.allowance.is_over() {
        let done = test.course.hunt.monitored.tries;
        let mut request = test.request("random", BATCH.min(prediction.tries - done));
        request.seed = request.seed.wrapping_add(done);
        let outcome = test.plan(&request)?;
        test.sighted(&outcome.findings, &request);
        let seeds: Vec<u64> = outcome.findings.iter().map(|raw| raw.seed).collect();
        for seed in seeds {
            failed(test, &map, &request, seed);
        }
        // The execution that broke the worker was not counted.
        let executions = outcome.executions.max(1);
        test.course.hunt.monitored.tries += executions;
        test.course.tally.explored += executions;
        test.allowance.explored();
        test.allowance.ran();
        broken += u32::from(outcome.died.is_some());
        if broken == BROKEN {
            break;
        }
    }
    if test.course.hunt.monitored.tries >= prediction.tries || broken == BROKEN {
        test.course.is_searched = true;
        let note = words::ran(&test.course.hunt);
        test.session.note(test.target, note);
    }
    test.has_explored()
}

/// Looks at an execution that failed.
fn failed(test: &mut TestRun<'_>, map: &ProgramMap, request: &PlanRequest, seed: u64) {
    let before = seed.wrapping_sub(request.seed);
    let execution = test.course.tally.explored + before + 1;
    let request = PlanRequest {
        seed,
        executions: 1,
        ..request.clone()
    };
    if let Some(trace) = recorded(test, &request) {
        seen::look_at_try(test, &trace, map, execution);
    }
}
