//! `subjects/search.toml`.

use std::collections::BTreeMap;
use std::{fmt, fs};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::repository;

#[derive(Deserialize)]
struct Manifest {
    subject: Vec<Subject>,
}

/// A program with a bug, and its correct twin.
#[derive(Deserialize)]
pub struct Subject {
    pub name: String,
    /// The program of the published benchmark set whose shape it has, if there is one.
    #[serde(default)]
    pub original: Option<String>,
    /// File in `subjects`.
    pub source: String,
    /// Macros, as in `NAME=VALUE`.
    #[serde(default)]
    pub defines: Vec<String>,
    /// Kinds of finding under which the bug counts as found.
    pub kinds: Vec<String>,
    /// Mean schedules to the first bug that others published, by strategy.
    #[serde(default)]
    pub published: BTreeMap<String, Published>,
    /// Why our figures differ from these, if they do.
    #[serde(default)]
    pub remark: String,
    /// Whether it belongs to the short tier.
    #[serde(default)]
    pub short: bool,
}

/// What a subject is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    C,
    Rust,
}

impl Subject {
    pub fn language(&self) -> Language {
        match self.source.ends_with(".c") {
            true => Language::C,
            false => Language::Rust,
        }
    }
}

/// A figure of others.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
pub enum Published {
    /// The mean.
    Mean(f64),
    /// In words, where there is no mean.
    Words(String),
}

impl fmt::Display for Published {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Published::Mean(mean) => mean.fmt(formatter),
            Published::Words(words) => words.fmt(formatter),
        }
    }
}

/// All subjects.
pub fn read() -> Result<Vec<Subject>> {
    let text = fs::read_to_string(repository::root().join("subjects/search.toml"))?;
    let manifest: Manifest = toml::from_str(&text).context("subjects/search.toml")?;
    Ok(manifest.subject)
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::repository;

    #[test]
    fn every_subject_has_a_source_and_a_name_of_its_own() {
        let subjects = read().unwrap();
        let sources = repository::root().join("subjects");
        for (index, subject) in subjects.iter().enumerate() {
            let source = sources.join(&subject.source);
            assert!(source.is_file(), "{}", subject.source);
            let same = |other: &&super::Subject| other.name == subject.name;
            let same = subjects[..index].iter().find(same);
            assert!(same.is_none(), "{}", subject.name);
        }
    }

    #[test]
    fn every_source_has_a_subject_and_a_twin() {
        let subjects = read().unwrap();
        for (directory, extension) in [("c", "c"), ("rust", "rs")] {
            let path = repository::root().join("subjects").join(directory);
            for entry in std::fs::read_dir(path).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_none_or(|found| found != extension) {
                    continue;
                }
                let name = path.file_name().unwrap().to_string_lossy();
                let name = format!("{directory}/{name}");
                let has_name = |subject: &super::Subject| subject.source == name;
                assert!(subjects.iter().any(has_name), "{name}");
                let text = std::fs::read_to_string(&path).unwrap();
                assert!(text.contains("FIXED"), "{name} has no twin");
            }
        }
    }
}
