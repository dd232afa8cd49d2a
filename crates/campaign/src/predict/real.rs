//! A predicted violation that happened: a finding, the explanation of one, or a note.
//!
//! It is a finding of `predict` if what the two units of work read and left is what they read and
//! leave in no serial order. If the execution fails as no serial one does, that failure is the finding, and the
//! violation explains it. Everything else may be meant as it is; where there is no serial execution to compare
//! with, that is said at the end of the test. Of the violations of one set between the same two functions one is
//! reported.

use std::time::Instant;

use raddle_analysis::monitor::Observed;
use raddle_analysis::severity::Severity;
use raddle_trace::event::{Action, Trace};
use raddle_trace::finding::{SerialOutcome, Violation};
use raddle_trace::program_map::ProgramMap;
use raddle_trace::runner::{Outcome, PlanRequest};

use super::asset::Candidate;
use super::severity::{self, Judgement};
use super::{Prediction, named, seen, site_key, words};
use crate::evidence::Evidence;
use crate::explain::{Monitored, outcome_in_words, short};
use crate::test_run::TestRun;

/// What violations are told apart by when they are reported: the set, and the keys of both functions.
pub(super) type Kind = (String, Vec<u64>);

/// What an execution shows of a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// It did not happen.
    No,
    /// It happened, and what it led to is not known.
    Unjudged,
    /// It happened, and what it led to is known.
    Judged,
}

/// Looks at an execution in which the order of a potential violation was realised, or that failed. If the
/// violation happened, the execution's findings are taken up too, and it is judged unless it is by now.
pub(super) fn show(
    test: &mut TestRun<'_>,
    map: &ProgramMap,
    candidate: &Candidate,
    request: &PlanRequest,
    outcome: &Outcome,
    prediction: Prediction,
    is_judged: bool,
) -> Shown {
    // The same execution again, with everything written down.
    let recorded = PlanRequest {
        record: true,
        ..request.clone()
    };
    let Some(execution) = test.try_out(&recorded) else {
        return Shown::No;
    };
    let Some(recording) = &execution.recording else {
        return Shown::No;
    };
    let Some(trace) = named(test, recording) else {
        return Shown::No;
    };
    let number = test.course.tally.explored;
    let observed = seen::look_at_try(test, &trace, map, number);
    show_cycles(test, map, &recorded, &execution, &observed, prediction);
    if find(&observed, &trace, candidate).is_none() {
        return Shown::No;
    }
    if is_judged {
        test.sighted(&outcome.findings, request);
        return Shown::Judged;
    }
    let Some(monitored) = test.explainer().monitored(recording) else {
        return Shown::No;
    };
    let Some(observed) = find(&monitored.observed, &monitored.trace, candidate) else {
        return Shown::No;
    };
    let candidate_words = || words::real(&candidate.violation, &candidate.trace, map);
    let case = Case {
        map,
        is_atomic: candidate.violation.is_atomic,
        is_predicted: true,
        words: &candidate_words,
        request: &recorded,
        execution: &execution,
        monitored: &monitored,
        observed,
    };
    case.report(test, outcome, prediction)
}

/// Judges what nobody predicted: two units of work, each of which comes before the other, though no
/// pattern says so (write skew).
pub(super) fn show_cycles(
    test: &mut TestRun<'_>,
    map: &ProgramMap,
    request: &PlanRequest,
    execution: &Outcome,
    observed: &[Observed],
    prediction: Prediction,
) {
    let is_cycle = |observed: &&Observed| observed.pattern == 0 && !observed.accesses.is_empty();
    if test.session.options.prediction.is_none() || !observed.iter().any(|one| is_cycle(&one)) {
        return;
    }
    let Some(recording) = &execution.recording else {
        return;
    };
    let Some(monitored) = test.explainer().monitored(recording) else {
        return;
    };
    let number = test.course.tally.explored;
    for observed in monitored.observed.iter().filter(is_cycle) {
        let kind = kind_of(observed, &monitored.trace);
        if !test.course.hunt.cycles.insert(kind) {
            continue;
        }
        let trace = &monitored.trace;
        let is_atomic = observed.accesses.iter().all(|at| {
            let action = &trace.events[*at as usize].action;
            matches!(action, Action::Access { access, .. } if access.is_atomic())
        });
        let case = Case {
            map,
            is_atomic,
            is_predicted: false,
            words: &|| words::observed(observed, trace, number),
            request,
            execution,
            monitored: &monitored,
            observed,
        };
        case.report(test, execution, prediction);
    }
}

fn kind_of(observed: &Observed, trace: &Trace) -> Kind {
    let mut keys = functions(observed, trace);
    keys.sort_unstable();
    (observed.set.clone(), keys)
}

/// The violation as the monitor sees it: the same pattern, on a set of the same type, between the
/// same functions.
fn find<'a>(all: &'a [Observed], trace: &Trace, candidate: &Candidate) -> Option<&'a Observed> {
    let violation = &candidate.violation;
    let expected = [violation.u.function, violation.v.function]
        .map(|function| site_key(&candidate.trace, function));
    all.iter().find(|observed| {
        observed.pattern == violation.pattern.number
            && observed.set == violation.set
            && functions(observed, trace) == expected
    })
}

fn functions(observed: &Observed, trace: &Trace) -> Vec<u64> {
    let parties = observed.parties.iter();
    parties
        .map(|party| site_key(trace, party.function))
        .collect()
}

/// A violation that happened.
struct Case<'a> {
    map: &'a ProgramMap,
    /// Whether every access is atomic: then it may be meant so.
    is_atomic: bool,
    /// Whether it counts among what was predicted.
    is_predicted: bool,
    /// What is noted if nothing follows from it.
    words: &'a dyn Fn() -> String,
    request: &'a PlanRequest,
    execution: &'a Outcome,
    monitored: &'a Monitored,
    observed: &'a Observed,
}

impl Case<'_> {
    /// Judges it and tells what came of that.
    fn report(&self, test: &mut TestRun<'_>, outcome: &Outcome, prediction: Prediction) -> Shown {
        let Self {
            map,
            request,
            execution,
            monitored,
            observed,
            ..
        } = *self;
        let is_asked = test.session.options.prediction.is_some();
        if !is_asked && severity::failures(execution).is_empty() {
            // Nothing follows from it. Whether it is meant so is for those to say who ask for a
            // prediction: types that hand over from one function to another do the same.
            test.sighted(&outcome.findings, request);
            return Shown::Judged;
        }
        let kind = kind_of(observed, &monitored.trace);
        let start = Instant::now();
        let judgement = severity::judge(test, map, request, execution, monitored, observed);
        test.course.confirming += start.elapsed();
        if !judgement.failures.is_empty() {
            test.course.hunt.judged.insert(kind);
            let evidence = Evidence {
                violation: self.violation(test, &judgement),
                outcome: None,
            };
            test.sighted_with(&outcome.findings, request, &evidence);
            return Shown::Judged;
        }
        test.sighted(&outcome.findings, request);
        if !is_asked {
            return Shown::Judged;
        }
        let is_atomic = self.is_atomic && !prediction.is_strict;
        if judgement.severity == Severity::Unserializable && !is_atomic {
            test.course.hunt.judged.insert(kind);
            self.finding(test, judgement);
            return Shown::Judged;
        }
        let note = (self.words)();
        if judgement.severity == Severity::Unknown && !is_atomic {
            // No finding: functions that hand something over may be meant to mix, and where one has
            // no serial order with the other nothing tells that from a bug. It is not hidden either.
            test.course.hunt.unjudged.entry(kind).or_insert(note);
            return Shown::Unjudged;
        }
        test.course.hunt.judged.insert(kind);
        test.course.hunt.harmless += usize::from(self.is_predicted);
        let names = self.names();
        let why = words::why_harmless(judgement.severity, &names);
        test.session.detail(test.target, format!("{note}; {why}"));
        Shown::Judged
    }

    fn finding(&self, test: &mut TestRun<'_>, judgement: Judgement) {
        let kind = kind_of(self.observed, &self.monitored.trace);
        if !test.course.hunt.told.insert(kind) {
            return;
        }
        let seed = self.request.seed;
        let raw = self.monitored.raw(self.observed, self.execution, seed);
        let evidence = Evidence {
            violation: self.violation(test, &judgement),
            outcome: judgement.outcome,
        };
        // The schedule decides everything; what led to it is no part of the finding.
        let request = PlanRequest {
            rules: Vec::new(),
            ..self.request.clone()
        };
        test.sighted_with(&[raw], &request, &evidence);
    }

    /// Names of both units.
    fn names(&self) -> [String; 2] {
        let name = |index: usize| {
            let site = self.observed.parties[index].function;
            let site = self.monitored.trace.sites.get(site.0 as usize);
            site.map_or_else(String::new, |site| short(&site.function))
        };
        [name(0), name(1)]
    }

    /// The violation for people, with the serial outcomes that it differs from.
    fn violation(&self, test: &mut TestRun<'_>, judgement: &Judgement) -> Option<Violation> {
        let raw = self.monitored.raw(self.observed, self.execution, 0);
        let recording = self.execution.recording.as_ref()?;
        let mut violation = test.explainer().violation(&raw, recording)?;
        let names = self.names();
        for first in [0, 1] {
            let mut of_order = judgement.serial.iter().filter(|(order, _)| *order == first);
            let words = match of_order.next() {
                Some((_, outcome)) => {
                    outcome_in_words(outcome, self.map, &self.observed.set, &names)
                }
                None => "not known".to_owned(),
            };
            violation.serial.push(SerialOutcome {
                first: names[first].clone(),
                outcome: words,
            });
        }
        Some(violation)
    }
}
