//! Races that are predicted and made to happen: RaceFuzzer (Sen, PLDI 2008), one of the systems
//! that prediction of violations is compared with.

use raddle_analysis::plan::{Aim, Order, race as plan};
use raddle_analysis::race::{Race, predict};
use raddle_trace::event::Trace;
use raddle_trace::runner::Outcome;

use super::pursuit::{self, Pool, Quarry};
use super::{Hunt, Prediction, key_of, program_map, words};
use crate::test_run::{Ended, TestRun};

impl Quarry for Race {
    // Either access may be the first one.
    const WAYS: u64 = 2;

    fn predict(trace: &Trace) -> Vec<Self> {
        predict(trace)
    }

    fn key(&self, trace: &Trace) -> Vec<u64> {
        let sites = self.accesses.iter();
        let mut keys: Vec<_> = sites.map(|access| key_of(trace, access.site)).collect();
        keys.sort_unstable();
        keys
    }

    fn order(&self, trace: &Trace, aim: Aim, way: u64) -> Option<Order> {
        plan::order(self, trace, aim, way == 1)
    }

    fn is_shown(outcome: &Outcome) -> bool {
        outcome.realised > 0
    }

    fn pool(hunt: &mut Hunt) -> &mut Pool<Self> {
        &mut hunt.races
    }
}

/// Predicts races and brings their accesses next to each other.
pub(super) fn hunt(test: &mut TestRun<'_>, prediction: Prediction) -> Ended<()> {
    let map = program_map(test)?;
    pursuit::profile::<Race>(test, &map, prediction)?;
    pursuit::pursue_all::<Race>(test, &map, prediction)?;
    let hunt = &mut test.course.hunt;
    (hunt.predicted, hunt.real) = (hunt.races.predicted, hunt.races.shown);
    if hunt.races.waiting.is_empty() && hunt.profiles >= prediction.profiles {
        test.course.is_searched = true;
        let note = words::races(&test.course.hunt);
        test.session.note(test.target, note);
    }
    test.has_explored()
}
