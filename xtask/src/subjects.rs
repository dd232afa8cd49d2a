//! Runs the tool on the test suites of published crates, which are downloaded by name and
//! version and built with the lock files that they were published with, if any. What came of each is
//! kept in `subjects/results/suites`, and a page of the book shows all of them.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::counts::Counts;
use crate::messages::{self, Message, SummaryMessage};
use crate::{repository, setup, shell};

#[derive(Deserialize)]
struct Manifest {
    subject: Vec<Subject>,
}

/// A published crate.
#[derive(Deserialize)]
pub struct Subject {
    pub name: String,
    pub version: String,
    /// Whether it belongs to the short tier.
    #[serde(default)]
    short: bool,
    /// Seconds that its suite takes until every test has been explored a while.
    #[serde(default = "Subject::seconds")]
    seconds: u64,
    /// Findings that were looked at and are right, as kind and some words of them: the remark explains
    /// them.
    #[serde(default)]
    explained: Vec<String>,
    /// Features and tests to choose, as cargo's flags; everything without any.
    #[serde(default)]
    pub selection: Vec<String>,
    /// What the crate's own words leave open about tests that are not testable or not run.
    #[serde(default)]
    remark: String,
    /// Whether newer compilers refuse it for a lint that was born after it.
    #[serde(default)]
    pub cap_lints: bool,
    /// For those whose tests are predicted from, too.
    pub predict: Option<Predicted>,
}

/// What prediction says about a crate.
#[derive(Deserialize)]
pub struct Predicted {
    /// Seconds that it takes.
    pub seconds: u64,
    /// Options of the tool, for executions that are long.
    #[serde(default)]
    pub options: Vec<String>,
    /// Findings that were looked at and are right, as kind and some words of them.
    #[serde(default)]
    pub explained: Vec<String>,
    /// What there is to say about them, and about violations that do no harm.
    #[serde(default)]
    pub remark: String,
}

impl Subject {
    fn seconds() -> u64 {
        120
    }
}

/// What each crate may cost.
#[derive(Clone, Copy)]
pub struct Budget {
    /// Executions per test.
    pub executions: u64,
    /// Seconds per crate, if not what the manifest says.
    pub seconds: Option<u64>,
}

impl Budget {
    /// For the twenty-minute tier.
    pub const SHORT: Self = Self {
        executions: 100,
        seconds: Some(25),
    };
    /// For everything.
    pub const FULL: Self = Self {
        executions: 1000,
        seconds: None,
    };
}

/// What came of one crate.
#[derive(Deserialize, Serialize)]
struct Figures {
    version: String,
    /// Day of the run.
    date: String,
    /// Executions per test.
    limit: u64,
    /// Seconds that the run was given.
    time: u64,
    selection: Vec<String>,
    summary: SummaryMessage,
    findings: Vec<String>,
    reasons: Vec<String>,
}

impl Figures {
    /// Whether anything of the suite was run: some suites have no test with two threads.
    fn ran_any(&self) -> bool {
        self.summary.explored + self.summary.single_threaded > 0
    }

    /// Whether each finding is one that the manifest explains, and each failure became a finding.
    fn is_explained(&self, subject: &Subject) -> bool {
        let is_confirmed = self.summary.unconfirmed == 0;
        is_confirmed
            && self.findings.iter().all(|finding| {
                subject.explained.iter().any(|explained| {
                    let (kind, words) = explained.split_once(' ').unwrap_or_default();
                    finding.starts_with(&format!("{kind}-")) && finding.contains(words)
                })
            })
    }
}

/// Runs the named crates (all without names) and prints a table; with `write`, the table goes
/// into the book.
pub fn run(names: &[String], budget: Budget, write: bool) -> Result<()> {
    let tool = setup::tool()?;
    let mut any = false;
    for subject in manifest()? {
        if names.is_empty() || names.contains(&subject.name) {
            any = true;
            let figures = explore(&tool, &subject, budget)?;
            println!("{}", row(&subject.name, &figures));
            if write {
                save(&subject.name, &figures)?;
            }
        }
    }
    if !any {
        bail!("no crate of subjects/manifest.toml has one of these names");
    }
    Ok(())
}

fn results() -> PathBuf {
    repository::root().join("subjects/results/suites")
}

/// Keeps figures, and writes the book's page of all figures kept.
fn save(name: &str, figures: &Figures) -> Result<()> {
    fs::create_dir_all(results())?;
    let text = serde_json::to_string_pretty(figures)? + "\n";
    fs::write(results().join(format!("{name}.json")), text)?;
    let mut rows = Vec::new();
    for subject in manifest()? {
        let path = results().join(format!("{}.json", subject.name));
        if path.is_file() {
            let kept = serde_json::from_str(&fs::read_to_string(path)?)?;
            rows.push((subject, kept));
        }
    }
    fs::write(repository::root().join("book/src/suites.md"), page(&rows))?;
    Ok(())
}

/// Runs the crates of a tier; each one that ends by itself without an unexplained finding passes.
pub fn check(counts: &mut Counts, tool: &Path, full: bool, budget: Budget) -> Result<()> {
    for subject in manifest()? {
        if !full && !subject.short {
            continue;
        }
        let name = format!("{}-{}", subject.name, subject.version);
        println!("-- {name}");
        match explore(tool, &subject, budget) {
            Ok(figures) if figures.is_explained(&subject) && figures.ran_any() => {
                println!("{}", row(&subject.name, &figures));
                counts.pass();
            }
            Ok(figures) => counts.fail(format!(
                "{name}: {} and {} seen but not confirmed",
                row(&subject.name, &figures),
                figures.summary.unconfirmed
            )),
            Err(error) => counts.fail(format!("{name}: {error:#}")),
        }
    }
    Ok(())
}

/// All of them.
pub fn manifest() -> Result<Vec<Subject>> {
    let text = fs::read_to_string(repository::root().join("subjects/manifest.toml"))?;
    let manifest: Manifest = toml::from_str(&text).context("subjects/manifest.toml")?;
    Ok(manifest.subject)
}

/// Runs the tool on one crate.
fn explore(tool: &Path, subject: &Subject, budget: Budget) -> Result<Figures> {
    let directory = download(subject)?;
    let seconds = budget.seconds.unwrap_or(subject.seconds);
    let mut command = shell::raddle(tool, &directory, ["test"]);
    if directory.join("Cargo.lock").is_file() {
        command.arg("--locked");
    }
    command.args(["--message-format", "json", "--executions"]);
    command.arg(budget.executions.to_string());
    command.args(["--time", &format!("{seconds}s")]);
    command.args(&subject.selection);
    if subject.cap_lints {
        command.env("RUSTFLAGS", "--cap-lints allow");
    }
    let (stdout, code) = shell::output(&mut command)?;
    if !messages::is_result(code) {
        bail!("the tool ended with {code:?}");
    }
    fs::write(directory.join("raddle-output.json"), &stdout)?;
    let (mut findings, mut reasons, mut summary) = (Vec::new(), Vec::new(), None);
    for message in messages::parse(&stdout)? {
        match message {
            Message::Finding {
                id, test, title, ..
            } => findings.push(format!("{id} in {test}: {title}")),
            Message::Test(test) => {
                let why = test
                    .why
                    .map(|why| format!("`{}` ({}): {why}", test.test, test.target));
                reasons.extend(why);
            }
            Message::Summary(last) => summary = Some(last),
            _ => {}
        }
    }
    Ok(Figures {
        version: subject.version.clone(),
        date: shell::today()?,
        limit: budget.executions,
        time: seconds,
        selection: subject.selection.clone(),
        summary: summary.context("the tool wrote no summary")?,
        findings,
        reasons,
    })
}

/// Lets cargo download the crate and copies its source to a directory where it is a workspace
/// of its own. A copy that is already there is used again, with what was built in it.
pub fn download(subject: &Subject) -> Result<PathBuf> {
    let Subject { name, version, .. } = subject;
    let directory = repository::scratch("subjects").join(format!("{name}-{version}"));
    if directory.join("Cargo.toml").is_file() {
        return Ok(directory);
    }
    let probe = repository::scratch("download").join(name);
    fs::create_dir_all(probe.join("src"))?;
    fs::write(probe.join("src/lib.rs"), "")?;
    let manifest = format!(
        "[package]\nname = \"probe\"\nedition = \"2021\"\n[workspace]\n[dependencies]\n{name} = \"={version}\"\n"
    );
    fs::write(probe.join("Cargo.toml"), manifest)?;
    let mut command = shell::foreign_cargo(&probe, ["metadata", "--format-version", "1"]);
    let (metadata, code) = shell::output(&mut command)?;
    if code != Some(0) {
        bail!("{name} {version} cannot be downloaded");
    }
    let source = package_directory(&metadata, name)?;
    let partial = directory.with_extension("partial");
    copy(&source, &partial)?;
    let manifest = partial.join("Cargo.toml");
    let text = fs::read_to_string(&manifest)?;
    if !text.lines().any(|line| line.trim() == "[workspace]") {
        fs::write(&manifest, format!("{text}\n[workspace]\n"))?;
    }
    fs::rename(&partial, &directory)?;
    Ok(directory)
}

/// Where cargo unpacked this package.
fn package_directory(metadata: &str, name: &str) -> Result<PathBuf> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
        manifest_path: PathBuf,
    }
    let metadata: Metadata = serde_json::from_str(metadata)?;
    let mut packages = metadata.packages.into_iter();
    let package = packages.find(|package| package.name == name);
    let manifest = package
        .context("cargo does not name the package")?
        .manifest_path;
    Ok(manifest
        .parent()
        .context("a manifest stands in a directory")?
        .to_owned())
}

/// Copies a crate, but not its wish for a certain toolchain: the one in use is what counts.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry
            .file_name()
            .to_string_lossy()
            .starts_with("rust-toolchain")
        {
            continue;
        }
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn row(name: &str, figures: &Figures) -> String {
    let SummaryMessage {
        executions,
        seconds,
        findings,
        explored,
        single_threaded,
        not_testable,
        not_run,
        ..
    } = &figures.summary;
    let Figures { version, date, .. } = figures;
    format!(
        "| {name} {version} | {explored} | {single_threaded} | {not_testable} | {not_run} | {findings} | {executions} | {seconds:.0} | {date} |"
    )
}

/// What stands above the table.
const INTRODUCTION: &str = "# Suites of published crates

Written by `cargo xtask subjects --write`, from `subjects/results/suites`: each crate's own tests, as published. Tests that
have no two threads at the same time are counted as single-threaded: there is nothing to interleave in them. Below the
table stands why tests were not testable or not run.

| crate | explored | single-threaded | not testable | not run | findings | executions | seconds | date |
|---|---|---|---|---|---|---|---|---|
";

fn page(rows: &[(Subject, Figures)]) -> String {
    let mut text = INTRODUCTION.to_owned();
    for (subject, figures) in rows {
        text.push_str(&row(&subject.name, figures));
        text.push('\n');
    }
    for (Subject { name, remark, .. }, figures) in rows {
        let Figures {
            version,
            limit,
            time,
            selection,
            ..
        } = figures;
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n## {name} {version}\n\nUp to {limit} executions per test, {time} seconds in all"
        );
        if !selection.is_empty() {
            let _ = write!(text, ", with `{}`", selection.join(" "));
        }
        text.push_str(".\n");
        if !remark.is_empty() {
            let _ = writeln!(text, "{remark}");
        }
        let notes = figures.findings.iter().chain(&figures.reasons);
        for (index, note) in notes.enumerate() {
            let space = if index == 0 { "\n" } else { "" };
            let _ = writeln!(text, "{space}- {}", note.replace('\n', " "));
        }
    }
    text
}
