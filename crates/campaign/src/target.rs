//! What is run: one test of a test executable, or one program.

use std::ffi::OsString;
use std::path::PathBuf;

use raddle_abi::env::RUNTIME_LIBRARY;
use raddle_trace::libraries;

/// One thing to explore.
#[derive(Clone, Debug)]
pub struct Target {
    /// The instrumented executable.
    pub exe: PathBuf,
    /// Name of the test as libtest lists it; for a program the name of its binary.
    pub name: String,
    /// Name of the cargo target, unique enough to find the test again: `lib`, `tests/foo`, `bin/x`.
    pub target: String,
    /// Name of the package.
    pub package: String,
    /// Test or program.
    pub kind: TargetKind,
    /// Arguments of a program; unused for tests.
    pub args: Vec<String>,
    /// What a program reads from its standard input; without it there is nothing to read.
    pub stdin: Option<PathBuf>,
    /// Exit code that means success: that of a program which tells something by it, else 0.
    pub success: u8,
    /// Variables set on top of the tool's own environment, as `cargo test` would set them.
    pub env: Vec<(OsString, OsString)>,
    /// Working directory: the package's.
    pub cwd: PathBuf,
    /// Directories whose files executions may change without anybody else seeing it: the
    /// workspace and where cargo builds. Those of [`Self::cwd`] and of temporary files are
    /// kept apart anyway.
    pub private: Vec<PathBuf>,
    /// Names of native code that can synchronise threads unseen: what looks like a data race
    /// may be none, so none is reported.
    pub unseen_synchronisation: Vec<String>,
    /// Names of code whose accesses to memory are not seen: no search of the program is exhaustive.
    pub unseen_code: Vec<String>,
    /// Whether the test is `#[ignore]`d, so that libtest has to be told to run it.
    pub ignored: bool,
}

impl Target {
    /// Whether the executable is linked with the runtime, or gets it preloaded.
    pub(crate) fn has_runtime(&self) -> bool {
        let is_preloaded = self.env.iter().any(|(name, value)| {
            name == "LD_PRELOAD" && value.to_string_lossy().contains(RUNTIME_LIBRARY)
        });
        is_preloaded || libraries::needs(&self.exe, RUNTIME_LIBRARY)
    }

    /// Whether a stored schedule with these names belongs to this target.
    pub fn is(&self, target: &str, test: &str) -> bool {
        self.target == target && self.name == test
    }
}

/// How a [`Target`] is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// One test of a libtest executable; executions start at the test function.
    Test,
    /// A Rust program; executions start at its `main`.
    Main,
    /// A program of any language; executions start at the C function `main`.
    Program,
}
