//! What a link that waits tells people while it does: cargo and rustc show nothing of a linker
//! that succeeds, so that the tool reads it from the directory of link reports.

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::{FromRawFd, RawFd};
use std::path::{Path, PathBuf};

use raddle_abi::env;
use raddle_trace::visible::visible;

use super::files::write_atomically;

/// How the files are called that hold what is waited for now.
const PREFIX: &str = "waiting-";

/// A place for one sentence, which is taken back in the end.
pub(super) struct Notice {
    file: Option<PathBuf>,
    people: RawFd,
}

impl Notice {
    /// `people` is a descriptor of the process's own stderr, for compilers, whose output is shown.
    pub(super) fn new(people: RawFd) -> Self {
        let directory = std::env::var_os(env::LINK_REPORTS).map(PathBuf::from);
        let file = directory.map(|path| path.join(format!("{PREFIX}{}", std::process::id())));
        Self { file, people }
    }

    /// Says it. If that fails, the wait goes on all the same.
    pub(super) fn give(&self, sentence: &str) {
        match &self.file {
            Some(file) => {
                let _ = file.parent().map(fs::create_dir_all);
                let _ = write_atomically(file, sentence.as_bytes());
            }
            None if self.people >= 0 => {
                // SAFETY: a descriptor that was made for this notice, and is closed with it.
                let mut stderr = unsafe { File::from_raw_fd(self.people) };
                let _ = writeln!(stderr, "raddle: {}", visible(sentence));
                std::mem::forget(stderr);
            }
            None => {}
        }
    }
}

impl Drop for Notice {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            let _ = fs::remove_file(file);
        }
        if self.people >= 0 {
            // SAFETY: as above; it is not used again.
            unsafe { libc::close(self.people) };
        }
    }
}

/// What links wait for now, by the directory of their reports.
pub fn waiting_links(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let waiting = entries.filter(|entry| {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    });
    let mut sentences: Vec<_> = waiting
        .filter_map(|entry| fs::read_to_string(entry.path()).ok())
        .collect();
    sentences.sort();
    sentences
}
