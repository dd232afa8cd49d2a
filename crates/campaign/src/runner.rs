//! Runs plans on one target, in one worker process at a time.
//!
//! A worker that finished a plan is kept for the next one. One that died, broke or needs
//! another way of re-execution is replaced; what it left in the shared memory is read first.
//! One that is to go on another time is paused (see [`crate::paused`]).

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use raddle_abi::control::{PlanEnd, stage};
use raddle_abi::finding::{Kind, PASSED};
use raddle_abi::plan::{Carrier, Reexecution};
use raddle_trace::runner::{
    Death, Outcome, PlanRequest, RawFinding, Runner, RunnerError, Searched,
};
use raddle_trace::{decode, decode_outcomes};

use crate::machine_trouble;
use crate::paused::{Counters, Paused, UnderWay};
use crate::watch::Watch;
use crate::worker::Worker;
use crate::{Error, Options, Target, internal};

/// How lines of the runtime begin.
const RUNTIME_SAYS: &str = "raddle runtime: ";
/// How long a single wait for the worker lasts before it is looked at.
const GLANCE: Duration = Duration::from_millis(20);
/// How long a worker may take to stop when asked.
const STOP_GRACE: Duration = Duration::from_millis(700);

/// What a worker may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Time without any scheduling point, and until executions start.
    pub watchdog: Duration,
    /// Private resident bytes.
    pub memory: u64,
    /// What carries its logical threads.
    pub carrier: Carrier,
}

impl From<&Options> for Limits {
    fn from(options: &Options) -> Self {
        Self {
            watchdog: options.watchdog,
            memory: options.memory,
            carrier: options.carrier,
        }
    }
}

/// How long a plan under way is still waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Until it is done.
    Long,
    /// Until its current execution is done, if that does not take long.
    Short,
    /// Not now: it goes on when it is asked for again.
    Later,
    /// Not at all.
    None,
}

/// The [`Runner`] of one target.
pub(crate) struct ProcessRunner<'a> {
    target: &'a Target,
    limits: Limits,
    patience: &'a dyn Fn() -> Patience,
    /// Grows with each finished execution, while plans run.
    executions: &'a AtomicU64,
    worker: Option<Worker>,
    paused: Option<Paused>,
    stuck_at: Vec<u64>,
    first_thread: u16,
}

impl<'a> ProcessRunner<'a> {
    /// A runner without a worker yet.
    pub fn new(
        target: &'a Target,
        limits: Limits,
        patience: &'a dyn Fn() -> Patience,
        executions: &'a AtomicU64,
    ) -> Self {
        Self {
            target,
            limits,
            patience,
            executions,
            worker: None,
            paused: None,
            stuck_at: Vec::new(),
            first_thread: 0,
        }
    }

    /// Ends the worker, so that the next plan gets a new process.
    pub fn renew(&mut self) {
        self.worker = None;
    }

    /// Goes on with what another runner of the same target paused, if it is asked for.
    pub fn take_up(&mut self, paused: Option<Paused>) {
        self.paused = paused;
    }

    /// The plan that was put off, for another runner of the same target.
    pub fn put_off(&mut self) -> Option<Paused> {
        self.paused.take()
    }

    /// Runs a plan with a strategy that goes on where it was when `experience` was written, be
    /// it in another worker, and writes what it has learnt then. A worker that breaks
    /// leaves nothing.
    pub fn run_learning(
        &mut self,
        request: &PlanRequest,
        experience: &mut Vec<u8>,
    ) -> Result<Outcome, RunnerError> {
        self.execute(request, Some(experience))
    }

    /// Return addresses of the last worker that the watchdog gave up, innermost first; the
    /// first is where it stood.
    pub fn stuck_at(&self) -> &[u64] {
        &self.stuck_at
    }

    /// Number of the test's own thread in the last plan.
    pub fn first_thread(&self) -> u16 {
        self.first_thread
    }

    /// What another runner of the same target has learnt of it.
    pub fn learn_from(&mut self, other: &ProcessRunner<'_>) {
        self.first_thread = other.first_thread;
    }

    fn program(&self) -> String {
        self.target.exe.display().to_string()
    }

    fn start(&self) -> Result<Worker, RunnerError> {
        Worker::start(self.target, self.limits.carrier).map_err(|error| match error {
            Error::Start { source, .. } => RunnerError::Start {
                program: self.program(),
                source,
            },
            Error::SharedMemory(source) => RunnerError::System {
                action: "create shared memory".to_owned(),
                source,
            },
            other => RunnerError::Protocol(other.to_string()),
        })
    }

    /// Waits until the plan is done or the worker has to be given up.
    fn watch(&self, worker: &mut Worker, plan: u32) -> Ending {
        let mut watch = Watch::new(worker);
        loop {
            if worker.memory.wait(plan, GLANCE) {
                watch.count(worker, self.executions);
                return Ending::Done;
            }
            let exited = worker.exited();
            watch.count(worker, self.executions);
            if let Some(status) = exited {
                // It may have finished the plan between the two looks.
                return if worker.memory.is_done(plan) {
                    Ending::Done
                } else {
                    Ending::Exited(status)
                };
            }
            if !worker.memory.is_intact() {
                return Ending::Halted;
            }
            match (self.patience)() {
                Patience::Long => {}
                Patience::Short => {
                    worker.memory.stop();
                    let since = *watch.stopping.get_or_insert_with(Instant::now);
                    if since.elapsed() > STOP_GRACE {
                        return Ending::Halted;
                    }
                }
                Patience::Later => return Ending::PutOff,
                Patience::None => return Ending::Halted,
            }
            if let Some((death, frames)) = watch.look(worker, &self.limits) {
                return Ending::GivenUp(death, frames);
            }
        }
    }
}

impl Runner for ProcessRunner<'_> {
    fn run(&mut self, request: &PlanRequest) -> Result<Outcome, RunnerError> {
        self.execute(request, None)
    }
}

impl ProcessRunner<'_> {
    /// Runs a plan, and once more from its start if its program turns out to need another
    /// carrier, which all later workers of this runner have then.
    fn execute(
        &mut self,
        request: &PlanRequest,
        mut experience: Option<&mut Vec<u8>>,
    ) -> Result<Outcome, RunnerError> {
        let outcome = self.attempt(request, experience.as_deref_mut())?;
        if outcome.end != PlanEnd::Carrier {
            return Ok(outcome);
        }
        self.limits.carrier = Carrier::Os;
        self.attempt(request, experience)
    }

    /// Goes on with the plan that was paused, if it is this one, or hands it to a worker.
    fn begin(
        &mut self,
        request: &PlanRequest,
        experience: Option<&[u8]>,
    ) -> Result<UnderWay, RunnerError> {
        let plan = request.encode()?;
        if let Some(under_way) = self.paused.take().and_then(|paused| paused.go_on(&plan)) {
            return Ok(under_way);
        }
        let mut worker = match self.worker.take() {
            Some(worker) => worker,
            None => self.start()?,
        };
        let before = Counters::read(worker.memory.header());
        worker.memory.give_experience(experience);
        let number = worker
            .memory
            .send_plan(&plan)
            .map_err(|error| RunnerError::Protocol(error.to_string()))?;
        Ok(UnderWay {
            worker,
            plan,
            number,
            before,
        })
    }

    fn attempt(
        &mut self,
        request: &PlanRequest,
        experience: Option<&mut Vec<u8>>,
    ) -> Result<Outcome, RunnerError> {
        let mut under_way = self.begin(request, experience.as_deref().map(Vec::as_slice))?;
        let ending = self.watch(&mut under_way.worker, under_way.number);
        if matches!(ending, Ending::PutOff) {
            match under_way.pause() {
                Ok(paused) => {
                    self.paused = Some(paused);
                    return Ok(Outcome {
                        end: PlanEnd::Stopped,
                        ..Outcome::default()
                    });
                }
                Err(cannot) => under_way = *cannot,
            }
        }
        let UnderWay {
            mut worker, before, ..
        } = under_way;
        if is_overwritten(&worker, &before) {
            worker.kill();
            return Err(RunnerError::Overwritten);
        }
        if let Ending::Exited(status) = &ending
            && !is_our_bug(&worker)
        {
            if let Some(error) = machine_trouble::last_words(*status, || worker.last_words()) {
                return Err(error);
            }
            let reached = worker.memory.header().stage.load(Ordering::Acquire);
            match reached {
                stage::NONE if self.target.has_runtime() => {
                    let output = last_words(&worker, *status);
                    return Err(RunnerError::EndedInConstructor { output });
                }
                stage::NONE => {
                    return Err(RunnerError::NotInstrumented {
                        program: self.program(),
                    });
                }
                stage::STARTING | stage::NEVER_STARTED => {
                    let output = last_words(&worker, *status);
                    return Err(RunnerError::NeverStarted { output });
                }
                _ => {}
            }
        }
        if !matches!(ending, Ending::Done) {
            // Nothing may write to the shared memory while it is read for the last time.
            worker.kill();
        }
        let first_thread = worker.memory.header().first_thread.load(Ordering::Relaxed);
        self.first_thread = u16::try_from(first_thread).unwrap_or(0);
        let mut outcome = collect(&worker, &before, request.record);
        let learnt = worker.memory.experience();
        if let Some(experience) = experience.filter(|_| !learnt.is_empty()) {
            *experience = learnt;
        }
        match ending {
            Ending::Done => {
                if matches!(
                    outcome.end,
                    PlanEnd::Complete | PlanEnd::Stopped | PlanEnd::Finding
                ) {
                    self.worker = Some(worker);
                }
            }
            Ending::Halted | Ending::PutOff => outcome.end = PlanEnd::Stopped,
            Ending::GivenUp(death, frames) => {
                self.stuck_at = frames;
                outcome.end = PlanEnd::None;
                outcome.died = Some(death);
            }
            Ending::Exited(status) => {
                outcome.end = PlanEnd::None;
                outcome.died = Some(note_death(&worker, status, &mut outcome));
            }
        }
        Ok(outcome)
    }
}

/// Whether the header has values that no runtime writes: the program has.
fn is_overwritten(worker: &Worker, before: &Counters) -> bool {
    let memory = &worker.memory;
    let header = memory.header();
    let after = Counters::read(header);
    let has_run = after.executions > before.executions;
    !memory.is_intact()
        || !before.can_become(&after)
        || has_run && header.stage.load(Ordering::Acquire) < stage::READY
        || has_run && header.threads.load(Ordering::Relaxed) == 0
}

/// How watching a plan ended.
enum Ending {
    /// The worker finished it.
    Done,
    /// The worker's process ended.
    Exited(ExitStatus),
    /// It was not waited for any longer.
    Halted,
    /// It is waited for another time.
    PutOff,
    /// The watchdog gave it up.
    GivenUp(Death, Vec<u64>),
}

/// Reads everything that a plan left in the shared memory.
fn collect(worker: &Worker, before: &Counters, record: bool) -> Outcome {
    let memory = &worker.memory;
    let header = memory.header();
    let after = Counters::read(header);
    let syscalls = header
        .syscalls
        .each_ref()
        .map(|word| word.load(Ordering::Relaxed));
    let is_finding = |raw: &RawFinding| raw.kind != Kind::Panic || raw.detail[1] != PASSED;
    let records = decode::findings(&memory.findings()).findings.into_iter();
    let (findings, passed): (Vec<_>, Vec<_>) = records.partition(is_finding);
    Outcome {
        end: PlanEnd::from_number(header.end.load(Ordering::Acquire)),
        executions: after.executions.saturating_sub(before.executions),
        points: after.points.saturating_sub(before.points),
        switches: after.switches.saturating_sub(before.switches),
        cut: after.cut.saturating_sub(before.cut),
        broken_off: after.broken_off.saturating_sub(before.broken_off),
        threads: header.threads.load(Ordering::Relaxed),
        last_points: header.last_points.load(Ordering::Relaxed),
        length: header.length.load(Ordering::Relaxed),
        last_hash: header.last_hash.load(Ordering::Relaxed),
        plan_hash: header.plan_hash.load(Ordering::Relaxed),
        exit_code: header.exit_code.load(Ordering::Relaxed),
        reexecution: Reexecution::from_number(header.reexecution.load(Ordering::Relaxed)),
        carrier: Carrier::from_number(header.carrier.load(Ordering::Relaxed)),
        findings,
        expected_panics: passed.into_iter().flat_map(|raw| raw.steps).collect(),
        occurrences: std::array::from_fn(|kind| {
            after.occurrences[kind].saturating_sub(before.occurrences[kind])
        }),
        recording: record.then(|| {
            let overflow = header.record_overflow.load(Ordering::Relaxed) != 0;
            decode::recording(&memory.events(), &memory.stacks(), overflow)
        }),
        decisions: match record {
            true => decode::decisions(&memory.decisions()),
            false => Vec::new(),
        },
        output: memory.output(),
        diverged: (header.diverged.load(Ordering::Relaxed) as usize).checked_sub(1),
        realised: after.realised.saturating_sub(before.realised),
        released: after.released.saturating_sub(before.released),
        searched: Searched::from_word(header.searched.load(Ordering::Relaxed)),
        preemptions: header.preemptions.load(Ordering::Relaxed),
        search_progress: header
            .search_progress
            .load(Ordering::Relaxed)
            .checked_sub(1),
        conditions: header.conditions.load(Ordering::Relaxed),
        stray_panics: after.stray_panics.saturating_sub(before.stray_panics),
        syscalls: decode::syscalls(&syscalls),
        died: None,
        marks: decode::marks(&memory.marks()),
        conflicts: decode_outcomes::conflicts(&memory.conflicts()),
        outcomes: decode_outcomes::outcomes(&memory.outcomes()),
    }
}

/// Turns the end of a process into a death, and into a crash finding if the runtime could not
/// write one itself.
fn note_death(worker: &Worker, status: ExitStatus, outcome: &mut Outcome) -> Death {
    if is_our_bug(worker) {
        let message = said_by_runtime(&worker.last_words());
        internal::note(&message);
        return Death::Internal { message };
    }
    let Some(signal) = status.signal() else {
        return Death::Exit(status.code().unwrap_or(-1));
    };
    let known = outcome
        .findings
        .iter()
        .any(|finding| finding.kind == Kind::Crash);
    // Nobody but the system's memory killer, or a user, sends this one.
    if signal != libc::SIGKILL && !known {
        let header = worker.memory.header();
        outcome.findings.push(RawFinding {
            kind: Kind::Crash,
            execution: outcome.executions,
            seed: header.seed.load(Ordering::Relaxed),
            length: header.length.load(Ordering::Relaxed),
            points: outcome.points,
            hash: 0,
            detail: [u64::try_from(signal).unwrap_or(0), 0],
            decisions: decode::decisions(&worker.memory.decisions()),
            steps: Vec::new(),
            waits: Vec::new(),
            output: String::from_utf8_lossy(&worker.memory.output()).into_owned(),
        });
    }
    Death::Signal(signal)
}

/// Whether the runtime itself ended the worker, because of a bug.
fn is_our_bug(worker: &Worker) -> bool {
    const BUG: u32 = 70;
    worker.memory.header().failure.load(Ordering::Acquire) == BUG
}

/// What the runtime said last, among all that the program printed.
fn said_by_runtime(output: &str) -> String {
    let said = output
        .rfind(RUNTIME_SAYS)
        .map_or("", |at| &output[at + RUNTIME_SAYS.len()..]);
    match said.trim() {
        "" => "the runtime ended the program".to_owned(),
        said => said.replace('\n', " "),
    }
}

fn last_words(worker: &Worker, status: ExitStatus) -> String {
    let mut words = worker.last_words();
    if !words.is_empty() && !words.ends_with('\n') {
        words.push('\n');
    }
    words.push_str(&format!("({status})"));
    words
}
