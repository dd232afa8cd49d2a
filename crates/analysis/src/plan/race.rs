//! The order that brings two racing accesses next to each other.
//!
//! RaceFuzzer (Sen, PLDI 2008) lets a thread wait before its access until another one is about to
//! touch the same place, and then draws who is first. Here the one that is first is held after
//! its access until the other one has touched the place too.

use super::{Aim, Draft, Order};
use crate::race::Race;
use raddle_abi::plan::{EventAnchor, Relation, RuleKind};
use raddle_trace::event::Trace;

/// The order that shows a race, if the sites of its accesses are known; `turned` has the second
/// access of the race first.
pub fn order(race: &Race, trace: &Trace, aim: Aim, turned: bool) -> Option<Order> {
    let mut places = [race.accesses[0].at, race.accesses[1].at];
    if turned {
        places.reverse();
    }
    let mut draft = Draft::new(trace, aim);
    let first = draft.anchor(places[0])?;
    let mut second = draft.related(places[1], Relation::OtherThread, 0)?;
    // Parts of what a wide access touches have another address.
    if aim == Aim::Any && race.accesses[0].location == race.accesses[1].location {
        second = EventAnchor {
            object: 0,
            ..second
        };
    }
    let (first, second) = (draft.push(first), draft.push(second));
    draft.rule(RuleKind::Before, 0, first, second);
    draft.rule(RuleKind::Hold, 1, first, 0);
    draft.rule(RuleKind::Until, 1, second, 0);
    Some(draft.order)
}

#[cfg(test)]
mod tests {
    use super::super::testing::lines;
    use super::*;
    use crate::race::predict;
    use crate::testing::story;

    #[test]
    fn the_first_is_held_until_the_second_has_come() {
        let trace = story("1Wx 2Rx");
        let race = &predict(&trace)[0];
        let check = |aim, turned, expected: [&str; 5]| {
            let order = order(race, &trace, aim, turned).expect("all sites are known");
            assert_eq!(lines(&order), expected);
        };
        let rules = ["0 before 1", "hold 1 after 0", "hold 1 until 1"];
        let [before, after, until] = rules;
        check(Aim::Same, false, ["1 1 0", "2 2 0", before, after, until]);
        check(Aim::Same, true, ["2 2 0", "1 1 0", before, after, until]);
        let any = ["any 1 any", "any 2 any not 0 at 0", before, after, until];
        check(Aim::Any, false, any);
    }
}
