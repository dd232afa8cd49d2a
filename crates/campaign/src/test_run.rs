//! Takes one test through the campaign: regressions, serial runs, exploration.

use std::time::Instant;

use raddle_abi::control::PlanEnd;
use raddle_abi::plan::{Granularity, Memory, Time, oracles};
use raddle_trace::runner::{Death, Outcome, PlanRequest, RawFinding, Runner, RunnerError};

use crate::allowance::Allowance;
use crate::confirm::{Confirmation, Confirmed};
use crate::course::Course;
use crate::evidence::Evidence;
use crate::explain::Explainer;
use crate::runner::{Limits, ProcessRunner};
use crate::session::Session;
use crate::{
    Event, Options, Races, Target, Verdict, earlier, explore, nondeterminism, regressions, serial,
    timing, verdict,
};

/// Gives a test a turn. The verdict stands unless the test was postponed. What was read of the
/// executable is kept for the next test, which often has the same.
pub(crate) fn run_turn(
    session: &Session<'_>,
    target: &Target,
    course: &mut Course,
    allowance: &Allowance<'_>,
    kept: &mut Option<Explainer>,
) -> Verdict {
    let start = Instant::now();
    let limits = Limits::from(session.options);
    let patience = || allowance.patience();
    let mut runner = ProcessRunner::new(target, limits, &patience, &session.executions);
    runner.take_up(course.paused.take());
    let mut test = TestRun {
        session,
        target,
        course,
        allowance,
        runner,
        explainer: kept.take().filter(|known| known.is_of(&target.exe)),
    };
    let verdict = test.run();
    test.course.paused = test.runner.put_off();
    *kept = test.explainer;
    session.put_away(target, course);
    course.turns += 1;
    course.spent += start.elapsed();
    verdict
}

/// How many times as long as a serial run an interleaved one may be before it counts as long.
const SLACK: u64 = 2;

/// The oracles that the user wants, without those that would be wrong about the target. Races are
/// looked for in any case, because the accesses become scheduling points.
fn oracles_of(options: &Options, target: &Target) -> u32 {
    let races = match options.races {
        Races::Off => oracles::SILENT_RACE,
        Races::On if !target.unseen_synchronisation.is_empty() => oracles::SILENT_RACE,
        Races::On => oracles::RACE,
        Races::All => oracles::RACE | oracles::VOLATILE_RACE,
    };
    races | if options.heap { oracles::HEAP } else { 0 }
}

/// The memory model that the user wants, unless it would be wrong about the target: what orders
/// threads unseen may have told them of newer values.
fn memory_of(options: &Options, target: &Target) -> Memory {
    match target.unseen_synchronisation.is_empty() && options.prediction.is_none() {
        true => options.memory_model,
        false => Memory::Sc,
    }
}

/// When time advances: an exploration decides about that too. Predictions are about the events of
/// executions that were recorded.
fn time_of(options: &Options) -> Time {
    match options.prediction.is_none() {
        true => Time::Any,
        false => Time::Idle,
    }
}

/// What it means for a test that a plan could not be run.
fn of_error(session: &Session<'_>, error: &RunnerError) -> Verdict {
    session.note_trouble(error);
    Verdict::NotTestable {
        why: verdict::of_error(error),
    }
}

/// A plan that came to nothing, and what that means for the test.
pub(crate) type Ended<T> = Result<T, Verdict>;

/// One turn of a test.
pub(crate) struct TestRun<'a> {
    /// The campaign.
    pub session: &'a Session<'a>,
    /// The test.
    pub target: &'a Target,
    /// How far it got.
    pub course: &'a mut Course,
    /// How long the turn may be.
    pub allowance: &'a Allowance<'a>,
    runner: ProcessRunner<'a>,
    explainer: Option<Explainer>,
}

impl TestRun<'_> {
    fn run(&mut self) -> Verdict {
        if self.course.turns == 0 {
            if let Some(verdict) = earlier::take_up(self.session, self.target, self.course) {
                return verdict;
            }
            regressions::replay_all(self);
        }
        serial::check(self)
            .and_then(|()| match self.session.options.prediction {
                Some(prediction) => prediction.engine.drive(self, prediction),
                None => explore::explore(self),
            })
            .map(|()| {
                // Its executions would be chance finds among those that were predicted.
                if self.session.options.prediction.is_none() {
                    nondeterminism::check(self);
                }
            })
            .map_or_else(|verdict| verdict, |()| Verdict::Explored)
    }

    /// The user's choices.
    pub fn options(&self) -> &Options {
        self.session.options
    }

    /// A plan with the user's options.
    pub fn request(&self, strategy: &str, executions: u64) -> PlanRequest {
        let options = self.options();
        PlanRequest {
            strategy: strategy.to_owned(),
            seed: options.first_seed(),
            executions,
            max_points: options
                .max_points
                .max(SLACK * self.course.tally.serial_points),
            longest: self.course.tally.longest,
            oracles: oracles_of(options, self.target),
            granularity: options.granularity,
            memory: memory_of(options, self.target),
            time: time_of(options),
            reexecution: options.reexecution,
            racy: match options.granularity {
                Granularity::Racy | Granularity::Access => self.course.tally.racy.clone(),
                Granularity::Sync => Vec::new(),
            },
            outcomes: options.outcomes,
            ..PlanRequest::default()
        }
    }

    /// Runs a plan and counts it. A plan that the program makes impossible is the verdict.
    pub fn plan(&mut self, request: &PlanRequest) -> Ended<Outcome> {
        let outcome = self.runner.run(request);
        self.count(outcome)
    }

    /// The same for a plan whose strategy goes on with what it has learnt.
    pub fn learning_plan(&mut self, request: &PlanRequest) -> Ended<Outcome> {
        let mut experience = std::mem::take(&mut self.course.experience);
        let outcome = self.plan_with(request, &mut experience);
        self.course.experience = experience;
        outcome
    }

    /// The same with what the strategy has learnt in other plans.
    pub fn plan_with(&mut self, request: &PlanRequest, experience: &mut Vec<u8>) -> Ended<Outcome> {
        let outcome = self.runner.run_learning(request, experience);
        self.count(outcome)
    }

    /// Runs a plan that counts only if its outcome is `wanted`; whether it is.
    pub fn plan_if(
        &mut self,
        request: &PlanRequest,
        wanted: impl FnOnce(&Outcome) -> bool,
    ) -> Ended<bool> {
        let outcome = self.runner.run(request);
        let outcome = outcome.map_err(|error| of_error(self.session, &error))?;
        if outcome.end == PlanEnd::Stopped {
            return Err(self.course.out_of_time(self.session));
        }
        if let Some(death @ Death::NeverStarted { .. }) = &outcome.died {
            // What comes before all executions is the same each time.
            let why = self.death_in_words(death);
            return Err(Verdict::NotTestable { why });
        }
        if wanted(&outcome) {
            self.course.count(&outcome);
            return Ok(true);
        }
        self.course.expect(&outcome);
        if outcome.died.is_some() || outcome.occurrences.iter().any(|count| *count > 0) {
            // A worker tells what it has seen once only.
            self.renew_worker();
        }
        Ok(false)
    }

    fn count(&mut self, outcome: Result<Outcome, RunnerError>) -> Ended<Outcome> {
        let outcome = outcome.map_err(|error| of_error(self.session, &error))?;
        self.course.count(&outcome);
        if outcome.end == PlanEnd::Stopped && !self.allowance.has_explored() {
            return Err(self.course.out_of_time(self.session));
        }
        Ok(outcome)
    }

    /// Runs a plan that repeats what was run before, and so is not counted. What it finds
    /// is taken up.
    pub fn repeat(&mut self, request: &PlanRequest) -> Option<Outcome> {
        let outcome = self.run_or_note(request)?;
        self.sighted(&outcome.findings, request);
        Some(outcome)
    }

    /// A turn in which nothing was explored came too late.
    pub fn has_explored(&self) -> Ended<()> {
        match self.course.tally.explored {
            0 => Err(self.course.out_of_time(self.session)),
            _ => Ok(()),
        }
    }

    /// Runs a plan that is not counted, and whose findings are the caller's.
    pub fn try_out(&mut self, request: &PlanRequest) -> Option<Outcome> {
        self.run_or_note(request)
    }

    /// Runs a plan without which the test goes on, unless the machine refuses to run any.
    fn run_or_note(&mut self, request: &PlanRequest) -> Option<Outcome> {
        let outcome = self.runner.run(request);
        let outcome = outcome
            .inspect_err(|error| self.session.note_trouble(error))
            .ok()?;
        self.course.expect(&outcome);
        Some(outcome)
    }

    /// Ends the worker, so that the next plan gets a new one.
    pub fn renew_worker(&mut self) {
        self.runner.renew();
    }

    /// Why the worker died, in words.
    pub fn death_in_words(&mut self, death: &Death) -> String {
        let frames = self.runner.stuck_at().to_vec();
        let place = self.explainer().stack_in_words(&frames);
        verdict::of_death(death, place.as_deref(), self.options().watchdog.as_secs())
    }

    /// Remembers that an execution ended in a way that no schedule repeats: it counts as seen and not
    /// confirmed, except for a bug of ours.
    pub fn unconfirmed_death(&mut self, death: &Death, sentence: String) {
        let way = match death {
            Death::Internal { .. } => return self.session.note(self.target, sentence),
            Death::Exit(_) => "exit",
            Death::Signal(_) => "signal",
            Death::Stuck { .. } | Death::NeverStarted { .. } => "stuck",
            Death::Memory { .. } => "memory",
        };
        let id = format!("{way} of {} {}", self.target.target, self.target.name);
        self.session.found().recall_unconfirmed(&id);
        self.course.tally.unconfirmed.entry(id).or_insert(sentence);
    }

    /// What another runner of the same target has learnt of it.
    pub fn learn_from(&mut self, other: &ProcessRunner<'_>) {
        self.runner.learn_from(other);
    }

    /// Names places of the executable; loaded when first needed.
    pub fn explainer(&mut self) -> &mut Explainer {
        let (exe, options) = (&self.target.exe, self.session.options);
        let explainer = self
            .explainer
            .get_or_insert_with(|| Explainer::new(exe, options));
        explainer.first_thread = self.runner.first_thread();
        explainer.begin(self.target);
        explainer.expect(self.course.index, &self.course.expected_panics);
        explainer
    }

    /// Takes up what a plan found: new findings are confirmed and reported.
    pub fn sighted(&mut self, findings: &[RawFinding], request: &PlanRequest) {
        self.sighted_with(findings, request, &Evidence::default());
    }

    /// The same with what is known about a violation that they are, or follow from.
    pub fn sighted_with(
        &mut self,
        findings: &[RawFinding],
        request: &PlanRequest,
        evidence: &Evidence,
    ) {
        let start = Instant::now();
        for raw in findings {
            let before = self.course.tally.explored;
            let executions =
                before + raw.seed.wrapping_sub(request.seed).min(request.executions) + 1;
            self.sighting(raw, request, executions, evidence.clone());
        }
        self.course.confirming += start.elapsed();
    }

    fn sighting(
        &mut self,
        raw: &RawFinding,
        request: &PlanRequest,
        executions: u64,
        evidence: Evidence,
    ) {
        let id = self.explainer().id(raw);
        {
            let mut found = self.session.found_after_attempt(&id);
            let name = found.members.get(&id).unwrap_or(&id).clone();
            let mut is_more = false;
            if let Some(known) = found.reported.get_mut(&name) {
                known.count += 1;
                // What shows without an early expiry is more than timing.
                is_more = known.timing.is_some() && !timing::is_early(raw);
                if !is_more {
                    let is_timing = known.timing.is_some();
                    self.course.tally.note_finding(&name, is_timing);
                    return;
                }
            }
            if found.ignored.contains_key(&name) {
                self.course.tally.note_ignored(&name);
            }
            if !found.begin(&id, is_more) {
                return;
            }
        }
        self.confirm_sighting(&id, raw, request, (executions, evidence));
        self.session.end_attempt(&id);
    }

    /// Takes what was seen to a new process, and tells what came of it.
    fn confirm_sighting(
        &mut self,
        id: &str,
        raw: &RawFinding,
        request: &PlanRequest,
        (executions, evidence): (u64, Evidence),
    ) {
        let (session, target) = (self.session, self.target);
        let is_spoilt = serial::is_spoilt(self);
        let explainer = self.explainer();
        let confirmed = match is_spoilt {
            true => None,
            false => Confirmation {
                session,
                target,
                explainer,
                evidence,
            }
            .confirm(id, raw, request, executions),
        };
        match confirmed {
            Some(Confirmed { finding, error }) => {
                self.course.tally.unconfirmed.remove(id);
                let rule = session.rule(&finding);
                {
                    let mut found = session.found();
                    found.belongs(id, &finding.id);
                    if finding.id != id && found.is_settled(&finding.id) {
                        if let Some(known) = found.reported.get_mut(&finding.id) {
                            known.count += 1;
                            let is_timing = known.timing.is_some();
                            self.course.tally.note_finding(&finding.id, is_timing);
                        }
                        return;
                    }
                    found.confirmed(&finding, rule);
                }
                let finding = Box::new(finding);
                match rule {
                    Some(rule) => {
                        self.course.tally.note_ignored(&finding.id);
                        session.send(Event::Ignored { finding, rule });
                    }
                    None => {
                        let is_timing = finding.timing.is_some();
                        self.course.tally.note_finding(&finding.id, is_timing);
                        session.send(Event::Finding(finding));
                    }
                }
                // What was found is told before why the campaign ends.
                if let Some(error) = error {
                    session.fail(error);
                }
            }
            None => {
                let finding = self.explainer().explain(target, raw, None);
                if let Some(rule) = session.rule(&finding) {
                    session.found().confirmed(&finding, Some(rule));
                    self.course.tally.note_ignored(&finding.id);
                    return;
                }
                let why = match session.is_over() {
                    _ if is_spoilt => {
                        "files that executions have left make the test fail without any interleaving"
                    }
                    true => "could not be shown again in the time left",
                    false => "did not show again in a new process",
                };
                let text = format!(
                    "a {} was seen (seed {}) but {why}, so it is not reported: {}",
                    raw.kind.word(),
                    raw.seed,
                    finding.title
                );
                session.found().failed(id);
                self.course.tally.unconfirmed.insert(id.to_owned(), text);
            }
        }
    }

    /// Takes up what the strategy has learnt in an earlier turn, or an earlier run; before its first
    /// execution, in a serial run.
    pub fn recall(&mut self) {
        if self.course.tally.explored > 0 {
            self.course.experience = self.session.take_out(self.target, self.course);
        }
    }

    /// Saves how far the test is.
    pub fn save(&self) {
        self.session
            .remember(self.target, self.course.tally.clone(), false);
    }
}
