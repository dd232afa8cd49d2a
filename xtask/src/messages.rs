//! The part of the tool's machine output that the tasks read.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// Whether the tool ended with a result: it may be clean, inconclusive, findings, or a test that
/// always fails.
pub const fn is_result(code: Option<i32>) -> bool {
    matches!(code, Some(0 | 75 | 100 | 101))
}

/// One line; reasons that are of no interest here are [`Message::Other`].
#[derive(Debug, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Message {
    /// A finding.
    Finding {
        /// Its id.
        id: String,
        /// Test that showed it.
        test: String,
        /// What it is.
        kind: String,
        /// One line.
        title: String,
        /// Executions until it was seen.
        executions: u64,
        /// The condition under which it does not show, if it is only about time.
        #[serde(default)]
        timing: Option<String>,
    },
    /// A kind of violation of an atomic set that happened.
    Violation(ViolationMessage),
    /// What prediction came to in one test.
    Prediction(PredictionMessage),
    /// Something to know about a test.
    Note {
        /// Its name.
        #[serde(default)]
        test: String,
        /// Name of its target.
        #[serde(default)]
        target: String,
        /// A sentence.
        text: String,
    },
    /// A failing test that was written.
    Generated {
        /// What it is.
        kind: String,
        /// One sentence.
        text: String,
        /// Time until it was found.
        seconds: f64,
    },
    /// What a search of `generate` came to.
    Coverage {
        /// Tests that were run.
        tests: u64,
        /// Their executions.
        executions: u64,
        /// Results that were checked.
        #[serde(default)]
        checked_results: u64,
        /// Results that were not.
        #[serde(default)]
        unchecked: Vec<UncheckedMessage>,
    },
    /// A search that was only measured.
    Trial(Box<TrialMessage>),
    /// Whether random tests do the same when they are written down.
    Comparison(ComparisonMessage),
    /// What came of one test.
    Test(TestMessage),
    /// The end.
    Summary(SummaryMessage),
    /// Anything else.
    #[serde(other)]
    Other,
}

/// Results of a method that were not checked.
#[derive(Debug, Deserialize)]
pub struct UncheckedMessage {
    /// How many.
    pub results: u64,
}

/// Whether random tests do the same when they are written down.
#[derive(Debug, Deserialize)]
pub struct ComparisonMessage {
    /// Tests that do.
    pub same: u64,
    /// Events in which their histories agree.
    pub events: u64,
    /// Tests that were drawn, and not compared because a call panicked or never returned.
    pub skipped: u64,
    /// Tests of which not everything was recorded.
    pub incomplete: u64,
    /// Tests that do not.
    pub different: Vec<DifferenceMessage>,
}

/// A test that does something else when it is written down.
#[derive(Debug, Deserialize)]
pub struct DifferenceMessage {
    /// The first difference, in words.
    pub text: String,
    /// The test as it is written down.
    pub source: String,
}

/// A search that was only measured.
#[derive(Debug, Deserialize)]
pub struct TrialMessage {
    /// Kind of what it found, if anything.
    pub kind: Option<String>,
    /// One sentence about that.
    pub text: String,
    /// Tests until then, or all.
    pub tests: u64,
    /// Seconds until then, or all.
    pub seconds: f64,
    /// Seconds before, in which methods were looked at.
    pub calibrating: f64,
    /// Executions, those of single orders left out.
    pub executions: u64,
    /// Pairs of methods.
    pub pairs: usize,
    /// Seconds spent selecting pairs and writing tests.
    pub generating: f64,
    /// Seconds spent running tests.
    pub running: f64,
    /// Seconds spent counting what was covered.
    pub counting: f64,
    /// Seconds spent comparing with what calls come to one after the other.
    pub judging: f64,
    /// Seconds, and the pairs covered until then.
    pub over_time: Vec<(f64, usize)>,
}

/// What came of one test.
#[derive(Debug, Deserialize)]
pub struct TestMessage {
    /// Name.
    pub test: String,
    /// Name of its target.
    pub target: String,
    /// `explored`, `single-threaded`, `failed`, `not-testable` or `not-run`.
    pub verdict: String,
    /// Why it was not explored.
    pub why: Option<String>,
    /// Largest number of threads at a time.
    pub threads: u32,
    /// Executions.
    pub executions: u64,
    /// Scheduling points.
    pub points: u64,
    /// Wall-clock seconds.
    pub seconds: f64,
}

/// A kind of violation of an atomic set that happened.
#[derive(Debug, Deserialize)]
pub struct ViolationMessage {
    /// Name of the test.
    pub test: String,
    /// Name of its target.
    pub target: String,
    /// Number of the pattern, or 0.
    pub pattern: u8,
    /// Name of the type.
    pub set: String,
    /// Functions.
    pub units: Vec<UnitMessage>,
}

/// A unit of work.
#[derive(Debug, Deserialize)]
pub struct UnitMessage {
    /// Path.
    pub function: String,
}

impl ViolationMessage {
    /// What tells it from others.
    pub fn name(&self) -> String {
        let units: Vec<_> = self
            .units
            .iter()
            .map(|unit| unit.function.as_str())
            .collect();
        format!("{} {}: {}", self.pattern, self.set, units.join(", "))
    }
}

/// What prediction came to in one test.
#[derive(Debug, Deserialize)]
pub struct PredictionMessage {
    /// Name of the test.
    pub test: String,
    /// Name of its target.
    pub target: String,
    /// Whether everything was tried.
    pub complete: bool,
    /// Predictions.
    pub predicted: u64,
    /// Those that became real.
    pub real: u64,
    /// Executions that were meant to show something.
    pub tries: u64,
    /// Those of them that showed a violation.
    pub hits: u64,
    /// All executions.
    pub executions: u64,
    /// Seconds that they took.
    pub seconds: f64,
}

/// The end of a run.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct SummaryMessage {
    /// In all.
    pub executions: u64,
    /// Wall-clock.
    pub seconds: f64,
    /// Distinct ones.
    pub findings: u64,
    /// Tests.
    pub explored: u64,
    /// Tests.
    pub single_threaded: u64,
    /// Tests.
    pub not_testable: u64,
    /// Tests.
    pub not_run: u64,
    /// Tests that fail without any interleaving.
    #[serde(default)]
    pub failed: u64,
    /// Failures that were seen and could not be confirmed.
    #[serde(default)]
    pub unconfirmed: u64,
}

/// Reads all lines. What is only about time fails no run, and is left out.
pub fn parse(stdout: &str) -> Result<Vec<Message>> {
    let messages = stdout.lines().map(|line| {
        serde_json::from_str(line).with_context(|| format!("not a line of machine output: {line}"))
    });
    let is_timing = |message: &Message| {
        matches!(
            message,
            Message::Finding {
                timing: Some(_),
                ..
            }
        )
    };
    messages
        .filter(|message| !message.as_ref().is_ok_and(is_timing))
        .collect()
}
