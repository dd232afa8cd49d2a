//! What a campaign tells its caller while it runs.

use raddle_trace::finding::Finding;
use raddle_trace::results::{Note, Predicted, Progress, SeenViolation, TestResult};

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
    /// A kind of violation of an atomic set that happened, at the end of a target.
    Violation(Box<SeenViolation>),
    /// What prediction came to, at the end of a target.
    Predicted(Box<Predicted>),
    /// A target has its verdict, which may be that there was no time for it.
    TestDone(Box<TestResult>),
}
