//! Executions in which two units of work come one after the other.
//!
//! For each of the two orders a few executions are tried until one has the units in a row and can
//! be compared with the violation, which needs the same set before and no writes of others in
//! between. Each begins with the schedule of the violation, up to where the first of the two units
//! gets to the set. From there on the strategy `unit-order` lets both threads get that far, be it by
//! starting them, and then each unit run to its end. Where that leads to another state, the units
//! are held where their functions begin, the first one does not wait for the second one's thread to
//! get ready, and the beginning is another one by chance.
//!
//! Where a unit begins and ends is known by scheduling points of the execution before. What a unit
//! does depends on what it reads, so that its end is looked for again in the execution that was
//! meant to be serial, and that is repeated with the new bounds.

use raddle_abi::finding::Kind;
use raddle_abi::plan::{
    ANY_THREAD, Decision, EventAnchor, NO_EVENT, Rule, RuleKind, Switch, ThreadAnchor,
};
use raddle_abi::site::Operation;
use raddle_analysis::severity::{self, Outcome, Pair, Span};
use raddle_schedule::anchor::{Passed, Spawn, anchor_threads, switches_by_site, switches_by_step};
use raddle_trace::event::{Action, Location, LockStep, Trace};
use raddle_trace::program_map::ProgramMap;
use raddle_trace::runner::{Outcome as Execution, PlanRequest, RawRecording};

use super::severity::failures;
use crate::explain::{Explainer, Monitored};
use crate::test_run::TestRun;

/// Executions with the same beginning, each with the bounds that the one before shows.
const ROUNDS: usize = 3;
/// Beginnings that are left to chance.
const BY_CHANCE: u64 = 4;

/// What serial executions came to.
#[derive(Default)]
pub(super) struct SerialRuns {
    /// What the units did, with the one that came first.
    pub outcomes: Vec<(usize, Outcome)>,
    /// Failures in these executions.
    pub failures: Vec<Kind>,
}

/// The search for serial executions of two units.
pub(super) struct Search<'t, 's> {
    pub test: &'t mut TestRun<'s>,
    pub map: &'t ProgramMap,
    /// The plan of the violation.
    pub request: &'t PlanRequest,
    pub pair: &'t Pair,
    /// What the violation led to.
    pub observed: &'t Outcome,
    pub found: SerialRuns,
}

/// A recorded execution, as far as it says where units are.
struct Recorded<'a> {
    recording: &'a RawRecording,
    monitored: &'a Monitored,
}

/// The scheduling points around a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    /// Where its thread stands before the unit, and after it if it goes on.
    around: [Switch; 2],
    /// Picks before the first of them.
    start: u32,
}

/// How the units are brought into a row.
#[derive(Clone, Copy)]
enum Way {
    /// With the beginning of the violation; both get ready first, as far as this.
    Gathered(Hold),
    /// The same, but the first one does not wait for the second.
    AtOnce,
    /// With another beginning.
    ByChance(u64),
}

/// Where units are held.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hold {
    /// Before they touch the set, and acquire the locks that they have then: what they did before
    /// that is as it was in the violation.
    BeforeSet,
    /// Where their functions begin.
    AtEntry,
}

impl Way {
    const fn hold(self) -> Hold {
        match self {
            Self::Gathered(hold) => hold,
            Self::AtOnce | Self::ByChance(_) => Hold::BeforeSet,
        }
    }
}

impl Search<'_, '_> {
    /// Looks for executions in both orders.
    pub fn run(&mut self, execution: &Execution, monitored: &Monitored, spans: [Span; 2]) {
        let Some(recording) = &execution.recording else {
            return;
        };
        let recorded = Recorded {
            recording,
            monitored,
        };
        let threads = recorded.threads(self.test.explainer());
        for first in [0, 1] {
            let ways = [
                Way::Gathered(Hold::BeforeSet),
                Way::AtOnce,
                Way::Gathered(Hold::AtEntry),
            ];
            let by_chance = (0..BY_CHANCE).map(Way::ByChance);
            for way in ways.into_iter().chain(by_chance) {
                let explainer = self.test.explainer();
                let bounds = spans.map(|span| recorded.bounds(span, way.hold(), explainer));
                let [Some(u), Some(v)] = bounds else { continue };
                let start = u.start.min(v.start);
                let decisions = execution.decisions.iter();
                let kept = decisions.filter(|decision| decision.point < start);
                let beginning = PlanRequest {
                    threads: threads.clone(),
                    switches: switches_by_step(&kept.copied().collect::<Vec<_>>()),
                    ..self.request.clone()
                };
                if self.test.session.is_over() || self.try_way(first, way, &beginning, [u, v]) {
                    break;
                }
            }
        }
    }

    /// Tries to run this unit before the other one. True if that led to something comparable.
    fn try_way(
        &mut self,
        first: usize,
        way: Way,
        beginning: &PlanRequest,
        mut bounds: [Bounds; 2],
    ) -> bool {
        for _ in 0..ROUNDS {
            let request = plan(first, way, beginning, &bounds);
            let Some(execution) = self.test.try_out(&request) else {
                return false;
            };
            self.test.sighted(&execution.findings, &request);
            let recording = execution.recording.as_ref();
            let Some(recording) = recording.filter(|all| !all.overflow) else {
                return false;
            };
            let Some(monitored) = self.test.explainer().monitored(recording) else {
                return false;
            };
            let run = severity::run(&monitored.trace, self.map, self.pair);
            if let Ok(run) = &run
                && run.first() == Some(first)
            {
                let is_comparable = self.observed.is_comparable(&run.outcome);
                self.found.failures.extend(failures(&execution));
                self.found.outcomes.push((first, run.outcome.clone()));
                return is_comparable;
            }
            let before = bounds;
            let seen = self.bounds_in(recording, &monitored, way.hold());
            for (bounds, seen) in bounds.iter_mut().zip(seen) {
                if let Some(seen) = seen {
                    bounds.move_to(&seen);
                }
            }
            if bounds == before {
                return false;
            }
        }
        false
    }

    /// Where the units are in another execution.
    fn bounds_in(
        &mut self,
        recording: &RawRecording,
        monitored: &Monitored,
        hold: Hold,
    ) -> [Option<Bounds>; 2] {
        let recorded = Recorded {
            recording,
            monitored,
        };
        let spans = severity::spans(&monitored.trace, self.map, self.pair);
        let explainer = self.test.explainer();
        spans.map(|span| recorded.bounds(span?, hold, explainer))
    }
}

/// The plan of an execution in which this unit should come first.
fn plan(first: usize, way: Way, beginning: &PlanRequest, bounds: &[Bounds; 2]) -> PlanRequest {
    let (base, chance) = match way {
        Way::ByChance(number) => ("random", number),
        Way::Gathered(_) | Way::AtOnce => ("replay", 0),
    };
    // A rule tells the strategy that the first unit does not wait for the second one.
    let at_once = matches!(way, Way::AtOnce).then_some(Rule {
        kind: RuleKind::Before as u32,
        hold: 0,
        event: 0,
        then: 0,
    });
    let units = [&bounds[first], &bounds[1 - first]];
    let own = units.into_iter().flat_map(|unit| unit.around.map(event));
    let picks = EventAnchor {
        occurrence: bounds[0].start.min(bounds[1].start),
        ..NOWHERE
    };
    PlanRequest {
        strategy: format!("unit-order({base})"),
        seed: beginning.seed.wrapping_add(chance),
        executions: 1,
        record: true,
        // The sites of all events stay scheduling points: steps are counted with them.
        events: own
            .chain([picks])
            .chain(beginning.events.iter().copied())
            .collect(),
        rules: at_once.into_iter().collect(),
        ..beginning.clone()
    }
}

impl Bounds {
    /// Takes over steps of the same thread in another execution, where it may have another number.
    fn move_to(&mut self, seen: &Self) {
        for (bound, seen) in self.around.iter_mut().zip(&seen.around) {
            let thread = bound.from;
            *bound = Switch {
                from: thread,
                to: thread,
                ..*seen
            };
        }
    }
}

/// An event without a place.
const NOWHERE: EventAnchor = EventAnchor {
    thread: ANY_THREAD,
    relation: 0,
    occurrence: 0,
    site_key: 0,
    related: NO_EVENT,
    object: NO_EVENT,
};

fn event(bound: Switch) -> EventAnchor {
    EventAnchor {
        thread: bound.from,
        occurrence: bound.occurrence,
        site_key: bound.site_key,
        ..NOWHERE
    }
}

impl Recorded<'_> {
    /// Picks before an event of the trace.
    fn point(&self, at: u32) -> usize {
        let event = self.recording.events.get(self.monitored.origin(at));
        event.map_or(usize::MAX, |event| event.point as usize)
    }

    /// Names of the threads.
    fn threads(&self, explainer: &Explainer) -> Vec<ThreadAnchor> {
        let events = self.recording.events.iter();
        let spawns = events.filter(|event| event.operation == Operation::Spawn as u16);
        anchor_threads(spawns.map(|event| Spawn {
            parent: event.thread,
            thread: u16::try_from(event.address).unwrap_or(u16::MAX),
            site_key: explainer.key(event.site),
        }))
    }

    /// The scheduling points around a unit.
    fn bounds(&self, span: Span, hold: Hold, explainer: &Explainer) -> Option<Bounds> {
        let (thread, trace) = (span.thread.0, &self.monitored.trace);
        let is_own = |(_, (picked, _)): &(usize, &(u16, _))| *picked == thread;
        let picks = || self.recording.picks.iter().enumerate().filter(is_own);
        let needed = self.point(first_needed(trace, span));
        let before = || picks().take_while(|(pick, _)| *pick < needed).last();
        let entry = self.point(span.begins);
        let begin = match hold {
            Hold::BeforeSet => before(),
            Hold::AtEntry => picks().find(|(pick, _)| (entry..needed).contains(pick)),
        };
        let begin = begin.or_else(before)?;
        let left = end_of(trace, span).map_or(usize::MAX, |at| self.point(at));
        let end = picks().find(|(pick, _)| *pick >= left);
        let at = |pick: usize, site| Decision {
            from: thread,
            to: thread,
            step: picks().take_while(|(other, _)| *other < pick).count() as u32,
            site,
            point: pick as u32,
        };
        // A thread that does not go on after its unit has no end to wait for.
        let never = Switch {
            from: thread,
            to: thread,
            occurrence: u32::MAX,
            site_key: 0,
        };
        let (begin, end) = (
            at(begin.0, begin.1.1),
            end.map(|(pick, (_, site))| at(pick, *site)),
        );
        let decisions: Vec<_> = [begin].into_iter().chain(end).collect();
        let passed = self.recording.picks.iter().map(|&(thread, site)| Passed {
            thread,
            site_key: explainer.key(site),
        });
        let switches = switches_by_site(&decisions, passed, |site| explainer.key(site));
        Some(Bounds {
            around: [
                *switches.first()?,
                switches.get(1).copied().unwrap_or(never),
            ],
            start: begin.point,
        })
    }
}

/// Where a unit acquires the first of the locks that it has when it first touches the set; if it has
/// none, where it does that.
fn first_needed(trace: &Trace, span: Span) -> u32 {
    let mut held: Vec<(Location, u32)> = Vec::new();
    for at in span.begins..span.first {
        let event = &trace.events[at as usize];
        let Action::Lock { step, lock, .. } = event.action else {
            continue;
        };
        match step {
            _ if event.thread != span.thread => {}
            LockStep::Acquire => held.push((lock, at)),
            LockStep::Release => held.retain(|(other, _)| *other != lock),
            _ => {}
        }
    }
    held.first().map_or(span.first, |(_, at)| *at)
}

/// Where a unit ends: its function is left, or it waits for others.
fn end_of(trace: &Trace, span: Span) -> Option<u32> {
    if span.is_cut {
        return Some(span.last + 1);
    }
    let is_entry = matches!(
        trace.events.get(span.begins as usize)?.action,
        Action::Enter { .. }
    );
    let mut open = i64::from(!is_entry);
    let events = trace.events.iter().enumerate().skip(span.begins as usize);
    for (at, event) in events.filter(|(_, event)| event.thread == span.thread) {
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
