//! Orders as lines of text.

use super::Order;
use raddle_abi::plan::{ANY_OCCURRENCE, ANY_THREAD, NO_EVENT, Relation, RuleKind};

/// Events as `thread site occurrence relation`, then rules. Sites that a test does not name are `x`.
pub fn lines(order: &Order) -> Vec<String> {
    let events = order.events.iter().map(|event| {
        let thread = match event.thread {
            ANY_THREAD => "any".to_owned(),
            thread => thread.to_string(),
        };
        let site = match event.site_key {
            1000.. => "x".to_owned(),
            key => key.to_string(),
        };
        let occurrence = match event.occurrence {
            ANY_OCCURRENCE => "any".to_owned(),
            occurrence => occurrence.to_string(),
        };
        let relation = match Relation::from_number(event.relation) {
            Relation::None => String::new(),
            Relation::SameThread => format!(" of {}", event.related),
            Relation::OtherThread => format!(" not {}", event.related),
        };
        let object = match event.object {
            NO_EVENT => String::new(),
            object => format!(" at {object}"),
        };
        format!("{thread} {site} {occurrence}{relation}{object}")
    });
    let rules = order
        .rules
        .iter()
        .map(|rule| match RuleKind::from_number(rule.kind) {
            Some(RuleKind::Before) => format!("{} before {}", rule.event, rule.then),
            Some(RuleKind::Hold) => format!("hold {} after {}", rule.hold, rule.event),
            Some(RuleKind::Until) => format!("hold {} until {}", rule.hold, rule.event),
            None => "unknown".to_owned(),
        });
    events.chain(rules).collect()
}
