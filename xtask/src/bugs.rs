//! Runs the tool on published crates with a known bug, and on the versions that fixed it. Each
//! bug has a short test in `subjects/bugs`, which is put into a crate that depends on nothing
//! but the version in question.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::counts::Counts;
use crate::messages::{self, Message};
use crate::{repository, setup, shell};

#[derive(Deserialize)]
struct Manifest {
    bug: Vec<Bug>,
}

/// A known bug of a published crate.
#[derive(Deserialize)]
struct Bug {
    name: String,
    /// Kinds under one of which it has to be found.
    kinds: Vec<String>,
    buggy: Release,
    fixed: Release,
    /// Whether it belongs to the short tier.
    #[serde(default)]
    short: bool,
}

/// A version, with what a lock file says about it: that is how withdrawn ones are had.
#[derive(Deserialize)]
struct Release {
    version: String,
    checksum: String,
}

/// Runs the named bugs (all without names) and prints what came of them.
pub fn run(names: &[String]) -> Result<()> {
    let tool = setup::tool()?;
    let mut failures = 0;
    let bugs = manifest()?;
    let chosen = bugs
        .iter()
        .filter(|bug| names.is_empty() || names.contains(&bug.name));
    for bug in chosen {
        for (release, is_buggy) in [(&bug.buggy, true), (&bug.fixed, false)] {
            match judge(&tool, bug, release, is_buggy) {
                Ok(words) => println!("{} {}: {words}", bug.name, release.version),
                Err(error) => {
                    println!("{} {}: WRONG: {error:#}", bug.name, release.version);
                    failures += 1;
                }
            }
        }
    }
    match failures {
        0 => Ok(()),
        failures => bail!("{failures} versions gave something else than expected"),
    }
}

/// Runs the bugs of a tier.
pub fn check(counts: &mut Counts, tool: &Path, full: bool) -> Result<()> {
    for bug in manifest()?.iter().filter(|bug| full || bug.short) {
        for (release, is_buggy) in [(&bug.buggy, true), (&bug.fixed, false)] {
            let name = format!("{} {}", bug.name, release.version);
            match judge(tool, bug, release, is_buggy) {
                Ok(words) => {
                    println!("-- {name}: {words}");
                    counts.pass();
                }
                Err(error) => counts.fail(format!("{name}: {error:#}")),
            }
        }
    }
    Ok(())
}

fn manifest() -> Result<Vec<Bug>> {
    let text = fs::read_to_string(repository::root().join("subjects/manifest.toml"))?;
    let manifest: Manifest = toml::from_str(&text).context("subjects/manifest.toml")?;
    Ok(manifest.bug)
}

/// Runs the tool on one version: what it found, if that is as it should be.
fn judge(tool: &Path, bug: &Bug, release: &Release, is_buggy: bool) -> Result<String> {
    let directory = probe(bug, release)?;
    let mut command = shell::raddle(tool, &directory, ["test", "--test", "bug"]);
    command.args(["--message-format", "json", "--time", "120s"]);
    let (stdout, code) = shell::output(&mut command)?;
    if !matches!(code, Some(0 | 100)) {
        bail!("the tool ended with {code:?}");
    }
    fs::write(directory.join("raddle-output.json"), &stdout)?;
    let (mut ids, mut explored) = (Vec::new(), 0);
    for message in messages::parse(&stdout)? {
        match message {
            Message::Finding { id, .. } => ids.push(id),
            Message::Summary(summary) => explored = summary.explored,
            _ => {}
        }
    }
    let found = match ids.is_empty() {
        true => "nothing".to_owned(),
        false => ids.join(", "),
    };
    let is_kind = |id: &String| bug.kinds.iter().any(|kind| id.starts_with(kind.as_str()));
    let is_right = if is_buggy {
        ids.iter().any(is_kind)
    } else {
        ids.is_empty()
    };
    if explored != 1 || !is_right {
        bail!("found {found} in {explored} explored tests");
    }
    Ok(format!("found {found}"))
}

/// A crate with the bug's test, in a directory of its own.
fn probe(bug: &Bug, release: &Release) -> Result<PathBuf> {
    let Release { version, checksum } = release;
    let name = &bug.name;
    let directory = repository::scratch("bugs").join(format!("{name}-{version}"));
    fs::create_dir_all(directory.join("src"))?;
    fs::create_dir_all(directory.join("tests"))?;
    let test = repository::root()
        .join("subjects/bugs")
        .join(format!("{name}.rs"));
    fs::copy(&test, directory.join("tests/bug.rs"))
        .with_context(|| format!("there is no {}", test.display()))?;
    fs::write(directory.join("src/lib.rs"), "")?;
    let manifest = format!(
        "[package]\nname = \"probe\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n[dependencies]\n{name} = \"={version}\"\n"
    );
    fs::write(directory.join("Cargo.toml"), manifest)?;
    // Cargo adds what is missing, and keeps a version that was withdrawn if it stands here.
    let lock = format!(
        "version = 4\n\n[[package]]\nname = \"probe\"\nversion = \"0.1.0\"\ndependencies = [\"{name}\"]\n\n\
         [[package]]\nname = \"{name}\"\nversion = \"{version}\"\n\
         source = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"{checksum}\"\n"
    );
    if !directory.join("Cargo.lock").is_file() {
        fs::write(directory.join("Cargo.lock"), lock)?;
    }
    Ok(directory)
}
