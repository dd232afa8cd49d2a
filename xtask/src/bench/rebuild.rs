//! Time from a one-line edit to a test that is ready to run, against plain cargo; and what a
//! second test binary costs.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{Report, median};
use crate::{repository, shell};

/// Fewest measurements: what takes less than a second varies a lot.
const LEAST: usize = 11;

/// Measures on a copy of the package of the throughput benchmark.
pub fn run(report: &mut Report, tool: &Path, rounds: usize) -> Result<()> {
    let package = repository::scratch("bench/edited");
    copy_package(&package)?;
    let source = package.join("src/lib.rs");
    let original = fs::read_to_string(&source)?;

    let ready = || shell::raddle(tool, &package, ["test", "--no-run"]);
    let plain = || shell::foreign_cargo(&package, ["test", "--no-run"]);
    seconds(ready())?;
    seconds(plain())?;
    let rounds = rounds.max(LEAST);
    let (mut own, mut cargo) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        fs::write(&source, original.replace("0..10", &format!("0..1{round}")))?;
        cargo.push(seconds(plain())?);
        own.push(seconds(ready())?);
    }
    let (own, cargo) = (median(own), median(cargo));
    report.line(&format!(
        "\n## Readiness\n\nFrom a one-line edit until tests are ready, median of {rounds}: `cargo test --no-run` {cargo:.2} s, \
         `cargo raddle test --no-run` {own:.2} s, {:.2} times.",
        own / cargo
    ));

    fs::write(
        package.join("tests/third.rs"),
        "#[test]\nfn threads_5() {\n    plain::count(5);\n}\n",
    )?;
    let more = seconds(ready())?;
    report.line(&format!(
        "\nA new test binary beside two others is ready after {more:.2} s{}.",
        last_link(&package)?
    ));
    fs::remove_file(package.join("tests/third.rs"))?;
    Ok(())
}

fn seconds(mut command: Command) -> Result<f64> {
    let start = Instant::now();
    shell::run(command.stdout(Stdio::null()).stderr(Stdio::null()))?;
    Ok(start.elapsed().as_secs_f64())
}

fn copy_package(to: &Path) -> Result<()> {
    let from = repository::root().join("xtask/bench/plain");
    for file in [
        "Cargo.toml",
        "Cargo.lock",
        "src/lib.rs",
        "tests/first.rs",
        "tests/second.rs",
    ] {
        let target = to.join(file);
        fs::create_dir_all(target.parent().context("a file stands in a directory")?)?;
        fs::copy(from.join(file), target)?;
    }
    Ok(())
}

/// What the linker wrapper says about the newest link: how many modules it instrumented anew.
fn last_link(package: &Path) -> Result<String> {
    #[derive(Deserialize)]
    struct LinkReport {
        instrumented: u64,
        from_cache: u64,
    }
    let mut newest = None;
    for directory in fs::read_dir(package.join("target/raddle"))? {
        let Ok(reports) = fs::read_dir(directory?.path().join("link-reports")) else {
            continue;
        };
        for report in reports {
            let report = report?;
            let modified = report.metadata()?.modified()?;
            if newest.as_ref().is_none_or(|(time, _)| modified > *time) {
                newest = Some((modified, report.path()));
            }
        }
    }
    let (_, path) = newest.context("there are no link reports")?;
    let report: LinkReport = serde_json::from_str(&fs::read_to_string(path)?)?;
    let anew = report.instrumented - report.from_cache;
    Ok(format!(
        ": of its {} modules {} came from the cache and {anew}, its own, were instrumented",
        report.instrumented, report.from_cache
    ))
}
