//! What a link did, for the tool: rustc and cargo hide what a linker prints.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::files::write_atomically;

/// One link, as JSON in the directory named by `raddle_abi::env::LINK_REPORTS`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LinkReport {
    /// The executable or library.
    pub output: PathBuf,
    /// Whether it is a shared library.
    pub shared: bool,
    /// Modules with hooks, in all.
    pub instrumented: usize,
    /// How many of them came from the cache.
    pub from_cache: usize,
    /// Modules that were compiled without hooks because instrumenting them failed.
    pub failed: Vec<Failure>,
    /// Inputs that were never bitcode, and so have no hooks.
    pub native: Vec<String>,
    /// Those of them with atomic instructions of their own, which can synchronise threads.
    pub synchronising: Vec<String>,
    /// Modules with assembly outside of functions, which has no hooks.
    pub assembly: Vec<Unhooked>,
    /// Why there is no output, if the fault is ours or the configuration's.
    pub error: Option<String>,
    /// Whether it is the machine's.
    pub is_machines: bool,
    /// Seconds for instrumentation.
    pub instrument_seconds: f64,
    /// Seconds for the real linker.
    pub link_seconds: f64,
}

/// Assembly of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Unhooked {
    /// The module.
    pub module: String,
    /// Whether it can synchronise threads.
    pub is_atomic: bool,
}

/// A module that could not be instrumented.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Failure {
    /// The module.
    pub module: String,
    /// What LLVM said.
    pub reason: String,
}

impl LinkReport {
    /// File name of the report on an output.
    pub fn file_name(output: &Path) -> String {
        format!(
            "{:016x}.json",
            xxh3_64(output.as_os_str().as_encoded_bytes())
        )
    }

    /// Writes the report. That it cannot be written must not fail the link.
    pub(super) fn write(&self, directory: &Path) {
        let Ok(text) = serde_json::to_vec_pretty(self) else {
            return;
        };
        let _ = std::fs::create_dir_all(directory);
        let _ = write_atomically(&directory.join(Self::file_name(&self.output)), &text);
    }
}
