//! What a campaign came to.

use raddle_trace::finding::Finding;
use raddle_trace::results::{TestResult, Totals};

/// Result of one whole campaign.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Figures of all tests together.
    pub totals: Totals,
    /// Distinct findings of this run that no rule ignores, with their final counts.
    pub findings: Vec<Finding>,
    /// Those that are only about time, which are not among them.
    pub timing: Vec<Finding>,
    /// One result per target, in the order of the targets given.
    pub tests: Vec<TestResult>,
    /// Indices of ignore rules that matched nothing.
    pub unused_ignores: Vec<usize>,
}
