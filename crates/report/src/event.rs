//! What there is to show.

use crate::generated::{Comparison, GeneratedTest, Operation, PairCoverage, Trial};
use raddle_trace::finding::Finding;
use raddle_trace::results::{
    Conclusion, Note, Predicted, Progress, SeenViolation, TestResult, Totals,
};

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
    /// A kind of violation of an atomic set that happened in a test.
    Violation(Box<SeenViolation>),
    /// What prediction came to in a test.
    Predicted(Box<Predicted>),
    /// Work on one test ended.
    Test(Box<TestResult>),
    /// A test that could be run.
    Listed(ListedTest),
    /// Something that a type offers to `generate`.
    Operation(Operation),
    /// A failing test that `generate` wrote.
    Generated(Box<GeneratedTest>),
    /// What the tests of `generate` covered.
    Coverage(Box<PairCoverage>),
    /// One of several searches of `generate` that are only measured.
    Trial(Box<Trial>),
    /// What comparing random tests with their written forms came to.
    Comparison(Box<Comparison>),
    /// A replay ended.
    Replay(Box<Replay>),
    /// One answer of `doctor`.
    Check(Check),
    /// The command ends.
    Summary(Summary),
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
    /// The exit code of the command.
    pub exit: u8,
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
    /// Of all tests together.
    pub totals: Totals,
    /// Distinct findings, without those that are only about time.
    pub findings: usize,
    /// Those that are only about time.
    pub timing: usize,
    /// Findings that a rule of `raddle.toml` ignores.
    pub ignored: usize,
    /// What the run means.
    pub conclusion: Conclusion,
    /// Crates of the workspace that have no hooks because LLVM refused them.
    pub uninstrumented: Vec<String>,
    /// The exit code of the command, if that ends with this.
    pub exit: Option<u8>,
}
