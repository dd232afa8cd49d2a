//! Executions per second and nanoseconds per scheduling point: plain std code under Raddle
//! against the same logic rewritten for shuttle, taking turns within one run.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{Report, median};
use crate::messages::{self, Message};
use crate::{repository, shell};

/// One measurement.
struct Measurement {
    per_second: f64,
    nanoseconds_per_point: f64,
}

impl Measurement {
    fn new(executions: u64, points: u64, seconds: f64) -> Self {
        Self {
            per_second: executions as f64 / seconds,
            nanoseconds_per_point: seconds * 1e9 / points as f64,
        }
    }
}

/// What is compared: the tool's strategy and the peer's word for it.
const STRATEGIES: [(&str, &str); 2] = [("random", "random"), ("pct(3)", "pct")];
const THREADS: [u32; 3] = [2, 3, 8];

/// Measures and prints one table.
pub fn run(report: &mut Report, tool: &Path, executions: u64, rounds: usize) -> Result<()> {
    let peer = build_peer()?;
    report.line(&format!(
        "## Throughput\n\n\
         Each thread locks, adds, unlocks and adds atomically, ten times: plain std under Raddle, rewritten under\n\
         shuttle 0.9.9. {executions} executions per measurement (fewer with more threads), median of {rounds}, taking\n\
         turns, one worker each.\n\n\
         | threads | strategy | | executions/s | ns/point | of shuttle's executions/s |\n\
         |---|---|---|---|---|---|"
    ));
    for threads in THREADS {
        for (strategy, word) in STRATEGIES {
            let executions = executions / u64::from(threads / 2);
            let mut columns: [Vec<Measurement>; 3] = Default::default();
            for _ in 0..rounds {
                columns[0].push(measure_peer(&peer, threads, word, executions)?);
                columns[1].push(measure(tool, threads, strategy, "off", executions)?);
                columns[2].push(measure(tool, threads, strategy, "on", executions)?);
            }
            let names = [
                "shuttle",
                "Raddle, panic and deadlock",
                "Raddle, data races and heap too",
            ];
            let mut base = None;
            for (name, column) in names.iter().zip(columns) {
                let per_second = median(column.iter().map(|one| one.per_second).collect());
                let points = median(column.iter().map(|one| one.nanoseconds_per_point).collect());
                let ratio = per_second / *base.get_or_insert(per_second);
                report.line(&format!("| {threads} | {strategy} | {name} | {per_second:.0} | {points:.1} | {ratio:.2} |"));
            }
        }
    }
    Ok(())
}

fn build_peer() -> Result<PathBuf> {
    let package = repository::root().join("xtask/bench/shuttle");
    let target = repository::scratch("bench/shuttle");
    let arguments = ["build", "--release", "--locked", "--target-dir"];
    shell::run(shell::foreign_cargo(&package, arguments).arg(&target))?;
    Ok(target.join("release/rewritten"))
}

fn measure_peer(peer: &Path, threads: u32, strategy: &str, executions: u64) -> Result<Measurement> {
    let mut command = Command::new(peer);
    command.args([&threads.to_string(), strategy, &executions.to_string()]);
    let (stdout, _) = shell::output(&mut command)?;
    let mut words = stdout.split_whitespace();
    let mut next = || {
        words
            .next()
            .with_context(|| format!("shuttle's side says {stdout:?}"))
    };
    Ok(Measurement::new(
        next()?.parse()?,
        next()?.parse()?,
        next()?.parse()?,
    ))
}

fn measure(
    tool: &Path,
    threads: u32,
    strategy: &str,
    watched: &str,
    executions: u64,
) -> Result<Measurement> {
    let package = repository::root().join("xtask/bench/plain");
    let test = format!("threads_{threads}");
    let mut command = shell::raddle(
        tool,
        &package,
        ["test", "--release", "--test", "first", &test],
    );
    command.args([
        "--strategy",
        strategy,
        "--races",
        watched,
        "--heap",
        watched,
        "-j",
        "1",
        "--message-format",
        "json",
    ]);
    command.args(["--executions", &executions.to_string(), "--target-dir"]);
    command.arg(repository::scratch("bench/plain"));
    let (stdout, code) = shell::output(&mut command)?;
    let mut messages = messages::parse(&stdout)?.into_iter();
    let test = messages.find_map(|message| match message {
        Message::Test(test) if code == Some(0) => Some(test),
        _ => None,
    });
    match test {
        Some(test) if test.executions >= executions => {
            Ok(Measurement::new(test.executions, test.points, test.seconds))
        }
        other => bail!("the tool ended with {code:?} after {other:?}"),
    }
}
