//! Speed, side by side with shuttle and with plain cargo in one run.

mod rebuild;
mod throughput;

use std::fs;

use anyhow::Result;

use crate::{repository, setup};

/// Text that is printed as it grows.
#[derive(Default)]
struct Report(String);

impl Report {
    fn line(&mut self, line: &str) {
        println!("{line}");
        self.0.push_str(line);
        self.0.push('\n');
    }
}

/// Runs all benchmarks and prints their figures; with `write`, they go into the book.
pub fn run(executions: u64, rounds: usize, write: bool) -> Result<()> {
    let tool = setup::tool()?;
    let mut report = Report::default();
    report.line("# Speed\n\nWritten by `cargo xtask bench --write`.\n");
    throughput::run(&mut report, &tool, executions, rounds)?;
    rebuild::run(&mut report, &tool, rounds)?;
    if write {
        fs::write(repository::root().join("book/src/speed.md"), report.0)?;
    }
    Ok(())
}

/// The middle one.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
