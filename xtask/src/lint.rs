//! rustfmt, clippy, rustdoc and tidy, none of which may have anything to say.

use anyhow::Result;

use crate::counts::Counts;
use crate::{setup, shell, tidy};

/// Runs all lints.
pub fn run() -> Result<()> {
    let mut counts = Counts::default();
    steps(&mut counts);
    match counts.conclude() {
        true => Ok(()),
        false => std::process::exit(1),
    }
}

/// Runs all lints as steps of a longer run.
pub fn steps(counts: &mut Counts) {
    counts.step("set-up", || {
        setup::linker().and_then(|()| setup::components())
    });
    counts.step("rustfmt", || {
        shell::run(&mut shell::cargo(["fmt", "--all", "--check"]))
    });
    counts.step("clippy", || {
        let arguments = [
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ];
        shell::run(&mut shell::cargo(arguments))
    });
    counts.step("rustdoc", || {
        let arguments = [
            "doc",
            "--workspace",
            "--no-deps",
            "--document-private-items",
        ];
        shell::run(shell::cargo(arguments).env("RUSTDOCFLAGS", "-D warnings"))
    });
    counts.step("tidy", tidy::run);
}
