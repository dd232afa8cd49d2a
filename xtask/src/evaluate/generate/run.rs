//! Runs searches of `generate` on one type.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::messages::{self, ComparisonMessage, Message, TrialMessage};
use crate::subjects::copy;
use crate::{repository, shell};

/// Seconds that methods are looked at before tests are compared.
const COMPARING: u64 = 4;

/// How schedules are made.
#[derive(Clone, Copy)]
pub struct Mode {
    pub name: &'static str,
    pub options: &'static [&'static str],
    /// How many seconds coverage over time is looked at.
    pub covering: u64,
}

/// Searches of one cell.
pub struct Plan<'a> {
    pub type_name: String,
    pub guidance: &'a str,
    pub mode: Mode,
    /// The first seed.
    pub first: u64,
    pub count: u64,
    /// Time of each search.
    pub seconds: u64,
}

/// The subjects, copied so that building them leaves nothing in the repository.
pub fn prepare() -> Result<PathBuf> {
    let directory = repository::scratch("generate");
    copy(&repository::root().join("subjects/generate"), &directory)?;
    Ok(directory)
}

/// Makes searches.
pub fn trials(tool: &Path, directory: &Path, plan: &Plan<'_>) -> Result<Vec<TrialMessage>> {
    let (first, count) = (plan.first.to_string(), plan.count.to_string());
    let mut options = vec!["--guidance", plan.guidance, "--seed", &first];
    options.extend(["--trials", &count]);
    options.extend(plan.mode.options);
    let messages = generate(tool, directory, &plan.type_name, plan.seconds, &options)?;
    let trials = messages.into_iter().filter_map(|message| match message {
        Message::Trial(trial) => Some(*trial),
        _ => None,
    });
    let trials: Vec<_> = trials.collect();
    if trials.len() as u64 != plan.count {
        bail!("{} of {} searches came to an end", trials.len(), plan.count);
    }
    Ok(trials)
}

/// A failing test.
#[derive(Deserialize, Serialize)]
pub struct Failing {
    /// What is wrong.
    pub kind: String,
    /// One sentence.
    pub text: String,
    /// Time until it was found.
    pub seconds: f64,
}

/// What a user's run comes to.
#[derive(Default, Deserialize, Serialize)]
pub struct Reported {
    /// Tests that fail.
    pub failing: Vec<Failing>,
    /// Tests that were run.
    pub tests: u64,
    /// Their executions.
    pub executions: u64,
    /// Results that were compared with orders of their calls.
    #[serde(default)]
    pub checked: u64,
    /// Results that were not.
    #[serde(default)]
    pub unchecked: u64,
}

/// What a user's run reports.
pub fn report(
    tool: &Path,
    directory: &Path,
    type_name: &str,
    seconds: u64,
    options: &[&str],
) -> Result<Reported> {
    let mut reported = Reported::default();
    for message in generate(tool, directory, type_name, seconds, options)? {
        match message {
            Message::Generated {
                kind,
                text,
                seconds,
            } => reported.failing.push(Failing {
                kind,
                text,
                seconds,
            }),
            Message::Coverage {
                tests,
                executions,
                checked_results,
                unchecked,
            } => {
                (reported.tests, reported.executions) = (tests, executions);
                reported.checked = checked_results;
                reported.unchecked = unchecked.iter().map(|one| one.results).sum();
            }
            _ => {}
        }
    }
    Ok(reported)
}

/// Compares so many random tests of a type with what they do when they are written down.
pub fn compare(
    tool: &Path,
    directory: &Path,
    type_name: &str,
    (tests, options): (u16, &[&str]),
) -> Result<ComparisonMessage> {
    let tests = tests.to_string();
    let options = [&["--compare", &tests], options].concat();
    let messages = generate(tool, directory, type_name, COMPARING, &options)?;
    let compared = messages.into_iter().find_map(|message| match message {
        Message::Comparison(comparison) => Some(comparison),
        _ => None,
    });
    compared.context("nothing was compared")
}

/// Kinds and sentences of the tests that fail.
pub fn reported(tool: &Path, directory: &Path, type_name: &str, seconds: u64) -> Result<String> {
    let reported = report(tool, directory, type_name, seconds, &[])?;
    let failing = reported.failing.iter();
    let failing = failing.map(|Failing { kind, text, .. }| format!("{kind}: {text}"));
    Ok(failing.collect::<Vec<_>>().join("; "))
}

fn generate(
    tool: &Path,
    directory: &Path,
    type_name: &str,
    seconds: u64,
    options: &[&str],
) -> Result<Vec<Message>> {
    let time = format!("{seconds}s");
    let arguments = ["generate", type_name, "--message-format", "json", "--time"];
    let mut command = shell::raddle(tool, directory, arguments);
    command.arg(&time).args(options).stdin(Stdio::null());
    let output = command.output()?;
    if !messages::is_result(output.status.code()) {
        let words = String::from_utf8_lossy(&output.stderr);
        bail!("the tool ended with {}: {words}", output.status);
    }
    // Where the subjects were copied to is nobody's business.
    let place = format!("{}/", directory.display());
    messages::parse(&String::from_utf8_lossy(&output.stdout).replace(&place, ""))
}
