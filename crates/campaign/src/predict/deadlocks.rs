//! Deadlocks that are predicted from the order of locks and made to happen. Those that do are
//! findings of the oracle for deadlocks.

use raddle_abi::finding::Kind;
use raddle_analysis::lock_order::{Deadlock, predict};
use raddle_analysis::plan::{Aim, Order, lock_order as plan};
use raddle_trace::event::Trace;
use raddle_trace::runner::Outcome;

use super::pursuit::{Pool, Quarry};
use super::{Hunt, key_of};

impl Quarry for Deadlock {
    const WAYS: u64 = 1;

    fn predict(trace: &Trace) -> Vec<Self> {
        predict(trace)
    }

    fn key(&self, trace: &Trace) -> Vec<u64> {
        let mut keys: Vec<_> = self
            .edges
            .iter()
            .map(|edge| key_of(trace, edge.site))
            .collect();
        keys.sort_unstable();
        keys
    }

    fn order(&self, trace: &Trace, aim: Aim, _way: u64) -> Option<Order> {
        plan::order(self, trace, aim)
    }

    fn is_shown(outcome: &Outcome) -> bool {
        outcome.occurrences[Kind::Deadlock as usize] > 0
    }

    fn pool(hunt: &mut Hunt) -> &mut Pool<Self> {
        &mut hunt.deadlocks
    }
}
