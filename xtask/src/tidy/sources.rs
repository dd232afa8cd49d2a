//! Source files are small, documented and finished.

use std::path::PathBuf;

use anyhow::Result;

use super::{Complaint, text};
use crate::repository;

/// Lines from which a file should be split.
const LONG: usize = 500;
/// Lines from which it has to be.
const TOO_LONG: usize = 800;

/// What no file may contain, and why. Split, so that this file does not contain it.
const FORBIDDEN: [(&str, &str); 7] = [
    (concat!("TO", "DO"), "is unfinished"),
    (concat!("FIX", "ME"), "is unfinished"),
    (concat!("todo", "!("), "is unfinished"),
    (concat!("unimplemented", "!("), "is unfinished"),
    (concat!("db", "g!("), "prints for debugging"),
    (
        concat!("#[", "allow("),
        "takes `#[expect(.., reason = ..)]`",
    ),
    (
        concat!("#![", "allow("),
        "takes `#![expect(.., reason = ..)]`",
    ),
];

/// Beginnings of paths that exist on this machine only: the repository and the home directory.
fn machine_paths() -> Vec<String> {
    let paths = [Some(repository::root().to_owned()), std::env::home_dir()];
    let paths = paths.into_iter().flatten();
    let long_enough = paths.filter(|path| path.components().count() > 1);
    long_enough
        .map(|path| format!("{}/", path.display()))
        .collect()
}

/// Checks all files; Rust files more closely.
pub fn check(files: &[PathBuf]) -> Result<Vec<Complaint>> {
    let mut complaints = Vec::new();
    let machine_paths = machine_paths();
    for file in files {
        let text = text(file)?;
        for (index, line) in text.lines().enumerate() {
            if let Some(path) = machine_paths.iter().find(|path| line.contains(*path)) {
                let sentence = format!("names a path of one machine ({path})");
                complaints.push(Complaint::error(file, index + 1, sentence));
            }
        }
        if file.extension().is_some_and(|extension| extension == "rs") {
            check_rust(file, &text, &mut complaints);
        }
    }
    Ok(complaints)
}

fn check_rust(file: &PathBuf, text: &str, complaints: &mut Vec<Complaint>) {
    let documented = text
        .lines()
        .find(|line| !line.starts_with("#!"))
        .is_some_and(|line| line.starts_with("//!"));
    if !documented {
        complaints.push(Complaint::error(file, 1, "does not begin with `//!`"));
    }
    match text.lines().count() {
        lines if lines > TOO_LONG => {
            complaints.push(Complaint::error(
                file,
                0,
                format!("has {lines} lines: split it"),
            ));
        }
        lines if lines > LONG => {
            complaints.push(Complaint::warning(file, format!("has {lines} lines")));
        }
        _ => {}
    }
    for (index, line) in text.lines().enumerate() {
        for (words, why) in FORBIDDEN {
            if line.contains(words) {
                complaints.push(Complaint::error(
                    file,
                    index + 1,
                    format!("`{words}` {why}"),
                ));
            }
        }
    }
}
