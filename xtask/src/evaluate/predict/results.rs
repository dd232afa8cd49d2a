//! What was measured, one file per subject, each replaced as a whole.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::evaluate::kept;

/// All about one subject.
#[derive(Default, Deserialize, Serialize)]
pub struct Kept {
    /// By engine, with the options that are not the usual ones; one run per seed, from 0.
    pub runs: BTreeMap<String, Vec<Run>>,
    /// Of the correct twin, by engine.
    pub twins: BTreeMap<String, Twin>,
    /// Nanoseconds of an execution without the tool.
    pub plain: Option<u64>,
    /// By engine: nanoseconds of processor time that one more execution of the correct twin costs.
    #[serde(default)]
    pub in_loop: BTreeMap<String, u64>,
    pub date: String,
    pub machine: String,
}

/// One run of an engine on the tests with bugs.
#[derive(Clone, Default, Deserialize, Serialize)]
pub struct Run {
    pub predicted: u64,
    pub real: u64,
    pub tries: u64,
    pub hits: u64,
    pub executions: u64,
    pub seconds: f64,
    /// Kinds of violations that happened.
    pub violations: Vec<String>,
    /// Findings that are failures.
    pub failures: Vec<Failure>,
    /// Findings that are violations whose outcome no serial order has.
    pub harmful: u64,
}

/// A panic, a deadlock, a failed assertion.
#[derive(Clone, Deserialize, Serialize)]
pub struct Failure {
    pub title: String,
    /// Whether it showed in an execution that was only recorded.
    pub is_chance: bool,
}

/// One run of an engine on a correct twin, in which nothing may be seen.
#[derive(Default, Deserialize, Serialize)]
pub struct Twin {
    pub executions: u64,
    pub violations: Vec<String>,
    pub findings: Vec<String>,
}

/// What is known about a subject.
pub fn read(name: &str) -> Result<Kept> {
    kept::read("predict", name)
}

/// Keeps it.
pub fn write(name: &str, known: &Kept) -> Result<()> {
    kept::write("predict", name, &serde_json::to_string_pretty(known)?)
}

/// What prediction takes on traces of so many events, by shape: seconds, and mebibytes at most.
pub type Growth = BTreeMap<String, Vec<(u64, f64, u64)>>;

/// What was measured last.
pub fn read_growth() -> Result<Growth> {
    kept::read("predict", "growth")
}

/// Keeps it.
pub fn write_growth(growth: &Growth) -> Result<()> {
    kept::write("predict", "growth", &serde_json::to_string_pretty(growth)?)
}
