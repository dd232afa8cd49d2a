//! Directories that fixtures are copied to, with the same paths in every test.
//!
//! Compilers write paths into what they make. If a fixture stands where it stood before, the tool's
//! cache has its instrumented code, so that it is instrumented once and not once per test.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// An empty directory that no other test uses, until this is dropped.
pub(crate) struct Slot {
    path: PathBuf,
    /// Locked as long as the slot is in use.
    _lock: File,
}

impl Slot {
    /// The first free directory for `name`.
    ///
    /// # Panics
    ///
    /// If directories or locks cannot be made.
    pub(crate) fn claim(name: &str) -> Self {
        let slots = std::env::temp_dir().join("raddle-e2e");
        fs::create_dir_all(&slots).expect("a directory for fixtures can be made");
        let claimed = (0..).find_map(|number| {
            let lock = slots.join(format!("{name}-{number}.lock"));
            let lock = File::create(lock).expect("a lock can be made");
            lock.try_lock().ok()?;
            Some((slots.join(format!("{name}-{number}")), lock))
        });
        let (path, lock) = claimed.expect("some number is free");
        // A test that was killed leaves its files behind.
        if let Err(error) = fs::remove_dir_all(&path) {
            assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        }
        fs::create_dir(&path).expect("a directory for a fixture can be made");
        Self { path, _lock: lock }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // The next test empties what cannot be removed now.
        let _ = fs::remove_dir_all(&self.path);
    }
}
