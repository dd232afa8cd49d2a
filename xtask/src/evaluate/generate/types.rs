//! What `generate` says about popular types of current crates, from their names alone: nothing may be found in them but what is
//! true. The manifest is `subjects/generate-types.toml`, and what was found in each type is kept as soon as it is known.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::Generate;
use super::published::directory;
use super::run::{self, Reported};
use crate::evaluate::kept;
use crate::{repository, shell};

/// Where results are kept.
const EVALUATION: &str = "generate-types";
/// Seconds of each search.
const SECONDS: u64 = 120;

/// A type of a current crate.
#[derive(Deserialize)]
struct Popular {
    /// What it is called here.
    name: String,
    /// Its package, if that is called otherwise.
    package: Option<String>,
    version: String,
    #[serde(default)]
    features: Vec<String>,
    /// The type.
    #[serde(rename = "type")]
    subject: String,
    /// What is found in it, and why it is true.
    #[serde(default)]
    explained: String,
    /// Methods whose documentation promises less, and how, as `--relax` takes them.
    #[serde(default)]
    relax: Vec<String>,
}

impl Popular {
    fn package(&self) -> &str {
        self.package.as_deref().unwrap_or(&self.name)
    }
}

#[derive(Deserialize)]
struct Manifest {
    #[serde(rename = "type")]
    types: Vec<Popular>,
}

/// What a search came to.
#[derive(Default, Deserialize, Serialize)]
struct Kept {
    version: String,
    seconds: u64,
    date: String,
    found: Option<Reported>,
    /// Why nothing was searched.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    failed: String,
}

fn manifest() -> Result<Vec<Popular>> {
    let path = repository::root().join("subjects/generate-types.toml");
    let text = fs::read_to_string(&path)?;
    let manifest: Manifest = toml::from_str(&text).context("subjects/generate-types.toml")?;
    Ok(manifest.types)
}

/// Searches in every type that was not searched for that long in that version.
pub fn measure(tool: &Path, generate: &Generate) -> Result<()> {
    let seconds = generate.time.unwrap_or(SECONDS);
    let directory = directory()?;
    let types = manifest()?;
    let is_chosen =
        |one: &&Popular| generate.names.is_empty() || generate.names.contains(&one.name);
    let chosen = types.iter().filter(is_chosen).enumerate();
    for (_, one) in chosen.filter(|(index, _)| generate.shard.has(*index)) {
        let known: Kept = kept::read(EVALUATION, &one.name)?;
        let is_done = known.found.is_some() || !known.failed.is_empty();
        let is_same = known.version == one.version && known.seconds >= seconds;
        if is_done && is_same && !generate.again {
            continue;
        }
        let (found, failed) = match look(tool, &directory, one, seconds) {
            Ok(found) => (Some(found), String::new()),
            Err(error) => (None, first_line(&format!("{error:#}"))),
        };
        let now = Kept {
            version: one.version.clone(),
            seconds,
            date: shell::today()?,
            found,
            failed,
        };
        println!("{}: {}", one.name, said(&now));
        kept::write(EVALUATION, &one.name, &serde_json::to_string(&now)?)?;
    }
    Ok(())
}

fn look(tool: &Path, directory: &Path, one: &Popular, seconds: u64) -> Result<Reported> {
    let package = format!("{}@{}", one.package(), one.version);
    let mut options = vec!["--crate", &package];
    options.extend(one.features.iter().flat_map(|name| ["--features", name]));
    options.extend(one.relax.iter().flat_map(|rule| ["--relax", rule]));
    run::report(tool, directory, &one.subject, seconds, &options)
}

fn first_line(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    let mut errors = lines.clone().filter(|line| line.contains("error: "));
    let line = errors.next().or_else(|| lines.clone().next());
    line.unwrap_or_default().chars().take(200).collect()
}

/// What was found, or in how much nothing was.
fn said(kept: &Kept) -> String {
    let Some(found) = &kept.found else {
        return kept.failed.clone();
    };
    match found.failing.as_slice() {
        [] => "nothing".to_owned(),
        some => {
            let some = some.iter().map(|one| format!("{}: {}", one.kind, one.text));
            some.collect::<Vec<_>>().join("; ")
        }
    }
}

/// What the source of the crate says about a report.
fn verdict<'a>(one: &'a Popular, found: &Reported) -> &'a str {
    match (found.failing.is_empty(), one.explained.as_str()) {
        (false, "") => "**Not looked up in the source yet.**",
        (_, explained) => explained,
    }
}

const INTRODUCTION: &str = "# Popular types of current crates

What a usual run of `cargo raddle generate` says about types that are used a lot, with their names alone. They stand in
`subjects/generate-types.toml`, and were chosen before anything was known about them. Nothing may be found in them but what
is true: the last column says what the source of the crate shows about a report, or that it was not read yet. What is not checked in a type,
and for which methods, is a part of the output; here it is how many of the results were compared with orders of their calls.

";

/// Writes the page.
pub fn write() -> Result<()> {
    let mut page = INTRODUCTION.to_owned();
    let types = manifest()?;
    let mut rows = String::new();
    let (mut done, mut crates, mut failed, mut open) = (0, BTreeSet::new(), Vec::new(), 0);
    for one in &types {
        let kept: Kept = kept::read(EVALUATION, &one.name)?;
        let Some(found) = &kept.found else {
            match kept.failed.is_empty() {
                true => open += 1,
                false => failed.push(format!(
                    "`{}` ({})",
                    one.subject,
                    kept.failed.replace('|', "\\|")
                )),
            }
            continue;
        };
        done += 1;
        crates.insert(one.package().to_owned());
        let all = found.checked + found.unchecked;
        let _ = writeln!(
            rows,
            "| `{}` | {} {} | {} | {} | {} | {} of {all} | {} | {} |",
            one.subject,
            one.package(),
            kept.version,
            kept.seconds,
            found.tests,
            found.executions,
            found.checked,
            said(&kept).replace('|', "\\|"),
            verdict(one, found)
        );
    }
    let _ = write!(
        page,
        "{done} types of {} crates were searched.\n\n\
         | type | crate | seconds | tests | executions | results checked | found | what it is |\n|---|---|---|---|---|---|---|---|\n{rows}",
        crates.len()
    );
    if !failed.is_empty() {
        let _ = write!(page, "\nNot searched: {}.\n", failed.join(", "));
    }
    if open > 0 {
        let _ = write!(page, "\n{open} types of the manifest were not tried yet.\n");
    }
    fs::write(repository::root().join("book/src/generate-types.md"), page)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{first_line, manifest};

    #[test]
    fn types_are_many_of_many_crates_and_stand_nowhere_else() {
        let types = manifest().unwrap();
        let names: BTreeSet<_> = types.iter().map(|one| &one.name).collect();
        let crates: BTreeSet<_> = types.iter().map(|one| one.package()).collect();
        assert_eq!(names.len(), types.len());
        assert!(types.len() >= 60 && crates.len() >= 40);
        let published = super::super::manifest::published().unwrap();
        for one in &published {
            assert!(!crates.contains(one.package()), "{}", one.package());
        }
        for one in &types {
            let library = one.package().replace('-', "_");
            assert!(
                one.subject.starts_with(&format!("{library}::")),
                "{}",
                one.name
            );
        }
    }

    #[test]
    fn the_error_is_what_is_told() {
        assert_eq!(
            first_line("it ended\n  error: no such type\nmore"),
            "error: no such type"
        );
        assert_eq!(first_line("it ended\nmore"), "it ended");
    }
}
