//! What the end-to-end tests are written with: a [`Fixture`] is a crate copied to a directory
//! of its own, [`Fixture::check`] runs the tool there and holds it to what is promised for
//! every run, and the [`Run`] it returns is what the test looks at.
//!
//! Deliberately absent: any use of Raddle's libraries. These tests know the command line and
//! the machine output, nothing else.

mod fixture;
mod line;
pub mod outcomes;
mod process;
mod run;
mod skip;
mod slot;

pub use fixture::{Expectation, Fixture, PlannedFinding};
pub use line::{
    FindingLine, Line, OutcomeLine, PairCell, PredictionLine, ReplayLine, Site, SummaryLine,
    TestLine, ViolationLine,
};
pub use process::{Ended, Tool, cache, executable};
pub use run::Run;
pub use skip::{skip, skip_part};

/// Seeds per test for what has to hold for every seed: the variable `E2E_SEEDS`, or 100.
pub fn seeds() -> u64 {
    std::env::var("E2E_SEEDS").map_or(100, |text| text.parse().expect("E2E_SEEDS is a number"))
}
