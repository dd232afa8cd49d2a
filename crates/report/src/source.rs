//! Reads the source lines that findings name.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use raddle_trace::finding::Place;

/// Finds source files by the names that places use: relative to the workspace,
/// `name-version/...` or `std/...`.
#[derive(Default)]
pub struct Sources {
    workspace: PathBuf,
    packages: HashMap<String, PathBuf>,
    library: Option<PathBuf>,
    files: RefCell<HashMap<String, Option<Vec<String>>>>,
}

impl Sources {
    /// Sources of the workspace in this directory.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self {
            workspace: workspace.into(),
            ..Self::default()
        }
    }

    /// Adds a package outside of the workspace, as `name-version`.
    pub fn add_package(&mut self, name_version: impl Into<String>, directory: impl Into<PathBuf>) {
        self.packages.insert(name_version.into(), directory.into());
    }

    /// Names the directory of the standard library's sources, where they are installed.
    pub fn set_library(&mut self, directory: impl Into<PathBuf>) {
        self.library = Some(directory.into());
    }

    /// The text of the line, without indentation; `None` if it cannot be read.
    pub fn line(&self, place: &Place) -> Option<String> {
        let index = (place.line as usize).checked_sub(1)?;
        let mut files = self.files.borrow_mut();
        let lines = files
            .entry(place.file.clone())
            .or_insert_with(|| read_lines(&self.path(&place.file)?));
        let text = lines.as_ref()?.get(index)?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn path(&self, file: &str) -> Option<PathBuf> {
        let (first, rest) = file.split_once('/').unwrap_or(("", file));
        if first == "std" {
            // The crate `std` itself needs no second name: `std/src/...`, but `std/core/src/...`.
            let directory = if rest.starts_with("src/") { file } else { rest };
            return Some(self.library.as_ref()?.join(directory));
        }
        match self.packages.get(first) {
            Some(directory) => Some(directory.join(rest)),
            None => Some(self.workspace.join(file)),
        }
    }
}

fn read_lines(path: &Path) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::Sources;
    use raddle_trace::finding::Place;

    #[test]
    fn a_line_that_does_not_exist_is_none() {
        let sources = Sources::new(env!("CARGO_MANIFEST_DIR"));
        let place = |file: &str, line| Place {
            file: file.to_owned(),
            line,
            column: 0,
            function: String::new(),
        };
        let first = sources.line(&place("src/source.rs", 1));
        assert_eq!(
            first.as_deref(),
            Some("//! Reads the source lines that findings name.")
        );
        assert_eq!(sources.line(&place("src/source.rs", 0)), None);
        assert_eq!(sources.line(&place("src/source.rs", 100_000)), None);
        assert_eq!(sources.line(&place("no/such/file.rs", 1)), None);
        assert_eq!(sources.line(&place("std/core/src/lib.rs", 1)), None);
    }
}
