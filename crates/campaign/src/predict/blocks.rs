//! Blocks that give a lock up and acquire it again, with another thread in between: AtomFuzzer
//! (Park, Sen, FSE 2008), one of the systems that prediction of violations is compared with.
//!
//! It has a number of executions in all, which the blocks share in turn; where there is no such
//! block, there is nothing to do for it. What it cannot show are bugs of which one side takes no lock.

use std::sync::Arc;

use raddle_analysis::lock_pattern::{Broken, predict};
use raddle_analysis::plan::{Aim, Order, lock_pattern as plan};
use raddle_trace::event::Trace;
use raddle_trace::runner::Outcome;

use super::pursuit::{self, Pool, Quarry};
use super::{Hunt, Prediction, key_of, program_map, words};
use crate::test_run::{Ended, TestRun};

impl Quarry for Broken {
    const WAYS: u64 = 1;

    fn predict(trace: &Trace) -> Vec<Self> {
        predict(trace)
    }

    fn key(&self, trace: &Trace) -> Vec<u64> {
        let acquisitions = [&self.first, &self.between, &self.again];
        acquisitions
            .map(|acquisition| key_of(trace, acquisition.site))
            .to_vec()
    }

    fn order(&self, trace: &Trace, aim: Aim, _way: u64) -> Option<Order> {
        plan::order(self, trace, aim)
    }

    fn is_shown(outcome: &Outcome) -> bool {
        outcome.realised > 0
    }

    fn pool(hunt: &mut Hunt) -> &mut Pool<Self> {
        &mut hunt.blocks
    }
}

/// Breaks blocks, in turn.
pub(super) fn hunt(test: &mut TestRun<'_>, prediction: Prediction) -> Ended<()> {
    let map = program_map(test)?;
    pursuit::profile::<Broken>(test, &map, prediction)?;
    let blocks: Vec<_> = test.course.hunt.blocks.waiting.iter().cloned().collect();
    let mut is_shown = vec![false; blocks.len()];
    let is_enough = |hunt: &Hunt| blocks.is_empty() || hunt.monitored.tries >= prediction.tries;
    while !is_enough(&test.course.hunt) && !test.allowance.is_over() {
        let attempt = test.course.hunt.monitored.tries;
        let index = attempt as usize % blocks.len();
        let round = attempt / blocks.len() as u64;
        let block = Arc::clone(&blocks[index]);
        match block.quarry.order(&block.trace, pursuit::aim(round), 0) {
            Some(order) => {
                let outcome = pursuit::directed(test, &map, order, attempt)?;
                is_shown[index] |= Broken::is_shown(&outcome);
            }
            None => test.course.hunt.monitored.tries += 1,
        }
        test.allowance.explored();
        test.allowance.ran();
    }
    let hunt = &mut test.course.hunt;
    let shown = is_shown.iter().filter(|is_shown| **is_shown).count();
    hunt.blocks.shown = hunt.blocks.shown.max(shown);
    (hunt.predicted, hunt.real) = (hunt.blocks.predicted, hunt.blocks.shown);
    if is_enough(hunt) {
        test.course.is_searched = true;
        let note = words::blocks(&test.course.hunt);
        test.session.note(test.target, note);
    }
    test.has_explored()
}
