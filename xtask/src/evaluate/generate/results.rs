//! What was measured, one file per subject, each replaced as a whole.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::manifest::Subject;
use crate::evaluate::statistics::{Interval, interval, number};
use crate::messages::TrialMessage;
use crate::repository;

/// All about one subject.
#[derive(Default, Deserialize, Serialize)]
pub struct Kept {
    /// |P|.
    pub pairs: usize,
    /// By guidance and mode, one run per seed, from 0.
    pub runs: BTreeMap<String, Vec<Run>>,
    /// Seconds, and pairs covered until then; by guidance, one run per seed.
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

fn directory() -> PathBuf {
    repository::root().join("subjects/results/generate")
}

/// What is known about a subject.
pub fn read(name: &str) -> Result<Kept> {
    let path = directory().join(format!("{name}.json"));
    if !path.is_file() {
        return Ok(Kept::default());
    }
    let text = fs::read_to_string(&path)?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}

/// Keeps it.
pub fn write(name: &str, kept: &Kept) -> Result<()> {
    let directory = directory();
    fs::create_dir_all(&directory)?;
    let partial = directory.join(format!("{name}.partial"));
    fs::write(&partial, serde_json::to_string(kept)? + "\n")?;
    fs::rename(&partial, directory.join(format!("{name}.json")))?;
    Ok(())
}
