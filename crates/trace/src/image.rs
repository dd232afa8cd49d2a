//! An executable's memory as the linker laid it out, read from its ELF file.
//!
//! Executables under test and their instrumented libraries are linked at fixed addresses, so
//! an address that the runtime saw is an address here. Any file and any address are survived.

use crate::demangle::demangle;
use crate::libraries::libraries;
use object::read::elf::{ElfFile64, FileHeader as _, Rela as _, SectionHeader as _};
use object::{Endianness, Object, ObjectSegment, ObjectSymbol, ReadCache, SymbolKind, elf};
use std::ops::Range;
use std::path::Path;

/// Longest string that is read; paths and function names are shorter.
const MAX_STRING: usize = 1 << 16;

/// The loadable parts of one executable.
#[derive(Clone, Debug)]
pub struct Image {
    bytes: Vec<u8>,
    /// Addresses and where their bytes stand in the file.
    segments: Vec<(u64, Range<usize>)>,
    /// Statics by ascending address: address, size, name.
    statics: Vec<(u64, u64, String)>,
    build_id: String,
}

/// Why a file is no executable that can be read.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// It cannot be read at all.
    #[error("cannot read `{path}`: {source}")]
    Io {
        /// The file.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// It is not an ELF file, or a damaged one.
    #[error("`{path}` is not an ELF executable: {source}")]
    Format {
        /// The file.
        path: String,
        /// What is wrong with it.
        source: object::Error,
    },
}

/// What the linker wrote into a file to identify it. Hardly anything else of it is read.
pub fn build_id(path: &Path) -> Option<String> {
    let cache = ReadCache::new(std::fs::File::open(path).ok()?);
    noted_build_id(&object::File::parse(&cache).ok()?)
}

fn noted_build_id<'data>(file: &impl Object<'data>) -> Option<String> {
    let id = file.build_id().ok()??;
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl Image {
    /// Reads an executable.
    ///
    /// # Errors
    ///
    /// If it cannot be read or is not an ELF file.
    pub fn open(path: &Path) -> Result<Self, ImageError> {
        let name = || path.display().to_string();
        let bytes = std::fs::read(path).map_err(|source| ImageError::Io {
            path: name(),
            source,
        })?;
        let mut image = Self::parse(bytes).map_err(|source| ImageError::Format {
            path: name(),
            source,
        })?;
        for library in libraries(path) {
            // One that cannot be read has no sites, which is all that can be done about it.
            let bytes = std::fs::read(&library.path).unwrap_or_default();
            if let Ok(library) = Self::parse(bytes) {
                image.add(library);
            }
        }
        Ok(image)
    }

    /// Adds a library to its program.
    fn add(&mut self, library: Self) {
        let shift = self.bytes.len();
        self.bytes.extend(library.bytes);
        let moved = library.segments.into_iter();
        self.segments.extend(
            moved.map(|(address, range)| (address, range.start + shift..range.end + shift)),
        );
        self.statics.extend(library.statics);
        self.statics.sort_unstable();
        self.build_id.push('+');
        self.build_id.push_str(&library.build_id);
    }

    /// Reads an executable from its bytes.
    ///
    /// # Errors
    ///
    /// If it is not an ELF file.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, object::Error> {
        let file = object::File::parse(bytes.as_slice())?;
        let mut segments = Vec::new();
        for segment in file.segments() {
            let (start, size) = segment.file_range();
            let range = usize::try_from(start).ok().zip(usize::try_from(size).ok());
            if let Some((start, size)) = range
                && let Some(end) = start.checked_add(size)
                && end <= bytes.len()
            {
                segments.push((segment.address(), start..end));
            }
        }
        let mut statics: Vec<_> = file
            .symbols()
            .filter(|symbol| symbol.kind() == SymbolKind::Data && symbol.size() > 0)
            .filter_map(|symbol| Some((symbol.address(), symbol.size(), symbol.name().ok()?)))
            .map(|(address, size, name)| (address, size, demangle(name)))
            .collect();
        statics.sort_unstable();
        let relocations = relative_relocations(&bytes);
        let build_id = noted_build_id(&file).unwrap_or_else(|| format!("{:016x}", fnv(&bytes)));
        let mut image = Self {
            segments,
            statics,
            build_id,
            bytes,
        };
        for (address, value) in relocations {
            image.relocate(address, value);
        }
        Ok(image)
    }

    /// Writes a pointer that the loader would write. The linker leaves it out of the file.
    fn relocate(&mut self, address: u64, value: u64) {
        let place = self.segments.iter().find_map(|(start, range)| {
            let offset = usize::try_from(address.checked_sub(*start)?).ok()?;
            let at = range.start.checked_add(offset)?;
            (at.checked_add(8)? <= range.end).then_some(at)
        });
        if let Some(place) = place {
            self.bytes[place..place + 8].copy_from_slice(&value.to_le_bytes());
        }
    }

    /// Identifies the build: the linker's build id, else a hash of the file.
    pub fn build_id(&self) -> &str {
        &self.build_id
    }

    /// The bytes from `address` to the end of its segment, as far as the file has them.
    pub fn from_address(&self, address: u64) -> Option<&[u8]> {
        self.segments.iter().find_map(|(start, range)| {
            let offset = usize::try_from(address.checked_sub(*start)?).ok()?;
            self.bytes[range.clone()]
                .get(offset..)
                .filter(|bytes| !bytes.is_empty())
        })
    }

    /// The NUL-terminated string at `address`.
    pub fn string(&self, address: u64) -> Option<String> {
        let bytes = self.from_address(address)?;
        let bytes = &bytes[..bytes.len().min(MAX_STRING)];
        let end = bytes.iter().position(|&byte| byte == 0)?;
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    /// The static variable that `address` lies in: its path and the offset in it.
    pub fn static_at(&self, address: u64) -> Option<(&str, u64)> {
        let after = self
            .statics
            .partition_point(|(start, _, _)| *start <= address);
        let (start, size, name) = self.statics.get(after.checked_sub(1)?)?;
        let offset = address - start;
        (offset < *size).then_some((name, offset))
    }
}

/// Pointers of a library into itself: where they stand, and what they are.
fn relative_relocations(bytes: &[u8]) -> Vec<(u64, u64)> {
    let Ok(file) = ElfFile64::<Endianness>::parse(bytes) else {
        return Vec::new();
    };
    let endian = file.endian();
    let header = file.elf_header();
    if header.e_type(endian) != elf::ET_DYN {
        return Vec::new();
    }
    let Ok(sections) = header.sections(endian, bytes) else {
        return Vec::new();
    };
    let tables = sections
        .iter()
        .filter_map(|section| section.rela(endian, bytes).ok().flatten());
    tables
        .flat_map(|(entries, _)| entries)
        .filter(|entry| entry.r_type(endian, false) == elf::R_X86_64_RELATIVE)
        .map(|entry| {
            (
                entry.r_offset(endian),
                entry.r_addend(endian).cast_unsigned(),
            )
        })
        .collect()
}

fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    static MARKER: [u64; 3] = [1, 2, 3];

    fn own() -> Image {
        assert_eq!(std::hint::black_box(&MARKER)[2], 3);
        Image::open(&std::env::current_exe().unwrap()).unwrap()
    }

    #[test]
    fn statics_are_named_by_address() {
        let image = own();
        let (address, _, name) = image
            .statics
            .iter()
            .find(|(_, _, name)| name.ends_with("image::tests::MARKER"))
            .unwrap();
        let (found, offset) = image.static_at(address + 8).unwrap();
        assert_eq!((found, offset), (name.as_str(), 8));
        assert_eq!(
            image.from_address(*address).unwrap()[..8],
            1_u64.to_ne_bytes()
        );
    }

    #[test]
    fn any_address_is_survived() {
        let image = own();
        for address in [u64::MAX, u64::MAX - 7, 1 << 40] {
            assert!(image.from_address(address).is_none());
            assert_eq!(image.string(address), None);
        }
        assert!(!image.build_id().is_empty());
        let noted = build_id(&std::env::current_exe().unwrap());
        assert!(noted.is_none_or(|noted| noted == image.build_id()));
    }

    #[test]
    fn any_file_is_survived() {
        assert!(Image::parse(Vec::new()).is_err());
        assert!(Image::parse(b"\x7fELF and then nothing".to_vec()).is_err());
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let head = &own[..4096.min(own.len())];
        for index in 0..512 {
            let mut damaged = head.to_vec();
            damaged[index] ^= 0xff;
            if let Ok(image) = Image::parse(damaged) {
                image.from_address(0x1000);
            }
        }
    }
}
