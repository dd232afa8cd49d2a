//! A document that names a path that does not exist is a bug.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Complaint, text};
use crate::repository;

/// Directories of the repository; a quoted path that begins with one of them has to exist.
const DIRECTORIES: [&str; 8] = [
    "crates", "xtask", "examples", "subjects", "tests", "book", ".ci", ".cargo",
];

/// Checks all Markdown files.
pub fn check(files: &[PathBuf]) -> Result<Vec<Complaint>> {
    let mut complaints = Vec::new();
    for file in files {
        if file.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        for (index, line) in text(file)?.lines().enumerate() {
            for missing in named(line).filter(|name| !exists(file, name)) {
                let sentence = format!("names `{missing}`, which does not exist");
                complaints.push(Complaint::error(file, index + 1, sentence));
            }
        }
    }
    Ok(complaints)
}

/// Paths that a line names, in back quotes or as the target of a link.
fn named(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| is_path(name));
    let linked = line
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    let linked = linked
        .map(|link| link.split('#').next().unwrap_or_default())
        .filter(|link| !link.is_empty() && !link.contains("://"));
    quoted.chain(linked)
}

/// Whether quoted words are a path of this repository rather than a command or a pattern.
fn is_path(words: &str) -> bool {
    let first = words.split('/').next().unwrap_or_default();
    let plain = !words.contains([' ', '*', '<', '{', ':', '…', '(']);
    plain && (words.contains('/') && DIRECTORIES.contains(&first) || is_document(words))
}

/// Whether it is the name of one of the documents at the root.
fn is_document(words: &str) -> bool {
    let capitals = words.split('.').next().unwrap_or_default();
    words.ends_with(".md") && !words.contains('/') && capitals.chars().all(char::is_uppercase)
}

/// Whether a path exists, from the root or from the document that names it.
fn exists(document: &Path, name: &str) -> bool {
    let near = document.parent().unwrap_or(Path::new(""));
    let root = repository::root();
    root.join(name).exists() || root.join(near).join(name).exists()
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn paths_are_told_from_commands() {
        let line = "See `crates/abi/src/lib.rs`, [here](book/src/limits.md#time), `cargo test`, \
                    `tests::name`, `crates/*/src`, [out](https://example.com), and `README.md`.";
        let names: Vec<_> = named(line).collect();
        assert_eq!(
            names,
            ["crates/abi/src/lib.rs", "README.md", "book/src/limits.md"]
        );
    }
}
