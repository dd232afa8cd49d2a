//! The order that leads into a deadlock: each thread acquires what it holds in the cycle, and
//! nobody what it wants before all have.

use super::{Aim, Draft, Order};
use crate::lock_order::Deadlock;
use raddle_abi::plan::{Relation, RuleKind};
use raddle_trace::event::Trace;

/// The order that shows a deadlock, if the sites of its acquisitions are known.
pub fn order(deadlock: &Deadlock, trace: &Trace, aim: Aim) -> Option<Order> {
    let mut draft = Draft::new(trace, aim);
    let mut held = Vec::new();
    for (index, edge) in deadlock.edges.iter().enumerate() {
        let anchor = match index {
            0 => draft.anchor(edge.held_since)?,
            _ => draft.related(edge.held_since, Relation::OtherThread, index - 1)?,
        };
        held.push(draft.push(anchor));
    }
    for (index, edge) in deadlock.edges.iter().enumerate() {
        let anchor = draft.related(edge.at, Relation::SameThread, held[index])?;
        let wanted = draft.push(anchor);
        for other in held.iter().filter(|other| **other != held[index]) {
            draft.rule(RuleKind::Before, 0, *other, wanted);
        }
    }
    Some(draft.order)
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;
    use super::*;
    use crate::lock_order::predict;
    use crate::testing::story;

    #[test]
    fn all_hold_before_anybody_wants() {
        let trace = story("1+0 1+8 1-8 1-0 2+8 2+0 2-0 2-8");
        let deadlock = &predict(&trace)[0];
        let check = |aim, expected: [&str; 6]| {
            let order = order(deadlock, &trace, aim).expect("all sites are known");
            assert_eq!(lines(&order), expected);
        };
        let [first, second] = ["1 before 2", "0 before 3"];
        check(
            Aim::Same,
            ["1 1 0", "2 5 0", "1 2 0", "2 6 0", first, second],
        );
        check(
            Aim::Any,
            [
                "any 1 any",
                "any 5 any not 0",
                "any 2 any of 0",
                "any 6 any of 1",
                first,
                second,
            ],
        );
    }
}
