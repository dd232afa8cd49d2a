//! What `generate` says about types of published crates, from their names alone: versions with a known bug, the versions that
//! fixed it, and current ones, in which nothing may be found.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::manifest::{self, Published};
use super::run::{self, Reported};
use super::{Generate, rate};
use crate::counts::Counts;
use crate::evaluate::statistics::number;
use crate::evaluate::{at_a_time, cores, kept};
use crate::{repository, shell};

/// Where results are kept.
const EVALUATION: &str = "generate-published";
/// Seconds of each search.
pub const SECONDS: u64 = 300;

/// Seconds that a bug may take in a part of `cargo xtask test`, and of a search for what is not there.
const CHECKED: (u64, u64) = (180, 4);
/// Findings after which a search ends that goes on after the first.
const MOST: &str = "10";

/// What was found.
#[derive(Default, Deserialize, Serialize)]
struct Kept {
    /// By version.
    versions: BTreeMap<String, Reported>,
    /// In the version without the bug, if what shows the explained is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rest: Option<Reported>,
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
            if kept.versions.contains_key(version) {
                continue;
            }
            match look(tool, &directory, one, version, kept.seconds) {
                Ok(found) => {
                    tell(one, version, &found);
                    kept.versions.insert(version.to_owned(), found);
                    kept::write(EVALUATION, &one.name, &serde_json::to_string(&kept)?)?;
                }
                Err(error) => println!("{} {version}: {error:#}", one.name),
            }
        }
        if one.aside.is_empty() || kept.rest.is_some() {
            continue;
        }
        match look_aside(tool, &directory, one, kept.seconds) {
            Ok(found) => {
                tell(one, "without what shows the explained", &found);
                kept.rest = Some(found);
                kept::write(EVALUATION, &one.name, &serde_json::to_string(&kept)?)?;
            }
            Err(error) => println!("{}: {error:#}", one.name),
        }
    }
    Ok(())
}

/// Says what was found.
fn tell(one: &Published, what: &str, found: &Reported) {
    println!("{} {what}: {}", one.name, words(found));
    for failing in &found.failing {
        println!("  {}: {}", failing.kind, failing.text);
    }
}

/// What a user's run says about one version.
fn look(
    tool: &Path,
    directory: &Path,
    one: &Published,
    version: &str,
    seconds: u64,
) -> Result<Reported> {
    let mut options = Vec::new();
    // The search does not end with what is known of the version without the bug, and so of both.
    if !one.explained.is_empty() {
        options.extend(["--max-findings", MOST]);
    }
    search(tool, directory, one, version, seconds, &options)
}

/// What a user's run says about the version without the bug, if it calls nothing that shows the explained.
fn look_aside(tool: &Path, directory: &Path, one: &Published, seconds: u64) -> Result<Reported> {
    let aside = one.aside.iter();
    let options: Vec<_> = aside.flat_map(|name| ["--skip", name]).collect();
    search(tool, directory, one, &one.clean, seconds, &options)
}

fn search(
    tool: &Path,
    directory: &Path,
    one: &Published,
    version: &str,
    seconds: u64,
    options: &[&str],
) -> Result<Reported> {
    let package = format!("{}@{version}", one.package());
    let mut all = vec!["--crate", &package];
    all.extend(one.features.iter().flat_map(|name| ["--features", name]));
    all.extend(options);
    run::report(tool, directory, &one.subject, seconds, &all)
}

/// The part for `cargo xtask test`: some of the bugs, and a few seconds of versions in which nothing may be found. Versions
/// that are not short take minutes to build together, so they belong to `--full`.
pub fn check(counts: &mut Counts, tool: &Path, full: bool) -> Result<()> {
    let directory = directory()?;
    let published = manifest::published()?;
    let chosen = published.iter().filter(|one| full || one.short);
    let versions = chosen.flat_map(|one| one.versions().map(move |version| (one, version)));
    let counts = Mutex::new(counts);
    at_a_time(cores(), &versions.collect::<Vec<_>>(), |(one, version)| {
        let look = |seconds| look(tool, &directory, one, version, seconds);
        let is_clean = *version == one.clean;
        let found = match (is_clean, one.explained.is_empty()) {
            (false, _) => look(CHECKED.0),
            (true, true) => look(CHECKED.1),
            (true, false) if one.aside.is_empty() => return Ok(()),
            (true, false) => look_aside(tool, &directory, one, CHECKED.1),
        };
        let mut counts = counts.lock().unwrap_or_else(|error| error.into_inner());
        let what = format!("{} {version}", one.name);
        match found {
            Ok(found) if found.failing.is_empty() == is_clean => counts.pass(),
            Ok(found) => counts.fail(format!("{what}: {}", words(&found))),
            Err(error) => counts.fail(format!("{what}: {error:#}")),
        }
        Ok(())
    })
}

/// The part of the book's page.
pub fn table() -> Result<String> {
    let mut text = "\n## In published crates\n\nWhat a usual run says, with the type's name alone, about versions with a known bug and the \
                    versions that fixed it, and about current\nversions of others: how soon something is found, or in how many executions of how many \
                    tests nothing is. What is empty was not measured.\nWhere something is explained, the search ends when ten tests fail, \
                    and one more leaves out the methods that show it, if there are such.\nTwo searches ran at a time, on two cores.\n\n\
                    | type | known bug | seconds | with the bug | without | remark |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for one in manifest::published()? {
        let kept: Kept = kept::read(EVALUATION, &one.name)?;
        let said = |version: Option<&str>| -> String {
            let Some(version) = version else {
                return String::new();
            };
            match kept.versions.get(version) {
                Some(found) => format!("{version}: {}", words(found)),
                None => version.to_owned(),
            }
        };
        let seconds = match kept.versions.is_empty() {
            true => String::new(),
            false => kept.seconds.to_string(),
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | {seconds} | {} | {} | {}{} |",
            one.subject,
            one.bug,
            said(one.buggy.as_deref()),
            said(Some(&one.clean)) + &rest(&one, &kept),
            one.unreached,
            one.explained
        );
    }
    text += &rate::sentence()?;
    Ok(text)
}

/// What is said if methods are left out.
fn rest(one: &Published, kept: &Kept) -> String {
    let Some(found) = &kept.rest else {
        return String::new();
    };
    let names = plain(&one.aside);
    format!("; without {}: {}", names.join(", "), words(found))
}

/// Names of methods, without what they are methods of: `try_read.upgrade` and `read.upgrade` are one.
fn plain(operations: &[String]) -> Vec<String> {
    let names = operations.iter().map(|name| {
        let method = name.split_once('.').map_or(&**name, |(_, method)| method);
        format!("`{method}`")
    });
    let names: BTreeSet<_> = names.collect();
    names.into_iter().collect()
}

/// The kinds of what was found, each with when it was first; or in how much nothing was.
fn words(found: &Reported) -> String {
    let mut firsts: Vec<(&str, f64)> = Vec::new();
    for one in &found.failing {
        match firsts.iter_mut().find(|(kind, _)| *kind == one.kind) {
            Some((_, first)) => *first = first.min(one.seconds),
            None => firsts.push((&one.kind, one.seconds)),
        }
    }
    if firsts.is_empty() {
        return format!(
            "nothing in {} executions of {} tests",
            found.executions, found.tests
        );
    }
    let told = firsts.iter();
    let told = told.map(|(kind, seconds)| format!("{kind} after {} s", number(*seconds)));
    told.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::{plain, words};
    use crate::evaluate::generate::run::{Failing, Reported};

    #[test]
    fn what_was_found_is_told_by_its_kinds() {
        let failing = |kind: &str, seconds| Failing {
            kind: kind.to_owned(),
            text: "`get` panics".to_owned(),
            seconds,
        };
        let mut found = Reported {
            tests: 20,
            executions: 1000,
            ..Reported::default()
        };
        assert_eq!(words(&found), "nothing in 1000 executions of 20 tests");
        found.failing = vec![
            failing("panic", 2.5),
            failing("deadlock", 4.0),
            failing("panic", 1.5),
        ];
        assert_eq!(words(&found), "panic after 1.5 s, deadlock after 4.0 s");
    }

    #[test]
    fn methods_are_named_once() {
        let names = ["insert", "read.upgrade", "try_read.upgrade"];
        let names = names.map(ToOwned::to_owned);
        assert_eq!(plain(&names), ["`insert`", "`upgrade`"]);
    }
}
