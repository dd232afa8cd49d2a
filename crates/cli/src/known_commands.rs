//! The command lines that the user has given on this machine, kept in the user's cache.
//!
//! Schedule files and results directories are data: they come with reports, repositories and
//! archives, and say how a finding's program was started. Only the user decides what is started.
//! So a command line out of such a file is followed only if it is one of those that the user has
//! given to `test` in the same directory before.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cache;
use crate::file::write_whole;
use crate::stored_flags::StoredFlags;

/// Directory in the cache.
const DIRECTORY: &str = "commands";

/// One command line, and where it was given.
#[derive(Serialize)]
pub(crate) struct KnownCommand<'a> {
    /// The workspace, or the directory in which a program is run.
    pub directory: &'a Path,
    /// Path of the program; `None` if cargo builds it.
    pub program: Option<&'a str>,
    /// Flags, arguments and input.
    pub flags: &'a StoredFlags,
}

impl KnownCommand<'_> {
    /// Notes it down. What cannot be noted down has to be given again, so errors do not matter.
    pub(crate) fn remember(&self) {
        let Some((path, text)) = self.entry() else {
            return;
        };
        if std::fs::read(&path).is_ok_and(|present| present == text) {
            return;
        }
        if let Some(directory) = path.parent() {
            let _ = std::fs::create_dir_all(directory);
        }
        let _ = write_whole(&path, &text);
    }

    /// Whether the user has given exactly this one.
    pub(crate) fn is_known(&self) -> bool {
        self.entry()
            .is_some_and(|(path, text)| std::fs::read(path).is_ok_and(|present| present == text))
    }

    /// Its file and the content of it, which is compared: a hash alone could be met on purpose.
    fn entry(&self) -> Option<(PathBuf, Vec<u8>)> {
        let text = serde_json::to_vec(self).ok()?;
        let mut hash = DefaultHasher::new();
        text.hash(&mut hash);
        let name = format!("{:016x}.json", hash.finish());
        Some((cache::root().ok()?.join(DIRECTORY).join(name), text))
    }
}
