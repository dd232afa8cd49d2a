//! Runs plans and returns outcomes: worker processes, watchdog, budgets, confirmation,
//! deduplication, the result store and resumption.
//!
//! [`run`] takes the targets of one command through the whole campaign and [`replay`] repeats
//! one stored schedule. Everything the caller may want to show comes as an [`Event`].
//!
//! Deliberately absent: printing, building, knowledge of cargo, and analysis of programs
//! beyond what explains a finding.

mod campaign;
mod error;
mod event;
mod ignore;
mod options;
mod replay;
mod summary;
mod target;

pub use campaign::run;
pub use error::Error;
pub use event::{Event, Note, Progress};
pub use ignore::IgnoreRule;
pub use options::{Options, Races};
pub use replay::{Replay, Stored, find_stored, replay};
pub use summary::{Summary, TestResult, Verdict};
pub use target::{Target, TargetKind};
