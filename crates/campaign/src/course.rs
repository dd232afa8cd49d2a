//! How far a test got: what is carried from one of its turns to the next.

use std::time::Duration;

use raddle_abi::finding::Kind;
use raddle_abi::plan::{Carrier, Reexecution, Time};
use raddle_trace::runner::{ExecutionOutcome, Outcome, RawStep, Searched};

use crate::conflicts::ConflictShare;
use crate::explore::Batch;
use crate::paused::Paused;
use crate::predict::Hunt;
use crate::serial::SerialRuns;
use crate::session::Session;
use crate::store::TestState;
use crate::{Options, Verdict};

/// Panics of executions that passed, of which it is known where they began.
const EXPECTED_PANICS: usize = 256;
/// Scheduling points that all executions of a test may have together, where the user gives no
/// number of executions.
const BUDGET_POINTS: u64 = 5_000_000;
/// The least and the most executions then.
const LEAST_EXECUTIONS: u64 = 500;
const MOST_EXECUTIONS: u64 = 10_000;
/// Scheduling points that take as long as a process.
const PROCESS_POINTS: u64 = 5_000;

/// One test on its way through the campaign.
pub(crate) struct Course {
    /// Index of its target.
    pub index: usize,
    /// Turns it had.
    pub turns: u32,
    /// Time these took.
    pub spent: Duration,
    /// Time it had in its last turn to explore anything.
    pub patience: Duration,
    /// How far it is; also what `--continue` reads.
    pub tally: TestState,
    /// How far an earlier run got that this one continues.
    pub before: TestState,
    /// Its serial runs.
    pub serial: SerialRuns,
    /// What it was in the middle of when its turn ended.
    pub paused: Option<Paused>,
    /// How executions are repeated.
    pub reexecution: Reexecution,
    /// What carries its threads.
    pub carrier: Carrier,
    /// What the strategy has learnt, while the test has a turn.
    pub experience: Vec<u8>,
    /// Decides how many executions the next plan has.
    pub batch: Batch,
    /// How far its prediction is.
    pub hunt: Hunt,
    /// Time that it took to confirm findings.
    pub confirming: Duration,
    /// Whether exploring it further makes no sense.
    pub is_given_up: bool,
    /// Whether it was looked for what the schedule does not decide.
    pub is_probed: bool,
    /// What the strategy has searched so far.
    pub searched: Option<Searched>,
    /// Whether it has nothing more to do.
    pub is_searched: bool,
    /// Times each kind of finding occurred.
    pub occurrences: [u64; 16],
    /// Panics of executions that passed.
    pub expected_panics: Vec<RawStep>,
    /// Bits of [`raddle_abi::control::conditions`].
    pub conditions: u32,
    /// Panics in threads that nobody joined.
    pub stray_panics: u32,
    /// Numbers of the system calls that cannot be undone.
    pub syscalls: Vec<u32>,
    /// When time advances in what is explored.
    pub time: Time,
    /// Executions with the same schedule were seen to differ.
    pub is_nondeterministic: bool,
    /// Executions with more scheduling points.
    pub conflict_share: ConflictShare,
    /// The different outcomes of executions, if the user wants to know.
    pub outcomes: Vec<ExecutionOutcome>,
}

/// Adds a key to a sorted list.
fn add(keys: &mut Vec<u64>, key: u64) {
    if let Err(place) = keys.binary_search(&key) {
        keys.insert(place, key);
    }
}

impl Course {
    /// A test that had no turn yet.
    pub fn new(index: usize) -> Self {
        Self {
            index,
            turns: 0,
            spent: Duration::ZERO,
            patience: Duration::ZERO,
            tally: TestState::default(),
            before: TestState::default(),
            serial: SerialRuns::default(),
            paused: None,
            reexecution: Reexecution::Auto,
            carrier: Carrier::Auto,
            experience: Vec::new(),
            batch: Batch::default(),
            hunt: Hunt::default(),
            confirming: Duration::ZERO,
            is_given_up: false,
            is_probed: false,
            searched: None,
            is_searched: false,
            occurrences: [0; 16],
            expected_panics: Vec::new(),
            conditions: 0,
            stray_panics: 0,
            syscalls: Vec::new(),
            time: Time::Idle,
            is_nondeterministic: false,
            conflict_share: ConflictShare::default(),
            outcomes: Vec::new(),
        }
    }

    /// Counts what a plan came to.
    pub fn count(&mut self, outcome: &Outcome) {
        self.tally.executions += outcome.executions;
        self.tally.points += outcome.points;
        self.tally.cut += outcome.cut;
        if self.serial.is_settled() {
            self.tally.whole += outcome.executions.saturating_sub(outcome.cut);
        }
        self.tally.longest = outcome
            .length
            .max(outcome.last_points)
            .max(self.tally.longest);
        self.tally.threads = self.tally.threads.max(outcome.threads);
        self.expect(outcome);
        self.conditions |= outcome.conditions;
        self.stray_panics += outcome.stray_panics;
        self.syscalls.clone_from(&outcome.syscalls);
        if outcome.reexecution != Reexecution::Auto {
            self.reexecution = outcome.reexecution;
        }
        if outcome.carrier != Carrier::Auto {
            self.carrier = outcome.carrier;
        }
        for (sum, count) in self.occurrences.iter_mut().zip(outcome.occurrences) {
            *sum += count;
        }
        for site in &outcome.conflicts {
            add(&mut self.tally.conflicting, site.key);
            if site.is_race != 0 {
                add(&mut self.tally.racy, site.key);
            }
        }
        for outcome in &outcome.outcomes {
            let known = self
                .outcomes
                .iter_mut()
                .find(|known| (known.end, &known.output) == (outcome.end, &outcome.output));
            match known {
                Some(known) => known.count += outcome.count,
                None => self.outcomes.push(outcome.clone()),
            }
        }
    }

    /// Notes the panics of executions that passed.
    pub fn expect(&mut self, outcome: &Outcome) {
        let room = EXPECTED_PANICS.saturating_sub(self.expected_panics.len());
        let expected = outcome.expected_panics.iter().take(room).cloned();
        self.expected_panics.extend(expected);
    }

    /// Adds the hash of a batch of executions to that of the batches before.
    pub fn add_hash(&mut self, batch: u64) {
        let before = self.tally.hash;
        self.tally.hash = (before.rotate_left(23) ^ batch).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    /// How many executions the test gets: as many as the user wants, else fewer the longer
    /// they are. What a short test does in thousands of executions costs less than a second.
    pub fn budget(&self, options: &Options) -> u64 {
        let process = match self.reexecution {
            Reexecution::Fork => PROCESS_POINTS,
            _ => 0,
        };
        let cost = self.tally.serial_points.max(1) + process;
        let fitting = (BUDGET_POINTS / cost).clamp(LEAST_EXECUTIONS, MOST_EXECUTIONS);
        options.executions.unwrap_or(fitting)
    }

    /// Orders postponed tests: those that have explored nothing come first, then those with
    /// fewer turns, then those that need least until something is explored, as far as that is
    /// known (in scheduling points).
    pub fn rank(&self) -> (bool, u32, u64, usize) {
        let points_left = self.serial.points_left().unwrap_or(u64::MAX);
        (self.tally.explored > 0, self.turns, points_left, self.index)
    }

    /// Whether everything that was asked for is done.
    pub fn is_done(&self, options: &Options) -> bool {
        // A prediction is done when all of it was tried.
        let is_enough = options.prediction.is_none() && self.tally.explored >= self.budget(options);
        is_enough || self.sought_findings(options) >= options.max_findings || self.is_searched
    }

    /// Findings of the kind that is looked for in this test.
    fn sought_findings(&self, options: &Options) -> u64 {
        let sought = options.sought.get(self.index).copied().flatten();
        let ids = self.tally.findings.iter();
        ids.filter(|id| sought.is_none_or(|kind| is_of_kind(id, kind)))
            .count() as u64
    }

    /// Executions, scheduling points and cut executions of this run, without those of an earlier one.
    pub const fn counts(&self) -> (u64, u64, u64) {
        let (tally, before) = (&self.tally, &self.before);
        (
            tally.executions.saturating_sub(before.executions),
            tally.points.saturating_sub(before.points),
            tally.cut.saturating_sub(before.cut),
        )
    }

    /// Whether every explored execution was ended for its length: then nothing is known about
    /// what comes after.
    pub fn is_all_cut(&self) -> bool {
        self.tally.cut > 0 && self.tally.whole == 0 && self.tally.findings.is_empty()
    }

    /// Whether there may be more to explore, now or in a run that continues this one.
    pub fn may_go_on(&self, options: &Options) -> bool {
        let is_enough = options.executions.is_none() && self.is_done(options);
        self.tally.explored > 0 && !is_enough && !self.is_searched
    }

    /// Whether more time would mean more executions.
    pub fn wants_more(&self, session: &Session<'_>) -> bool {
        self.tally.explored > 0
            && !self.is_done(session.options)
            && !self.is_given_up
            && !session.is_over()
    }

    /// The verdict when no more time is left.
    pub fn out_of_time(&self, session: &Session<'_>) -> Verdict {
        if self.tally.explored > 0 {
            return Verdict::Explored;
        }
        let why = match (session.is_stopped(), self.turns) {
            (true, _) => "the run was stopped before",
            (false, 0) => "the time for the whole run was used up; give more with `--time`",
            (false, _) => {
                "the time was used up before its first execution was through; give more with \
                 `--time`"
            }
        };
        Verdict::NotRun {
            why: why.to_owned(),
        }
    }
}

/// Whether a finding with this id is of this kind.
fn is_of_kind(id: &str, kind: Kind) -> bool {
    let hash = id.strip_prefix(kind.word());
    hash.and_then(|hash| hash.strip_prefix('-'))
        .is_some_and(|hash| !hash.contains('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_batches_is_part_of_the_hash() {
        let hash = |batches: [u64; 2]| {
            let mut course = Course::new(0);
            batches.into_iter().for_each(|batch| course.add_hash(batch));
            course.tally.hash
        };
        assert_ne!(hash([1, 2]), hash([2, 1]));
    }

    #[test]
    fn a_test_that_was_written_for_one_kind_goes_on_after_others() {
        let mut course = Course::new(1);
        let options = Options {
            max_findings: 1,
            sought: vec![None, Some(Kind::Panic)],
            ..Options::default()
        };
        course.tally.note_finding("data-race-0123456789", false);
        assert!(!course.is_done(&options));
        assert!(course.is_done(&Options {
            sought: Vec::new(),
            ..options.clone()
        }));
        course.tally.note_finding("panic-0123456789", false);
        assert!(course.is_done(&options));
    }

    #[test]
    fn short_tests_get_more_executions_and_the_user_has_the_last_word() {
        let mut course = Course::new(0);
        let mut budget = |points, reexecution, executions| {
            course.tally.serial_points = points;
            course.reexecution = reexecution;
            course.budget(&Options {
                executions,
                ..Options::default()
            })
        };
        assert_eq!(budget(20, Reexecution::Snapshot, None), MOST_EXECUTIONS);
        assert_eq!(budget(2_000, Reexecution::Snapshot, None), 2_500);
        assert!(budget(20, Reexecution::Fork, None) < 1_000);
        assert_eq!(budget(1 << 40, Reexecution::Fork, None), LEAST_EXECUTIONS);
        assert_eq!(budget(1 << 40, Reexecution::Fork, Some(3)), 3);
    }
}
