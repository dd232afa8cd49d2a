//! What a violation led to: its execution beside those in which the two units of work come one after
//! the other ([`super::serial_order`]).

use raddle_abi::finding::Kind;
use raddle_analysis::monitor::Observed;
use raddle_analysis::severity::{self, Outcome, Severity};
use raddle_trace::program_map::ProgramMap;
use raddle_trace::runner::{Outcome as Execution, PlanRequest};

use super::serial_order::{Search, SerialRuns};
use crate::explain::Monitored;
use crate::test_run::TestRun;

/// What is known about the effect of a violation.
#[derive(Default)]
pub(super) struct Judgement {
    /// How its outcome compares with serial ones.
    pub severity: Severity,
    /// The outcome.
    pub outcome: Option<Outcome>,
    /// Serial ones, each with the unit that comes first.
    pub serial: Vec<(usize, Outcome)>,
    /// Failures that no serial execution shows.
    pub failures: Vec<Kind>,
}

/// Judges a violation that was seen in an execution of `request`.
pub(super) fn judge(
    test: &mut TestRun<'_>,
    map: &ProgramMap,
    request: &PlanRequest,
    execution: &Execution,
    monitored: &Monitored,
    observed: &Observed,
) -> Judgement {
    let failures = failures(execution);
    let is_whole = execution
        .recording
        .as_ref()
        .is_some_and(|all| !all.overflow);
    let pair = severity::pair(&monitored.trace, map, observed).filter(|_| is_whole);
    let Some(pair) = pair else {
        return Judgement {
            failures,
            ..Judgement::default()
        };
    };
    let own = severity::run(&monitored.trace, map, &pair);
    // Without an outcome to compare, the serial executions still say which failures they have.
    let unknown = Outcome::default();
    let outcome = own.as_ref().map_or(&unknown, |run| &run.outcome);
    let mut search = Search {
        test,
        map,
        request,
        pair: &pair,
        observed: outcome,
        found: SerialRuns::default(),
    };
    let spans = severity::spans(&monitored.trace, map, &pair);
    if let [Some(u), Some(v)] = spans
        && (own.is_ok() || !failures.is_empty())
    {
        search.run(execution, monitored, [u, v]);
    }
    let SerialRuns {
        outcomes: serial,
        failures: of_serial,
    } = search.found;
    let severity = own.as_ref().map_or(Severity::Unknown, |run| {
        severity::compare(&run.outcome, &serial)
    });
    let only_here = |kind: &Kind| !of_serial.contains(kind);
    Judgement {
        severity,
        failures: failures.into_iter().filter(only_here).collect(),
        outcome: own.ok().map(|run| run.outcome),
        serial,
    }
}

/// Kinds of failures in an execution.
pub(super) fn failures(execution: &Execution) -> Vec<Kind> {
    let kinds = Kind::ALL.iter().copied();
    kinds
        .filter(|kind| !matches!(kind, Kind::DataRace | Kind::AtomicSet))
        .filter(|kind| execution.occurrences[*kind as usize] > 0)
        .collect()
}
