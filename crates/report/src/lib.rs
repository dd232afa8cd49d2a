//! Shows what Raddle does and finds.
//!
//! Producers build [`Event`]s; a [`Reporter`] shows them: [`Terminal`] to people and [`Json`]
//! to programs. Nothing else prints. A new output format is one new file with one more
//! implementation of [`Reporter`].
//!
//! Deliberately absent: knowledge of how findings come about, of cargo, and of processes.

mod event;
mod generated;
mod json;
mod progress;
mod reporter;
mod source;
mod style;
mod terminal;

pub use event::{Check, CheckResult, Event, ListedTest, Replay, Summary};
pub use generated::{
    Comparison, Difference, ExcusedResults, GeneratedTest, Operation, PairCell, PairCoverage,
    Spent, Trial, UncheckedResults,
};
pub use json::Json;
pub use raddle_trace::results::{Conclusion, Note, Progress, TestResult, Verdict};
pub use raddle_trace::visible::{visible, visible_line};
pub use reporter::Reporter;
pub use source::Sources;
pub use terminal::{Settings, Terminal};

#[cfg(test)]
mod sample;
