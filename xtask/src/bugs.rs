//! Runs the tool on published crates with a known bug, and on the versions that fixed it. Each
//! bug has a short test in `subjects/bugs`, which is put into a crate that depends on nothing
//! but the version in question. What it takes to find the bug stands in the book beside what
//! the same test comes to when it is just repeated.

mod page;
mod probe;
mod stress;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::counts::Counts;
use crate::messages::{self, Message};
use crate::{repository, setup, shell};

/// Executions per test.
const EXECUTIONS: &str = "20000";

#[derive(Deserialize)]
struct Manifest {
    bug: Vec<Bug>,
}

/// A known bug of a published crate.
#[derive(Deserialize)]
struct Bug {
    /// Name of the test's file.
    name: String,
    /// Name of the crate, if that is another one.
    package: Option<String>,
    /// Its features.
    #[serde(default)]
    features: Vec<String>,
    /// Where it was reported.
    source: String,
    /// What goes wrong.
    what: String,
    /// Kinds under one of which it has to be found.
    kinds: Vec<String>,
    /// The memory model with which it shows, if that is not the default.
    memory_model: Option<String>,
    /// Why it cannot be found yet.
    unreached: Option<String>,
    buggy: Release,
    fixed: Release,
    /// Whether it belongs to the short tier.
    #[serde(default)]
    short: bool,
}

impl Bug {
    fn package(&self) -> &str {
        self.package.as_deref().unwrap_or(&self.name)
    }
}

/// A version, with what a lock file says about it: that is how withdrawn ones are had.
#[derive(Deserialize)]
struct Release {
    version: String,
    checksum: String,
}

/// What a run of the tool came to.
struct Judgement {
    /// Kind of the first finding that counts.
    kind: String,
    /// Ids of all.
    ids: Vec<String>,
    /// Executions to the first finding, or all of them.
    executions: u64,
    seconds: f64,
}

impl Judgement {
    fn words(&self) -> String {
        let Self {
            ids,
            executions,
            seconds,
            ..
        } = self;
        match ids.is_empty() {
            true => format!("nothing in {executions} executions, {seconds:.1} s"),
            false => format!(
                "{} after {executions} executions, {seconds:.1} s",
                ids.join(", ")
            ),
        }
    }
}

/// Runs the named bugs (all without names) and prints what came of them; with `write`, also
/// without the tool, and everything goes into the book.
pub fn run(names: &[String], write: bool) -> Result<()> {
    let tool = setup::tool()?;
    let mut failures = 0;
    let bugs = manifest()?;
    let chosen: Vec<&Bug> = bugs
        .iter()
        .filter(|bug| names.is_empty() || names.contains(&bug.name))
        .collect();
    if chosen.is_empty() {
        bail!("no bug of subjects/manifest.toml has one of these names");
    }
    for bug in chosen {
        let mut judgements = Vec::new();
        for (release, is_buggy) in [(&bug.buggy, true), (&bug.fixed, false)] {
            let name = format!("{} {}", bug.name, release.version);
            match judge(&tool, bug, release, is_buggy) {
                Ok(judgement) => {
                    println!("{name}: {}", judgement.words());
                    judgements.push(judgement);
                }
                Err(error) => {
                    println!("{name}: WRONG: {error:#}");
                    failures += 1;
                }
            }
        }
        if let ([found, clean], true) = (&judgements[..], write) {
            let native = stress::run(&probe::probe(bug, &bug.buggy)?, bug)?;
            println!("{} {} natively: {native}", bug.name, bug.buggy.version);
            page::keep(bug, found, clean, &native)?;
        }
    }
    if write {
        page::write(&bugs)?;
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
                Ok(judgement) => {
                    println!("-- {name}: {}", judgement.words());
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
fn judge(tool: &Path, bug: &Bug, release: &Release, is_buggy: bool) -> Result<Judgement> {
    let directory = probe::probe(bug, release)?;
    if is_buggy && let Ok(judgement) = search(tool, bug, &directory, true, &["--max-findings", "1"])
    {
        return Ok(judgement);
    }
    // The bug may show in other ways before it shows as what it is.
    search(tool, bug, &directory, is_buggy, &[])
}

/// One run of the tool.
fn search(
    tool: &Path,
    bug: &Bug,
    directory: &Path,
    is_buggy: bool,
    limits: &[&str],
) -> Result<Judgement> {
    let mut command = shell::raddle(tool, directory, ["test", "--test", "bug"]);
    command.args(["--message-format", "json", "--time", "120s"]);
    command.args(["--executions", EXECUTIONS]).args(limits);
    if let Some(model) = &bug.memory_model {
        command.args(["--memory-model", model]);
    }
    let (stdout, code) = shell::output(&mut command)?;
    if !matches!(code, Some(0 | 100)) {
        bail!("the tool ended with {code:?}");
    }
    fs::write(directory.join("raddle-output.json"), &stdout)?;
    let mut judgement = Judgement {
        kind: String::new(),
        ids: Vec::new(),
        executions: 0,
        seconds: 0.0,
    };
    let mut first = None;
    let mut verdict = "nothing said".to_owned();
    for message in messages::parse(&stdout)? {
        match message {
            Message::Finding {
                id,
                kind,
                executions,
                ..
            } => {
                if bug.kinds.contains(&kind) && first.is_none_or(|first| executions < first) {
                    first = Some(executions);
                    judgement.kind = kind;
                }
                judgement.ids.push(id);
            }
            Message::Test(test) => {
                judgement.executions = test.executions;
                judgement.seconds = test.seconds;
                verdict = [test.verdict, test.why.unwrap_or_default()].join(" ");
            }
            _ => {}
        }
    }
    let is_right = match is_buggy {
        true => first.is_some() || (bug.unreached.is_some() && judgement.ids.is_empty()),
        false => judgement.ids.is_empty(),
    };
    if verdict.trim() != "explored" || !is_right {
        bail!("{}: {}", verdict.trim(), judgement.words());
    }
    judgement.executions = first.unwrap_or(judgement.executions);
    Ok(judgement)
}
