//! Everything that the other tasks need: a C linker, clang, rustup's components, and the built tool.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use crate::{repository, shell};

/// Makes sure that there is a C linker.
pub fn linker() -> Result<()> {
    if shell::succeeds(Command::new("cc").arg("--version")) {
        return Ok(());
    }
    eprintln!("xtask: there is no C linker `cc`; installing the package gcc");
    let installed = shell::run(Command::new("apt-get").args(["install", "-y", "gcc", "libc6-dev"]));
    if installed.is_err() || !shell::succeeds(Command::new("cc").arg("--version")) {
        bail!("there is no C linker: install gcc (or clang with a `cc`) and try again");
    }
    Ok(())
}

/// Makes sure that there is a clang, without which C and C++ cannot be tested, and a make.
pub fn clang() -> Result<()> {
    for program in ["clang", "make"] {
        let exists = || shell::succeeds(Command::new(program).arg("--version"));
        if exists() {
            continue;
        }
        eprintln!("xtask: there is no {program}, which C and C++ need; installing the package");
        let apt = |arguments: &[&str]| shell::run(Command::new("apt-get").args(arguments));
        let install = ["install", "-y", program];
        let installed = apt(&install).or_else(|_| apt(&["update"]).and_then(|()| apt(&install)));
        if installed.is_err() || !exists() {
            bail!("there is no {program}: install it (clang from version 14 on) and try again");
        }
    }
    Ok(())
}

/// Makes sure that rustfmt and clippy are there.
pub fn components() -> Result<()> {
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        if !shell::succeeds(&mut shell::cargo([subcommand, "--version"])) {
            eprintln!("xtask: installing rustup's component {component}");
            shell::run(Command::new("rustup").args(["component", "add", component]))?;
        }
    }
    Ok(())
}

/// Builds the tool and returns its path.
pub fn tool() -> Result<PathBuf> {
    linker()?;
    clang()?;
    shell::run(&mut shell::cargo([
        "build",
        "--release",
        "--package",
        "cargo-raddle",
    ]))?;
    Ok(repository::target().join("release/cargo-raddle"))
}
