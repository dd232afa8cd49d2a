//! Executions per second against loom, which also tries all schedules up to a number of
//! preemptions.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::measure::{Measurement, Run, measure};
use super::{Report, median, peer};
use crate::shell;

/// Threads, and preemptions that give many schedules with them.
const CASES: [(u32, u32); 2] = [(2, 4), (3, 2)];

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
        let (mut theirs, mut ours) = (Vec::new(), [Vec::new(), Vec::new()]);
        for _ in 0..rounds {
            theirs.push(measure_loom(&loom, threads, preemptions, executions)?);
            for (column, watches_memory) in ours.iter_mut().zip([false, true]) {
                let run = Run {
                    binary: "first",
                    test: &format!("threads_{threads}"),
                    strategy: &format!("exhaustive({preemptions})"),
                    watches_memory,
                    arguments: &[],
                    environment: &[],
                    executions,
                };
                column.push(measure(tool, &run)?);
            }
        }
        let base = median(theirs);
        let rows = [
            ("loom", base),
            (
                "Raddle, panic and deadlock",
                Measurement::median(&ours[0]).per_second,
            ),
            (
                "Raddle, data races and heap too",
                Measurement::median(&ours[1]).per_second,
            ),
        ];
        for (name, per_second) in rows {
            let ratio = per_second / base;
            report.line(&format!(
                "| {threads} | {preemptions} | {name} | {per_second:.0} | {ratio:.1} |"
            ));
        }
    }
    Ok(())
}

fn measure_loom(loom: &Path, threads: u32, preemptions: u32, executions: u64) -> Result<f64> {
    let mut command = Command::new(loom);
    command.args([
        threads.to_string(),
        preemptions.to_string(),
        executions.to_string(),
    ]);
    let (stdout, _) = shell::output(&mut command)?;
    let words = stdout.split_once(' ');
    let (executions, seconds) = words.with_context(|| format!("loom's side says {stdout:?}"))?;
    Ok(executions.parse::<f64>()? / seconds.trim().parse::<f64>()?)
}
