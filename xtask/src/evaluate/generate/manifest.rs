//! `subjects/generate.toml`.

use std::fs;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::repository;

#[derive(Deserialize)]
struct Manifest {
    subject: Vec<Subject>,
}

/// A class.
#[derive(Deserialize)]
pub struct Subject {
    /// Name of its type.
    pub name: String,
    /// Its module in `subjects/generate`.
    pub module: String,
    /// What is wrong with it.
    pub bug: String,
    /// Words that name a method which takes part in the bug.
    pub shows: Vec<String>,
    /// Whether it belongs to the few that every test run looks at.
    #[serde(default)]
    pub short: bool,
}

impl Subject {
    /// The type with the bug.
    pub fn buggy(&self) -> String {
        format!("generate_subjects::{}<false>", self.name)
    }

    /// Its correct twin.
    pub fn twin(&self) -> String {
        format!("generate_subjects::{}<true>", self.name)
    }

    /// Whether a sentence is about the bug.
    pub fn is_shown_by(&self, text: &str) -> bool {
        self.shows.iter().any(|word| text.contains(word.as_str()))
    }

    /// Lines of its source.
    pub fn lines(&self) -> Result<usize> {
        let path = format!("subjects/generate/src/{}.rs", self.module);
        let text = fs::read_to_string(repository::root().join(&path)).context(path)?;
        Ok(text.lines().count())
    }
}

/// All classes.
pub fn read() -> Result<Vec<Subject>> {
    let path = repository::root().join("subjects/generate.toml");
    let text = fs::read_to_string(&path)?;
    let manifest: Manifest = toml::from_str(&text).context("subjects/generate.toml")?;
    Ok(manifest.subject)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn the_classes_are_those_of_the_paper() {
        let subjects = super::read().unwrap();
        let names: BTreeSet<_> = subjects.iter().map(|subject| &subject.name).collect();
        assert_eq!(names.len(), 18);
        for subject in &subjects {
            assert!(subject.lines().unwrap() > 50, "{}", subject.name);
            assert!(!subject.is_shown_by("nothing else"), "{}", subject.name);
        }
        assert!(subjects.iter().any(|subject| subject.short));
    }
}
