//! Lets the compiler judge a generated program, line by line.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context;
use raddle_generate::harness::Complaint;
use serde::Deserialize;

use crate::cargo_locks;
use crate::exit::{Exit, Failure, OrExit};
use crate::interrupt::StopFlag;
use crate::metadata::cargo;

#[derive(Deserialize)]
struct Line {
    reason: String,
    message: Option<Message>,
    target: Option<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Deserialize)]
struct Message {
    level: String,
    message: String,
    #[serde(default)]
    rendered: Option<String>,
    spans: Vec<Span>,
}

#[derive(Deserialize)]
struct Span {
    line_start: usize,
    is_primary: bool,
    expansion: Option<Box<Expansion>>,
}

#[derive(Deserialize)]
struct Expansion {
    span: Span,
}

impl Span {
    /// The line that the user, or our generator, wrote.
    fn line(&self) -> usize {
        match &self.expansion {
            Some(expansion) => expansion.span.line(),
            None => self.line_start,
        }
    }
}

/// What the compiler says about the program.
pub(crate) enum Checked {
    /// Nothing.
    Good,
    /// Something about the program.
    Complaints(Vec<Complaint>),
    /// A dependency does not build: this is what was said.
    Broken(String),
}

/// Checks the program of a scratch project whose binary has this name.
pub(crate) fn check(
    manifest: &Path,
    directory: &Path,
    binary: &str,
    flags: &[OsString],
    stop: &StopFlag,
) -> Result<Checked, Failure> {
    let mut child = Command::new(cargo())
        .args([
            "check",
            "--quiet",
            "--message-format=json",
            "--manifest-path",
        ])
        .arg(manifest)
        .arg("--target-dir")
        .arg(directory)
        .args(flags)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot run cargo")
        .or_exit(Exit::Unsupported)?;
    let stdout = child.stdout.take().expect("stdout was asked for");
    let stderr = child.stderr.take().expect("stderr was asked for");
    let said = std::thread::spawn(move || std::io::read_to_string(stderr).unwrap_or_default());
    let id = child.id();
    let (lines, status) = cargo_locks::watch(id, || {
        stop.ending(id, || {
            let lines = BufReader::new(stdout).lines();
            (lines.collect::<Result<Vec<_>, _>>(), child.wait())
        })
    })?;
    let lines = lines
        .context("cannot read from cargo")
        .or_exit(Exit::Unsupported)?;
    let status = status
        .context("cannot wait for cargo")
        .or_exit(Exit::Unsupported)?;
    stop.check()?;
    if status.success() {
        return Ok(Checked::Good);
    }
    let (mut complaints, mut others) = (Vec::new(), Vec::new());
    for line in lines {
        let Ok(line) = serde_json::from_str::<Line>(&line) else {
            continue;
        };
        let is_own = line.target.is_some_and(|target| target.name == binary);
        let Some(message) = line.message.filter(|_| line.reason == "compiler-message") else {
            continue;
        };
        if message.level != "error" {
            continue;
        }
        if !is_own {
            others.push(message.rendered.unwrap_or(message.message));
            continue;
        }
        let primary = message.spans.iter().filter(|span| span.is_primary);
        complaints.extend(primary.map(|span| Complaint {
            line: span.line(),
            message: message.message.clone(),
        }));
    }
    if complaints.is_empty() {
        others.push(said.join().unwrap_or_default());
        return Ok(Checked::Broken(others.concat()));
    }
    Ok(Checked::Complaints(complaints))
}
