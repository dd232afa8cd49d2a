//! The order in which another thread acquires a lock that a block has given up and acquires again.
//!
//! AtomFuzzer's (Park, Sen, FSE 2008): the block is held once it has given the lock up, until the
//! other thread asks for it.

use super::{Aim, Draft, Order};
use crate::lock_pattern::Broken;
use raddle_abi::plan::{Relation, RuleKind};
use raddle_trace::event::{LockStep, Trace};

/// The order that breaks a block, if the sites of its acquisitions are known.
pub fn order(broken: &Broken, trace: &Trace, aim: Aim) -> Option<Order> {
    let mut draft = Draft::new(trace, aim);
    let Broken {
        lock,
        first,
        between,
        again,
        ..
    } = broken;
    let released = draft.next(first.thread, first.at, *lock, LockStep::Release)?;
    let acquires = draft.anchor(first.at)?;
    let comes = draft.related(between.at, Relation::OtherThread, 0)?;
    let returns = draft.related(again.at, Relation::SameThread, 0)?;
    let gives_up = draft.related(released, Relation::SameThread, 0)?;
    let [acquires, comes, returns, gives_up] =
        [acquires, comes, returns, gives_up].map(|anchor| draft.push(anchor));
    draft.rule(RuleKind::Before, 0, gives_up, comes);
    draft.rule(RuleKind::Before, 0, comes, returns);
    draft.rule(RuleKind::Hold, 1, acquires, 0);
    draft.rule(RuleKind::Hold, 1, gives_up, 0);
    draft.rule(RuleKind::Until, 1, comes, 0);
    Some(draft.order)
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;
    use super::*;
    use crate::lock_pattern::predict;
    use crate::testing::story;

    #[test]
    fn the_block_is_held_after_it_gave_the_lock_up() {
        let trace = story("1+0 1+8 1-8 1+8 1-8 1-0 2+8 2-8");
        let broken = &predict(&trace)[0];
        let order = order(broken, &trace, Aim::Same).expect("all sites are known");
        let expected = [
            "1 2 0",
            "2 7 0",
            "1 4 0",
            "1 3 0",
            "3 before 1",
            "1 before 2",
            "hold 1 after 0",
            "hold 1 after 3",
            "hold 1 until 1",
        ];
        assert_eq!(lines(&order), expected);
    }
}
