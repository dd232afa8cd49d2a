//! From a raw sighting to a finding: shown again in a new process, minimised, anchored to
//! events, explained and stored.

use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use raddle_abi::plan::{Decision, Switch, ThreadAnchor};
use raddle_abi::record::RawEvent;
use raddle_abi::site::Operation;
use raddle_schedule::anchor::{Passed, Spawn, anchor_threads, switches_by_site, switches_by_step};
use raddle_schedule::minimise::minimise;
use raddle_schedule::schedule_file::{Placed, Schedule};
use raddle_trace::finding::Finding;
use raddle_trace::runner::{Outcome, PlanRequest, RawFinding, RawRecording, Runner, RunnerError};

use crate::explain::Explainer;
use crate::runner::{Limits, ProcessRunner};
use crate::session::Session;
use crate::{Error, Target};

/// Most time that minimising one finding takes.
const MINIMISE_TIME: Duration = Duration::from_secs(3);
/// Replays before a sighting counts as not reproducible.
const TRIES: usize = 2;

/// Confirms sightings of one target.
pub(crate) struct Confirmation<'a> {
    /// The campaign.
    pub session: &'a Session<'a>,
    /// The target.
    pub target: &'a Target,
    /// Names places of the target's executable.
    pub explainer: &'a mut Explainer,
}

/// One replay that showed the finding.
struct Shown {
    raw: RawFinding,
    recording: Option<RawRecording>,
}

impl Confirmation<'_> {
    /// Shows the sighting `raw` of `request` again, and makes a stored finding of it. `None`
    /// if it cannot be shown again.
    pub fn confirm(
        &mut self,
        id: &str,
        raw: &RawFinding,
        request: &PlanRequest,
        executions: u64,
    ) -> Result<Option<Finding>, Error> {
        let mut shown = None;
        for _ in 0..TRIES {
            let plan = replay_plan(request, raw, &switches_by_step(&raw.decisions), true);
            shown = self.show(id, &plan);
            if shown.is_some() {
                break;
            }
        }
        let Some(first) = shown else { return Ok(None) };
        // From here on a kill of the tool does not lose the finding any more.
        let schedule = self.schedule(
            id,
            &first.raw,
            request,
            switches_by_step(&first.raw.decisions),
            &first,
        );
        let mut finding = self.store(id, &first, &schedule, executions)?;
        let shortest = self.minimised(id, &first, request);
        let best = if shortest.len() < first.raw.decisions.len() {
            let plan = replay_plan(request, &first.raw, &shortest, true);
            self.show(id, &plan).unwrap_or(first)
        } else {
            first
        };
        let schedule = self.anchored(id, request, &best);
        finding = self
            .store(id, &best, &schedule, executions)
            .map(|mut stored| {
                stored.count = finding.count;
                stored
            })?;
        Ok(Some(finding))
    }

    /// Runs a plan in a new process; `Some` if the finding with this id came up.
    fn show(&mut self, id: &str, plan: &PlanRequest) -> Option<Shown> {
        let outcome = run_once(self.session, self.target, plan).ok()?;
        let Outcome {
            findings,
            recording,
            ..
        } = outcome;
        let raw = findings
            .into_iter()
            .find(|raw| self.explainer.id(raw) == id)?;
        Some(Shown { raw, recording })
    }

    fn minimised(&mut self, id: &str, first: &Shown, request: &PlanRequest) -> Vec<Switch> {
        let original = switches_by_step(&first.raw.decisions);
        let start = Instant::now();
        let budget = self.session.options.minimise as usize;
        let result = minimise(&original, budget, &mut |candidate| {
            if self.session.is_stopped() || start.elapsed() > MINIMISE_TIME {
                return None;
            }
            let plan = replay_plan(request, &first.raw, candidate, false);
            let shown = self.show(id, &plan)?;
            Some(switches_by_step(&shown.raw.decisions))
        });
        result.switches
    }

    /// The schedule anchored to events if that replays, else by step numbers.
    fn anchored(&mut self, id: &str, request: &PlanRequest, best: &Shown) -> Schedule {
        let by_step = switches_by_step(&best.raw.decisions);
        let recording = best.recording.as_ref();
        let by_site = recording.map_or_else(Vec::new, |recording| {
            let passed = points(recording, self.explainer);
            switches_by_site(&best.raw.decisions, passed, |site| self.explainer.key(site))
        });
        if !by_site.is_empty() {
            let schedule = self.schedule(id, &best.raw, request, by_site, best);
            if self.show(id, &schedule.plan()).is_some() {
                return schedule;
            }
        }
        let mut schedule = self.schedule(id, &best.raw, request, by_step, best);
        if schedule
            .switches
            .iter()
            .all(|switch| switch.value.site_key == 0)
        {
            schedule.threads.clear();
        }
        schedule
    }

    fn schedule(
        &mut self,
        id: &str,
        raw: &RawFinding,
        request: &PlanRequest,
        switches: Vec<Switch>,
        shown: &Shown,
    ) -> Schedule {
        let none = RawRecording::default();
        let recording = shown.recording.as_ref().unwrap_or(&none);
        let by_site = switches.iter().any(|switch| switch.site_key != 0);
        let threads = if by_site {
            self.threads(recording)
        } else {
            Vec::new()
        };
        let placed = switches.into_iter().enumerate().map(|(at, value)| {
            let decision = raw.decisions.get(at);
            let place = decision.map(|decision| {
                let frames = stack_before(recording, decision);
                self.explainer.place(decision.site, frames)
            });
            Placed {
                value,
                place: place.unwrap_or_default(),
            }
        });
        let switches = placed.collect();
        let build = self.explainer.build();
        Schedule {
            build,
            test: self.target.name.clone(),
            target: self.target.target.clone(),
            arguments: self.target.args.clone(),
            finding: id.to_owned(),
            kind: raw.kind,
            seed: raw.seed,
            granularity: request.granularity,
            max_points: request.max_points,
            length: raw.length,
            oracles: request.oracles,
            racy: request
                .racy
                .iter()
                .map(|&value| Placed {
                    value,
                    place: String::new(),
                })
                .collect(),
            switches,
            threads,
        }
    }

    /// Names of the threads that a recording starts.
    fn threads(&mut self, recording: &RawRecording) -> Vec<Placed<ThreadAnchor>> {
        let spawns: Vec<&RawEvent> = recording
            .events
            .iter()
            .filter(|event| event.operation == Operation::Spawn as u16)
            .collect();
        let anchors = anchor_threads(spawns.iter().map(|event| Spawn {
            parent: event.thread,
            thread: u16::try_from(event.address).unwrap_or(u16::MAX),
            site_key: self.explainer.key(event.site),
        }));
        let placed = anchors
            .into_iter()
            .zip(spawns)
            .map(|(value, event)| Placed {
                value,
                place: self.explainer.place(event.site, recording.stack(event)),
            });
        placed.collect()
    }

    fn store(
        &mut self,
        id: &str,
        shown: &Shown,
        schedule: &Schedule,
        executions: u64,
    ) -> Result<Finding, Error> {
        let store = &self.session.store;
        let path = store.save_schedule(id, &schedule.to_text())?;
        let trace = shown.recording.as_ref().and_then(|recording| {
            self.explainer
                .trace(recording, &schedule.build, &schedule.test)
        });
        if let Some(trace) = trace {
            store.save_trace(id, &trace)?;
        }
        let mut finding = self
            .explainer
            .explain(self.target, &shown.raw, shown.recording.as_ref());
        finding.schedule = path.display().to_string();
        finding.confirmed = true;
        finding.executions = executions;
        store.save_finding(&finding)?;
        Ok(finding)
    }
}

/// Runs a plan once, in a process of its own, whatever the campaign's budget says.
pub(crate) fn run_once(
    session: &Session<'_>,
    target: &Target,
    plan: &PlanRequest,
) -> Result<Outcome, RunnerError> {
    let uncounted = AtomicU64::new(0);
    let limits = Limits::from(session.options);
    ProcessRunner::new(target, limits, &|| false, &uncounted).run(plan)
}

/// Names a build: size and time of the executable.
pub(crate) fn build_id(target: &Target) -> u64 {
    let Ok(metadata) = std::fs::metadata(&target.exe) else {
        return 0;
    };
    let modified = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let nanoseconds = modified.map_or(0, |time| time.as_nanos());
    crate::explain::stable_hash(
        "build",
        &[metadata.len().to_string(), nanoseconds.to_string()],
    )
}

/// The plan that repeats a sighting.
fn replay_plan(
    request: &PlanRequest,
    raw: &RawFinding,
    switches: &[Switch],
    record: bool,
) -> PlanRequest {
    PlanRequest {
        strategy: "replay".to_owned(),
        seed: raw.seed,
        executions: 1,
        length: raw.length,
        record,
        threads: Vec::new(),
        switches: switches.to_vec(),
        ..request.clone()
    }
}

/// Stack of the step before which a decision was made: of the first event of that thread
/// there at or after it.
fn stack_before<'a>(recording: &'a RawRecording, decision: &Decision) -> &'a [u64] {
    let start = recording
        .events
        .partition_point(|event| event.point <= decision.point);
    let mut later = recording.events[start..].iter();
    later
        .find(|event| event.thread == decision.from && event.site == decision.site)
        .map_or(&[], |event| recording.stack(event))
}

/// Scheduling points passed in a recording.
fn points(recording: &RawRecording, explainer: &Explainer) -> Vec<Passed> {
    let picks = recording.picks.iter();
    picks
        .map(|&(thread, site)| Passed {
            thread,
            site_key: explainer.key(site),
        })
        .collect()
}
