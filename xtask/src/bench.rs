//! Speed, side by side with shuttle, loom, ThreadSanitizer and plain cargo in one run.

mod growth;
mod idle;
mod loom;
mod measure;
mod rebuild;
mod throughput;

use std::fs;
use std::path::PathBuf;

use anyhow::Result;

use crate::{repository, setup, shell};

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
    loom::run(&mut report, &tool, executions / 10, rounds)?;
    idle::run(&mut report, &tool, rounds)?;
    let plots = growth::run(&mut report, &tool, rounds)?;
    if write {
        growth::write(&plots)?;
        fs::write(repository::root().join("book/src/speed.md"), report.0)?;
    }
    Ok(())
}

/// Builds a peer's side and returns where its program is.
fn peer(package: &str, program: &str) -> Result<PathBuf> {
    let target = repository::scratch("bench").join(package);
    let package = repository::root().join("xtask/bench").join(package);
    let arguments = ["build", "--release", "--locked", "--target-dir"];
    shell::run(shell::foreign_cargo(&package, arguments).arg(&target))?;
    Ok(target.join("release").join(program))
}

/// The middle one.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
