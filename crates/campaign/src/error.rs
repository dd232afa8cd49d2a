//! What can go wrong in a campaign as a whole. Troubles of one test are its verdict instead.

use std::path::PathBuf;

/// An error that ends the whole campaign.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The results directory does not take our files.
    #[error("cannot write {}: {source}; results need a writable directory with free space", path.display())]
    Store {
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file of ours cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file of ours is damaged.
    #[error("{} is damaged: {why}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong and where.
        why: String,
    },
    /// Neither a finding of the last runs nor a file.
    #[error("there is no finding `{id}` in {} and no such file", results.display())]
    UnknownFinding {
        /// What was asked for.
        id: String,
        /// Where it was looked for.
        results: PathBuf,
    },
    /// Several findings have ids that begin so.
    #[error("`{id}` is the beginning of several ids: {}", matches.join(", "))]
    AmbiguousFinding {
        /// What was asked for.
        id: String,
        /// The ids.
        matches: Vec<String>,
    },
    /// A worker process cannot be started at all.
    #[error("cannot start {}: {source}", path.display())]
    Start {
        /// The executable.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The machine gives no shared memory.
    #[error("cannot create shared memory for a worker: {0}")]
    SharedMemory(std::io::Error),
    /// The machine refuses what a worker needs; nothing can be said about the program.
    #[error("{what}; {advice}")]
    Machine {
        /// What was refused.
        what: String,
        /// What to do.
        advice: &'static str,
    },
    /// The strategy's name is not known.
    #[error("{0}")]
    Strategy(String),
}
