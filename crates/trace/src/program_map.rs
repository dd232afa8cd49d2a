//! The program map: what is known about a program's types and functions beyond its sites.
//!
//! Instrumentation writes one next to each executable (`<exe>.raddle-map`), from debug
//! metadata, so that analyses and reports need no LLVM. It is JSON behind a header line
//! (`raddle program map 1`); readers accept this version and say so if it is another. Executables of C,
//! which are linked by others, carry the parts of their objects in a section instead.

use crate::memo::Memo;
use crate::overrides::Overrides;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

/// First words of the header line.
const MAGIC: &str = "raddle program map";
/// Version of the format.
pub const VERSION: u32 = 1;
/// The section of an executable that has the parts of its objects, one after the other.
pub const SECTION: &str = ".raddle_map";
/// How the name of a file with a map ends.
const EXTENSION: &str = "raddle-map";
/// Longest header line that is worth reading.
const MAX_HEADER: u64 = 64;

/// Where the map of an executable stands.
pub fn map_beside(executable: &Path) -> PathBuf {
    let mut path = executable.as_os_str().to_owned();
    path.push(".");
    path.push(EXTENSION);
    path.into()
}

/// Types and functions of one program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramMap {
    /// Identifies the build; empty in the parts that are merged at link time.
    #[serde(default)]
    pub build_id: String,
    /// Structs, enums and unions.
    #[serde(default)]
    pub types: Vec<TypeInfo>,
    /// Functions that were instrumented.
    #[serde(default)]
    pub functions: Vec<FunctionInfo>,
    /// What the user says besides; in no file.
    #[serde(skip)]
    pub overrides: Overrides,
    /// What analyses have derived from all that.
    #[serde(skip)]
    pub memo: Memo,
}

/// A type's layout.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TypeInfo {
    /// Full path with generic arguments.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Fields, by ascending offset.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldInfo>,
    /// Variants of an enum with data, by ascending offset: they overlap.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<FieldInfo>,
    /// Full names of the types that it is generic over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
}

/// A field's place in its type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FieldInfo {
    /// Bytes from the start of the type.
    pub offset: u64,
    /// Name, or position in a tuple.
    pub name: String,
    /// Full path of the field's type.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Bytes.
    pub size: u64,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FunctionInfo {
    /// Path without hash and generic arguments.
    pub path: String,
    /// Full path of the type whose method or associated function it is, with generic
    /// arguments; without them where only the function's own path tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<String>,
    /// Whether it has a parameter `self`.
    #[serde(default)]
    pub is_method: bool,
    /// Path as the compiler wrote it.
    pub file: String,
    /// From 1.
    pub line: u32,
}

/// Why a program map cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ProgramMapError {
    /// The file cannot be read or written.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The header is another.
    #[error("this is not a program map of Raddle")]
    NotAMap,
    /// It was written by another version.
    #[error("the program map has version {0}, but only version {VERSION} can be read; build again")]
    Version(String),
    /// The JSON is damaged.
    #[error("the program map is damaged: {0}")]
    Damaged(#[from] serde_json::Error),
}

impl ProgramMap {
    /// Joins the parts that an executable has in its [`SECTION`].
    ///
    /// # Errors
    ///
    /// If one of them is damaged.
    pub fn join(parts: &[u8]) -> Result<Self, ProgramMapError> {
        let mut joined = Self::default();
        for part in serde_json::Deserializer::from_slice(parts).into_iter::<Self>() {
            let part = part?;
            joined.types.extend(part.types);
            joined.functions.extend(part.functions);
        }
        joined.normalise();
        Ok(joined)
    }

    /// Writes the header and the map.
    ///
    /// # Errors
    ///
    /// If writing fails.
    pub fn write(&self, mut writer: impl Write) -> Result<(), ProgramMapError> {
        writeln!(writer, "{MAGIC} {VERSION}")?;
        serde_json::to_writer(writer, self)?;
        Ok(())
    }

    /// Reads what [`ProgramMap::write`] wrote.
    ///
    /// # Errors
    ///
    /// If it is something else, damaged, or of another version.
    pub fn read(mut reader: impl BufRead) -> Result<Self, ProgramMapError> {
        let mut header = Vec::new();
        std::io::Read::take(&mut reader, MAX_HEADER).read_until(b'\n', &mut header)?;
        let header = std::str::from_utf8(&header).map_err(|_| ProgramMapError::NotAMap)?;
        let version = header
            .strip_prefix(MAGIC)
            .ok_or(ProgramMapError::NotAMap)?
            .trim();
        if version.parse() != Ok(VERSION) {
            return Err(ProgramMapError::Version(version.to_string()));
        }
        Ok(serde_json::from_reader(reader)?)
    }

    /// Adds the types and functions of `other`, then removes duplicates.
    pub fn merge(&mut self, other: Self) {
        self.types.extend(other.types);
        self.functions.extend(other.functions);
        self.normalise();
    }

    /// Sorts types by name and functions by path, and removes duplicates, as lookups require.
    pub fn normalise(&mut self) {
        self.types.sort_unstable();
        self.types.dedup();
        self.functions.sort_unstable();
        self.functions.dedup();
    }

    /// The type of this name. The map must be in order (as merged, or [`ProgramMap::normalise`]d).
    pub fn type_named(&self, name: &str) -> Option<&TypeInfo> {
        let index = self
            .types
            .binary_search_by(|info| info.name.as_str().cmp(name))
            .ok()?;
        self.types.get(index)
    }

    /// The function of this path. The map must be in order.
    pub fn function(&self, path: &str) -> Option<&FunctionInfo> {
        let index = self
            .functions
            .binary_search_by(|info| info.path.as_str().cmp(path))
            .ok()?;
        self.functions.get(index)
    }

    /// The functions of a type: its methods and associated functions.
    pub fn functions_of<'a>(&'a self, type_name: &str) -> impl Iterator<Item = &'a FunctionInfo> {
        let functions = self.functions.iter();
        functions.filter(move |info| info.receiver.as_deref() == Some(type_name))
    }

    /// The path of fields that leads to `offset` in a type (`queue.head`), as far as it is
    /// known; empty if there is none.
    pub fn field_path(&self, type_name: &str, mut offset: u64) -> String {
        let mut path = String::new();
        let mut info = self.type_named(type_name);
        // Types cannot contain themselves; a damaged map can.
        for _ in 0..32 {
            let field = info.and_then(|info| {
                info.fields.iter().find(|field| {
                    offset
                        .checked_sub(field.offset)
                        .is_some_and(|inside| inside < field.size)
                })
            });
            let Some(field) = field else { break };
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&field.name);
            offset -= field.offset;
            info = self.type_named(&field.type_name);
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> ProgramMap {
        let field = |name: &str, offset, type_name: &str, size| FieldInfo {
            offset,
            name: name.into(),
            type_name: type_name.into(),
            size,
        };
        let mut map = ProgramMap {
            overrides: Overrides::default(),
            memo: Memo::default(),
            build_id: "b".into(),
            types: vec![
                TypeInfo {
                    name: "a::Queue".into(),
                    size: 24,
                    fields: vec![field("ends", 8, "a::Ends", 16)],
                    variants: Vec::new(),
                    arguments: Vec::new(),
                },
                TypeInfo {
                    name: "a::Ends".into(),
                    size: 16,
                    fields: vec![field("head", 0, "usize", 8), field("tail", 8, "usize", 8)],
                    variants: Vec::new(),
                    arguments: Vec::new(),
                },
            ],
            functions: vec![FunctionInfo {
                path: "a::Queue::push".into(),
                receiver: Some("a::Queue".into()),
                is_method: true,
                file: "src/lib.rs".into(),
                line: 3,
            }],
        };
        map.normalise();
        map
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut bytes = Vec::new();
        map().write(&mut bytes).unwrap();
        assert_eq!(ProgramMap::read(bytes.as_slice()).unwrap(), map());
    }

    #[test]
    fn parts_of_objects_are_joined() {
        let part = serde_json::to_vec(&map()).unwrap();
        let twice = [&part[..], &part[..]].concat();
        let joined = ProgramMap::join(&twice).unwrap();
        assert_eq!(
            (joined.types, joined.functions),
            (map().types, map().functions)
        );
        assert!(ProgramMap::join(&twice[..twice.len() - 1]).is_err());
        assert_eq!(ProgramMap::join(b"").unwrap(), ProgramMap::default());
    }

    #[test]
    fn other_files_versions_and_damage_are_told_apart() {
        let read = |text: &str| ProgramMap::read(text.as_bytes()).unwrap_err();
        assert!(matches!(read("x"), ProgramMapError::NotAMap));
        assert!(matches!(
            read("raddle program map 9\n{}"),
            ProgramMapError::Version(_)
        ));
        assert!(matches!(
            read("raddle program map 1\n{"),
            ProgramMapError::Damaged(_)
        ));
    }

    #[test]
    fn fields_are_named_through_nested_types() {
        assert_eq!(map().field_path("a::Queue", 16), "ends.tail");
        assert_eq!(map().field_path("a::Queue", 0), "");
        assert_eq!(map().field_path("a::None", 0), "");
    }

    #[test]
    fn merging_twice_adds_nothing() {
        let mut merged = map();
        merged.merge(map());
        assert_eq!(merged, map());
    }
}
