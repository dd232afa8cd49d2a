//! The source files in which a type is defined, for the constants that they speak of.

use std::fs;
use std::path::{Path, PathBuf};

use raddle_generate::constants::Constants;

use crate::metadata::Metadata;

/// Files of a crate that are looked at.
const FILES: usize = 1_000;
/// Larger files are not read.
const LARGEST: u64 = 1 << 20;

/// What the files speak of in which the type with this name is defined.
pub(super) fn constants(metadata: &Metadata, subject: &str) -> Constants {
    let path = subject.split('<').next().unwrap_or(subject);
    let (Some((library, _)), Some(name)) = (path.split_once("::"), path.rsplit("::").next()) else {
        return Constants::default();
    };
    let package = metadata.library(library);
    let directory = package.and_then(|package| package.manifest_path.parent());
    let Some(directory) = directory else {
        return Constants::default();
    };
    let mut files = Vec::new();
    find(&directory.join("src"), &mut files);
    files.sort();
    let sources = files
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok());
    let sources: Vec<String> = sources.filter(|text| defines(text, name)).collect();
    Constants::of(sources.iter().map(String::as_str))
}

/// Rust files below a directory.
fn find(directory: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let Ok(kind) = entry.metadata() else { continue };
        if kind.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|one| one == "rs") && kind.len() <= LARGEST {
            files.push(path);
        }
        if files.len() >= FILES {
            return;
        }
    }
}

/// Whether a source defines a type of this name.
fn defines(source: &str, name: &str) -> bool {
    ["struct ", "enum ", "union ", "type "].iter().any(|word| {
        let definition = format!("{word}{name}");
        source.match_indices(&definition).any(|(at, _)| {
            let after = source[at + definition.len()..].chars().next();
            after.is_none_or(|one| !one.is_alphanumeric() && one != '_')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::defines;

    #[test]
    fn a_definition_has_the_whole_name() {
        assert!(defines("pub struct Pool<T> {", "Pool"));
        assert!(defines("pub type Pool = Inner;", "Pool"));
        assert!(!defines("pub struct Pools;", "Pool"));
        assert!(!defines("fn make(pool: &Pool)", "Pool"));
    }
}
