//! Finds the map of an executable: beside it, beside the file that cargo has linked or copied it
//! from, or in it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection};
use raddle_trace::attributes;
use raddle_trace::image::build_id;
use raddle_trace::overrides::Overrides;
use raddle_trace::program_map::{ProgramMap, ProgramMapError, SECTION};

/// How the name of a map ends.
const EXTENSION: &str = "raddle-map";

/// Reads the map of an executable, with what the user and the program itself say besides.
///
/// # Errors
///
/// If there is none, or it cannot be read.
pub fn program_map(
    executable: &Path,
    overrides: &Overrides,
) -> Result<ProgramMap, ProgramMapError> {
    let bytes = std::fs::read(executable).unwrap_or_default();
    let mut overrides = overrides.clone();
    attributes::read(&bytes, &mut overrides);
    let beside = File::open(beside(executable));
    let file = beside.or_else(|error| match original(executable) {
        Some(original) => File::open(self::beside(&original)),
        None => Err(error),
    });
    let map = match (file, embedded(&bytes)) {
        (Ok(file), _) => ProgramMap::read(BufReader::new(file))?,
        (Err(_), Some(parts)) => ProgramMap::join(&parts)?,
        (Err(error), None) => return Err(error.into()),
    };
    Ok(ProgramMap { overrides, ..map })
}

/// Where the linker puts the map of what it makes.
fn beside(executable: &Path) -> PathBuf {
    let mut path = executable.as_os_str().to_owned();
    path.push(".");
    path.push(EXTENSION);
    path.into()
}

/// The file that the linker has made, of a program that cargo has put under its proper name.
fn original(executable: &Path) -> Option<PathBuf> {
    let wanted = build_id(executable)?;
    let entries = std::fs::read_dir(executable.parent()?.join("deps")).ok()?;
    let maps = entries.flatten().map(|entry| entry.path());
    let mut originals = maps
        .filter(|path| path.extension() == Some(OsStr::new(EXTENSION)))
        .map(|path| path.with_extension(""));
    originals.find(|path| build_id(path).as_ref() == Some(&wanted))
}

/// The parts of the map that an executable of C carries.
fn embedded(executable: &[u8]) -> Option<Vec<u8>> {
    let file = object::File::parse(executable).ok()?;
    let section = file.section_by_name(SECTION)?;
    Some(section.data().ok()?.to_vec())
}
