//! Asks a test executable for its tests. It runs without control, as it would without us.

use std::collections::HashSet;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};

use crate::cargo_build::Executable;
use crate::exit::{Exit, Failure, OrExit};
use crate::process::run_within;

/// Listing runs no test; an executable that takes longer is stuck before `main`.
const LIMIT: Duration = Duration::from_secs(20);

/// One test of an executable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedTest {
    /// Its name.
    pub name: String,
    /// Whether it is `#[ignore]`d.
    pub ignored: bool,
}

/// All tests, in libtest's order.
pub(crate) fn tests(executable: &Executable) -> Result<Vec<ListedTest>, Failure> {
    let all = list(executable, &["--list", "--format", "terse"]).or_exit(Exit::ProgramBroken)?;
    let ignored = list(executable, &["--list", "--format", "terse", "--ignored"])
        .or_exit(Exit::ProgramBroken)?;
    let ignored: HashSet<_> = names(&ignored).collect();
    let tests = names(&all).map(|name| ListedTest {
        name: name.to_owned(),
        ignored: ignored.contains(name),
    });
    Ok(tests.collect())
}

fn list(executable: &Executable, arguments: &[&str]) -> anyhow::Result<String> {
    let exe = &executable.record.exe;
    let mut command = Command::new(exe);
    command
        .args(arguments)
        .current_dir(&executable.record.cwd)
        .envs(executable.record.changed_env())
        .env(raddle_abi::env::RADDLE, "1");
    let finished = run_within(&mut command, LIMIT)
        .with_context(|| format!("cannot start {}", exe.display()))?;
    let Some(status) = finished.status else {
        bail!(
            "{} did not list its tests within {} s",
            exe.display(),
            LIMIT.as_secs()
        );
    };
    if !status.success() {
        let stderr = String::from_utf8_lossy(&finished.stderr);
        bail!(
            "{} does not list its tests ({status}): {}",
            exe.display(),
            stderr.trim()
        );
    }
    Ok(String::from_utf8_lossy(&finished.stdout).into_owned())
}

fn names(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter_map(|line| line.strip_suffix(": test"))
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn benchmarks_and_other_lines_are_no_tests() {
        let list = "a::b: test\nc: benchmark\nhello\nd: test\n";
        assert_eq!(names(list).collect::<Vec<_>>(), ["a::b", "d"]);
    }
}
