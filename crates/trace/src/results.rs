//! What came of tests, and where the work on them stands: campaigns tell it, reports show it.

use std::time::Duration;

use crate::finding::Place;

/// Result of one target.
#[derive(Clone, Debug)]
pub struct TestResult {
    /// Index of the target.
    pub index: usize,
    /// Name of the test.
    pub test: String,
    /// Name of its cargo target.
    pub target: String,
    /// How far it got.
    pub verdict: Verdict,
    /// Executions, the serial ones included.
    pub executions: u64,
    /// Scheduling points.
    pub points: u64,
    /// Executions that were cut for their length.
    pub cut: u64,
    /// Largest number of threads at a time.
    pub threads: u32,
    /// If everything was run that can happen with a number of preemptions: that number.
    pub exhaustive: Option<u32>,
    /// Whether that number keeps nothing out: all sequentially consistent interleavings were run.
    pub is_complete: bool,
    /// How executions were repeated.
    pub reexecution: &'static str,
    /// What carried its threads.
    pub carrier: &'static str,
    /// Hash over the trace hashes of all explored executions, in order: equal for equal
    /// seed, plan and binary.
    pub hash: u64,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Ids of its findings, ignored ones and those of `timing` not included.
    pub findings: Vec<String>,
    /// Ids of its findings that are only about time.
    pub timing: Vec<String>,
    /// Ids of its findings that a rule ignores.
    pub ignored: Vec<String>,
    /// The different outcomes of its executions, if they were asked for.
    pub outcomes: Vec<TestOutcome>,
}

/// How executions of a test ended that printed the same.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct TestOutcome {
    /// `exit N` (0 for a test that passed), `finding` or `cut`.
    pub end: String,
    /// What they printed.
    pub output: String,
    /// How many they are.
    pub executions: u64,
}

/// Figures of all tests together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Executions.
    pub executions: u64,
    /// Scheduling points.
    pub points: u64,
    /// Executions that were cut for their length: what comes after was not explored.
    pub cut: u64,
    /// Tests explored.
    pub explored: usize,
    /// Tests that never had two threads.
    pub single_threaded: usize,
    /// Tests that fail without any interleaving.
    pub failed: usize,
    /// Tests that cannot be explored.
    pub not_testable: usize,
    /// Tests that were not reached.
    pub not_run: usize,
    /// Failures that were seen and could not be confirmed.
    pub unconfirmed: usize,
    /// Bugs of Raddle that showed.
    pub internal_errors: usize,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Whether the work was stopped from outside.
    pub interrupted: bool,
    /// Whether atomic loads could read old values.
    pub is_weak: bool,
}

impl Totals {
    /// Of these tests; how long they took together is for the caller to say.
    pub fn of(tests: &[TestResult]) -> Self {
        let mut totals = Self::default();
        for test in tests {
            totals.executions += test.executions;
            totals.points += test.points;
            totals.cut += test.cut;
            *match test.verdict {
                Verdict::Explored => &mut totals.explored,
                Verdict::SingleThreaded => &mut totals.single_threaded,
                Verdict::Failed { .. } => &mut totals.failed,
                Verdict::NotTestable { .. } => &mut totals.not_testable,
                Verdict::NotRun { .. } => &mut totals.not_run,
            } += 1;
        }
        totals
    }

    /// Tests.
    pub const fn tests(&self) -> usize {
        self.explored + self.single_threaded + self.failed + self.not_testable + self.not_run
    }

    /// What the run means, with so many findings.
    pub const fn conclusion(&self, findings: usize) -> Conclusion {
        let is_unexplored = self.explored == 0 && self.not_testable + self.not_run > 0;
        if self.internal_errors > 0 {
            Conclusion::InternalError
        } else if findings > 0 {
            Conclusion::Findings
        } else if self.interrupted {
            Conclusion::Interrupted
        } else if self.failed > 0 {
            Conclusion::Failed
        } else if self.unconfirmed > 0 {
            Conclusion::Unconfirmed
        } else if is_unexplored {
            Conclusion::NothingExplored
        } else {
            Conclusion::Clean
        }
    }
}

/// What a whole run means: of several that apply, the first one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Conclusion {
    /// A bug of Raddle showed.
    InternalError,
    /// There are findings.
    Findings,
    /// The user stopped it before anything was found.
    Interrupted,
    /// A test fails without any interleaving.
    Failed,
    /// A failure was seen that could not be confirmed.
    Unconfirmed,
    /// Tests with threads were selected, and none was explored.
    NothingExplored,
    /// Nothing was found, but code of the workspace's own was not instrumented.
    Uninstrumented,
    /// No test was selected.
    NothingSelected,
    /// Nothing was found.
    #[default]
    Clean,
}

impl Conclusion {
    /// The word of the machine output.
    pub const fn word(self) -> &'static str {
        match self {
            Self::InternalError => "internal-error",
            Self::Findings => "findings",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Unconfirmed | Self::NothingExplored | Self::Uninstrumented => "inconclusive",
            Self::NothingSelected => "nothing-selected",
            Self::Clean => "clean",
        }
    }
}

/// How far a test got. Only [`Verdict::Explored`] says anything about interleavings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Interleavings were explored (see [`TestResult::executions`]).
    Explored,
    /// It never had two threads alive at the same time, so there is nothing to interleave.
    SingleThreaded,
    /// It fails without any interleaving, as it would in `cargo test`.
    Failed {
        /// How it fails, with the message of its panic.
        why: String,
    },
    /// It could not be explored.
    NotTestable {
        /// One clear sentence.
        why: String,
    },
    /// It was not reached.
    NotRun {
        /// One clear sentence.
        why: String,
    },
}

impl Verdict {
    /// The word of the machine output.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Explored => "explored",
            Self::SingleThreaded => "single-threaded",
            Self::Failed { .. } => "failed",
            Self::NotTestable { .. } => "not-testable",
            Self::NotRun { .. } => "not-run",
        }
    }

    /// Why there was no exploration, if there is more to say than the word.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Explored | Self::SingleThreaded => None,
            Self::Failed { why } | Self::NotTestable { why } | Self::NotRun { why } => Some(why),
        }
    }
}

/// Where a campaign stands.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Executions so far, over all tests.
    pub executions: u64,
    /// Executions per second over the last moments.
    pub per_second: f64,
    /// Tests done.
    pub tests_done: usize,
    /// Tests in all.
    pub tests_total: usize,
    /// Distinct findings so far.
    pub findings: usize,
    /// The time left, as an estimate, and never more than the user allows.
    pub time_left: Duration,
    /// How much of an exhaustive search under way is done, in thousandths, as an estimate.
    pub search: Option<u32>,
}

/// Something worth knowing that is not a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// The test it is about; empty if it is about the whole run.
    pub test: String,
    /// That test's target; empty if it is about the whole run.
    pub target: String,
    /// One sentence.
    pub text: String,
    /// Whether people see it only when they ask for more.
    pub is_detail: bool,
}

impl Note {
    /// A note about the whole run.
    pub fn general(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

/// What prediction came to in a test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Predicted {
    /// Name of the test.
    pub test: String,
    /// Name of its cargo target.
    pub target: String,
    /// What predicted.
    pub engine: &'static str,
    /// What was predicted.
    pub predicted: u64,
    /// What of that became real.
    pub real: u64,
    /// Whether everything was tried before the time was over.
    pub is_complete: bool,
    /// Executions that were meant to show something.
    pub tries: u64,
    /// Those of them in which a violation of an atomic set happened.
    pub hits: u64,
    /// All executions.
    pub executions: u64,
    /// Seconds that these took, without the time in which findings were confirmed.
    pub seconds: f64,
}

/// A kind of violation of an atomic set that happened in a test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenViolation {
    /// Name of the test.
    pub test: String,
    /// Name of its cargo target.
    pub target: String,
    /// What made it happen.
    pub engine: &'static str,
    /// Number of the pattern; 0 for a cycle that matches none.
    pub pattern: u8,
    /// Name of the type or module that the set belongs to.
    pub set: String,
    /// Its units of work, in the order of the pattern.
    pub units: Vec<Place>,
    /// The execution that first showed it, from 1.
    pub first_execution: u64,
    /// Executions that showed it.
    pub hits: u64,
    /// Executions that were meant to show something.
    pub tries: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_conclusions_the_first_one_wins() {
        let everything = Totals {
            explored: 0,
            failed: 1,
            not_run: 1,
            unconfirmed: 1,
            internal_errors: 1,
            ..Totals::default()
        };
        assert_eq!(everything.conclusion(1), Conclusion::InternalError);
        let mut totals = Totals {
            internal_errors: 0,
            ..everything
        };
        assert_eq!(totals.conclusion(1), Conclusion::Findings);
        assert_eq!(totals.conclusion(0), Conclusion::Failed);
        totals.failed = 0;
        assert_eq!(totals.conclusion(0), Conclusion::Unconfirmed);
        totals.unconfirmed = 0;
        assert_eq!(totals.conclusion(0), Conclusion::NothingExplored);
        totals.interrupted = true;
        assert_eq!(totals.conclusion(0), Conclusion::Interrupted);
    }

    #[test]
    fn single_threaded_tests_alone_are_clean() {
        let mut totals = Totals {
            single_threaded: 3,
            ..Totals::default()
        };
        assert_eq!(totals.conclusion(0), Conclusion::Clean);
        totals.not_testable = 1;
        assert_eq!(totals.conclusion(0), Conclusion::NothingExplored);
        totals.explored = 1;
        assert_eq!(totals.conclusion(0), Conclusion::Clean);
    }
}
