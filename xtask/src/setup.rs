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

/// Makes sure that there is a clang, without which C and C++ cannot be tested.
pub fn clang() -> Result<()> {
    let exists = || shell::succeeds(Command::new("clang").arg("--version"));
    if exists() {
        return Ok(());
    }
    eprintln!("xtask: there is no clang, which compiles C and C++; installing the package clang");
    let install = |arguments: &[&str]| shell::run(Command::new("apt-get").args(arguments));
    let installed = install(&["install", "-y", "clang"])
        .or_else(|_| install(&["update"]).and_then(|()| install(&["install", "-y", "clang"])));
    if installed.is_err() || !exists() {
        bail!("there is no clang: install clang 14 or newer and try again");
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
