//! Where things stand.

use std::path::{Path, PathBuf};

/// The repository's root.
pub fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().expect("xtask stands in the repository")
}

/// The build directory: cargo's variable, or `target`.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), |path| root().join(path))
}

/// A scratch directory of one task.
pub fn scratch(task: &str) -> PathBuf {
    target().join("xtask").join(task)
}

/// The tool's cache for everything started from here, so that the user's own stays untouched
/// and the standard library is instrumented once.
pub fn cache() -> PathBuf {
    target().join("e2e-cache")
}
