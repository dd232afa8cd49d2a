//! Results of an evaluation, a file for each subject, so that one that was stopped goes on where it was.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;

use crate::repository;

fn directory(evaluation: &str) -> PathBuf {
    repository::root().join("subjects/results").join(evaluation)
}

/// What is known about a subject.
pub fn read<Kept: Default + DeserializeOwned>(evaluation: &str, name: &str) -> Result<Kept> {
    let path = directory(evaluation).join(format!("{name}.json"));
    if !path.is_file() {
        return Ok(Kept::default());
    }
    let text = fs::read_to_string(&path)?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}

/// Keeps it, whole or not at all.
pub fn write(evaluation: &str, name: &str, json: &str) -> Result<()> {
    let directory = directory(evaluation);
    fs::create_dir_all(&directory)?;
    let partial = directory.join(format!("{name}.partial"));
    fs::write(&partial, format!("{json}\n"))?;
    fs::rename(&partial, directory.join(format!("{name}.json")))?;
    Ok(())
}
