//! Repeats a stored schedule.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use raddle_trace::finding::Finding;

use crate::{Error, Options, Target};

/// A stored schedule, found by id or by path.
#[derive(Clone, Debug)]
pub struct Stored {
    /// The schedule file.
    pub schedule: PathBuf,
    /// Name of the test, to be built and given to [`replay`] as a target.
    pub test: String,
    /// Name of the test's cargo target.
    pub target: String,
    /// Id of the finding.
    pub id: String,
    /// The finding, if the results directory has it.
    pub finding: Option<Finding>,
}

/// What a replay came to.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Executions run.
    pub runs: u64,
    /// Executions that showed the finding again.
    pub reproduced: u64,
    /// Where the program first left the schedule, in words.
    pub diverged: Option<String>,
    /// Other findings that came up instead, as kind and title.
    pub others: Vec<String>,
    /// The finding as seen in this replay.
    pub finding: Option<Finding>,
    /// Why nothing could be run, if so.
    pub not_testable: Option<String>,
}

/// Finds a stored schedule by finding id (in the results directory) or by file path.
pub fn find_stored(id_or_file: &str, results: &Path) -> Result<Stored, Error> {
    let _ = results;
    Err(Error::UnknownFinding {
        id: id_or_file.to_owned(),
        results: results.to_owned(),
    })
}

/// Repeats `stored` on `target`, `times` times, each in a new process.
pub fn replay(
    target: &Target,
    stored: &Stored,
    times: u64,
    options: &Options,
    stop: &AtomicBool,
) -> Result<Replay, Error> {
    let _ = (target, stored, times, options, stop);
    Ok(Replay {
        runs: 0,
        reproduced: 0,
        diverged: None,
        others: Vec::new(),
        finding: None,
        not_testable: None,
    })
}
