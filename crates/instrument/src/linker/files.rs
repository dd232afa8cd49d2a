//! Files that parallel links share: written aside, then renamed.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// Writes a file so that readers see either nothing or all of it.
pub(super) fn write_atomically(path: &Path, content: &[u8]) -> io::Result<()> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.{number}.tmp", std::process::id()));
    std::fs::write(&name, content)
        .and_then(|()| std::fs::rename(&name, path))
        .inspect_err(|_| {
            let _ = std::fs::remove_file(&name);
        })
}
