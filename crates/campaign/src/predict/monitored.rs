//! Executions under random schedules, each watched by the monitor: what prediction is compared
//! with (the paper's RM).

use super::{Prediction, program_map, record, words};
use crate::test_run::{Ended, TestRun};

/// Runs the test under random schedules, and notes each kind of violation when it is first seen.
pub(super) fn watch(test: &mut TestRun<'_>, prediction: Prediction) -> Ended<()> {
    let map = program_map(test)?;
    while test.course.hunt.profiles < prediction.tries && !test.allowance.is_over() {
        test.course.hunt.monitored.tries += 1;
        if let Some((_, observed)) = record(test, &map, "random")? {
            test.course.hunt.monitored.hits += u64::from(!observed.is_empty());
        }
        test.allowance.explored();
        test.allowance.ran();
    }
    let hunt = &test.course.hunt;
    if hunt.profiles >= prediction.tries {
        test.course.is_searched = true;
        let note = words::watched(hunt.monitored.kinds(), hunt.profiles);
        test.session.note(test.target, note);
    }
    test.has_explored()
}
