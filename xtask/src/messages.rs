//! The part of the tool's machine output that the tasks read.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

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
    },
    /// A search that was only measured.
    Trial(Box<TrialMessage>),
    /// What came of one test.
    Test(TestMessage),
    /// The end.
    Summary(SummaryMessage),
    /// Anything else.
    #[serde(other)]
    Other,
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
    /// `explored`, `single-threaded`, `not-testable` or `not-run`.
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
}

/// Reads all lines.
pub fn parse(stdout: &str) -> Result<Vec<Message>> {
    let messages = stdout.lines().map(|line| {
        serde_json::from_str(line).with_context(|| format!("not a line of machine output: {line}"))
    });
    messages.collect()
}
