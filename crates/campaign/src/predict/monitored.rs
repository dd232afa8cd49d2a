//! Executions under random schedules, each watched by the monitor: what prediction is compared
//! with (the paper's RM).

use raddle_analysis::monitor::{Observed, monitor};
use raddle_trace::event::Trace;
use raddle_trace::program_map::ProgramMap;

use super::{Prediction, program_map, record, site_key, words};
use crate::test_run::{Ended, TestRun};

/// What tells violations apart: pattern, name of the set, and keys of the functions.
pub(super) type Kind = (u8, String, Vec<u64>);

/// Runs the test under random schedules, and notes each kind of violation when it is first seen.
pub(super) fn watch(test: &mut TestRun<'_>, prediction: Prediction) -> Ended<()> {
    let map = program_map(test)?;
    while test.course.hunt.profiles < prediction.tries && !test.allowance.is_over() {
        execution(test, &map)?;
        test.allowance.explored();
    }
    let hunt = &test.course.hunt;
    if hunt.profiles >= prediction.tries {
        test.course.is_searched = true;
        let note = words::watched(hunt.observed.len(), hunt.profiles);
        test.session.note(test.target, note);
    }
    match test.course.tally.explored {
        0 => Err(test.course.out_of_time(test.session)),
        _ => Ok(()),
    }
}

fn execution(test: &mut TestRun<'_>, map: &ProgramMap) -> Ended<()> {
    let Some(trace) = record(test, "random")? else {
        return Ok(());
    };
    let number = test.course.hunt.profiles;
    for observed in monitor(&trace, map) {
        if test.course.hunt.observed.insert(kind(&observed, &trace)) {
            let note = words::observed(&observed, &trace, number);
            test.session.note(test.target, note);
        }
    }
    Ok(())
}

fn kind(observed: &Observed, trace: &Trace) -> Kind {
    let functions = observed.parties.iter();
    let mut keys: Vec<_> = functions
        .map(|party| site_key(trace, party.function))
        .collect();
    if observed.pattern == 0 {
        // A cycle has no beginning.
        keys.sort_unstable();
    }
    (observed.pattern, observed.set.clone(), keys)
}
