//! What passed, what failed and what was skipped, over all steps of a test run.

use std::time::Instant;

use anyhow::Result;

/// How a line begins with which an end-to-end test says that it did nothing (`tests/src/skip.rs`).
const SKIPPED: &str = "skipped: ";
/// The same for one that did less than it should.
const SKIPPED_IN_PART: &str = "skipped in part: ";

/// Counts of passed and failed tests; a step that is no test counts as one.
#[derive(Default)]
pub struct Counts {
    passed: u64,
    failed: u64,
    failures: Vec<String>,
    skipped: Vec<String>,
}

impl Counts {
    /// Runs a step and counts it.
    pub fn step(&mut self, name: &str, step: impl FnOnce() -> Result<()>) {
        self.steps(name, |counts| {
            step()?;
            counts.passed += 1;
            Ok(())
        });
    }

    /// Runs a step that counts for itself; an error counts as a failure.
    pub fn steps(&mut self, name: &str, step: impl FnOnce(&mut Self) -> Result<()>) {
        println!("== {name}");
        let start = Instant::now();
        if let Err(error) = step(self) {
            self.fail(format!("{name}: {error:#}"));
        }
        println!("== {name}: {:.0} s", start.elapsed().as_secs_f64());
    }

    /// Counts one that passed.
    pub fn pass(&mut self) {
        self.passed += 1;
    }

    /// Counts one that failed.
    pub fn fail(&mut self, what: String) {
        eprintln!("FAILED {what}");
        self.failures.push(what);
        self.failed += 1;
    }

    /// Counts what a line of libtest's output says; returns whether it says anything failed.
    pub fn libtest_line(&mut self, line: &str) -> bool {
        if line.starts_with(SKIPPED) || line.starts_with(SKIPPED_IN_PART) {
            self.skipped.push(line.to_owned());
        }
        let Some((passed, failed)) = libtest_result(line) else {
            return false;
        };
        self.passed += passed;
        self.failed += failed;
        if failed > 0 {
            self.failures.push(line.to_owned());
        }
        failed > 0
    }

    /// Prints the totals as the last line; returns whether everything passed.
    pub fn conclude(self) -> bool {
        for skipped in &self.skipped {
            println!("{skipped}");
        }
        for failure in &self.failures {
            println!("failed: {failure}");
        }
        println!("{}", self.totals());
        self.failed == 0
    }

    fn totals(&self) -> String {
        // libtest takes a test that returns for one that passed.
        let skipped = self.skipped.iter();
        let not_run = skipped.filter(|line| line.starts_with(SKIPPED)).count() as u64;
        format!(
            "{} passed, {} failed, {} skipped",
            self.passed.saturating_sub(not_run),
            self.failed,
            self.skipped.len()
        )
    }
}

/// Passed and failed out of `test result: ok. 3 passed; 0 failed; …`.
fn libtest_result(line: &str) -> Option<(u64, u64)> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let mut numbers = counts.split("; ").map(|count| count.split(' ').next());
    let mut next = || numbers.next()??.parse().ok();
    Some((next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::{Counts, libtest_result};

    #[test]
    fn what_was_skipped_is_counted_and_did_not_pass() {
        let mut counts = Counts::default();
        for line in [
            "test a ... ok",
            "skipped: full_disk: `unshare` needs root",
            "skipped in part: ids: `unshare` needs root",
            "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out",
        ] {
            assert!(!counts.libtest_line(line));
        }
        assert_eq!(counts.totals(), "4 passed, 0 failed, 2 skipped");
    }

    #[test]
    fn results_are_read() {
        let line =
            "test result: FAILED. 31 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out";
        assert_eq!(libtest_result(line), Some((31, 2)));
        assert_eq!(libtest_result("test a::b ... ok"), None);
    }
}
