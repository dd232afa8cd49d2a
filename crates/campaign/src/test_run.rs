//! Takes one test through the campaign: regressions, serial runs, exploration.

use std::time::Instant;

use raddle_abi::control::PlanEnd;
use raddle_abi::finding::Kind;
use raddle_abi::plan::{Granularity, Reexecution, oracles};
use raddle_trace::runner::{Death, Outcome, PlanRequest, RawFinding, Runner};

use crate::confirm::{Confirmation, Confirmed, build_id};
use crate::explain::Explainer;
use crate::runner::{Limits, Patience, ProcessRunner};
use crate::session::Session;
use crate::store::TestState;
use crate::{
    Event, Options, Races, Target, TestResult, Verdict, explore, regressions, serial, verdict,
};

/// Runs one test to its verdict.
pub(crate) fn run_test(session: &Session<'_>, index: usize, target: &Target) -> TestResult {
    let start = Instant::now();
    let deadline = session.begin_test();
    let halt = || session.is_stopped() || Instant::now() > deadline;
    let patience = || match halt() {
        true => Patience::Short,
        false => Patience::Long,
    };
    let limits = Limits::from(session.options);
    let mut test = TestRun {
        session,
        target,
        halt: &halt,
        runner: ProcessRunner::new(target, limits, &patience, &session.executions),
        tally: TestState {
            build: build_id(target),
            ..TestState::default()
        },
        reexecution: Reexecution::Auto,
        occurrences: [0; 16],
        conditions: 0,
        stray_panics: 0,
        syscalls: Vec::new(),
        explainer: None,
    };
    let verdict = test.run();
    test.notes();
    test.settle_counts();
    test.remember(&verdict);
    TestResult {
        index,
        test: target.name.clone(),
        target: target.target.clone(),
        verdict,
        executions: test.tally.executions,
        points: test.tally.points,
        cut: test.tally.cut,
        threads: test.tally.threads,
        reexecution: test.reexecution.word(),
        hash: test.tally.hash,
        seconds: start.elapsed().as_secs_f64(),
        findings: test.tally.findings,
    }
}

/// How many times as long as a serial run an interleaved one may be before it counts as long.
const SLACK: u64 = 2;

/// A plan that came to nothing, and what that means for the test.
pub(crate) type Ended<T> = Result<T, Verdict>;

/// One test under way.
pub(crate) struct TestRun<'a> {
    /// The campaign.
    pub session: &'a Session<'a>,
    /// The test.
    pub target: &'a Target,
    /// How far it is; also what `--continue` reads.
    pub tally: TestState,
    halt: &'a (dyn Fn() -> bool + Sync),
    runner: ProcessRunner<'a>,
    reexecution: Reexecution,
    occurrences: [u64; 16],
    conditions: u32,
    stray_panics: u32,
    syscalls: Vec<u32>,
    explainer: Option<Explainer>,
}

impl TestRun<'_> {
    fn run(&mut self) -> Verdict {
        if let Some(earlier) = self.session.earlier(self.target, self.tally.build) {
            self.tally = earlier;
            self.report_earlier();
            match self.tally.verdict.as_str() {
                "single-threaded" => return Verdict::SingleThreaded,
                "not testable" => {
                    return Verdict::NotTestable {
                        why: self.tally.why.clone(),
                    };
                }
                "explored" if self.tally.explored >= self.session.options.executions => {
                    return Verdict::Explored;
                }
                _ => {}
            }
        }
        regressions::replay_all(self);
        serial::check(self)
            .and_then(|()| explore::explore(self))
            .map_or_else(|verdict| verdict, |()| Verdict::Explored)
    }

    /// The user's choices.
    pub fn options(&self) -> &Options {
        self.session.options
    }

    /// Whether the test's time is over, or the run was stopped.
    pub fn is_over(&self) -> bool {
        (self.halt)()
    }

    /// A plan with the user's options.
    pub fn request(&self, strategy: &str, executions: u64) -> PlanRequest {
        let options = self.options();
        PlanRequest {
            strategy: strategy.to_owned(),
            seed: options.seed,
            executions,
            max_points: options.max_points.max(SLACK * self.tally.serial_points),
            oracles: match options.races {
                Races::Off => 0,
                Races::On => oracles::RACE,
                Races::All => oracles::RACE | oracles::VOLATILE_RACE,
            },
            granularity: options.granularity,
            reexecution: options.reexecution,
            racy: self.tally.racy.clone(),
            ..PlanRequest::default()
        }
    }

    /// Runs a plan and counts it. A plan that the program makes impossible is the verdict.
    pub fn plan(&mut self, request: &PlanRequest) -> Ended<Outcome> {
        let outcome = self
            .runner
            .run(request)
            .map_err(|error| Verdict::NotTestable {
                why: verdict::of_error(&error),
            })?;
        self.tally.executions += outcome.executions;
        self.tally.points += outcome.points;
        self.tally.cut += outcome.cut;
        self.tally.threads = self.tally.threads.max(outcome.threads);
        self.conditions |= outcome.conditions;
        self.stray_panics += outcome.stray_panics;
        self.syscalls.clone_from(&outcome.syscalls);
        if outcome.reexecution != Reexecution::Auto {
            self.reexecution = outcome.reexecution;
        }
        for (sum, count) in self.occurrences.iter_mut().zip(outcome.occurrences) {
            *sum += count;
        }
        if outcome.end == PlanEnd::Stopped && outcome.executions == 0 && self.tally.explored == 0 {
            return Err(self.not_run());
        }
        Ok(outcome)
    }

    /// Ends the worker, so that the next plan gets a new one.
    pub fn renew_worker(&mut self) {
        self.runner.renew();
    }

    /// The verdict of a test that was cut off before anything was explored.
    pub fn not_run(&self) -> Verdict {
        let why = if self.session.is_stopped() {
            "the run was stopped before"
        } else {
            "its share of the time was used up before the first execution; give more with `--time`"
        };
        Verdict::NotRun {
            why: why.to_owned(),
        }
    }

    /// Why the worker died, in words.
    pub fn death_in_words(&mut self, death: &Death) -> String {
        let frames = self.runner.stuck_at().to_vec();
        let place = self.explainer().stack_in_words(&frames);
        verdict::of_death(death, place.as_deref(), self.options().watchdog.as_secs())
    }

    /// Names places of the executable; loaded when first needed.
    pub fn explainer(&mut self) -> &mut Explainer {
        let (exe, workspace) = (&self.target.exe, &self.session.options.workspace_root);
        let explainer = self
            .explainer
            .get_or_insert_with(|| Explainer::new(exe, workspace));
        explainer.first_thread = self.runner.first_thread();
        explainer
    }

    /// Takes up what a plan found: new findings are confirmed and reported.
    pub fn sighted(&mut self, findings: &[RawFinding], request: &PlanRequest) {
        for raw in findings {
            let before = self.tally.explored;
            let executions =
                before + raw.seed.wrapping_sub(request.seed).min(request.executions) + 1;
            self.sighting(raw, request, executions);
            if raw.kind == Kind::DataRace && self.options().granularity == Granularity::Racy {
                let keys = self.explainer().racy_keys(raw);
                self.tally.racy.extend(keys);
                self.tally.racy.sort_unstable();
                self.tally.racy.dedup();
            }
        }
    }

    fn sighting(&mut self, raw: &RawFinding, request: &PlanRequest, executions: u64) {
        let id = self.explainer().id(raw);
        {
            let mut found = self.session.found();
            if let Some(known) = found.reported.get_mut(&id) {
                known.count += 1;
                if !self.tally.findings.contains(&id) {
                    self.tally.findings.push(id);
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
                    self.tally.findings.push(id);
                    session.send(Event::Finding(Box::new(finding)));
                }
                // What was found is told before why the campaign ends.
                if let Some(error) = error {
                    session.fail(error);
                }
            }
            None => {
                let finding = self.explainer().explain(target, raw, None);
                session.note(
                    target,
                    format!(
                        "a {} was seen (seed {}) but did not show again in a new process, so it \
                         is not reported: {}",
                        raw.kind.word(),
                        raw.seed,
                        finding.title
                    ),
                );
            }
        }
    }

    /// Saves how far the test is.
    pub fn save(&self) {
        self.session
            .remember(self.target, self.tally.clone(), false);
    }

    fn remember(&mut self, verdict: &Verdict) {
        let (word, why) = match verdict {
            Verdict::Explored if self.tally.explored < self.options().executions => ("", ""),
            Verdict::Explored => ("explored", ""),
            Verdict::SingleThreaded => ("single-threaded", ""),
            Verdict::NotTestable { why } => ("not testable", why.as_str()),
            Verdict::NotRun { .. } => ("", ""),
        };
        self.tally.verdict = word.to_owned();
        self.tally.why = why.to_owned();
        self.session.remember(self.target, self.tally.clone(), true);
    }

    /// Findings of the run that this one continues are findings of the whole.
    fn report_earlier(&mut self) {
        for id in &self.tally.findings {
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

    /// The runtime counts occurrences by kind: where a kind has one finding, they are its own.
    fn settle_counts(&self) {
        let mut found = self.session.found();
        for &kind in Kind::ALL {
            let of_kind: Vec<&String> = self
                .tally
                .findings
                .iter()
                .filter(|id| id.starts_with(kind.word()))
                .collect();
            if let [id] = of_kind[..]
                && let Some(finding) = found.reported.get_mut(id)
            {
                finding.count = finding.count.max(self.occurrences[kind as usize]);
            }
        }
    }

    fn notes(&self) {
        for words in verdict::conditions_in_words(self.conditions) {
            self.session.note(self.target, words.to_owned());
        }
        if self.reexecution == Reexecution::Fork && !self.syscalls.is_empty() {
            let text = format!(
                "every execution is a process of its own, which is slow, because of system \
                 calls that cannot be undone: {}",
                verdict::calls_in_words(&self.syscalls)
            );
            self.session.note(self.target, text);
        }
        if self.tally.cut > 0 {
            let text = format!(
                "{} of {} executions were ended before the test was through, after {} points \
                 each; more are allowed with `--max-points`",
                self.tally.cut,
                self.tally.executions,
                self.tally.points / self.tally.executions.max(1)
            );
            self.session.note(self.target, text);
        }
        if self.stray_panics > 0 {
            let text = format!("{} panics in threads that nobody joined", self.stray_panics);
            self.session.note(self.target, text);
        }
    }
}
