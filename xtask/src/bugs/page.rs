//! The book's page about known bugs of published crates.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::bugs::stress::Native;
use crate::bugs::{Bug, Judgement};
use crate::{repository, shell};

const INTRODUCTION: &str = "# Known bugs of published crates

Written by `cargo xtask bugs --write`, from `subjects/results/bugs`: versions of crates that were published with a bug, each
with a short test of our own (`subjects/bugs`) that knows nothing of schedules. `cargo raddle test` with its default
strategy finds the bug, and finds nothing in the version that fixed it. Seconds are those until the finding is confirmed, minimised
and explained. For the last column the same test was repeated natively, optimised, for 20 seconds.

| crate | bug | found as | executions | seconds | fixed version | natively |
|---|---|---|---|---|---|---|
";

/// What is kept about a bug.
#[derive(Deserialize, Serialize)]
struct Kept {
    date: String,
    version: String,
    kind: String,
    /// Executions and seconds to the first finding.
    executions: u64,
    seconds: f64,
    fixed_version: String,
    /// Executions in which nothing was found in the fixed version.
    fixed_executions: u64,
    native: String,
}

fn path(bug: &Bug) -> PathBuf {
    let directory = repository::root().join("subjects/results/bugs");
    directory.join(format!("{}.json", bug.name))
}

/// Keeps the figures of one bug.
pub fn keep(bug: &Bug, found: &Judgement, clean: &Judgement, native: &Native) -> Result<()> {
    let kept = Kept {
        date: shell::today()?,
        version: bug.buggy.version.clone(),
        kind: found.kind.clone(),
        executions: found.executions,
        seconds: found.seconds,
        fixed_version: bug.fixed.version.clone(),
        fixed_executions: clean.executions,
        native: native.to_string(),
    };
    let path = path(bug);
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(path, serde_json::to_string_pretty(&kept)? + "\n")?;
    Ok(())
}

/// Writes the page of all figures kept.
pub fn write(bugs: &[Bug]) -> Result<()> {
    let mut page = INTRODUCTION.to_owned();
    for bug in bugs {
        let path = path(bug);
        if !path.is_file() {
            continue;
        }
        let text = fs::read_to_string(&path)?;
        let kept: Kept = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "| {} {} | {}: {} | {} | {} | {:.1} | {}: nothing in {} | {} |",
            bug.package(),
            kept.version,
            bug.source,
            bug.what,
            match (kept.kind.as_str(), &bug.unreached) {
                ("", Some(why)) => format!("**not found**: {why}"),
                (kind, _) => match &bug.memory_model {
                    Some(model) => format!("{kind}, with `--memory-model {model}`"),
                    None => kind.to_owned(),
                },
            },
            kept.executions,
            kept.seconds,
            kept.fixed_version,
            kept.fixed_executions,
            kept.native
        );
    }
    fs::write(repository::root().join("book/src/bugs.md"), page)?;
    Ok(())
}
