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
mod conflicts;
mod control;
mod course;
mod earlier;
mod error;
mod estimate;
mod event;
mod evidence;
mod exhaustiveness;
mod explain;
mod explore;
mod fields;
mod file;
mod finish;
mod guardian;
mod ignore;
mod inspect;
mod internal;
mod machine_trouble;
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
mod timing;
mod verdict;
mod view;
mod watch;
mod with_runner;
mod wording;
mod worker;

pub use campaign::run;
pub use error::Error;
pub use event::Event;
pub use explain::program_map;
pub use file::{LARGEST, check_is_file, read_file, read_text};
pub use ignore::IgnoreRule;
pub use internal::internal_errors;
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
