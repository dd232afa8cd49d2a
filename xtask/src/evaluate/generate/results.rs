//! What was measured, one file per subject, each replaced as a whole.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::manifest::Subject;
use crate::evaluate::kept;
use crate::evaluate::statistics::{Interval, interval, number};
use crate::messages::TrialMessage;

/// All about one subject.
#[derive(Default, Deserialize, Serialize)]
pub struct Kept {
    /// |P|.
    pub pairs: usize,
    /// By guidance and mode, one run per seed.
    pub runs: BTreeMap<String, Vec<Run>>,
    /// Seconds, and pairs covered until then; by guidance and mode, one run per seed.
    #[serde(default)]
    pub coverage: BTreeMap<String, Vec<Vec<(f64, usize)>>>,
    /// What a usual run reports, confirmed.
    pub reported: Option<String>,
    /// What a usual run reports of the correct twin.
    pub twin: Option<String>,
    pub date: String,
    pub machine: String,
}

/// One search.
#[derive(Clone, Default, Deserialize, Serialize)]
pub struct Run {
    /// Whether it found the bug.
    pub is_found: bool,
    /// What it found.
    pub text: String,
    /// Tests until then, or all.
    pub tests: u64,
    /// Seconds until then, or all.
    pub seconds: f64,
    /// Seconds before.
    #[serde(default)]
    pub calibrating: f64,
    pub generating: f64,
    pub running: f64,
    pub counting: f64,
    pub judging: f64,
}

impl Run {
    /// What a trial came to.
    pub fn new(subject: &Subject, trial: TrialMessage) -> Self {
        Self {
            is_found: trial.kind.is_some() && subject.is_shown_by(&trial.text),
            text: trial.text,
            tests: trial.tests,
            seconds: trial.seconds,
            calibrating: trial.calibrating,
            generating: trial.generating,
            running: trial.running,
            counting: trial.counting,
            judging: trial.judging,
        }
    }
}

/// How many searches found the bug.
pub fn found(runs: &[Run]) -> usize {
    runs.iter().filter(|run| run.is_found).count()
}

/// Tests to the bug. Searches that did not find it count with all of theirs.
pub fn tests(runs: &[Run]) -> Interval {
    let values: Vec<_> = runs.iter().map(|run| run.tests as f64).collect();
    interval(&values)
}

/// Seconds to the bug, in the same way.
pub fn seconds(runs: &[Run]) -> Interval {
    let values: Vec<_> = runs.iter().map(|run| run.seconds).collect();
    interval(&values)
}

/// A cell in a few characters.
pub fn words(runs: &[Run]) -> String {
    let Interval { mean, low, high } = tests(runs);
    let (mean, low, high) = (number(mean), number(low), number(high));
    let found = found(runs);
    match found == runs.len() {
        true => format!("{mean} ({low}–{high})"),
        false => format!("≥ {mean} ({found}/{})", runs.len()),
    }
}

/// What is known about a subject.
pub fn read(name: &str) -> Result<Kept> {
    kept::read("generate", name)
}

/// Keeps it.
pub fn write(name: &str, known: &Kept) -> Result<()> {
    kept::write("generate", name, &serde_json::to_string(known)?)
}
