//! Finds the map of an executable: beside it, or in it.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use object::{Object, ObjectSection};
use raddle_trace::attributes;
use raddle_trace::overrides::Overrides;
use raddle_trace::program_map::{ProgramMap, ProgramMapError, SECTION, map_beside};

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
    let beside = File::open(map_beside(executable));
    let map = match (beside, embedded(&bytes)) {
        (Ok(file), _) => ProgramMap::read(BufReader::new(file))?,
        (Err(_), Some(parts)) => ProgramMap::join(&parts)?,
        (Err(error), None) => return Err(error.into()),
    };
    Ok(ProgramMap { overrides, ..map })
}

/// The parts of the map that an executable of C carries.
fn embedded(executable: &[u8]) -> Option<Vec<u8>> {
    let file = object::File::parse(executable).ok()?;
    let section = file.section_by_name(SECTION)?;
    Some(section.data().ok()?.to_vec())
}
