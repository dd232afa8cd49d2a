//! The lines of the machine output, as a reader outside the project would declare them.

use serde::Deserialize;

/// One line.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Line {
    /// The first one.
    Start {
        /// Of the format.
        version: u32,
    },
    /// A finding.
    Finding(Box<FindingLine>),
    /// Something worth knowing.
    Note {
        /// Sentence.
        text: String,
    },
    /// A kind of violation of an atomic set that happened.
    Violation(ViolationLine),
    /// What prediction came to in one test.
    Prediction(PredictionLine),
    /// What came of one test.
    Test(TestLine),
    /// A test that could be run.
    Listed {
        /// Name.
        test: String,
        /// Whether it is `#[ignore]`d.
        ignored: bool,
    },
    /// Something that a type offers.
    Operation {
        /// Name.
        name: String,
        /// Why it is not called.
        refused: Option<String>,
    },
    /// A failing test that was written.
    Generated {
        /// A word.
        kind: String,
        /// Its text.
        source: String,
        /// Where it was written to.
        file: String,
        /// Id of the finding that it shows.
        finding: String,
        /// Where the schedule is under which it fails.
        schedule: String,
        /// Seconds of the search until it was found.
        seconds: f64,
    },
    /// Whether random tests do the same when they are written down.
    Comparison {
        /// Tests that do.
        same: u64,
        /// Events in which their histories agree.
        events: u64,
        /// Tests that do not.
        different: Vec<serde_json::Value>,
    },
    /// Which pairs of methods ran at the same time.
    Coverage {
        /// Names.
        methods: Vec<String>,
        /// One per pair.
        pairs: Vec<PairCell>,
        /// Findings of the whole search.
        findings: usize,
        /// Results that were checked.
        checked_results: u64,
        /// Results that were not.
        unchecked: Vec<UncheckedResults>,
    },
    /// What came of a replay.
    Replay(ReplayLine),
    /// An answer of `doctor`.
    Check {
        /// What was looked at.
        name: String,
        /// `ok`, `limited` or `bad`.
        result: String,
    },
    /// The last one of `test`.
    Summary(SummaryLine),
    /// A reason that these tests do not know: allowed, as new ones may come.
    #[serde(other)]
    Other,
}

/// What came of a replay.
#[derive(Clone, Debug, Deserialize)]
pub struct ReplayLine {
    /// Executions.
    pub runs: u64,
    /// Executions that showed the finding.
    pub reproduced: u64,
    /// Where the program left the schedule.
    pub diverged: Option<String>,
    /// Other failures.
    pub others: Vec<String>,
    /// The exit code.
    pub exit_code: i32,
}

/// Results of a method that were not checked.
#[derive(Clone, Debug, Deserialize)]
pub struct UncheckedResults {
    /// The method.
    pub method: String,
    /// Why.
    pub why: String,
    /// Executions in which no order explains them.
    pub unexplained: u64,
}

/// A pair of methods.
#[derive(Clone, Debug, Deserialize)]
pub struct PairCell {
    /// Index of one method.
    pub first: usize,
    /// Index of the other one.
    pub second: usize,
    /// How often it ran at the same time.
    pub covered: f64,
}

/// A finding.
#[derive(Clone, Debug, Deserialize)]
pub struct FindingLine {
    /// A word.
    pub kind: String,
    /// Kind and ten hex digits.
    pub id: String,
    /// Test that showed it.
    pub test: String,
    /// One line.
    pub title: String,
    /// Why it happened.
    pub cause: String,
    /// What the program said about it itself.
    #[serde(default)]
    pub message: String,
    /// What the program printed.
    #[serde(default)]
    pub output: String,
    /// Places that name it.
    pub sites: Vec<Site>,
    /// Schedule file.
    pub schedule: String,
    /// Whether it was seen again in another process.
    pub confirmed: bool,
    /// Executions until it was seen.
    pub executions: u64,
    /// Who did what where.
    #[serde(default)]
    pub stacks: Vec<StackLine>,
    /// How long its schedule is.
    pub size: Size,
    /// Under which condition the test passes, if it is only about time.
    pub timing: Option<String>,
    /// The violation of an atomic set that it is, or follows from.
    #[serde(flatten)]
    pub violation: Option<ViolationFields>,
}

/// A stack of a finding.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct StackLine {
    /// Who did what.
    pub heading: String,
    /// Number of the thread.
    pub thread: u16,
}

/// What findings that have to do with an atomic set say of it.
#[derive(Clone, Debug, Deserialize)]
pub struct ViolationFields {
    /// Number of the pattern.
    pub pattern: u8,
    /// Name of the type.
    pub set: String,
    /// Both functions.
    pub units: Vec<Site>,
    /// What happens if they come one after the other.
    pub serial: Vec<Serial>,
    /// What to do.
    pub fix: String,
}

/// What two units of work do one after the other.
#[derive(Clone, Debug, Deserialize)]
pub struct Serial {
    /// The function that comes first.
    pub first: String,
    /// What they read and leave.
    pub outcome: String,
}

/// How long a schedule is.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Size {
    /// Switches of the stored schedule.
    pub switches: usize,
    /// Preemptions among them.
    pub preemptions: u32,
    /// Switches of the schedule as it was found.
    pub found: usize,
}

impl FindingLine {
    /// Its places as `file:line`.
    pub fn places(&self) -> Vec<String> {
        let places = self.sites.iter();
        places
            .map(|site| format!("{}:{}", site.file, site.line))
            .collect()
    }
}

/// A place.
#[derive(Clone, Debug, Deserialize)]
pub struct Site {
    /// Relative to the workspace.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// Path.
    pub function: String,
}

/// A kind of violation of an atomic set that happened.
#[derive(Clone, Debug, Deserialize)]
pub struct ViolationLine {
    /// Name of the test.
    pub test: String,
    /// Number.
    pub pattern: u8,
    /// Name of the type.
    pub set: String,
    /// Functions.
    pub units: Vec<Site>,
    /// Executions that showed it.
    pub hits: u64,
}

/// What prediction came to in one test.
#[derive(Clone, Debug, Deserialize)]
pub struct PredictionLine {
    /// Name of the test.
    pub test: String,
    /// A word.
    pub engine: String,
    /// Predictions.
    pub predicted: u64,
    /// Those that became real.
    pub real: u64,
    /// Executions that were meant to show something.
    pub tries: u64,
    /// Those that showed a violation.
    pub hits: u64,
    /// All of them.
    pub executions: u64,
}

/// What came of one test.
#[derive(Clone, Debug, Deserialize)]
pub struct TestLine {
    /// Name.
    pub test: String,
    /// `explored`, `single-threaded`, `failed`, `not-testable` or `not-run`.
    pub verdict: String,
    /// Why there was no exploration.
    pub why: Option<String>,
    /// Executions.
    pub executions: u64,
    /// Scheduling points of all of them.
    pub points: u64,
    /// The number of preemptions up to which everything was run.
    pub exhaustive: Option<u32>,
    /// What carried its threads.
    pub carrier: String,
    /// Equal for equal seed, plan and binary.
    pub hash: String,
    /// Executions that were too long.
    pub cut: u64,
    /// Ids of its findings, without those that are only about time.
    pub findings: Vec<String>,
    /// Ids of what is only about time.
    pub timing: Vec<String>,
    /// Whether everything was run that can happen.
    #[serde(default)]
    pub complete: bool,
    /// The different outcomes of executions, if asked for.
    #[serde(default)]
    pub outcomes: Vec<OutcomeLine>,
}

/// Executions that printed the same.
#[derive(Clone, Debug, Deserialize)]
pub struct OutcomeLine {
    /// How they ended.
    pub end: String,
    /// What they printed.
    pub output: String,
    /// How many they are.
    pub executions: u64,
}

/// The end of a run.
#[derive(Clone, Debug, Deserialize)]
pub struct SummaryLine {
    /// In all.
    pub executions: u64,
    /// Wall-clock.
    pub seconds: f64,
    /// Distinct ones, without those that are only about time.
    pub findings: u64,
    /// Distinct ones that are only about time.
    pub timing: u64,
    /// Tests.
    pub explored: u64,
    /// Tests.
    pub single_threaded: u64,
    /// Tests.
    pub not_testable: u64,
    /// Tests.
    pub not_run: u64,
    /// Tests.
    pub failed: u64,
    /// Failures that were seen and not confirmed.
    pub unconfirmed: u64,
    /// A word.
    pub conclusion: String,
    /// The exit code, if the command ends with this line.
    pub exit_code: Option<i32>,
}
