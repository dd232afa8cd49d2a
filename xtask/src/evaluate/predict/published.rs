//! What prediction says about the own tests of published crates: those of `subjects/manifest.toml` that have an entry for it.
//!
//! What came of each is kept in `subjects/results/predict-crates`. The manifest explains findings that were looked at.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::Predict;
use crate::evaluate::kept;
use crate::messages::{self, Message, SummaryMessage};
use crate::subjects::{self, Subject};
use crate::{repository, shell};

/// Where results are kept.
pub const EVALUATION: &str = "predict-crates";
/// Directed executions per prediction.
pub const TRIES: u64 = 20;

/// What the tool says when a recording or an execution is not whole.
const BEGINNING: [&str; 2] = [
    "only the beginning of an execution",
    "executions were ended for their length",
];

/// What came of one crate.
#[derive(Deserialize, Serialize)]
pub struct Figures {
    pub version: String,
    pub date: String,
    /// Seconds that the run was given.
    pub time: u64,
    /// Options of the tool.
    #[serde(default)]
    pub options: Vec<String>,
    pub summary: SummaryMessage,
    /// Tests in which there was something to interleave, and those that could not be run, by target and name.
    pub tests: BTreeMap<String, Tested>,
    /// Ids, tests and titles.
    pub findings: Vec<String>,
}

/// What came of one test.
#[derive(Default, Deserialize, Serialize)]
pub struct Tested {
    pub verdict: String,
    pub why: Option<String>,
    pub predicted: u64,
    pub real: u64,
    pub executions: u64,
    /// Whether everything was tried before the time was over.
    pub is_complete: bool,
    /// Whether executions or recordings hold only the beginning of what the test does.
    pub is_beginning: bool,
    /// Kinds of violations that happened.
    pub violations: Vec<String>,
}

impl Figures {
    /// Those of the findings that the manifest does not explain.
    pub fn unexplained<'a>(&'a self, subject: &'a Subject) -> impl Iterator<Item = &'a String> {
        let explained = subject.predict.iter().flat_map(|entry| &entry.explained);
        let explained: Vec<_> = explained.collect();
        self.findings.iter().filter(move |finding| {
            !explained.iter().any(|explained| {
                let (kind, words) = explained.split_once(' ').unwrap_or_default();
                finding.starts_with(&format!("{kind}-")) && finding.contains(words)
            })
        })
    }
}

impl Figures {
    /// A sum over all tests.
    pub fn sum(&self, of: fn(&Tested) -> u64) -> u64 {
        self.tests.values().map(of).sum()
    }

    /// How many findings are violations that nothing else follows from.
    pub fn violations(&self) -> usize {
        let ids = self.findings.iter();
        ids.filter(|finding| finding.starts_with("atomic-set-"))
            .count()
    }
}

/// What is known about a crate.
pub fn read(name: &str) -> Result<Option<Figures>> {
    kept::read(EVALUATION, name)
}

/// Measures what is missing.
pub fn measure(tool: &Path, predict: &Predict) -> Result<()> {
    for subject in subjects::manifest()? {
        let Some(entry) = &subject.predict else {
            continue;
        };
        let is_chosen = predict.names.is_empty() || predict.names.contains(&subject.name);
        let is_known =
            read(&subject.name)?.is_some_and(|figures| figures.version == subject.version);
        if !is_chosen || (is_known && !predict.again) {
            continue;
        }
        let seconds = predict.time.unwrap_or(entry.seconds);
        let figures =
            run(tool, &subject, &entry.options, seconds).with_context(|| subject.name.clone())?;
        println!(
            "{}: {} executions, findings: {:?}",
            subject.name, figures.summary.executions, figures.findings
        );
        kept::write(
            EVALUATION,
            &subject.name,
            &serde_json::to_string_pretty(&figures)?,
        )?;
    }
    Ok(())
}

/// Runs the tool on one crate.
fn run(tool: &Path, subject: &Subject, options: &[String], seconds: u64) -> Result<Figures> {
    let directory = subjects::download(subject)?;
    let mut command = shell::raddle(tool, &directory, ["predict"]);
    if directory.join("Cargo.lock").is_file() {
        command.arg("--locked");
    }
    command.args(["--message-format", "json", "-j", "1"]);
    command.args(["--tries", &TRIES.to_string()]);
    command.args(["--time", &format!("{seconds}s")]);
    command.args(options).args(&subject.selection);
    if subject.cap_lints {
        command.env("RUSTFLAGS", "--cap-lints allow");
    }
    let stdout = predict_json(&mut command)?;
    let log = repository::scratch("predict-crates");
    fs::create_dir_all(&log)?;
    fs::write(log.join(format!("{}.json", subject.name)), &stdout)?;
    let mut figures = Figures::new(&subject.version, seconds)?;
    figures.options = options.to_vec();
    figures.read(&stdout)?;
    Ok(figures)
}

/// What the tool writes.
pub fn predict_json(command: &mut Command) -> Result<String> {
    let (stdout, code) = shell::output(command)?;
    if !messages::is_result(code) {
        bail!("the tool ended with {code:?}");
    }
    Ok(stdout)
}

fn is_beginning(note: &str) -> bool {
    BEGINNING.iter().any(|words| note.contains(words))
}

impl Figures {
    /// Of a run that was given so many seconds.
    pub fn new(version: &str, seconds: u64) -> Result<Self> {
        Ok(Self {
            version: version.to_owned(),
            date: shell::today()?,
            time: seconds,
            options: Vec::new(),
            summary: SummaryMessage::default(),
            tests: BTreeMap::new(),
            findings: Vec::new(),
        })
    }

    /// Takes what the tool wrote.
    pub fn read(&mut self, stdout: &str) -> Result<()> {
        for message in messages::parse(stdout)? {
            self.add(message);
        }
        self.tests
            .retain(|_, tested| tested.verdict != "single-threaded");
        Ok(())
    }

    fn add(&mut self, message: Message) {
        match message {
            Message::Finding {
                id, test, title, ..
            } => self.findings.push(format!("{id} in {test}: {title}")),
            Message::Test(test) => {
                let tested = self.tested(&test.target, &test.test);
                tested.verdict = test.verdict;
                tested.why = test.why;
                tested.executions = test.executions;
            }
            Message::Prediction(prediction) => {
                let tested = self.tested(&prediction.target, &prediction.test);
                tested.predicted = prediction.predicted;
                tested.real = prediction.real;
                tested.is_complete = prediction.complete;
            }
            Message::Violation(violation) => {
                // A cycle may go through the same functions over and over.
                let mut functions: Vec<_> =
                    violation.units.iter().map(|unit| &unit.function).collect();
                functions.sort_unstable();
                functions.dedup();
                let functions: Vec<_> = functions.into_iter().map(String::as_str).collect();
                let functions = functions.join(", ");
                let name = format!("{} {}: {functions}", violation.pattern, violation.set);
                let tested = self.tested(&violation.target, &violation.test);
                tested.violations.push(name);
                tested.violations.sort_unstable();
                tested.violations.dedup();
            }
            Message::Note { test, target, text } if is_beginning(&text) => {
                self.tested(&target, &test).is_beginning = true;
            }
            Message::Summary(summary) => self.summary = summary,
            _ => {}
        }
    }

    fn tested(&mut self, target: &str, test: &str) -> &mut Tested {
        self.tests.entry(format!("{target} {test}")).or_default()
    }
}
