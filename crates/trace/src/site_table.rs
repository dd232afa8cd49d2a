//! The sites of an executable, read from its ELF file on demand.
//!
//! Site records are not enumerated: the linker may merge their section into `.data.rel.ro`.
//! A site's id is its address, and each record is checked before it is believed.

use crate::image::{Image, ImageError};
use raddle_abi::site::{Operation, SITE_SIZE, SiteId, flags};
use std::path::Path;

/// Longest inlined-at chain that is followed; a damaged one could be a cycle.
const MAX_INLINING: usize = 64;

/// Reads sites from an executable.
#[derive(Clone, Debug)]
pub struct SiteTable {
    image: Image,
}

/// Where an instrumented operation stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SiteInfo {
    /// Identity across builds.
    pub key: u64,
    /// Path as the compiler wrote it.
    pub file: String,
    /// Function path without hash and generic arguments.
    pub function: String,
    /// From 1; 0 if unknown.
    pub line: u32,
    /// From 1; 0 if unknown.
    pub column: u32,
    /// What happens here.
    pub operation: Operation,
    /// Bits of [`flags`].
    pub flags: u16,
    /// Where the calls stood that this was inlined from, innermost first.
    pub inlined_at: Vec<CallSite>,
    /// Of a function's entry: the types of what its pointer parameters point to. Of a new
    /// instance: its type.
    pub types: Vec<String>,
}

/// A call that was inlined.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallSite {
    /// Path as the compiler wrote it.
    pub file: String,
    /// Path of the calling function.
    pub function: String,
    /// From 1; 0 if unknown.
    pub line: u32,
    /// From 1; 0 if unknown.
    pub column: u32,
    /// Whether the call stands in the standard library.
    pub is_std: bool,
}

impl SiteInfo {
    /// Whether the innermost location is in the standard library.
    pub fn is_std(&self) -> bool {
        self.flags & flags::STD != 0
    }

    /// The innermost location.
    pub fn location(&self) -> CallSite {
        CallSite {
            file: self.file.clone(),
            function: self.function.clone(),
            line: self.line,
            column: self.column,
            is_std: self.is_std(),
        }
    }

    /// The innermost location outside of the standard library, else the outermost one.
    pub fn user_location(&self) -> CallSite {
        if !self.is_std() {
            return self.location();
        }
        let user = self.inlined_at.iter().find(|call| !call.is_std);
        user.or(self.inlined_at.last())
            .cloned()
            .unwrap_or_else(|| self.location())
    }
}

/// A site record as it stands in the image.
struct Record {
    key: u64,
    file: u64,
    function: u64,
    inlined_at: u64,
    line: u32,
    column: u32,
    operation: u16,
    flags: u16,
}

impl SiteTable {
    /// Reads an executable.
    ///
    /// # Errors
    ///
    /// If it cannot be read or is not an ELF file.
    pub fn open(path: &Path) -> Result<Self, ImageError> {
        Ok(Self {
            image: Image::open(path)?,
        })
    }

    /// The sites of this image.
    pub const fn new(image: Image) -> Self {
        Self { image }
    }

    /// The image that the sites are read from.
    pub const fn image(&self) -> &Image {
        &self.image
    }

    /// The key of a site, or `None` if there is no site record at that address.
    pub fn key(&self, id: SiteId) -> Option<u64> {
        let record = self.record(u64::from(id))?;
        Operation::from_number(record.operation)?;
        Some(record.key)
    }

    /// The site, or `None` if there is no site record at that address.
    pub fn site(&self, id: SiteId) -> Option<SiteInfo> {
        let record = self.record(u64::from(id))?;
        let operation = Operation::from_number(record.operation)?;
        let mut inlined_at = Vec::new();
        let mut next = record.inlined_at;
        while inlined_at.len() < MAX_INLINING
            && let Some(call) = self.record(next)
            && let Some(call_site) = self.call_site(&call)
        {
            inlined_at.push(call_site);
            next = call.inlined_at;
        }
        Some(SiteInfo {
            key: record.key,
            file: self.image.string(record.file)?,
            function: self.image.string(record.function)?,
            line: record.line,
            column: record.column,
            operation,
            flags: record.flags,
            inlined_at,
            types: match operation {
                Operation::Enter | Operation::Argument => self.types(u64::from(id)),
                _ => Vec::new(),
            },
        })
    }

    /// The lines of the text that a function's record has behind its site.
    fn types(&self, address: u64) -> Vec<String> {
        let place = self.image.from_address(address + SITE_SIZE as u64);
        let text = place
            .and_then(|bytes| bytes.first_chunk())
            .and_then(|pointer| self.image.string(u64::from_le_bytes(*pointer)));
        let text = text.unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn call_site(&self, record: &Record) -> Option<CallSite> {
        Some(CallSite {
            file: self.image.string(record.file)?,
            function: self.image.string(record.function)?,
            line: record.line,
            column: record.column,
            is_std: record.flags & flags::STD != 0,
        })
    }

    fn record(&self, address: u64) -> Option<Record> {
        if address == 0 || !address.is_multiple_of(8) {
            return None;
        }
        let bytes: &[u8; SITE_SIZE] = self.image.from_address(address)?.first_chunk()?;
        let word = |index: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[index * 8..index * 8 + 8]);
            u64::from_le_bytes(word)
        };
        let (place, kind) = (word(4), word(5));
        Some(Record {
            key: word(0),
            file: word(1),
            function: word(2),
            inlined_at: word(3),
            line: place as u32,
            column: (place >> 32) as u32,
            operation: kind as u16,
            flags: (kind >> 16) as u16,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 0x40_0000;
    const HEADERS: usize = 64 + 56;

    /// A minimal ELF executable with one segment that holds `data` at `BASE`.
    fn executable(data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        let half = |bytes: &mut Vec<u8>, number: u16| bytes.extend(number.to_le_bytes());
        let word = |bytes: &mut Vec<u8>, number: u32| bytes.extend(number.to_le_bytes());
        let long = |bytes: &mut Vec<u8>, number: u64| bytes.extend(number.to_le_bytes());
        half(&mut bytes, 2);
        half(&mut bytes, 62);
        word(&mut bytes, 1);
        for number in [BASE, 64, 0] {
            long(&mut bytes, number);
        }
        word(&mut bytes, 0);
        for number in [64, 56, 1, 64, 0, 0] {
            half(&mut bytes, number);
        }
        word(&mut bytes, 1);
        word(&mut bytes, 4);
        let size = data.len() as u64;
        for number in [HEADERS as u64, BASE, BASE, size, size, 8] {
            long(&mut bytes, number);
        }
        assert_eq!(bytes.len(), HEADERS);
        bytes.extend(data);
        bytes
    }

    fn record(key: u64, function: u64, inlined_at: u64, line: u64, operation: u64) -> Vec<u8> {
        let words = [key, BASE, function, inlined_at, line | 9 << 32, operation];
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Strings at `BASE`, an atomic load in `inner` inlined into `outer`, then one that says
    /// that it is inlined into itself.
    fn table() -> SiteTable {
        let (inner, outer) = (BASE + 8, BASE + 16);
        let mut data = b"src/a.rs".to_vec();
        data[5..].copy_from_slice(b".r\0");
        data.extend(b"inner\0\0\0outer\0\0\0");
        let std_load = 3 | u64::from(flags::STD) << 16;
        data.extend(record(11, inner, BASE + 24 + 48, 3, std_load));
        data.extend(record(12, outer, 0, 4, 0));
        data.extend(record(13, inner, BASE + 24 + 96, 5, 1));
        data.extend(record(14, 1, 0, 5, 1));
        data.extend(record(15, inner, 0, 5, 999));
        data.extend(record(16, inner, 0, 5, Operation::Enter as u64));
        data.extend((BASE + 24 + 48 * 6 + 8).to_le_bytes());
        data.extend(b"a::A\na::B<u8>\0");
        SiteTable::new(Image::parse(executable(&data)).unwrap())
    }

    fn id(index: u32) -> SiteId {
        BASE as u32 + 24 + 48 * index
    }

    #[test]
    fn a_site_is_read_with_its_chain() {
        let site = table().site(id(0)).unwrap();
        assert_eq!((site.key, site.line, site.column), (11, 3, 9));
        assert_eq!(
            (site.file.as_str(), site.function.as_str()),
            ("src/a.r", "inner")
        );
        assert_eq!(site.operation, Operation::AtomicLoad);
        assert_eq!(site.inlined_at.len(), 1);
        assert_eq!(site.user_location().function, "outer");
        assert_eq!(table().key(id(0)), Some(11));
    }

    #[test]
    fn a_functions_entry_knows_the_types_of_its_parameters() {
        assert_eq!(table().site(id(5)).unwrap().types, ["a::A", "a::B<u8>"]);
        assert!(table().site(id(0)).unwrap().types.is_empty());
    }

    #[test]
    fn a_chain_that_never_ends_is_cut() {
        assert_eq!(table().site(id(2)).unwrap().inlined_at.len(), MAX_INLINING);
    }

    #[test]
    fn what_is_no_site_is_none() {
        let table = table();
        for id in [0, 1, id(0) + 4, id(3), id(4), id(6), u32::MAX] {
            assert_eq!(table.site(id), None, "{id}");
        }
        assert_eq!(table.key(id(4)), None);
    }
}
