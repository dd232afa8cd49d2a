//! Finds the bitcode in a link's inputs.

use std::path::{Path, PathBuf};

use object::read::archive::ArchiveFile;
use object::{Object as _, ObjectSection as _};

use super::error::Error;
use crate::passes::Origin;

/// A part of an input.
pub(super) struct Member {
    /// Its name within an archive, or the file name.
    pub(super) name: String,
    /// What it is.
    pub(super) content: Content,
}

/// What a part of an input is.
pub(super) enum Content {
    /// Bitcode, to be instrumented.
    Bitcode(Vec<u8>, Origin),
    /// An object without bitcode.
    Native(Vec<u8>),
}

/// Section in which the prebuilt std carries its bitcode.
const BITCODE_SECTION: &str = ".llvmbc";

pub(super) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|error| Error::File {
        action: "read",
        path: path.to_owned(),
        error,
    })
}

/// Whether data is bitcode, with or without LLVM's wrapper header.
pub(super) fn is_bitcode(data: &[u8]) -> bool {
    data.starts_with(b"BC\xC0\xDE") || data.starts_with(&[0xDE, 0xC0, 0x17, 0x0B])
}

/// The parts of an archive that are linked; `None` if none is bitcode. `beside` finds the
/// bitcode that was made together with an object.
pub(super) fn archive(
    path: &Path,
    sysroot: &Path,
    beside: impl Fn(&[u8]) -> Option<Vec<u8>>,
) -> Result<Option<Vec<Member>>, Error> {
    let damaged = |error: object::Error| Error::Archive {
        path: path.to_owned(),
        message: error.to_string(),
    };
    let file = file_name(path);
    let is_prebuilt = path.starts_with(sysroot);
    if is_prebuilt && file.starts_with("libcompiler_builtins-") {
        return Ok(None);
    }
    let data = read(path)?;
    let archive = ArchiveFile::parse(&*data).map_err(damaged)?;
    if archive.is_thin() {
        return Ok(None);
    }
    let mut members = Vec::new();
    for member in archive.members() {
        let member = member.map_err(damaged)?;
        let name = String::from_utf8_lossy(member.name()).into_owned();
        if name == "lib.rmeta" {
            continue;
        }
        let bytes = member.data(&*data).map_err(damaged)?;
        let found = if is_bitcode(bytes) {
            Some((bytes.to_vec(), Origin::Crate))
        } else if is_prebuilt {
            embedded_bitcode(bytes).map(|bitcode| (bitcode, Origin::Prebuilt))
        } else {
            beside(bytes).map(|bitcode| (bitcode, Origin::C))
        };
        let content = match found {
            Some((bitcode, origin)) => Content::Bitcode(bitcode, origin),
            None => Content::Native(bytes.to_vec()),
        };
        members.push(Member { name, content });
    }
    let has_bitcode = members
        .iter()
        .any(|member| matches!(member.content, Content::Bitcode(..)));
    Ok(has_bitcode.then_some(members))
}

fn embedded_bitcode(object: &[u8]) -> Option<Vec<u8>> {
    let file = object::File::parse(object).ok()?;
    let data = file.section_by_name(BITCODE_SECTION)?.data().ok()?;
    is_bitcode(data).then(|| data.to_vec())
}

/// The static library that `-l name` means, as the linker would search for it.
pub(super) fn static_library(
    name: &str,
    prefer_static: bool,
    directories: &[PathBuf],
) -> Option<PathBuf> {
    let (static_name, dynamic_name) = match name.strip_prefix(':') {
        Some(file) => (file.to_owned(), None),
        None => (format!("lib{name}.a"), Some(format!("lib{name}.so"))),
    };
    for directory in directories {
        let dynamic = dynamic_name.as_ref().map(|name| directory.join(name));
        if !prefer_static && dynamic.is_some_and(|path| path.exists()) {
            return None;
        }
        let path = directory.join(&static_name);
        if path.extension().is_some_and(|extension| extension == "a") && path.exists() {
            return Some(path);
        }
    }
    None
}

/// The last part of a path, for names and messages.
pub(super) fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::static_library;

    #[test]
    fn a_dynamic_library_beside_a_static_one_wins_unless_static_is_asked_for() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let directories = [directory.path().to_owned()];
        let library = directory.path().join("libx.a");
        std::fs::write(&library, "").expect("a written file");
        assert_eq!(
            static_library("x", false, &directories),
            Some(library.clone())
        );
        std::fs::write(directory.path().join("libx.so"), "").expect("a written file");
        assert_eq!(static_library("x", false, &directories), None);
        assert_eq!(
            static_library("x", true, &directories),
            Some(library.clone())
        );
        assert_eq!(
            static_library(":libx.a", false, &directories),
            Some(library)
        );
        assert_eq!(static_library("y", true, &directories), None);
    }
}
