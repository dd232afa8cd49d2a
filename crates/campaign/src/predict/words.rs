//! What prediction says, in sentences.

use raddle_analysis::monitor::Observed;
use raddle_analysis::patterns::{Slot, Who};
use raddle_analysis::predict::{Access, Prediction, Violation};
use raddle_analysis::severity::Severity;
use raddle_trace::event::{Action, SiteIndex, Trace};
use raddle_trace::program_map::ProgramMap;

use super::Hunt;
use crate::fields::{self, quoted, set_in_words};

/// What came of a test.
pub(super) fn summary(hunt: &Hunt) -> Vec<String> {
    let deadlocks = &hunt.deadlocks;
    let violations = violations(hunt.predicted, hunt.real);
    let harmless = harmless(hunt.harmless);
    let rate = rate(hunt.monitored.hits, hunt.monitored.tries);
    let mut notes = vec![format!("{violations}{harmless}{rate}")];
    if deadlocks.predicted > 0 {
        let became = match deadlocks.shown {
            0 => "none happened".to_owned(),
            shown => format!("{shown} happened"),
        };
        let predicted = counted(deadlocks.predicted, "deadlock", "deadlocks");
        notes.push(format!(
            "{predicted} predicted from the order of locks, {became}"
        ));
    }
    notes
}

/// Violations of kinds of which none could be judged, each with what tells it from others.
pub(super) fn unjudged(hunt: &Hunt) -> Vec<(String, String)> {
    let unjudged = hunt.unjudged.iter();
    let unjudged = unjudged.filter(|(kind, _)| !hunt.judged.contains(*kind));
    let named = unjudged.map(|((set, functions), words)| {
        let sentence = format!(
            "{words}; whether that does harm is not known, because no execution was found with one function wholly \
             after the other to compare it with"
        );
        (format!("atomic-set {set} {functions:x?}"), sentence)
    });
    named.collect()
}

fn violations(predicted: usize, real: usize) -> String {
    match predicted {
        0 => "no violation of an atomic set is predicted".to_owned(),
        1 => format!("1 violation of an atomic set was predicted, {real} became real"),
        _ => format!("{predicted} violations of atomic sets were predicted, {real} became real"),
    }
}

/// How often a try showed a violation.
fn rate(hits: u64, tries: u64) -> String {
    match (hits, tries) {
        (_, 0) => String::new(),
        (1, 1) => "; the first try showed one".to_owned(),
        _ => format!("; {hits} of {tries} tries showed one"),
    }
}

/// Those that led to nothing.
fn harmless(number: usize) -> String {
    match number {
        0 => String::new(),
        1 => ", 1 of them without a harm that was seen (`--verbose` shows it)".to_owned(),
        _ => format!(", {number} of them without a harm that was seen (`--verbose` shows them)"),
    }
}

/// What came of predicted races.
pub(super) fn races(hunt: &Hunt) -> String {
    let predicted = counted(hunt.predicted, "race", "races");
    match hunt.predicted {
        0 => format!("{predicted} predicted"),
        _ => format!("{predicted} predicted, {} made to happen", hunt.real),
    }
}

/// What came of blocks that may be broken.
pub(super) fn blocks(hunt: &Hunt) -> String {
    let predicted = counted(hunt.predicted, "block", "blocks");
    if hunt.predicted == 0 {
        return format!("{predicted} predicted to give a lock up and acquire it again");
    }
    format!(
        "{predicted} predicted to give a lock up and acquire it again, {} broken by another thread",
        hunt.real
    )
}

/// What came of random schedules.
pub(super) fn ran(hunt: &Hunt) -> String {
    let executions = counted(hunt.monitored.tries as usize, "execution", "executions");
    format!("{executions} run under random schedules")
}

fn counted(number: usize, one: &str, several: &str) -> String {
    match number {
        0 => format!("no {one} was"),
        1 => format!("1 {one} was"),
        number => format!("{number} {several} were"),
    }
}

/// What came of a test that was only watched.
pub(super) fn watched(kinds: usize, executions: u64) -> String {
    match kinds {
        0 => format!("no violation of an atomic set was seen in {executions} executions"),
        1 => format!("1 kind of violation of an atomic set was seen in {executions} executions"),
        _ => format!(
            "{kinds} kinds of violations of atomic sets were seen in {executions} executions"
        ),
    }
}

/// A violation that the monitor saw.
pub(super) fn observed(observed: &Observed, trace: &Trace, execution: u64) -> String {
    let functions: Vec<_> = observed
        .parties
        .iter()
        .map(|party| format!("`{}`", function(trace, party.function)))
        .collect();
    let kind = match observed.pattern {
        0 => "a cycle that matches no pattern".to_owned(),
        number => format!("pattern {number}"),
    };
    format!(
        "a violation of {} was seen ({kind}) between {}, first in execution {execution}",
        set_in_words(&observed.set),
        functions.join(" and ")
    )
}

/// What was not looked at.
pub(super) fn limits(prediction: &Prediction) -> Option<String> {
    let (shortened, left_out) = (prediction.shortened, prediction.left_out);
    (shortened + left_out > 0).then(|| {
        format!(
            "prediction did not look at everything: of {shortened} units of work some accesses, and {left_out} units \
             not at all, because there were too many"
        )
    })
}

/// A violation that happened.
pub(super) fn real(violation: &Violation, trace: &Trace, map: &ProgramMap) -> String {
    let set = set_in_words(&violation.set);
    let what = what(violation, trace, map);
    format!("a violation of {set} happened {what}")
}

/// One that did not.
pub(super) fn unreal(violation: &Violation, trace: &Trace, map: &ProgramMap, tries: u64) -> String {
    let set = set_in_words(&violation.set);
    let what = what(violation, trace, map);
    format!("a violation of {set} was predicted that did not happen in {tries} tries {what}")
}

/// What happens in it.
fn what(violation: &Violation, trace: &Trace, map: &ProgramMap) -> String {
    let u = function(trace, violation.u.function);
    let v = function(trace, violation.v.function);
    let steps: Vec<_> = violation
        .accesses
        .iter()
        .map(|access| step(violation, access, trace, map, (u, v)))
        .collect();
    format!(
        "({}; pattern {}): {}",
        violation.pattern.meaning,
        violation.pattern.number,
        steps.join(", then ")
    )
}

/// Why a violation that happened is no finding.
pub(super) fn why_harmless(severity: Severity, names: &[String; 2]) -> String {
    match severity {
        Severity::AsIf(first) => format!(
            "what was read and left is the same as with `{}` before `{}`",
            names[first],
            names[1 - first]
        ),
        Severity::Waits(unit) => format!(
            "`{}` waits for others in its middle, and lets them in",
            names[unit]
        ),
        Severity::Unserializable | Severity::Unknown => {
            "every access is atomic, so that it may be meant so (`--strict` reports it)".to_owned()
        }
    }
}

fn function(trace: &Trace, site: SiteIndex) -> &str {
    let site = trace.sites.get(site.0 as usize);
    site.map_or("a function", |site| site.function.as_str())
}

fn step(
    violation: &Violation,
    access: &Access,
    trace: &Trace,
    map: &ProgramMap,
    (u, v): (&str, &str),
) -> String {
    let unit = if access.who == Who::U { u } else { v };
    let verb = if access.slot == Slot::Read {
        "reads"
    } else {
        "writes"
    };
    let line = line(access, trace).map_or_else(String::new, |line| format!(" at line {line}"));
    format!(
        "`{unit}` {verb} {}{line}",
        place(violation, access, trace, map)
    )
}

/// The field that is touched, without the insides of wrappers.
fn place(violation: &Violation, access: &Access, trace: &Trace, map: &ProgramMap) -> String {
    let (set, instance) = (&violation.set, violation.instance);
    quoted(&match &access.behind {
        Some(behind) => fields::owned(map, set, behind),
        None => fields::place(trace, map, set, instance, access.place),
    })
}

/// The line of the access, if it stands in the file of the function that is being executed.
fn line(access: &Access, trace: &Trace) -> Option<u32> {
    let site = trace.sites.get(access.site?.0 as usize)?;
    // What the standard library does on behalf of a function has a line of its own there.
    let entered = innermost(access.at, trace)?;
    let own = trace.sites.get(entered.0 as usize)?;
    (own.file == site.file && site.line > 0).then_some(site.line)
}

/// The function that an event's thread entered last and had not left.
fn innermost(at: u32, trace: &Trace) -> Option<SiteIndex> {
    let events = &trace.events[..=at as usize];
    let thread = events.last()?.thread;
    let mut left = 0_u32;
    let own = events.iter().rev().filter(|event| event.thread == thread);
    for event in own {
        match event.action {
            Action::Leave { .. } => left += 1,
            Action::Enter { .. } if left == 0 => return event.site,
            Action::Enter { .. } => left -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_put_in_words() {
        assert_eq!(
            violations(0, 0),
            "no violation of an atomic set is predicted"
        );
        assert_eq!(
            violations(1, 0),
            "1 violation of an atomic set was predicted, 0 became real"
        );
        assert_eq!(
            violations(3, 2),
            "3 violations of atomic sets were predicted, 2 became real"
        );
        assert_eq!(rate(0, 0), "");
        assert_eq!(rate(1, 1), "; the first try showed one");
        assert_eq!(rate(3, 7), "; 3 of 7 tries showed one");
        assert_eq!(limits(&Prediction::default()), None);
        let cut = Prediction {
            left_out: 2,
            ..Prediction::default()
        };
        assert!(limits(&cut).is_some_and(|words| words.contains("2 units not at all")));
    }
}
