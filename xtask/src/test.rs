//! The test suite: lints, unit tests, end-to-end tests, and the suites of published crates.

use anyhow::{Result, bail};

use crate::counts::Counts;
use crate::subjects::{self, Budget};
use crate::{bugs, evaluate, lint, programs, repository, setup, shell};

/// Runs everything, or what fits into twenty minutes on two cores from a clean clone.
pub fn run(full: bool) -> Result<()> {
    let mut counts = Counts::default();
    lint::steps(&mut counts);
    counts.steps("unit tests", |counts| {
        libtest(counts, &["--workspace", "--exclude", "raddle-e2e"], &[])
    });
    match setup::tool() {
        Ok(tool) => {
            let seeds = if full { "1000" } else { "100" };
            let cache = repository::cache();
            let environment = [
                ("E2E_TOOL", tool.as_os_str()),
                ("E2E_CACHE", cache.as_os_str()),
                ("E2E_SEEDS", seeds.as_ref()),
            ];
            let mut selection = vec!["--package", "raddle-e2e"];
            if full {
                // Those that take minutes.
                selection.extend(["--", "--include-ignored"]);
            }
            counts.steps("end-to-end tests", |counts| {
                libtest(counts, &selection, &environment)
            });
            let budget = if full { Budget::FULL } else { Budget::SHORT };
            counts.steps("suites of published crates", |counts| {
                subjects::check(counts, &tool, full, budget)
            });
            if full {
                counts.steps("programs of the system", |counts| {
                    programs::check(counts, &tool)
                });
            }
            counts.steps(
                "programs with known bugs and their correct twins",
                |counts| evaluate::check(counts, &tool, full),
            );
            counts.steps("generated tests for types with known bugs", |counts| {
                evaluate::check_generate(counts, &tool, full)
            });
            counts.steps("known bugs of published crates", |counts| {
                bugs::check(counts, &tool, full)
            });
        }
        Err(error) => counts.fail(format!("the tool does not build: {error:#}")),
    }
    match counts.conclude() {
        true => Ok(()),
        false => std::process::exit(1),
    }
}

/// Runs `cargo test` and counts what libtest says.
fn libtest(
    counts: &mut Counts,
    selection: &[&str],
    environment: &[(&str, &std::ffi::OsStr)],
) -> Result<()> {
    let mut command = shell::cargo(["test", "--no-fail-fast"]);
    command.args(selection);
    for (name, value) in environment {
        command.env(name, value);
    }
    let mut counted = false;
    let success = shell::run_seeing(&mut command, |line| {
        counted |= counts.libtest_line(line);
    })?;
    if !success && !counted {
        bail!("`cargo test {}` failed", selection.join(" "));
    }
    Ok(())
}
