//! What `generate` has to show: operations, the tests that it wrote, and which pairs of methods ran
//! at the same time.

use serde::Serialize;

/// Something that a type offers.
#[derive(Clone, Debug, Serialize)]
pub struct Operation {
    /// Its name, for `--op` and `--skip`.
    pub name: String,
    /// How it is called.
    pub signature: String,
    /// What its result is.
    pub returns: &'static str,
    /// Why it is not called, and what to do about it; nothing if it is.
    pub refused: Option<String>,
}

/// A test that fails.
#[derive(Clone, Debug, Serialize)]
pub struct GeneratedTest {
    /// Kind of the failure.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// One sentence.
    pub text: String,
    /// Its source.
    pub source: String,
    /// Where it was written to.
    pub file: String,
    /// Id of the finding that it led to; nothing if it fails without any concurrency.
    pub finding: String,
    /// Where the schedule is under which it fails; nothing if it always does.
    pub schedule: String,
    /// Tests that were run until it was found.
    pub tests: u64,
    /// Seconds until then.
    pub seconds: f64,
}

/// Which pairs of methods ran at the same time.
#[derive(Clone, Debug, Serialize)]
pub struct PairCoverage {
    /// Names of the methods.
    pub methods: Vec<String>,
    /// One cell per pair.
    pub pairs: Vec<PairCell>,
    /// Tests that were run.
    pub tests: u64,
    /// Of them, those whose objects could not be made.
    pub invalid: u64,
    /// Executions of these tests.
    pub executions: u64,
    /// Findings of the whole search.
    pub findings: usize,
    /// Tests that show a race of an access that was reported before.
    pub repeated_races: u64,
    /// Results of concurrent calls that were compared with those of calls one after the other.
    pub checked_results: u64,
    /// Results that were not, by method.
    pub unchecked: Vec<UncheckedResults>,
    /// Executions whose results no order explains and that are right all the same.
    pub excused: Vec<ExcusedResults>,
    /// Where the time went.
    #[serde(flatten)]
    pub spent: Spent,
    /// Seconds, and the pairs covered until then, each time they became more.
    pub over_time: Vec<(f64, usize)>,
}

/// Results of a method that are not checked.
#[derive(Clone, Debug, Serialize)]
pub struct UncheckedResults {
    /// The method.
    pub method: String,
    /// Why, as the end of a sentence about it.
    pub why: String,
    /// How many results.
    pub results: u64,
    /// Executions with a call of it whose results no order explains, though those that are checked agree.
    pub unexplained: u64,
}

/// Results that no order explains and that are right all the same.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ExcusedResults {
    /// Why.
    pub why: &'static str,
    /// Executions with different results.
    pub executions: u64,
}

/// One pair.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PairCell {
    /// Number of a method.
    pub first: usize,
    /// Number of the other.
    pub second: usize,
    /// How often it was selected.
    pub tried: u32,
    /// How often it ran at the same time: a mean over the executions of a test, added up.
    pub covered: f64,
}

/// Where the time of a search went, in seconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Spent {
    /// Selecting pairs and writing tests.
    pub generating: f64,
    /// Running tests.
    pub running: f64,
    /// Counting what was covered.
    pub counting: f64,
    /// Comparing with what calls come to one after the other.
    pub judging: f64,
}

/// Whether random tests do the same when they are written down.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Tests that do.
    pub same: u64,
    /// Events in which their histories agree.
    pub events: u64,
    /// Tests that were drawn, and not compared because a call panicked or never returned.
    pub skipped: u64,
    /// Tests of which not everything was recorded.
    pub incomplete: u64,
    /// Tests that do not.
    pub different: Vec<Difference>,
}

/// A test that does something else when it is written down.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// The first difference, in words.
    pub text: String,
    /// The test as it is written down.
    pub source: String,
}

/// One of several searches that are only measured.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    /// Its seed.
    pub seed: u64,
    /// Kind of what it found; nothing if it found nothing.
    pub kind: Option<&'static str>,
    /// One sentence about that.
    pub text: String,
    /// Tests until then, or all.
    pub tests: u64,
    /// Seconds until then, or all.
    pub seconds: f64,
    /// Seconds before, in which methods were looked at.
    pub calibrating: f64,
    /// Executions.
    pub executions: u64,
    /// Pairs of methods.
    pub pairs: usize,
    /// Where the time went.
    #[serde(flatten)]
    pub spent: Spent,
    /// Seconds, and the pairs covered until then, each time they became more.
    pub over_time: Vec<(f64, usize)>,
}
