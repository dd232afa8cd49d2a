//! Tests that this machine does not allow say so, in a way that `cargo xtask test` counts.

use std::io::Write as _;

/// Says that the calling test does nothing, and why. It has to return then.
pub fn skip(reason: &str) {
    say("skipped", reason);
}

/// Says that the calling test does less than it should, and why.
pub fn skip_part(reason: &str) {
    say("skipped in part", reason);
}

/// Writes past libtest, which shows what tests print only if they fail.
fn say(what: &str, reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let reason = reason.replace('\n', " ");
    // libtest may have begun a line.
    let line = format!("\n{what}: {test}: {reason}\n");
    let _ = std::io::stdout().lock().write_all(line.as_bytes());
}
