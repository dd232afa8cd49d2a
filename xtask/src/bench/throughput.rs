//! Executions per second and nanoseconds per scheduling point: plain std code under Raddle
//! against the same logic rewritten for shuttle, taking turns within one run.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::measure::{Measurement, Run, measure};
use super::{Report, median};
use crate::shell;

/// What is compared: the tool's strategy and the peer's word for it.
const STRATEGIES: [(&str, &str); 2] = [("random", "random"), ("pct(3)", "pct")];
const THREADS: [u32; 3] = [2, 3, 8];

/// Measures and prints one table.
pub fn run(report: &mut Report, tool: &Path, executions: u64, rounds: usize) -> Result<()> {
    let peer = super::peer("shuttle", "rewritten")?;
    // A machine is fast and slow by turns: many short measurements see all of it.
    let (executions, rounds) = (executions / 5, rounds * 10 + 1);
    report.line(&format!(
        "## Throughput\n\n\
         Each thread locks, adds, unlocks and adds atomically, ten times: plain std under Raddle, rewritten under\n\
         shuttle 0.9.9. {executions} executions per measurement (fewer with more threads), {rounds} rounds in which they take\n\
         turns, one worker each. Each figure is a median over the rounds; the last one is that of the quotients.\n\n\
         | threads | strategy | | executions/s | ns/point | of shuttle's executions/s |\n\
         |---|---|---|---|---|---|"
    ));
    for threads in THREADS {
        for (strategy, word) in STRATEGIES {
            let executions = executions / u64::from(threads / 2);
            let mut columns: [Vec<Measurement>; 3] = Default::default();
            for _ in 0..rounds {
                columns[0].push(measure_peer(&peer, threads, word, executions)?);
                for (column, watches_memory) in [(1, false), (2, true)] {
                    let run = Run {
                        binary: "first",
                        test: &format!("threads_{threads}"),
                        strategy,
                        watches_memory,
                        arguments: &[],
                        environment: &[],
                        executions,
                    };
                    columns[column].push(measure(tool, &run)?);
                }
            }
            let names = [
                "shuttle",
                "Raddle, panic and deadlock",
                "Raddle, data races and heap too",
            ];
            for (name, column) in names.iter().zip(&columns) {
                let middle = Measurement::median(column);
                let (per_second, points) = (middle.per_second, middle.nanoseconds_per_point);
                let both = column.iter().zip(&columns[0]);
                let ratio = median(
                    both.map(|(own, base)| own.per_second / base.per_second)
                        .collect(),
                );
                report.line(&format!("| {threads} | {strategy} | {name} | {per_second:.0} | {points:.1} | {ratio:.2} |"));
            }
        }
    }
    Ok(())
}

/// Runs shuttle's side once.
pub fn measure_peer(
    peer: &Path,
    threads: u32,
    strategy: &str,
    executions: u64,
) -> Result<Measurement> {
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
