//! Runs one test of the plain package under Raddle and takes its figures.

use std::path::Path;

use anyhow::{Result, bail};

use super::median;
use crate::messages::{self, Message};
use crate::{repository, shell};

/// How fast executions were.
#[derive(Clone, Copy)]
pub struct Measurement {
    pub per_second: f64,
    pub nanoseconds_per_point: f64,
    pub executions: u64,
}

impl Measurement {
    pub fn new(executions: u64, points: u64, seconds: f64) -> Self {
        Self {
            per_second: executions as f64 / seconds,
            nanoseconds_per_point: seconds * 1e9 / points as f64,
            executions,
        }
    }

    /// How long all executions took.
    pub fn seconds(&self) -> f64 {
        self.executions as f64 / self.per_second
    }

    /// Of several that ran equally many executions, the middle value of each figure.
    pub fn median(all: &[Self]) -> Self {
        let middle = |figure: fn(&Self) -> f64| median(all.iter().map(figure).collect());
        Self {
            per_second: middle(|one| one.per_second),
            nanoseconds_per_point: middle(|one| one.nanoseconds_per_point),
            executions: all.first().map_or(0, |one| one.executions),
        }
    }
}

/// A test and how it is run.
pub struct Run<'a> {
    /// The test binary.
    pub binary: &'a str,
    pub test: &'a str,
    pub strategy: &'a str,
    /// Whether data races and heap errors are looked for besides panics and deadlocks.
    pub watches_memory: bool,
    /// Other arguments.
    pub arguments: &'a [&'a str],
    pub environment: &'a [(&'a str, String)],
    pub executions: u64,
}

/// Runs it once.
pub fn measure(tool: &Path, run: &Run<'_>) -> Result<Measurement> {
    let package = repository::root().join("xtask/bench/plain");
    let watched = if run.watches_memory { "on" } else { "off" };
    let executions = run.executions.to_string();
    let mut command = shell::raddle(tool, &package, ["test", "--release", "--test", run.binary]);
    command.args([run.test, "--strategy", run.strategy, "--races", watched]);
    command.args(["--heap", watched, "-j", "1", "--message-format", "json"]);
    command.args(["--time", "600s", "--executions", &executions]);
    command.args(run.arguments);
    command.arg("--target-dir");
    command.arg(repository::scratch("bench/plain"));
    command.envs(run.environment.iter().map(|(name, value)| (name, value)));
    let (stdout, code) = shell::output(&mut command)?;
    let mut messages = messages::parse(&stdout)?.into_iter();
    let test = messages.find_map(|message| match message {
        Message::Test(test) if code == Some(0) => Some(test),
        _ => None,
    });
    match test {
        Some(test) if test.verdict == "explored" => {
            Ok(Measurement::new(test.executions, test.points, test.seconds))
        }
        other => bail!("the tool ended with {code:?} after {other:?}"),
    }
}
