//! Accepts the present output of all snapshot tests.

use anyhow::Result;

use crate::shell;

/// Runs the unit tests with snapshots updated in place; the diff is for git to show.
pub fn run() -> Result<()> {
    let arguments = ["test", "--workspace", "--exclude", "raddle-e2e"];
    shell::run(shell::cargo(arguments).env("INSTA_UPDATE", "always"))
}
