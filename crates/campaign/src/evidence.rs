//! What is known about a violation of an atomic set beyond that it happened, and how it is
//! recognised in another execution.

use raddle_abi::finding::Kind;
use raddle_analysis::monitor::Observed;
use raddle_analysis::severity;
use raddle_trace::event::Trace;
use raddle_trace::finding::{Finding, Violation};
use raddle_trace::program_map::ProgramMap;
use raddle_trace::runner::{Outcome, RawFinding};

use crate::explain::{Explainer, short};
use crate::fields::set_in_words;

/// See the module's description; empty for what has nothing to do with atomic sets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evidence {
    /// The violation that a finding is, or follows from.
    pub violation: Option<Violation>,
    /// What its units read and left. In an execution in which they do something else, it is another
    /// violation.
    pub outcome: Option<severity::Outcome>,
}

impl Evidence {
    /// The violation with this id in an execution.
    pub fn sight(
        &self,
        explainer: &mut Explainer,
        id: &str,
        outcome: &Outcome,
        seed: u64,
    ) -> Option<RawFinding> {
        let monitored = explainer.monitored(outcome.recording.as_ref()?)?;
        let map = explainer.map()?;
        monitored.observed.iter().find_map(|observed| {
            let raw = monitored.raw(observed, outcome, seed);
            let is_same = explainer.id(&raw) == id && self.holds(&monitored.trace, &map, observed);
            is_same.then_some(raw)
        })
    }

    /// Whether the units do what they did.
    fn holds(&self, trace: &Trace, map: &ProgramMap, observed: &Observed) -> bool {
        let Some(expected) = &self.outcome else {
            return true;
        };
        let run = severity::pair(trace, map, observed)
            .and_then(|pair| severity::run(trace, map, &pair).ok());
        run.is_some_and(|run| run.outcome.agrees(expected))
    }

    /// Adds to a finding what is known.
    pub fn complete(&self, finding: &mut Finding) {
        let Some(known) = &self.violation else {
            return;
        };
        match &mut finding.violation {
            Some(own) => own.serial.clone_from(&known.serial),
            None => {
                finding.cause.push_str(&follows(known));
                finding.violation = Some(known.clone());
            }
        }
    }
}

/// How a failure is explained by a violation.
fn follows(violation: &Violation) -> String {
    let names: Vec<_> = violation
        .units
        .iter()
        .map(|unit| format!("`{}`", short(&unit.function)))
        .collect();
    format!(
        " It follows from a violation of an atomic set: {} mix on {}, and {}. With one after the other \
         it does not happen.",
        names.join(" and "),
        set_in_words(&violation.set),
        violation.meaning
    )
}

/// Adds the violations of a recorded execution to its findings, if `kind` says that they are of
/// interest.
pub(crate) fn add_violations(
    outcome: &mut Outcome,
    kind: Kind,
    seed: u64,
    explainer: &mut Explainer,
) {
    if kind == Kind::AtomicSet {
        let violations = explainer.violations(outcome, seed);
        outcome.findings.extend(violations);
    }
}
