//! What a violation led to: its execution beside those in which the two units of work come one after
//! the other.
//!
//! Serial executions have the same beginning, up to where the first of the two units begins: the
//! schedule of the violation is repeated that far, and then either that unit goes on, or the other
//! one's thread is let go until its unit has ended. Where that does not lead to two units in a row,
//! it is tried with a switch at the end of the first one, and the unit that comes second may also
//! come up to its beginning before. What is left is unknown.

use raddle_abi::finding::Kind;
use raddle_abi::plan::Switch;
use raddle_analysis::monitor::Observed;
use raddle_analysis::severity::{self, Outcome, Pair, Run, Severity};
use raddle_schedule::anchor::switches_by_step;
use raddle_trace::event::{Action, Trace};
use raddle_trace::program_map::ProgramMap;
use raddle_trace::runner::{Outcome as Execution, PlanRequest, RawRecording};

use crate::explain::Monitored;
use crate::test_run::TestRun;

/// What is known about the effect of a violation.
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

/// The executions of a test that are compared.
struct Court<'t, 's> {
    test: &'t mut TestRun<'s>,
    map: &'t ProgramMap,
    request: &'t PlanRequest,
    pair: Pair,
    serial: Vec<(usize, Outcome)>,
    /// Failures of serial executions.
    failures: Vec<Kind>,
}

/// A recorded execution in which units are looked for.
struct Case<'a> {
    recording: &'a RawRecording,
    monitored: &'a Monitored,
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
    let unknown = |failures: Vec<Kind>| Judgement {
        severity: Severity::Unknown,
        outcome: None,
        serial: Vec::new(),
        failures,
    };
    let Some(recording) = execution.recording.as_ref().filter(|all| !all.overflow) else {
        return unknown(failures);
    };
    let Some(pair) = severity::pair(&monitored.trace, map, observed) else {
        return unknown(failures);
    };
    let spans = severity::spans(&monitored.trace, map, &pair);
    let own = severity::run(&monitored.trace, map, &pair).ok();
    let case = Case {
        recording,
        monitored,
    };
    let mut court = Court {
        test,
        map,
        request,
        pair,
        serial: Vec::new(),
        failures: Vec::new(),
    };
    if let [Some(u), Some(v)] = spans
        && let [Some(u), Some(v)] = [u, v].map(|span| case.standing(span.begins))
    {
        court.hear(execution, &case, [u, v]);
    }
    let severity = own.as_ref().map_or(Severity::Unknown, |run| {
        severity::compare(&run.outcome, &court.serial)
    });
    let only_here = |kind: &Kind| !court.failures.contains(kind);
    Judgement {
        severity,
        failures: failures.into_iter().filter(only_here).collect(),
        outcome: own.map(|run| run.outcome),
        serial: court.serial,
    }
}

/// Kinds of failures in an execution.
fn failures(execution: &Execution) -> Vec<Kind> {
    let kinds = Kind::ALL.iter().copied();
    kinds
        .filter(|kind| !matches!(kind, Kind::DataRace | Kind::AtomicSet))
        .filter(|kind| execution.occurrences[*kind as usize] > 0)
        .collect()
}

/// Where a thread stands before a step.
#[derive(Clone, Copy)]
struct Standing {
    thread: u16,
    /// Index of the pick that lets it go on.
    pick: usize,
    /// How often it was picked before.
    steps: u32,
}

impl Case<'_> {
    /// Where a thread stands when it next comes to a scheduling point, at or after an event of its.
    fn standing(&self, at: u32) -> Option<Standing> {
        let event = self.recording.events.get(self.monitored.origin(at))?;
        let picks = &self.recording.picks;
        let later = picks.iter().enumerate().skip(event.point as usize);
        let (pick, _) = later
            .into_iter()
            .find(|(_, (thread, _))| *thread == event.thread)?;
        Some(Standing {
            thread: event.thread,
            pick,
            steps: self.steps(event.thread, pick),
        })
    }

    /// How often a thread was picked before.
    fn steps(&self, thread: u16, pick: usize) -> u32 {
        let before = self.recording.picks[..pick].iter();
        before.filter(|(picked, _)| *picked == thread).count() as u32
    }

    /// Lets `to` go on in place of whoever was picked.
    fn switch_at(&self, pick: usize, to: u16) -> Option<Switch> {
        let (from, _) = *self.recording.picks.get(pick.checked_sub(1)?)?;
        Some(Switch {
            from,
            to,
            occurrence: self.steps(from, pick),
            site_key: 0,
        })
    }
}

const fn switch(from: Standing, to: u16) -> Switch {
    Switch {
        from: from.thread,
        to,
        occurrence: from.steps,
        site_key: 0,
    }
}

impl Court<'_, '_> {
    /// Runs both units in both orders.
    fn hear(&mut self, execution: &Execution, case: &Case<'_>, begins: [Standing; 2]) {
        let early = usize::from(begins[1].pick < begins[0].pick);
        let late = 1 - early;
        let start = begins[early].pick;
        let before = |limit: usize| {
            let decisions = execution.decisions.iter();
            let kept: Vec<_> = decisions
                .filter(|decision| (decision.point as usize) < limit)
                .copied()
                .collect();
            switches_by_step(&kept)
        };
        let (one, other) = (begins[early], begins[late]);
        self.in_a_row(early, before(start + 1), other.thread);
        let Some(turn) = case.switch_at(start, other.thread) else {
            return;
        };
        let mut turned = before(start);
        turned.push(turn);
        // The other thread may have done something else before its unit.
        let mut come_up = turned.clone();
        come_up.push(switch(other, one.thread));
        self.in_a_row(late, turned, one.thread);
        self.in_a_row(early, come_up, other.thread);
    }

    /// Runs a schedule after which this unit should come first; if others get in between, once more
    /// with a switch to `then` at its end.
    fn in_a_row(&mut self, first: usize, switches: Vec<Switch>, then: u16) {
        let Some(end) = self.attempt(first, &switches) else {
            return;
        };
        let mut switches = switches;
        switches.push(switch(end, then));
        self.attempt(first, &switches);
    }

    /// Runs a schedule. If the units did not come in a row, where the first one ended.
    fn attempt(&mut self, first: usize, switches: &[Switch]) -> Option<Standing> {
        let request = PlanRequest {
            strategy: "replay".to_owned(),
            executions: 1,
            record: true,
            threads: Vec::new(),
            switches: switches.to_vec(),
            rules: Vec::new(),
            ..self.request.clone()
        };
        let execution = self.test.try_out(&request)?;
        self.test.sighted(&execution.findings, &request);
        let recording = execution.recording.as_ref().filter(|all| !all.overflow)?;
        let monitored = self.test.explainer().monitored(recording)?;
        let run = severity::run(&monitored.trace, self.map, &self.pair);
        if let Ok(Run { outcome, .. }) = &run
            && run.as_ref().is_ok_and(|run| run.first() == Some(first))
        {
            self.serial.push((first, outcome.clone()));
            self.failures.extend(failures(&execution));
            return None;
        }
        let span = severity::spans(&monitored.trace, self.map, &self.pair)[first]?;
        let end = end_of(&monitored.trace, span.begins)?;
        let case = Case {
            recording,
            monitored: &monitored,
        };
        case.standing(end)
    }
}

/// Where the function is left that was entered last at or before this event of its thread.
fn end_of(trace: &Trace, begins: u32) -> Option<u32> {
    let thread = trace.events.get(begins as usize)?.thread;
    let is_entry = matches!(trace.events[begins as usize].action, Action::Enter { .. });
    let mut open = i64::from(!is_entry);
    let events = trace.events.iter().enumerate().skip(begins as usize);
    for (at, event) in events.filter(|(_, event)| event.thread == thread) {
        match event.action {
            Action::Enter { .. } => open += 1,
            Action::Leave { .. } => open -= 1,
            _ => {}
        }
        if open == 0 {
            return Some(at as u32);
        }
    }
    None
}
