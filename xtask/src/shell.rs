//! Starts programs.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::repository;

/// `cargo`, the one that started us, in the repository.
pub fn cargo(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(repository::root());
    command
}

/// A cargo for packages that are not ours.
pub fn foreign_cargo(
    directory: &Path,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Command {
    let mut command = cargo(arguments);
    elsewhere(&mut command, directory);
    command
}

/// The tool as cargo would call it, so that nothing has to be installed.
pub fn raddle(
    tool: &Path,
    directory: &Path,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Command {
    let mut command = Command::new(tool);
    command.arg("raddle").args(arguments);
    command.env("RADDLE_CACHE", repository::cache());
    elsewhere(&mut command, directory);
    command
}

/// Runs it in this directory, without what our own cargo put into the environment.
fn elsewhere(command: &mut Command, directory: &Path) {
    command.current_dir(directory);
    for name in [
        "CARGO_TARGET_DIR",
        "CARGO_MANIFEST_DIR",
        "CARGO_MANIFEST_PATH",
        "LD_LIBRARY_PATH",
    ] {
        command.env_remove(name);
    }
}

/// Runs it and requires success.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {}", words(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", words(command));
    }
    Ok(())
}

/// Whether it succeeds, silently.
pub fn succeeds(command: &mut Command) -> bool {
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Runs it, hands on its stdout and calls `see` on each line; returns whether it succeeded.
pub fn run_seeing(command: &mut Command, mut see: impl FnMut(&str)) -> Result<bool> {
    command.stdout(Stdio::piped());
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot start {}", words(command)))?;
    let stdout = child.stdout.take().context("stdout is piped")?;
    for line in BufReader::new(stdout).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        see(&line);
    }
    Ok(child.wait()?.success())
}

/// Its stdout and exit code; stderr is handed on.
pub fn output(command: &mut Command) -> Result<(String, Option<i32>)> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {}", words(command)))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok((text, output.status.code()))
}

/// The command line, for messages.
fn words(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    format!("`{}`", words.join(" "))
}

/// The day, for results that are kept.
pub fn today() -> Result<String> {
    let (date, _) = output(Command::new("date").args(["--utc", "+%Y-%m-%d"]))?;
    Ok(date.trim().to_owned())
}
