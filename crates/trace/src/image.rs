//! An executable's memory as the linker laid it out, read from its ELF file.
//!
//! Executables under test are linked at fixed addresses, so an address that the runtime saw
//! is an address here. Any file and any address are survived.

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
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
        Self::parse(bytes).map_err(|source| ImageError::Format {
            path: name(),
            source,
        })
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
            .map(|(address, size, name)| {
                (
                    address,
                    size,
                    format!("{:#}", rustc_demangle::demangle(name)),
                )
            })
            .collect();
        statics.sort_unstable();
        let build_id = match file.build_id() {
            Ok(Some(id)) => id.iter().map(|byte| format!("{byte:02x}")).collect(),
            _ => format!("{:016x}", fnv(&bytes)),
        };
        Ok(Self {
            segments,
            statics,
            build_id,
            bytes,
        })
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
