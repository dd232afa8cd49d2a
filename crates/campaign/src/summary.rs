//! What a campaign came to.

use raddle_trace::finding::Finding;

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
    /// How executions were repeated.
    pub reexecution: &'static str,
    /// Hash over the trace hashes of all explored executions, in order: equal for equal
    /// seed, plan and binary.
    pub hash: u64,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Ids of its findings, ignored ones not included.
    pub findings: Vec<String>,
}

/// How far a test got. Only [`Verdict::Explored`] says anything about interleavings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Interleavings were explored (see [`TestResult::executions`]).
    Explored,
    /// It never had two threads alive at the same time, so there is nothing to interleave.
    SingleThreaded,
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
