//! The violation of an atomic set that a finding is, or follows from: the set, the units of work, what
//! they read and left beside what they would one after the other, and what to do.

use raddle_trace::finding::Violation;

use super::finding::{location, section, wrapped};
use crate::style::Styles;

/// Columns before what is said.
const INDENT: usize = 6;

pub(super) fn text(violation: &Violation, width: usize, styles: &Styles) -> String {
    let mut text = String::new();
    section(&mut text, "atomic set", styles);
    let set = match violation.set.strip_prefix("static ") {
        Some(module) => format!("the statics of {module}"),
        None => violation.set.clone(),
    };
    let fields = violation.fields.join(", ");
    paragraph(&mut text, "    ", &format!("{set}: {fields}"), width);
    section(&mut text, "units of work", styles);
    for unit in &violation.units {
        let place = location(unit);
        let place = styles.dim.apply_to(&place);
        text.push_str(&format!("    {}  {place}\n", unit.function));
    }
    section(&mut text, "outcome", styles);
    outcome(
        &mut text,
        "as it happened",
        &violation.observed,
        width,
        styles,
    );
    for serial in &violation.serial {
        let heading = format!("with {} first", serial.first);
        outcome(&mut text, &heading, &serial.outcome, width, styles);
    }
    if !violation.fix.is_empty() {
        section(&mut text, "suggestion", styles);
        paragraph(&mut text, "    ", &violation.fix, width);
    }
    text
}

fn outcome(text: &mut String, heading: &str, outcome: &str, width: usize, styles: &Styles) {
    text.push_str(&format!("    {}\n", styles.lane.apply_to(heading)));
    for part in outcome.split("; ") {
        paragraph(text, &" ".repeat(INDENT), part, width);
    }
}

fn paragraph(text: &mut String, indent: &str, words: &str, width: usize) {
    for line in wrapped(words, width.saturating_sub(indent.len())) {
        text.push_str(&format!("{indent}{line}\n"));
    }
}
