//! Runs one engine on one subject.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use super::results::{Failure, Run, Twin};
use crate::messages::{self, Message};
use crate::subjects::copy;
use crate::{repository, shell};

/// Distance between the seeds of two runs.
const SPACING: u64 = 1_000_000;

/// An engine with its options.
pub struct Plan<'a> {
    pub engine: &'a str,
    pub options: &'a [&'a str],
    /// Directed executions per prediction, or all executions.
    pub tries: u64,
    /// Executions before these, which are recorded and predicted from.
    pub recorded: u64,
}

/// The subjects, copied so that building them leaves nothing in the repository.
pub fn prepare() -> Result<PathBuf> {
    let directory = repository::scratch("predict");
    copy(&repository::root().join("subjects/predict"), &directory)?;
    Ok(directory)
}

/// Runs the tests with bugs of a subject.
pub fn bugs(
    tool: &Path,
    directory: &Path,
    subject: &str,
    plan: &Plan<'_>,
    seed: u64,
) -> Result<Run> {
    let filter = format!("{subject}::tests::bug");
    let seed = (seed * SPACING).to_string();
    let mut run = Run::default();
    for message in predict(tool, directory, &filter, plan, &seed)? {
        match message {
            // A violation is no failure; it is counted among the violations.
            Message::Finding { kind, .. } if kind == "atomic-set" => run.harmful += 1,
            Message::Finding {
                title, executions, ..
            } => run.failures.push(Failure {
                title,
                is_chance: executions <= plan.recorded,
            }),
            Message::Violation(violation) => run.violations.push(violation.name()),
            Message::Prediction(prediction) => {
                run.predicted += prediction.predicted;
                run.real += prediction.real;
                run.tries += prediction.tries;
                run.hits += prediction.hits;
                run.executions += prediction.executions;
                run.seconds += prediction.seconds;
            }
            Message::Test(test) if test.verdict != "explored" => {
                bail!("{}: {}", test.verdict, test.why.unwrap_or_default());
            }
            _ => {}
        }
    }
    run.violations.sort_unstable();
    run.violations.dedup();
    Ok(run)
}

/// Runs the correct twin of a subject.
pub fn twin(tool: &Path, directory: &Path, subject: &str, plan: &Plan<'_>) -> Result<Twin> {
    let filter = format!("{subject}::tests::twin");
    let mut twin = Twin::default();
    for message in predict(tool, directory, &filter, plan, "0")? {
        match message {
            Message::Finding { title, .. } => twin.findings.push(title),
            Message::Violation(violation) => twin.violations.push(violation.name()),
            Message::Prediction(prediction) => twin.executions += prediction.executions,
            _ => {}
        }
    }
    Ok(twin)
}

fn predict(
    tool: &Path,
    directory: &Path,
    filter: &str,
    plan: &Plan<'_>,
    seed: &str,
) -> Result<Vec<Message>> {
    let tries = plan.tries.max(1).to_string();
    let mut command = shell::raddle(tool, directory, ["predict", "--message-format", "json"]);
    command.args(["-j", "1", "--time", "30m", "--lib", "--engine", plan.engine]);
    command.args(["--tries", &tries, "--seed", seed]);
    command.args(plan.options).arg(filter).stdin(Stdio::null());
    let output = command.output()?;
    if !matches!(output.status.code(), Some(0 | 100)) {
        let words = String::from_utf8_lossy(&output.stderr);
        bail!("the tool ended with {}: {words}", output.status);
    }
    messages::parse(&String::from_utf8_lossy(&output.stdout))
}

/// Nanoseconds of processor time that one more execution of a twin costs: those of many without those of
/// few, so that what is done once does not count.
pub fn per_execution(
    tool: &Path,
    directory: &Path,
    subject: &str,
    (engine, few, many): (&str, u64, u64),
) -> Result<u64> {
    let filter = format!("{subject}::tests::twin");
    let cost = |tries: u64| -> Result<f64> {
        let plan = Plan {
            engine,
            options: &[],
            tries,
            recorded: 0,
        };
        let before = children()?;
        predict(tool, directory, &filter, &plan, "0")?;
        Ok(children()? - before)
    };
    // The first one may build.
    cost(few)?;
    let each = (cost(many)? - cost(few)?) / (many - few) as f64;
    Ok((each.max(0.0) * 1e9) as u64)
}

/// Seconds of processor time of all processes that were waited for.
fn children() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    let ticks: u64 = fields
        .skip(13)
        .take(2)
        .filter_map(|number| number.parse::<u64>().ok())
        .sum();
    Ok(ticks as f64 / 100.0)
}

/// Nanoseconds of an execution of each twin without the tool.
pub fn plain(directory: &Path) -> Result<Vec<(String, u64)>> {
    let arguments = [
        "test",
        "-q",
        "--lib",
        "--",
        "--ignored",
        "--nocapture",
        "plain",
    ];
    let mut command = shell::foreign_cargo(directory, arguments);
    let output = command.stderr(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().filter_map(|line| line.strip_prefix("plain "));
    lines
        .map(|line| {
            let (name, number) = line.split_once(' ').context("a name and a number")?;
            Ok((name.to_owned(), number.parse()?))
        })
        .collect()
}
