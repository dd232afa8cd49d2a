//! Bugs of Raddle that showed in this process, whichever command was at work.

use std::sync::{Mutex, PoisonError};

static SHOWN: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Writes one down.
pub(crate) fn note(message: &str) {
    let mut shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if !shown.iter().any(|known| known == message) {
        shown.push(message.to_owned());
    }
}

/// All that showed so far, in one sentence each.
pub fn internal_errors() -> Vec<String> {
    let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    shown.clone()
}
