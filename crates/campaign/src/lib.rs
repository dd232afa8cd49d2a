//! Runs plans and returns outcomes: worker processes, watchdog, budgets, confirmation,
//! deduplication, the result store and resumption.
//!
//! [`run`] takes the targets of one command through the whole campaign and [`replay()`] repeats
//! one stored schedule. Everything the caller may want to show comes as an [`Event`].
//!
//! Deliberately absent: printing, building, knowledge of cargo, and analysis of programs
//! beyond what explains a finding, and the loop that makes predictions of `raddle-analysis` real.

mod allowance;
mod campaign;
mod capture;
mod confirm;
mod control;
mod course;
mod error;
mod estimate;
mod event;
mod evidence;
mod explain;
mod explore;
mod fields;
mod finish;
mod ignore;
mod inspect;
mod nondeterminism;
mod options;
mod paused;
mod predict;
mod queue;
mod regressions;
mod replay;
mod runner;
mod serial;
mod session;
mod store;
mod summary;
mod target;
mod test_run;
mod verdict;
mod watch;
mod with_runner;
mod wording;
mod worker;

pub use campaign::run;
pub use error::Error;
pub use event::Event;
pub use explain::program_map;
pub use ignore::IgnoreRule;
pub use options::{Options, Races};
pub use predict::{Engine, Prediction};
pub use raddle_analysis::windows::Vwls;
pub use raddle_trace::overrides::{Overrides, SetOverride};
pub use raddle_trace::results::{Note, Progress, TestResult, Verdict};
pub use replay::{Replay, Stored, find_stored, replay};
pub use store::Store;
pub use summary::Summary;
pub use target::{Target, TargetKind};
pub use with_runner::with_runner;
