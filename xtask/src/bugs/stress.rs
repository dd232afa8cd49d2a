//! The same test without the tool: repeated as fast as the machine can, for a while.

use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::bugs::{Bug, probe};
use crate::shell;

/// How long the test is repeated.
const TIME: Duration = Duration::from_secs(20);
/// Time without a sign of life after which it hangs.
const HANGS: Duration = Duration::from_secs(5);

/// What came of it.
pub struct Native {
    pub iterations: u64,
    pub seconds: f64,
    pub end: End,
}

/// How it ended.
pub enum End {
    /// It did not show the bug.
    Nothing,
    Failed,
    Hung,
}

impl fmt::Display for Native {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            iterations,
            seconds,
            ..
        } = self;
        match self.end {
            End::Nothing => write!(formatter, "not in {iterations} runs, {seconds:.0} s"),
            End::Failed => write!(formatter, "after about {iterations} runs, {seconds:.1} s"),
            End::Hung => write!(
                formatter,
                "hangs after about {iterations} runs, {seconds:.1} s"
            ),
        }
    }
}

/// Builds a program that repeats the bug's test, and runs it.
pub fn run(directory: &Path, bug: &Bug) -> Result<Native> {
    let test = fs::read_to_string(probe::source(bug))?;
    let name = test.split_once("#[test]\npub fn ");
    let name = name.and_then(|(_, rest)| rest.split_once('('));
    let (name, _) = name.context("the test is not public")?;
    let text = format!(
        "//! Repeats the test.\n#[path = \"bug.rs\"]\nmod bug;\n\n#[test]\nfn repeat() {{\n    let start = std::time::Instant::now();\n    \
         let mut runs = 0_u64;\n    while start.elapsed().as_secs() < {} {{\n        bug::{name}();\n        runs += 1;\n        \
         if runs < 100 || runs % 100 == 0 {{\n            println!(\"run {{runs}}\");\n        }}\n    }}\n}}\n",
        TIME.as_secs()
    );
    fs::write(directory.join("tests/stress.rs"), text)?;
    let build = ["test", "--release", "--test", "stress", "--no-run"];
    shell::run(shell::foreign_cargo(directory, build).stderr(Stdio::null()))?;
    let run = [
        "test",
        "--release",
        "--test",
        "stress",
        "--",
        "--exact",
        "repeat",
        "--nocapture",
    ];
    let end = repeat(shell::foreign_cargo(directory, run));
    // It would be one of the crate's tests for the tool.
    fs::remove_file(directory.join("tests/stress.rs"))?;
    end
}

fn repeat(mut command: Command) -> Result<Native> {
    use std::os::unix::process::CommandExt;
    let start = Instant::now();
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.process_group(0).spawn()?;
    let stdout = child.stdout.take().context("stdout is piped")?;
    let (sender, receiver) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let runs = lines.filter_map(|line| line.strip_prefix("run ")?.parse::<u64>().ok());
        // Nobody listens any more once it hangs.
        for runs in runs {
            let _ = sender.send(runs);
        }
    });
    let mut iterations = 0;
    let hung = loop {
        match receiver.recv_timeout(HANGS) {
            Ok(runs) => iterations = runs,
            Err(mpsc::RecvTimeoutError::Disconnected) => break false,
            Err(mpsc::RecvTimeoutError::Timeout) => break true,
        }
    };
    let mut seconds = start.elapsed().as_secs_f64();
    if hung {
        seconds -= HANGS.as_secs_f64();
        shell::run(Command::new("kill").args(["-9", "--", &format!("-{}", child.id())]))?;
    }
    let status = child.wait()?;
    if reader.join().is_err() {
        bail!("reading the program's output failed");
    }
    let end = match (hung, status.success()) {
        (true, _) => End::Hung,
        (false, true) => End::Nothing,
        (false, false) => End::Failed,
    };
    Ok(Native {
        iterations,
        seconds,
        end,
    })
}
