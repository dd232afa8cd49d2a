//! Files that appear whole or not at all.

use std::fs;
use std::io;
use std::path::Path;

/// Writes `bytes` to `path` through a temporary file in the same directory.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = temporary_beside(path);
    let written = fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The error that matters is the one of writing.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Makes `path` a symbolic link to `target`, replacing what was there.
pub(crate) fn link_whole(path: &Path, target: &Path) -> io::Result<()> {
    if fs::read_link(path).is_ok_and(|present| present == target) {
        return Ok(());
    }
    let temporary = temporary_beside(path);
    std::os::unix::fs::symlink(target, &temporary)?;
    fs::rename(&temporary, path)
}

/// A name in the same directory that no other process uses.
pub(crate) fn temporary_beside(path: &Path) -> std::path::PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", std::process::id()))
}
