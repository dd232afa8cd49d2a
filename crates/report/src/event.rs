//! What there is to show.

use std::time::Duration;

use raddle_trace::finding::Finding;

/// One thing to show.
#[derive(Clone, Debug)]
pub enum Event {
    /// A command begins.
    Start,
    /// A step of the preparation, as cargo words them: `Compiling` `the runtime`.
    Status {
        /// A participle.
        verb: String,
        /// The rest of the sentence.
        text: String,
    },
    /// Where the work stands.
    Progress(Progress),
    /// A new finding.
    Finding(Box<Finding>),
    /// Something worth knowing that is not a finding.
    Note(Note),
    /// Work on one test ended.
    Test(TestReport),
    /// A test that could be run.
    Listed(ListedTest),
    /// A replay ended.
    Replay(Box<Replay>),
    /// One answer of `doctor`.
    Check(Check),
    /// The command ends.
    Summary(Summary),
}

/// Where the work stands.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Executions so far.
    pub executions: u64,
    /// Executions per second of late.
    pub per_second: f64,
    /// Tests done.
    pub tests_done: usize,
    /// Tests in all.
    pub tests_total: usize,
    /// Distinct findings so far.
    pub findings: usize,
    /// An upper bound of the time left.
    pub time_left: Duration,
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

/// What came of one test.
#[derive(Clone, Debug)]
pub struct TestReport {
    /// Name of the test.
    pub test: String,
    /// Name of its target.
    pub target: String,
    /// How far it got.
    pub verdict: Verdict,
    /// Executions.
    pub executions: u64,
    /// Scheduling points.
    pub points: u64,
    /// Executions that were cut for their length.
    pub cut: u64,
    /// Largest number of threads at a time.
    pub threads: u32,
    /// How executions were repeated.
    pub reexecution: &'static str,
    /// Hash over all executions: equal for equal seed, plan and binary.
    pub hash: u64,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Ids of its findings.
    pub findings: Vec<String>,
}

/// How far a test got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Interleavings were explored.
    Explored,
    /// It never had two threads at the same time.
    SingleThreaded,
    /// It cannot be explored.
    NotTestable {
        /// One sentence.
        why: String,
    },
    /// It was not reached.
    NotRun {
        /// One sentence.
        why: String,
    },
}

impl Verdict {
    /// The word of the machine output.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Explored => "explored",
            Self::SingleThreaded => "single-threaded",
            Self::NotTestable { .. } => "not-testable",
            Self::NotRun { .. } => "not-run",
        }
    }

    /// Why there was no exploration, if there is more to say than the word.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Explored | Self::SingleThreaded => None,
            Self::NotTestable { why } | Self::NotRun { why } => Some(why),
        }
    }
}

/// A test that could be run.
#[derive(Clone, Debug)]
pub struct ListedTest {
    /// Name of the test.
    pub test: String,
    /// Name of its target.
    pub target: String,
    /// Name of its package.
    pub package: String,
    /// Whether it is `#[ignore]`d.
    pub ignored: bool,
}

/// What a replay came to.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Id of the finding.
    pub id: String,
    /// Executions.
    pub runs: u64,
    /// Executions that showed the finding.
    pub reproduced: u64,
    /// Where the program first left the schedule.
    pub diverged: Option<String>,
    /// What came up instead.
    pub others: Vec<String>,
    /// The finding as seen in this replay.
    pub finding: Option<Finding>,
}

/// One answer of `doctor`.
#[derive(Clone, Debug)]
pub struct Check {
    /// What was looked at.
    pub name: String,
    /// What came of it.
    pub result: CheckResult,
    /// What was found, and what to do about it.
    pub text: String,
}

/// Whether something is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckResult {
    /// It is.
    Good,
    /// It works, with a limit.
    Limited,
    /// Raddle cannot work this way.
    Bad,
}

impl CheckResult {
    /// The word of both outputs.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Limited => "limited",
            Self::Bad => "bad",
        }
    }
}

/// Figures of a whole command.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Executions in all.
    pub executions: u64,
    /// Scheduling points in all.
    pub points: u64,
    /// Executions that were cut for their length: what comes after was not explored.
    pub cut: u64,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Distinct findings.
    pub findings: usize,
    /// Findings that a rule of `raddle.toml` ignores.
    pub ignored: usize,
    /// Tests explored.
    pub explored: usize,
    /// Tests that never had two threads.
    pub single_threaded: usize,
    /// Tests that cannot be explored.
    pub not_testable: usize,
    /// Tests that were not reached.
    pub not_run: usize,
    /// Whether the user stopped it.
    pub interrupted: bool,
}
