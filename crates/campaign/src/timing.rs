//! Failures that depend on how long something takes.
//!
//! Time may advance to a deadline although a thread can run. A data race, a deadlock or a memory
//! error that shows then is one: no program may rely on time for these. A failed assertion may mean
//! no more than that a test sleeps to wait for others. If it shows in no schedule without an early
//! expiry it is marked as *timing*, and listed apart.

use raddle_abi::finding::Kind;
use raddle_abi::plan::{Choice, Decision};
use raddle_trace::runner::RawFinding;

/// Number of the signal of `abort`.
const ABORT: u64 = 6;

/// Whether a sighting may be about time only: a panic, `abort` (as after a failed assertion of C), or
/// a deadlock behind a panic. A watchdog that ends the program goes off only if no thread can run.
fn is_assertion(raw: &RawFinding) -> bool {
    match raw.kind {
        Kind::Panic => true,
        Kind::Crash => raw.detail[0] == ABORT,
        Kind::Deadlock => raw.detail[0] > 0,
        _ => false,
    }
}

/// Whether time advanced to a deadline in its execution although a thread could run.
pub(crate) fn is_early(raw: &RawFinding) -> bool {
    let is_early =
        |decision: &Decision| matches!(Choice::of(decision.to), Choice::Time { is_early: true });
    raw.decisions.iter().any(is_early)
}

/// Whether a sighting is marked as timing if nothing shows it without an early expiry.
pub(crate) fn is_timing(raw: &RawFinding) -> bool {
    is_assertion(raw) && is_early(raw)
}
