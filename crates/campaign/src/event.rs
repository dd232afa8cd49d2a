//! What a campaign tells its caller while it runs.

use std::time::Duration;

use raddle_trace::finding::Finding;

use crate::TestResult;

/// One thing that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// Work on a target began; the index is into the targets given.
    TestStarted(usize),
    /// Sent about four times a second.
    Progress(Progress),
    /// A new finding, confirmed and stored. Later sightings only raise its count.
    Finding(Box<Finding>),
    /// A finding that a rule ignores; `rule` is its index in the options.
    Ignored {
        /// The finding.
        finding: Box<Finding>,
        /// Index of the rule.
        rule: usize,
    },
    /// Something worth knowing that is not a finding.
    Note(Note),
    /// A target has its verdict, which may be that there was no time for it.
    TestDone(Box<TestResult>),
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
    /// An upper bound of the time left.
    pub time_left: Duration,
}

/// Something worth knowing that is not a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Name of the test it is about; empty if it is about the whole run.
    pub test: String,
    /// Name of that test's target.
    pub target: String,
    /// One sentence.
    pub text: String,
}
