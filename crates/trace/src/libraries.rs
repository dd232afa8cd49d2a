//! The instrumented shared libraries of a program, found as the loader finds them.
//!
//! `raddle cc -shared` links a library for an address of its own below 4 GiB, where the loader
//! puts it unless something else is there. Other libraries are linked for address 0; nothing
//! below 4 GiB refers to them. Libraries that a program opens while it runs are not found.

use object::read::elf::{Dyn as _, FileHeader as _, ProgramHeader as _};
use object::{Endianness, elf};
use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// An instrumented library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// The file.
    pub path: PathBuf,
    /// Addresses that it is linked for.
    pub addresses: Range<u64>,
}

/// What an ELF file says to the loader.
#[derive(Debug, Default)]
struct Dynamic {
    needed: Vec<String>,
    search: Vec<PathBuf>,
    addresses: Range<u64>,
}

/// The instrumented libraries of a program, in the order in which they are loaded: where two
/// want the same addresses, the first gets them.
pub fn libraries(program: &Path) -> Vec<Library> {
    let environment = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let environment: Vec<_> = std::env::split_paths(&environment).collect();
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut pending = vec![program.to_owned()];
    let mut next = 0;
    while let Some(file) = pending.get(next).cloned() {
        next += 1;
        let Some(dynamic) = read(&file) else { continue };
        for name in &dynamic.needed {
            let path = if name.contains('/') {
                Some(PathBuf::from(name))
            } else {
                let places = environment.iter().chain(&dynamic.search);
                places
                    .map(|directory| directory.join(name))
                    .find(|path| path.is_file())
            };
            pending.extend(path.filter(|path| seen.insert(path.clone())));
        }
        if next > 1 && dynamic.addresses.start != 0 {
            found.push(Library {
                path: file,
                addresses: dynamic.addresses,
            });
        }
    }
    found
}

/// Whether a program names a library with this file name among those that it needs.
pub fn needs(program: &Path, library: &str) -> bool {
    let needed = read(program).map_or_else(Vec::new, |dynamic| dynamic.needed);
    needed.iter().any(|name| {
        let name = Path::new(name).file_name();
        name.is_some_and(|name| name == library)
    })
}

fn read(path: &Path) -> Option<Dynamic> {
    let data = std::fs::read(path).ok()?;
    let header = elf::FileHeader64::<Endianness>::parse(&*data).ok()?;
    let endian = header.endian().ok()?;
    let mut dynamic = Dynamic::default();
    let segments = header.program_headers(endian, &*data).ok()?;
    let loaded = segments
        .iter()
        .filter(|segment| segment.p_type(endian) == elf::PT_LOAD);
    let ranges = loaded.map(|segment| {
        let start = segment.p_vaddr(endian);
        start..start.saturating_add(segment.p_memsz(endian))
    });
    let hull = ranges.reduce(|one, other| one.start.min(other.start)..one.end.max(other.end));
    dynamic.addresses = hull.unwrap_or_default();
    let sections = header.sections(endian, &*data).ok()?;
    let Ok(Some((entries, link))) = sections.dynamic(endian, &*data) else {
        return Some(dynamic);
    };
    let strings = sections.strings(endian, &*data, link).ok()?;
    let origin = path.parent().unwrap_or(Path::new("."));
    for entry in entries {
        let text = || {
            let text = strings.get(u32::try_from(entry.val(endian)).ok()?).ok()?;
            Some(String::from_utf8_lossy(text).into_owned())
        };
        match entry.tag(endian) {
            elf::DT_NEEDED => dynamic.needed.extend(text()),
            elf::DT_RPATH | elf::DT_RUNPATH => {
                let origin = origin.to_string_lossy();
                let places = text().unwrap_or_default();
                let places = places.replace("${ORIGIN}", "$ORIGIN");
                let places = places.replace("$ORIGIN", &origin);
                dynamic.search.extend(places.split(':').map(PathBuf::from));
            }
            _ => {}
        }
    }
    Some(dynamic)
}

#[cfg(test)]
mod tests {
    use super::{libraries, needs, read};

    #[test]
    fn needs_are_read_and_foreign_libraries_are_left_out() {
        let own = std::env::current_exe().unwrap();
        let dynamic = read(&own).unwrap();
        assert!(
            dynamic
                .needed
                .iter()
                .any(|name| name.starts_with("libc.so"))
        );
        assert_eq!(libraries(&own), []);
        assert!(needs(&own, "libc.so.6") && !needs(&own, "libc.so"));
    }

    #[test]
    fn any_file_is_survived() {
        assert!(read(std::path::Path::new("/nonexistent")).is_none());
        assert!(read(std::path::Path::new("/etc/passwd")).is_none());
    }
}
