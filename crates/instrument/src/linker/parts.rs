//! What archives hold, remembered from link to link.
//!
//! Every link of a test reads the standard library and the same dependencies: tens of megabytes to
//! find out, again, which entries of the cache stand for them.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::cache::{Cache, Key};
use super::files::write_atomically;

/// A file that changed so recently may change again with no difference in its times.
const SETTLED: Duration = Duration::from_secs(1);

/// A member of an archive, and what takes its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Part {
    /// The member's name, with that of the archive.
    pub(super) name: String,
    /// The entry that is linked.
    pub(super) key: Key,
    /// Whether it is linked as it was.
    pub(super) is_native: bool,
    /// Whether it can synchronise threads unseen.
    pub(super) synchronises: bool,
}

/// The parts of an archive that was looked into before and has not changed since.
pub(super) fn recall(cache: &Cache, archive: &Path) -> Option<Vec<Part>> {
    let text = std::fs::read(file(cache, archive)?).ok()?;
    let parts: Vec<Part> = serde_json::from_slice(&text).ok()?;
    let is_whole = parts.iter().all(|part| cache.object(&part.key).exists());
    is_whole.then_some(parts)
}

/// Remembers the parts of an archive. Whoever cannot looks into it again.
pub(super) fn remember(cache: &Cache, archive: &Path, parts: &[Part]) {
    if let Some(file) = file(cache, archive)
        && let Ok(text) = serde_json::to_vec(parts)
    {
        let _ = write_atomically(&file, &text);
    }
}

/// The file for an archive as it is now; none if it has only just been written.
fn file(cache: &Cache, archive: &Path) -> Option<PathBuf> {
    let metadata = std::fs::metadata(archive).ok()?;
    let age = SystemTime::now().duration_since(metadata.modified().ok()?);
    if age.ok()? < SETTLED {
        return None;
    }
    let mut hash = Xxh3::new();
    hash.update(archive.as_os_str().as_encoded_bytes());
    for number in identity(&metadata) {
        hash.update(&number.to_le_bytes());
    }
    Some(cache.parts(hash))
}

/// Changes whenever the file is written or replaced.
fn identity(metadata: &Metadata) -> [i64; 7] {
    [
        metadata.dev() as i64,
        metadata.ino() as i64,
        metadata.size() as i64,
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(path: &Path, content: &str) {
        std::fs::write(path, content).expect("a written file");
        let file = std::fs::File::options().write(true).open(path);
        let past = SystemTime::now() - Duration::from_secs(60);
        file.and_then(|file| file.set_modified(past))
            .expect("a file with a time");
    }

    #[test]
    fn parts_are_known_until_the_archive_or_the_cache_changes() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let cache = Cache::open(directory.path().join("cache"), "libLLVM".as_ref(), b"hooks")
            .expect("a cache");
        let archive = directory.path().join("libx.rlib");
        settled(&archive, "one");
        assert_eq!(recall(&cache, &archive), None);

        let key = cache.store_native(b"object").expect("an entry");
        let parts = [Part {
            name: "libx.rlib(x.o)".to_owned(),
            key: key.clone(),
            is_native: true,
            synchronises: false,
        }];
        remember(&cache, &archive, &parts);
        assert_eq!(recall(&cache, &archive).as_deref(), Some(&parts[..]));

        settled(&archive, "two");
        assert_eq!(recall(&cache, &archive), None, "the archive changed");
        remember(&cache, &archive, &parts);
        std::fs::remove_file(cache.object(&key)).expect("a removed file");
        assert_eq!(recall(&cache, &archive), None, "an entry is gone");
    }

    #[test]
    fn what_was_only_just_written_is_not_remembered() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let cache = Cache::open(directory.path().join("cache"), "libLLVM".as_ref(), b"hooks")
            .expect("a cache");
        let archive = directory.path().join("libx.rlib");
        std::fs::write(&archive, "one").expect("a written file");
        remember(&cache, &archive, &[]);
        settled(&archive, "one");
        assert_eq!(recall(&cache, &archive), None);
    }
}
