//! `subjects/predict.toml`.

use std::fs;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::repository;

#[derive(Deserialize)]
struct Manifest {
    subject: Vec<Subject>,
}

/// A module of `subjects/predict`.
#[derive(Deserialize)]
pub struct Subject {
    pub name: String,
    /// The real bugs in it.
    pub bugs: Vec<Bug>,
    /// Why there are none, if there are none.
    #[serde(default)]
    pub remark: String,
}

/// A bug.
#[derive(Deserialize)]
pub struct Bug {
    pub name: String,
    /// Parts of the titles of findings that follow from it.
    pub shows: Vec<String>,
    pub race: Race,
}

/// What the accesses of a bug are to each other.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Race {
    /// All of them are guarded.
    None,
    /// Some of them are guarded.
    Asymmetric,
    /// Locks are taken in different orders.
    LockOrder,
}

impl Race {
    pub const fn words(self) -> &'static str {
        match self {
            Self::None => "a high-level race",
            Self::Asymmetric => "an asymmetric race",
            Self::LockOrder => "an order of locks",
        }
    }
}

impl Bug {
    /// Whether a finding with this title follows from it.
    pub fn shows_as(&self, title: &str) -> bool {
        self.shows.iter().any(|part| title.contains(part))
    }
}

/// All subjects.
pub fn read() -> Result<Vec<Subject>> {
    let text = fs::read_to_string(repository::root().join("subjects/predict.toml"))?;
    let manifest: Manifest = toml::from_str(&text).context("subjects/predict.toml")?;
    Ok(manifest.subject)
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::repository;
    use std::collections::BTreeSet;
    use std::fs;

    #[test]
    fn subjects_are_the_modules_and_bugs_say_what_they_show() {
        let subjects = read().unwrap();
        let sources = repository::root().join("subjects/predict/src");
        let modules: BTreeSet<String> = fs::read_dir(&sources)
            .unwrap()
            .filter_map(|entry| {
                let name = entry.unwrap().file_name().into_string().unwrap();
                Some(name.strip_suffix(".rs")?.to_owned())
            })
            .filter(|name| !["lib", "plain"].contains(&name.as_str()))
            .collect();
        let names: BTreeSet<String> = subjects
            .iter()
            .map(|subject| subject.name.clone())
            .collect();
        assert_eq!(names, modules);
        for subject in &subjects {
            assert_eq!(subject.bugs.is_empty(), !subject.remark.is_empty());
            let source = fs::read_to_string(sources.join(format!("{}.rs", subject.name))).unwrap();
            assert!(source.contains("fn twin()"), "{}", subject.name);
            for bug in &subject.bugs {
                // What the language or the tool says stands in no source.
                let is_own = |part: &String| source.contains(part.as_str());
                let is_deadlock = bug.race == super::Race::LockOrder;
                assert!(is_deadlock || bug.shows.iter().any(is_own), "{}", bug.name);
            }
        }
    }
}
