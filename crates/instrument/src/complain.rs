//! What compiler and linker wrappers say to people, by way of cargo.

use std::fmt::Display;
use std::io::Write;

use raddle_trace::visible::visible;

/// Says something on stderr. Names in it may hold anything; if nobody reads, nobody is told.
pub(crate) fn complain(sentence: impl Display) {
    let text = visible(&sentence.to_string());
    let _ = writeln!(std::io::stderr(), "raddle: {text}");
}
