//! What a campaign came to.

use raddle_trace::finding::Finding;
use raddle_trace::results::{TestResult, Verdict};

/// Result of one whole campaign.
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
    /// Distinct findings of this run that no rule ignores, with their final counts.
    pub findings: Vec<Finding>,
    /// One result per target, in the order of the targets given.
    pub tests: Vec<TestResult>,
    /// Indices of ignore rules that matched nothing.
    pub unused_ignores: Vec<usize>,
    /// Whether the caller's stop flag ended it.
    pub interrupted: bool,
}

impl Summary {
    /// Tests that were explored.
    pub fn explored(&self) -> usize {
        self.count(|verdict| matches!(verdict, Verdict::Explored))
    }

    /// Tests that never had two threads.
    pub fn single_threaded(&self) -> usize {
        self.count(|verdict| matches!(verdict, Verdict::SingleThreaded))
    }

    /// Tests that could not be explored.
    pub fn not_testable(&self) -> usize {
        self.count(|verdict| matches!(verdict, Verdict::NotTestable { .. }))
    }

    /// Tests that were not reached.
    pub fn not_run(&self) -> usize {
        self.count(|verdict| matches!(verdict, Verdict::NotRun { .. }))
    }

    fn count(&self, is: impl Fn(&Verdict) -> bool) -> usize {
        self.tests.iter().filter(|test| is(&test.verdict)).count()
    }
}
