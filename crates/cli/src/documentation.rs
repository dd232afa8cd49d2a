//! What crates offer, in rustdoc's JSON. That is not stable, and so needs a word to the compiler
//! that is meant for none but rustdoc: it goes through a wrapper of ours, and neither build scripts
//! nor the user's crates see it.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context;

use crate::cargo_locks;
use crate::exit::{Exit, Failure, OrExit};
use crate::interrupt::StopFlag;
use crate::metadata::cargo;

/// Where the real rustdoc is.
const REAL: &str = "RADDLE_REAL_RUSTDOC";

/// Describes packages of a scratch project.
pub(crate) struct Documentation<'a> {
    /// The project.
    pub manifest: &'a Path,
    /// Where it is built.
    pub directory: &'a Path,
    /// The link through which we are rustdoc.
    pub wrapper: PathBuf,
    /// The real one.
    pub rustdoc: PathBuf,
    /// The user's flags for cargo.
    pub flags: &'a [OsString],
    /// Set when the user wants to stop.
    pub stop: &'a StopFlag,
}

impl Documentation<'_> {
    /// Where descriptions are.
    pub(crate) fn descriptions(&self) -> PathBuf {
        self.directory.join("doc")
    }

    /// Has rustdoc describe these packages. Cargo shows its progress and errors as always.
    pub(crate) fn make(&self, packages: &[String]) -> Result<(), Failure> {
        let mut command = Command::new(cargo());
        command.args(["doc", "--no-deps", "--lib", "--manifest-path"]);
        command
            .arg(self.manifest)
            .arg("--target-dir")
            .arg(self.directory);
        command.args(self.flags);
        for package in packages {
            command.args(["--package", package]);
        }
        let mut child = command
            .env("RUSTDOC", &self.wrapper)
            .env(REAL, &self.rustdoc)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .context("cannot run cargo")
            .or_exit(Exit::Unsupported)?;
        let id = child.id();
        let status = cargo_locks::watch(id, || self.stop.ending(id, || child.wait()))?
            .context("cannot wait for cargo")
            .or_exit(Exit::Unsupported)?;
        self.stop.check()?;
        match status.success() {
            true => Ok(()),
            false => Err(Failure::explained(Exit::ProgramBroken)),
        }
    }
}

/// Acts as rustdoc: what is asked about a crate is answered in JSON.
pub(crate) fn rustdoc(arguments: &[OsString]) -> ExitCode {
    let real = std::env::var_os(REAL).unwrap_or_else(|| "rustdoc".into());
    let mut command = Command::new(real);
    command.args(arguments);
    if arguments.iter().any(|argument| argument == "--crate-name") {
        command.env("RUSTC_BOOTSTRAP", "1");
        command.args([
            "-Zunstable-options",
            "--output-format=json",
            "--cap-lints=allow",
        ]);
    }
    let error = command.exec();
    let _ = writeln!(std::io::stderr(), "raddle: cannot run rustdoc: {error}");
    ExitCode::FAILURE
}
