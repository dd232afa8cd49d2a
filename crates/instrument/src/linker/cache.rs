//! Objects by content: a module is instrumented once per toolchain and set of passes.
//!
//! ```text
//! <cache>/<key>.o        the object
//! <cache>/<key>.json     its program map
//! <cache>/<key>.failed   why the object has no hooks, if it has none
//! <cache>/<key>.a        a thin archive of such objects
//! <cache>/<key>.parts    what an archive of the build holds (see [`super::parts`])
//! <cache>/<key>.bc       bitcode of the source that a native object was compiled from
//! <cache>/<key>.lock     held while the entry is made
//! ```

use std::path::{Path, PathBuf};

use ar_archive_writer::{
    ArchiveKind, DEFAULT_OBJECT_READER, NewArchiveMember, write_archive_to_stream,
};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::error::Error;
use super::files::write_atomically;
use crate::passes::{FINGERPRINT, Options, Origin};
use crate::work_lock::WorkLock;

/// The directory, and what all keys in it depend on.
pub(super) struct Cache {
    directory: PathBuf,
    base: Vec<u8>,
    options: Options,
}

/// Name of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Key(String);

impl Cache {
    /// Content of [`Self::assembly`] if it has atomic instructions.
    pub(super) const ATOMIC: &[u8] = b"atomic";

    /// Opens a cache for modules instrumented by this libLLVM with these hooks.
    pub(super) fn open(directory: PathBuf, libllvm: &Path, hooks: &[u8]) -> Result<Self, Error> {
        std::fs::create_dir_all(&directory).map_err(|error| Error::File {
            action: "write",
            path: directory.clone(),
            error,
        })?;
        // A file's name and size stand for its content: libLLVM's name carries its version.
        let size = std::fs::metadata(libllvm).map_or(0, |metadata| metadata.len());
        let mut base = Vec::new();
        base.extend(raddle_abi::ABI_VERSION.to_le_bytes());
        base.extend(FINGERPRINT.as_bytes());
        base.extend(libllvm.file_name().unwrap_or_default().as_encoded_bytes());
        base.extend(size.to_le_bytes());
        base.extend(xxhash_rust::xxh3::xxh3_128(hooks).to_le_bytes());
        let options = Options::from_variables();
        base.extend([options.branches, options.optimized].map(u8::from));
        Ok(Self {
            directory,
            base,
            options,
        })
    }

    /// What its modules are instrumented with.
    pub(super) const fn options(&self) -> Options {
        self.options
    }

    /// The key of a module's object.
    pub(super) fn module_key(&self, bitcode: &[u8], origin: Origin) -> Key {
        let mut hash = Xxh3::new();
        hash.update(&self.base);
        hash.update(&[origin as u8]);
        hash.update(bitcode);
        Key(format!("{:032x}", hash.digest128()))
    }

    /// The key of an object that is stored as it is.
    pub(super) fn native_key(object: &[u8]) -> Key {
        Key(format!("{:032x}", xxhash_rust::xxh3::xxh3_128(object)))
    }

    /// File of an entry's object.
    pub(super) fn object(&self, key: &Key) -> PathBuf {
        self.directory.join(format!("{}.o", key.0))
    }

    /// File of an entry's program map.
    pub(super) fn map(&self, key: &Key) -> PathBuf {
        self.directory.join(format!("{}.json", key.0))
    }

    /// File that says why an entry has no hooks.
    pub(super) fn failure(&self, key: &Key) -> PathBuf {
        self.directory.join(format!("{}.failed", key.0))
    }

    /// File that says that an entry has assembly without hooks, and [`Self::ATOMIC`] if it may synchronise threads.
    pub(super) fn assembly(&self, key: &Key) -> PathBuf {
        self.directory.join(format!("{}.assembly", key.0))
    }

    /// Waits until no other process makes this entry, and keeps others from making it as long as
    /// the result lives. Links run in parallel and want the same modules of std.
    pub(super) fn lock(&self, key: &Key, name: &str, say: impl FnOnce(&str)) -> Option<WorkLock> {
        let path = self.directory.join(format!("{}.lock", key.0));
        WorkLock::acquire(&path, name, say)
    }

    /// File of the bitcode that was made beside an object (`raddle-cc` of build scripts).
    pub(super) fn bitcode_of(&self, object: &[u8]) -> PathBuf {
        self.directory
            .join(format!("{}.bc", Self::native_key(object).0))
    }

    /// File of what an archive holds, which `identity` was fed with.
    pub(super) fn parts(&self, mut identity: Xxh3) -> PathBuf {
        identity.update(&self.base);
        self.directory
            .join(format!("{:032x}.parts", identity.digest128()))
    }

    /// Stores an object that is linked as it is.
    pub(super) fn store_native(&self, object: &[u8]) -> Result<Key, Error> {
        let key = Self::native_key(object);
        let path = self.object(&key);
        if !path.exists() {
            write_atomically(&path, object).map_err(|error| Error::File {
                action: "write",
                path,
                error,
            })?;
        }
        Ok(key)
    }

    /// An archive of cached objects, which it refers to by path.
    pub(super) fn archive(&self, keys: &[Key]) -> Result<PathBuf, Error> {
        // The directory takes part: an archive that was moved would refer to nothing.
        let mut hash = Xxh3::new();
        hash.update(self.directory.as_os_str().as_encoded_bytes());
        for key in keys {
            hash.update(key.0.as_bytes());
        }
        let path = self.directory.join(format!("{:032x}.a", hash.digest128()));
        if path.exists() {
            return Ok(path);
        }
        let mut members = Vec::with_capacity(keys.len());
        for key in keys {
            let object = self.object(key);
            let data = super::inputs::read(&object)?;
            let name = object.to_string_lossy().into_owned();
            members.push(NewArchiveMember::new(data, &DEFAULT_OBJECT_READER, name));
        }
        let mut content = std::io::Cursor::new(Vec::new());
        write_archive_to_stream(&mut content, &members, ArchiveKind::Gnu, true, None)
            .and_then(|()| write_atomically(&path, content.get_ref()))
            .map_err(|error| Error::File {
                action: "write",
                path: path.clone(),
                error,
            })?;
        Ok(path)
    }
}
