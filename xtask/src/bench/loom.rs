//! Executions per second against loom, which also tries all schedules up to a number of
//! preemptions.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::measure::{Measurement, Run, measure};
use super::{Report, peer};
use crate::shell;

/// Threads, and preemptions that give many schedules with them.
const CASES: [(u32, u32); 2] = [(2, 4), (3, 2)];
/// The same, where both come to an end within seconds: not so soon that it is the start of a
/// process that counts.
const SMALL_CASES: [(u32, u32); 2] = [(2, 3), (3, 2)];
/// More than any search of a small case takes.
const ENOUGH: u64 = 10_000_000;

/// Measures and prints one table.
pub fn run(report: &mut Report, tool: &Path, executions: u64, rounds: usize) -> Result<()> {
    let loom = peer("loom", "modelled")?;
    report.line(&format!(
        "\n## Against loom\n\n\
         The same logic, rewritten for loom 0.7.2: all schedules up to a number of preemptions, at most {executions}\n\
         executions. loom looks for data races in its own types only. Median of {rounds}, taking turns.\n\n\
         | threads | preemptions | | executions/s | of loom's |\n|---|---|---|---|---|"
    ));
    for (threads, preemptions) in CASES {
        let measured = measure_both(tool, &loom, (threads, preemptions), executions, rounds)?;
        let base = measured[0].per_second;
        for (name, one) in NAMES.iter().zip(measured) {
            let per_second = one.per_second;
            let ratio = per_second / base;
            report.line(&format!(
                "| {threads} | {preemptions} | {name} | {per_second:.0} | {ratio:.1} |"
            ));
        }
    }
    report.line(
        "\nTo the end of the search. A lock of loom's is one operation; std's consists of several, whose orders Raddle tries\n\
         too, so that it takes more executions.\n\n\
         | threads | preemptions | | executions | seconds | of loom's speed |\n|---|---|---|---|---|---|",
    );
    for (threads, preemptions) in SMALL_CASES {
        let measured = measure_both(tool, &loom, (threads, preemptions), ENOUGH, rounds)?;
        let base = measured[0].seconds();
        for (name, one) in NAMES.iter().zip(measured) {
            let (executions, seconds) = (one.executions, one.seconds());
            if executions >= ENOUGH {
                bail!("{name} did not end");
            }
            let ratio = base / seconds;
            report.line(&format!(
                "| {threads} | {preemptions} | {name} | {executions} | {seconds:.3} | {ratio:.1} |"
            ));
        }
    }
    Ok(())
}

const NAMES: [&str; 3] = [
    "loom",
    "Raddle, panic and deadlock",
    "Raddle, data races and heap too",
];

/// Both sides, in turns: the middle ones of [`NAMES`].
fn measure_both(
    tool: &Path,
    loom: &Path,
    (threads, preemptions): (u32, u32),
    executions: u64,
    rounds: usize,
) -> Result<[Measurement; 3]> {
    let mut columns: [Vec<Measurement>; 3] = Default::default();
    for _ in 0..rounds {
        columns[0].push(measure_loom(loom, threads, preemptions, executions)?);
        for (column, watches_memory) in [(1, false), (2, true)] {
            let run = Run {
                binary: "first",
                test: &format!("threads_{threads}"),
                strategy: &format!("exhaustive({preemptions})"),
                watches_memory,
                arguments: &[],
                environment: &[],
                executions,
            };
            columns[column].push(measure(tool, &run)?);
        }
    }
    Ok(columns.map(|column| Measurement::median(&column)))
}

fn measure_loom(
    loom: &Path,
    threads: u32,
    preemptions: u32,
    executions: u64,
) -> Result<Measurement> {
    let mut command = Command::new(loom);
    command.args([
        threads.to_string(),
        preemptions.to_string(),
        executions.to_string(),
    ]);
    let (stdout, _) = shell::output(&mut command)?;
    let words = stdout.split_once(' ');
    let (executions, seconds) = words.with_context(|| format!("loom's side says {stdout:?}"))?;
    // It does not tell how many points there were.
    let seconds = seconds.trim().parse()?;
    Ok(Measurement::new(executions.parse()?, 1, seconds))
}
