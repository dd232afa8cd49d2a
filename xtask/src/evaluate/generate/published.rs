//! What `generate` says about types of published crates, from their names alone: versions with a known bug, the versions that
//! fixed it, and current ones, in which nothing may be found.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::manifest::{self, Published};
use super::{Generate, rate, run};
use crate::evaluate::kept;
use crate::{repository, shell};

/// Where results are kept.
const EVALUATION: &str = "generate-published";
/// Seconds of each search.
pub const SECONDS: u64 = 300;

/// What was found.
#[derive(Default, Deserialize, Serialize)]
struct Kept {
    /// By version: kinds and sentences, or nothing.
    versions: Vec<(String, String)>,
    seconds: u64,
    date: String,
}

/// Where the tool is started.
pub fn directory() -> Result<PathBuf> {
    let directory = repository::scratch("generate-published");
    fs::create_dir_all(&directory)?;
    Ok(directory)
}

/// Measures what is missing.
pub fn measure(tool: &Path, generate: &Generate) -> Result<()> {
    let directory = directory()?;
    let published = manifest::published()?;
    let is_chosen =
        |one: &&Published| generate.names.is_empty() || generate.names.contains(&one.name);
    let chosen = published.iter().filter(is_chosen).enumerate();
    for (_, one) in chosen.filter(|(index, _)| generate.shard.has(*index)) {
        let mut kept: Kept = match generate.again {
            true => Kept::default(),
            false => kept::read(EVALUATION, &one.name)?,
        };
        kept.date = shell::today()?;
        kept.seconds = generate.time.unwrap_or(SECONDS);
        for version in one.versions() {
            if kept.versions.iter().any(|(known, _)| known == version) {
                continue;
            }
            let package = format!("{}@{version}", one.package());
            let mut options = vec!["--crate", &package];
            options.extend(one.features.iter().flat_map(|name| ["--features", name]));
            let found = run::reported(tool, &directory, &one.subject, kept.seconds, &options);
            let found = match found {
                Ok(found) => found,
                Err(error) => {
                    println!("{} {version}: {error:#}", one.name);
                    continue;
                }
            };
            println!("{} {version}: {found:?}", one.name);
            kept.versions.push((version.to_owned(), found));
            kept::write(EVALUATION, &one.name, &serde_json::to_string(&kept)?)?;
        }
    }
    Ok(())
}

/// The part of the book's page.
pub fn table() -> Result<String> {
    let mut text = "\n## In published crates\n\nWhat a usual run says, with the type's name alone, about versions with a known bug and the \
                    versions that fixed it, and about current\nversions of others. What is empty was not measured.\n\n\
                    | type | known bug | seconds | with the bug | without | why not |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for one in manifest::published()? {
        let kept: Kept = kept::read(EVALUATION, &one.name)?;
        let said = |version: Option<&str>| -> String {
            let Some(version) = version else {
                return String::new();
            };
            let known = kept.versions.iter().find(|(known, _)| known == version);
            match known.map(|(_, found)| words(found)) {
                Some(found) => format!("{version}: {found}"),
                None => version.to_owned(),
            }
        };
        let seconds = match kept.versions.is_empty() {
            true => String::new(),
            false => kept.seconds.to_string(),
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | {seconds} | {} | {} | {} |",
            one.subject,
            one.bug,
            said(one.buggy.as_deref()),
            said(Some(&one.clean)),
            one.unreached
        );
    }
    text += &rate::sentence()?;
    Ok(text)
}

/// The kinds of what was found, each once.
fn words(found: &str) -> String {
    let kinds = found.split("; ").filter_map(|one| one.split_once(": "));
    let mut kinds: Vec<_> = kinds.map(|(kind, _)| kind).collect();
    kinds.dedup();
    match kinds.is_empty() {
        true => "nothing".to_owned(),
        false => kinds.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn what_was_found_is_told_by_its_kinds() {
        assert_eq!(words(""), "nothing");
        let found = "panic: `get` panics at src/lib.rs:1:1: oh: no; panic: other; deadlock: `f`";
        assert_eq!(words(found), "panic, deadlock");
    }
}
