//! From a raw sighting to a finding: shown again in a new process, minimised, anchored to
//! events, explained and stored.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use raddle_abi::finding::Kind;
use raddle_abi::plan::{Decision, Granularity, Switch, ThreadAnchor, Time};
use raddle_abi::record::RawEvent;
use raddle_abi::site::Operation;
use raddle_schedule::anchor::{Passed, Spawn, anchor_threads, switches_by_site, switches_by_step};
use raddle_schedule::minimise::{Failing, minimise};
use raddle_schedule::schedule_file::{Placed, Schedule};
use raddle_trace::binary;
use raddle_trace::finding::{Finding, ScheduleSize};
use raddle_trace::runner::{PlanRequest, RawFinding, RawRecording, Runner};

use crate::evidence::Evidence;
use crate::explain::Explainer;
use crate::runner::{Limits, Patience, ProcessRunner};
use crate::session::Session;
use crate::{Error, Target, timing};

/// Most events of a stored trace: what is longer is of no use to a reader.
const TRACED_EVENTS: usize = 1 << 20;

/// Most time that minimising one finding takes.
const MINIMISE_TIME: Duration = Duration::from_secs(3);
/// Scheduling points, and executions, in which another schedule with fewer preemptions is
/// looked for.
const SEARCHED_POINTS: u64 = 200_000;
const SEARCHED: u64 = 1000;
/// The least executions in which a failure is looked for that needs no early expiry.
const LEAST_SEARCHED: u64 = 30;
/// Attempts that the minimiser needs to leave out all early expiries.
const WITHOUT_EXPIRIES: usize = 2;
/// No more preemptions than that are looked for.
const MOST_PREEMPTIONS: u32 = 3;
/// Time that showing a finding again may take when the campaign is over.
const LAST_REPLAYS: Duration = Duration::from_secs(10);
/// The same when the user has stopped the tool.
const STOPPED_REPLAYS: Duration = Duration::from_millis(500);
/// Switches of which a schedule says in words where they are.
const PLACED: usize = 1000;
/// Events among which the one behind a decision is searched.
const LOOK_AHEAD: usize = 10_000;
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
    /// What is known about the violation that it is about, if it is.
    pub evidence: Evidence,
}

/// A sighting that was shown again.
pub(crate) struct Confirmed {
    /// The finding.
    pub finding: Finding,
    /// Why it could not be stored, if so.
    pub error: Option<Error>,
}

/// How a finding was found.
#[derive(Clone, Copy)]
struct Found {
    /// After how many executions.
    executions: u64,
    /// With how many switches.
    switches: usize,
}

/// One replay that showed the finding.
struct Shown {
    raw: RawFinding,
    recording: Option<RawRecording>,
    preemptions: u32,
}

impl Shown {
    fn failing(&self) -> Failing {
        Failing {
            switches: switches_by_step(&self.raw.decisions),
            preemptions: self.preemptions,
            points: self.raw.points,
        }
    }
}

impl Confirmation<'_> {
    /// Shows the sighting `raw` of `request` again, and makes a stored finding of it. `None`
    /// if it cannot be shown again.
    ///
    /// What counts is shown in a new process each time; only the many attempts to shorten a
    /// schedule share one.
    pub fn confirm(
        &mut self,
        id: &str,
        raw: &RawFinding,
        request: &PlanRequest,
        executions: u64,
    ) -> Option<Confirmed> {
        let uncounted = AtomicU64::new(0);
        let (session, start) = (self.session, Instant::now());
        let is_stored = Cell::new(false);
        let stopped: Cell<Option<Instant>> = Cell::new(None);
        let patience = || {
            if session.is_stopped() && stopped.get().is_none() {
                stopped.set(Some(Instant::now()));
            }
            let is_late = start.elapsed() > LAST_REPLAYS
                || stopped
                    .get()
                    .is_some_and(|at| at.elapsed() > STOPPED_REPLAYS);
            match session.is_over() {
                true if is_stored.get() || is_late => Patience::None,
                _ => Patience::Long,
            }
        };
        let limits = Limits::from(session.options);
        let mut replays = ProcessRunner::new(self.target, limits, &patience, &uncounted);
        let plan = replay_plan(request, raw, &switches_by_step(&raw.decisions), true);
        let first = (0..TRIES).find_map(|_| self.show_anew(&mut replays, id, &plan))?;
        let by_step = switches_by_step(&first.raw.decisions);
        let schedule = self.schedule(id, request, by_step, &first);
        // From here on a kill of the tool does not lose the finding any more.
        let found = Found {
            executions,
            switches: raw.decisions.len(),
        };
        let explained =
            self.explainer
                .explain_as(id, self.target, &first.raw, first.recording.as_ref());
        let name = explained.id.clone();
        if name != id && session.found().is_settled(&name) {
            // Another one of the same cause was stored before.
            return Some(Confirmed {
                finding: explained,
                error: None,
            });
        }
        let confirmed = self.store(id, &name, &first, &schedule, found);
        if confirmed.error.is_some() || session.is_over() {
            return Some(confirmed);
        }
        is_stored.set(true);
        if let Some(simpler) = self.simpler(&mut replays, id, &first, request)
            && let Some(schedule) = self.replayable(&mut replays, id, request, &simpler)
        {
            return Some(self.store(id, &name, &simpler, &schedule, found));
        }
        let schedule = self
            .replayable(&mut replays, id, request, &first)
            .unwrap_or(schedule);
        Some(self.store(id, &name, &first, &schedule, found))
    }

    /// Runs a plan; `Some` if the finding with this id came up.
    fn show(
        &mut self,
        replays: &mut ProcessRunner<'_>,
        id: &str,
        plan: &PlanRequest,
    ) -> Option<Shown> {
        let is_violation = id.starts_with(Kind::AtomicSet.word());
        let plan = PlanRequest {
            // Only the monitor sees violations.
            record: plan.record || is_violation,
            ..plan.clone()
        };
        let outcome = replays.run(&plan);
        let session = self.session;
        let outcome = outcome
            .inspect_err(|error| session.note_trouble(error))
            .ok()?;
        let raw = match is_violation {
            true => self
                .evidence
                .sight(self.explainer, id, &outcome, plan.seed)?,
            false => outcome
                .findings
                .into_iter()
                .find(|raw| self.explainer.shows(raw, id))?,
        };
        Some(Shown {
            raw,
            recording: outcome.recording,
            preemptions: outcome.preemptions,
        })
    }

    /// The same in a new process.
    fn show_anew(
        &mut self,
        replays: &mut ProcessRunner<'_>,
        id: &str,
        plan: &PlanRequest,
    ) -> Option<Shown> {
        replays.renew();
        self.show(replays, id, plan)
    }

    /// The finding with a simpler schedule, if the minimiser gets there: what is left out of the
    /// schedule that was found, or another schedule that has fewer preemptions.
    fn simpler(
        &mut self,
        replays: &mut ProcessRunner<'_>,
        id: &str,
        first: &Shown,
        request: &PlanRequest,
    ) -> Option<Shown> {
        let mut original = first.failing();
        let start = Instant::now();
        let session = self.session;
        let is_over = || session.is_over() || start.elapsed() > MINIMISE_TIME;
        let budget = session.options.minimise as usize;
        let shorten = |this: &mut Self,
                       replays: &mut ProcessRunner<'_>,
                       original: &Failing,
                       budget: usize| {
            let mut attempt = |candidate: &[Switch]| {
                if is_over() {
                    return None;
                }
                let plan = replay_plan(request, &first.raw, candidate, false);
                Some(this.show(replays, id, &plan)?.failing())
            };
            minimise(original, budget, &mut attempt).best
        };
        // Whether it is about time is asked in any case.
        let is_timing = timing::is_timing(&first.raw);
        let least = if is_timing { WITHOUT_EXPIRIES } else { 0 };
        let mut best = shorten(self, replays, &original, budget.max(least));
        if is_timing
            && best.needs_early_expiry()
            && let Some(other) = self.search_without_expiries(replays, id, request, &first.raw)
        {
            best = shorten(self, replays, &other, budget);
            original = other;
        }
        for bound in 0..best.preemptions.min(MOST_PREEMPTIONS) {
            // A search does not stop at what only the monitor sees.
            if budget == 0 || is_over() || first.raw.kind == Kind::AtomicSet {
                break;
            }
            let found = self.search(replays, id, request, &first.raw, bound);
            if let Some(other) = found
                && other.switches.len() <= original.switches.len()
                && other.cost() < best.cost()
            {
                best = other;
                break;
            }
        }
        if best == original {
            return None;
        }
        let plan = replay_plan(request, &first.raw, &best.switches, true);
        self.show(replays, id, &plan)
    }

    /// Looks for the finding in executions in which no deadline passes early.
    fn search_without_expiries(
        &mut self,
        replays: &mut ProcessRunner<'_>,
        id: &str,
        request: &PlanRequest,
        raw: &RawFinding,
    ) -> Option<Failing> {
        let plan = PlanRequest {
            strategy: "portfolio".to_owned(),
            executions: (SEARCHED_POINTS / raw.points.max(1)).clamp(LEAST_SEARCHED, SEARCHED),
            time: Time::Passed,
            ..replay_plan(request, raw, &[], false)
        };
        let found = self.show_anew(replays, id, &plan)?;
        let plan = replay_plan(request, raw, &switches_by_step(&found.raw.decisions), false);
        Some(self.show_anew(replays, id, &plan)?.failing())
    }

    /// Looks for the finding among all that can happen with so many preemptions, or at least
    /// among the first of these executions.
    fn search(
        &mut self,
        replays: &mut ProcessRunner<'_>,
        id: &str,
        request: &PlanRequest,
        raw: &RawFinding,
        bound: u32,
    ) -> Option<Failing> {
        // Executions without the finding do not go round for as long as a livelock does.
        let points = match raw.kind {
            Kind::Livelock => raw.detail[0],
            _ => raw.points,
        };
        let plan = PlanRequest {
            strategy: format!("exhaustive({bound})"),
            executions: (SEARCHED_POINTS / points.max(1)).min(SEARCHED),
            stop_at_first: true,
            ..replay_plan(request, raw, &[], false)
        };
        // What a process has found once, it does not tell again.
        let found = self.show_anew(replays, id, &plan)?;
        let plan = replay_plan(request, raw, &switches_by_step(&found.raw.decisions), false);
        Some(self.show_anew(replays, id, &plan)?.failing())
    }

    /// The schedule anchored to events if that replays in a new process, else by step numbers
    /// if that does.
    fn replayable(
        &mut self,
        replays: &mut ProcessRunner<'_>,
        id: &str,
        request: &PlanRequest,
        shown: &Shown,
    ) -> Option<Schedule> {
        let decisions = &shown.raw.decisions;
        let by_site = shown.recording.as_ref().map(|recording| {
            let passed = points(recording, self.explainer);
            switches_by_site(decisions, passed, |site| self.explainer.key(site))
        });
        let by_site = by_site.filter(|switches| !switches.is_empty());
        let candidates = by_site.into_iter().chain([switches_by_step(decisions)]);
        for switches in candidates {
            let schedule = self.schedule(id, request, switches, shown);
            if self.show_anew(replays, id, &schedule.plan()).is_some() {
                return Some(schedule);
            }
        }
        None
    }

    fn schedule(
        &mut self,
        id: &str,
        request: &PlanRequest,
        switches: Vec<Switch>,
        shown: &Shown,
    ) -> Schedule {
        let raw = &shown.raw;
        let none = RawRecording::default();
        let recording = shown.recording.as_ref().unwrap_or(&none);
        let by_site = switches.iter().any(|switch| switch.site_key != 0);
        let threads = if by_site {
            self.threads(recording)
        } else {
            Vec::new()
        };
        let placed = switches.into_iter().enumerate().map(|(at, value)| {
            let decision = raw.decisions.get(at).filter(|_| at < PLACED);
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
            granularity: match (request.granularity, request.events.is_empty()) {
                (Granularity::Sync, false) => Granularity::Racy,
                (granularity, _) => granularity,
            },
            memory: request.memory,
            max_points: request.max_points,
            length: raw.length,
            first_thread: self.explainer.first_thread,
            oracles: request.oracles,
            racy: self.racy(request, recording),
            switches,
            threads,
            strategy: None,
            events: Vec::new(),
            rules: Vec::new(),
        }
    }

    /// The plain accesses that were scheduling points.
    fn racy(&mut self, request: &PlanRequest, recording: &RawRecording) -> Vec<Placed<u64>> {
        let mut places: HashMap<u64, String> = HashMap::new();
        let events = request.events.iter().map(|event| event.site_key);
        let mut keys: Vec<u64> = request.racy.iter().copied().chain(events).collect();
        keys.sort_unstable();
        keys.dedup();
        for event in &recording.events {
            let key = self.explainer.key(event.site);
            if keys.binary_search(&key).is_ok() && !places.contains_key(&key) {
                let place = self.explainer.place(event.site, recording.stack(event));
                places.insert(key, place);
            }
        }
        let placed = keys.into_iter().map(|value| Placed {
            value,
            place: places.remove(&value).unwrap_or_default(),
        });
        placed.collect()
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

    /// Makes the finding and stores it with its schedule and its trace.
    fn store(
        &mut self,
        id: &str,
        name: &str,
        shown: &Shown,
        schedule: &Schedule,
        found: Found,
    ) -> Confirmed {
        let mut finding =
            self.explainer
                .explain_as(id, self.target, &shown.raw, shown.recording.as_ref());
        name.clone_into(&mut finding.id);
        finding.schedule = self.session.store.schedule_path(name).display().to_string();
        self.evidence.complete(&mut finding);
        finding.confirmed = true;
        finding.executions = found.executions;
        finding.size = Some(ScheduleSize {
            switches: schedule.switches.len(),
            preemptions: shown.preemptions,
            found: found.switches,
        });
        let error = self.save(&finding, shown, schedule).err();
        if error.is_some() && !self.session.store.schedule_path(name).is_file() {
            finding.schedule.clear();
        }
        Confirmed { finding, error }
    }

    fn save(&mut self, finding: &Finding, shown: &Shown, schedule: &Schedule) -> Result<(), Error> {
        let store = &self.session.store;
        store.save_schedule(&finding.id, &schedule.to_text())?;
        let recording = shown
            .recording
            .as_ref()
            .filter(|recording| recording.events.len() <= TRACED_EVENTS);
        let trace = recording.and_then(|recording| {
            self.explainer
                .trace(recording, &schedule.build, &schedule.test)
        });
        if let Some(trace) = trace {
            store.save_trace(&finding.id, &binary::write(&trace))?;
        }
        store.save_finding(finding)
    }
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
    let mut later = recording.events[start..].iter().take(LOOK_AHEAD);
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
