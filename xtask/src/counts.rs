//! What passed and what failed, over all steps of a test run.

use std::time::Instant;

use anyhow::Result;

/// Counts of passed and failed tests; a step that is no test counts as one.
#[derive(Default)]
pub struct Counts {
    passed: u64,
    failed: u64,
    failures: Vec<String>,
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
        for failure in &self.failures {
            println!("failed: {failure}");
        }
        println!("{} passed, {} failed", self.passed, self.failed);
        self.failed == 0
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
    use super::libtest_result;

    #[test]
    fn results_are_read() {
        let line =
            "test result: FAILED. 31 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out";
        assert_eq!(libtest_result(line), Some((31, 2)));
        assert_eq!(libtest_result("test a::b ... ok"), None);
    }
}
