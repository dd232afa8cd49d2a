//! What was measured, one file per subject. A file is replaced as a whole, so that a run that is
//! killed leaves either the old or the new one.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::repository;

/// All about one subject.
#[derive(Default, Deserialize, Serialize)]
pub struct Kept {
    /// By strategy.
    pub cells: BTreeMap<String, Cell>,
    /// Its correct twin.
    pub twin: Option<Twin>,
}

/// The searches with one strategy.
#[derive(Deserialize, Serialize)]
pub struct Cell {
    pub date: String,
    pub machine: String,
    /// Schedules after which a search was given up.
    pub cap: u64,
    /// Schedules to the first bug of each search, `None` where it was given up.
    pub schedules: Vec<Option<u64>>,
}

/// The run of a correct twin.
#[derive(Deserialize, Serialize)]
pub struct Twin {
    pub date: String,
    pub executions: u64,
    /// There should be none.
    pub findings: Vec<String>,
}

fn path(name: &str) -> PathBuf {
    let directory = repository::root().join("subjects/results/search");
    directory.join(format!("{name}.json"))
}

/// What is known about a subject.
pub fn read(name: &str) -> Result<Kept> {
    let path = path(name);
    if !path.is_file() {
        return Ok(Kept::default());
    }
    let text = fs::read_to_string(&path)?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}

/// Keeps it.
pub fn write(name: &str, kept: &Kept) -> Result<()> {
    let path = path(name);
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let partial = path.with_extension("partial");
    fs::write(&partial, serde_json::to_string_pretty(kept)? + "\n")?;
    fs::rename(&partial, &path)?;
    Ok(())
}
