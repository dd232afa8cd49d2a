//! `subjects/generate.toml`.

use std::fs;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::repository;

#[derive(Deserialize)]
struct Manifest {
    subject: Vec<Subject>,
    published: Vec<Published>,
}

/// A type of a published crate.
#[derive(Deserialize)]
pub struct Published {
    /// What it is called here.
    pub name: String,
    /// Its package, if that is called otherwise.
    package: Option<String>,
    #[serde(default)]
    pub features: Vec<String>,
    /// The type.
    #[serde(rename = "type")]
    pub subject: String,
    /// Where its bug was reported, and what it is.
    #[serde(default)]
    pub bug: String,
    /// The version with the bug, if any is known.
    pub buggy: Option<String>,
    /// A version in which nothing may be found but what is explained.
    pub clean: String,
    /// What is found in it, and why it is true.
    #[serde(default)]
    pub explained: String,
    /// Operations that show it: without them nothing may be found.
    #[serde(default)]
    pub aside: Vec<String>,
    /// Why the bug cannot be found.
    #[serde(default)]
    pub unreached: String,
    /// Whether it belongs to the few that every test run looks at.
    #[serde(default)]
    pub short: bool,
}

impl Published {
    /// The name of its package.
    pub fn package(&self) -> &str {
        self.package.as_deref().unwrap_or(&self.name)
    }

    /// Versions that are looked at: that with the bug if there is anything to find.
    pub fn versions(&self) -> impl Iterator<Item = &str> {
        let buggy = self.buggy.as_deref().filter(|_| self.unreached.is_empty());
        buggy.into_iter().chain([&*self.clean])
    }
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
    Ok(manifest()?.subject)
}

/// All types of published crates.
pub fn published() -> Result<Vec<Published>> {
    Ok(manifest()?.published)
}

fn manifest() -> Result<Manifest> {
    let path = repository::root().join("subjects/generate.toml");
    let text = fs::read_to_string(&path)?;
    toml::from_str(&text).context("subjects/generate.toml")
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

    #[test]
    fn types_of_published_crates_have_names_of_their_own() {
        let published = super::published().unwrap();
        let names: BTreeSet<_> = published.iter().map(|one| &one.name).collect();
        assert_eq!(names.len(), published.len());
        assert!(published.iter().any(|one| one.short));
        for one in &published {
            assert_eq!(one.buggy.is_some(), !one.bug.is_empty(), "{}", one.name);
            let is_from_there = one.subject.contains(&one.package().replace('-', "_"));
            assert!(is_from_there, "{}", one.name);
            let is_clean = one.explained.is_empty();
            assert!(one.aside.is_empty() || !is_clean, "{}", one.name);
        }
    }
}
