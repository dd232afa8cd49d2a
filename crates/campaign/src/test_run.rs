//! Takes one test through the campaign: regressions, serial runs, exploration.

use std::time::Instant;

use raddle_abi::control::PlanEnd;
use raddle_abi::finding::Kind;
use raddle_abi::plan::{Granularity, Memory, oracles};
use raddle_trace::runner::{Death, Outcome, PlanRequest, RawFinding, Runner, RunnerError};

use crate::allowance::Allowance;
use crate::confirm::{Confirmation, Confirmed, build_id};
use crate::course::Course;
use crate::evidence::Evidence;
use crate::explain::Explainer;
use crate::runner::{Limits, ProcessRunner};
use crate::session::Session;
use crate::{
    Event, Options, Races, Target, Verdict, explore, nondeterminism, regressions, serial, verdict,
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

/// The oracles that the user wants, without those that would be wrong about the target.
fn oracles_of(options: &Options, target: &Target) -> u32 {
    let races = match options.races {
        Races::Off => 0,
        Races::On if !target.unseen_synchronisation.is_empty() => 0,
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

/// What it means for a test that a plan could not be run.
fn of_error(error: &RunnerError) -> Verdict {
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
            self.course.tally.build = build_id(self.target);
            if let Some(verdict) = self.take_up() {
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

    /// Takes up what an earlier run left, if this one continues it; its verdict, if there is
    /// nothing more to do.
    fn take_up(&mut self) -> Option<Verdict> {
        let build = self.course.tally.build;
        self.course.tally = self.session.earlier(self.target, build)?;
        let (tally, options) = (&self.course.tally, self.session.options);
        let verdict = match tally.verdict.as_str() {
            "single-threaded" => Some(Verdict::SingleThreaded),
            "not testable" => Some(Verdict::NotTestable {
                why: tally.why.clone(),
            }),
            "searched" => Some(Verdict::Explored),
            // With more executions to run, there is more to do.
            "explored" if options.executions.is_none() || self.course.is_done(options) => {
                Some(Verdict::Explored)
            }
            _ => None,
        };
        self.report_earlier();
        verdict
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
            seed: options.seed,
            executions,
            max_points: options
                .max_points
                .max(SLACK * self.course.tally.serial_points),
            longest: self.course.tally.longest,
            oracles: oracles_of(options, self.target),
            granularity: options.granularity,
            memory: memory_of(options, self.target),
            reexecution: options.reexecution,
            racy: self.course.tally.racy.clone(),
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
        let experience = &mut self.course.experience;
        let outcome = self.runner.run_learning(request, experience);
        self.count(outcome)
    }

    /// Runs a plan that counts only if its outcome is `wanted`; whether it is.
    pub fn plan_if(
        &mut self,
        request: &PlanRequest,
        wanted: impl FnOnce(&Outcome) -> bool,
    ) -> Ended<bool> {
        let outcome = self.runner.run(request).map_err(|error| of_error(&error))?;
        if outcome.end == PlanEnd::Stopped {
            return Err(self.course.out_of_time(self.session));
        }
        let is_wanted = wanted(&outcome);
        if is_wanted {
            self.course.count(&outcome);
        } else if outcome.died.is_some() || outcome.occurrences.iter().any(|count| *count > 0) {
            // A worker tells what it has seen once only.
            self.renew_worker();
        }
        Ok(is_wanted)
    }

    fn count(&mut self, outcome: Result<Outcome, RunnerError>) -> Ended<Outcome> {
        let outcome = outcome.map_err(|error| of_error(&error))?;
        self.course.count(&outcome);
        if outcome.end == PlanEnd::Stopped && !self.allowance.has_explored() {
            return Err(self.course.out_of_time(self.session));
        }
        Ok(outcome)
    }

    /// Runs a plan that repeats what was run before, and so is not counted. What it finds
    /// is taken up.
    pub fn repeat(&mut self, request: &PlanRequest) -> Option<Outcome> {
        let outcome = self.runner.run(request).ok()?;
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
        self.runner.run(request).ok()
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
            if raw.kind == Kind::DataRace && self.options().granularity == Granularity::Racy {
                let keys = self.explainer().racy_keys(raw);
                self.course.tally.racy.extend(keys);
                self.course.tally.racy.sort_unstable();
                self.course.tally.racy.dedup();
            }
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
            let mut found = self.session.found();
            if let Some(known) = found.reported.get_mut(&id) {
                known.count += 1;
                if !self.course.tally.findings.contains(&id) {
                    self.course.tally.findings.push(id);
                }
                return;
            }
            if found.ignored.contains_key(&id) || found.pending.insert(id.clone(), ()).is_some() {
                return;
            }
        }
        let (session, target) = (self.session, self.target);
        let explainer = self.explainer();
        let confirmed = Confirmation {
            session,
            target,
            explainer,
            evidence,
        }
        .confirm(&id, raw, request, executions);
        match confirmed {
            Some(Confirmed { finding, error }) => {
                let rules = session.options.ignore.iter();
                let rule = rules.enumerate().find(|(_, rule)| rule.matches(&finding));
                if let Some((rule, _)) = rule {
                    session.found().ignored.insert(id, rule);
                    session.send(Event::Ignored {
                        finding: Box::new(finding),
                        rule,
                    });
                } else {
                    session.found().reported.insert(id.clone(), finding.clone());
                    self.course.tally.findings.push(id);
                    session.send(Event::Finding(Box::new(finding)));
                }
                // What was found is told before why the campaign ends.
                if let Some(error) = error {
                    session.fail(error);
                }
            }
            None => {
                let finding = self.explainer().explain(target, raw, None);
                let why = match session.is_over() {
                    true => "could not be shown again in the time left",
                    false => "did not show again in a new process",
                };
                let text = format!(
                    "a {} was seen (seed {}) but {why}, so it is not reported: {}",
                    raw.kind.word(),
                    raw.seed,
                    finding.title
                );
                session.note(target, text);
            }
        }
    }

    /// Takes up what the strategy has learnt in an earlier turn, or an earlier run.
    pub fn recall(&mut self) {
        self.course.experience = self.session.take_out(self.target, self.course);
    }

    /// Saves how far the test is.
    pub fn save(&self) {
        self.session
            .remember(self.target, self.course.tally.clone(), false);
    }

    /// Findings of the run that this one continues are findings of the whole.
    fn report_earlier(&mut self) {
        for id in &self.course.tally.findings {
            let Ok(Some(finding)) = self.session.store.finding(id) else {
                continue;
            };
            let is_new = self
                .session
                .found()
                .reported
                .insert(id.clone(), finding.clone())
                .is_none();
            if is_new {
                self.session.send(Event::Finding(Box::new(finding)));
            }
        }
    }
}
