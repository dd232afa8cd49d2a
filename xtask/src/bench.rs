//! Speed, side by side with shuttle and with plain cargo in one run.

mod rebuild;
mod throughput;

use anyhow::Result;

use crate::setup;

/// Runs all benchmarks and prints their figures.
pub fn run(executions: u64, rounds: usize) -> Result<()> {
    let tool = setup::tool()?;
    throughput::run(&tool, executions, rounds)?;
    rebuild::run(&tool, rounds)
}

/// The middle one.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
