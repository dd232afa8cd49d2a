//! Measures one subject with one strategy.
//!
//! In C programs plain accesses to shared memory are scheduling points and data races are not
//! looked for, as it is with the tools whose figures stand beside ours: a race would be found in
//! the first execution of most of these programs. Rust tests, which have none, are run as the
//! tool does it by default. The three serial executions before each search are not
//! counted. One subject, `parallel_zip`, shows its bug in them.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::evaluate::build::{Program, Target};
use crate::evaluate::manifest::{Language, Subject};
use crate::evaluate::results::{Cell, Twin};
use crate::messages::{self, Message};
use crate::shell;

/// Distance between the seeds of two searches: no search is that long.
const SPACING: u64 = 1_000_000;
/// Executions of a twin.
const TWIN: u64 = 1000;
/// Executions within which the tool's default finds each bug of the short tier.
const GENEROUS: u64 = 5000;

/// What to measure.
pub struct Plan<'a> {
    pub strategy: &'a str,
    pub searches: u64,
    /// Schedules after which a search is given up.
    pub cap: u64,
}

/// Runs the searches of one cell.
pub fn measure(
    tool: &Path,
    subject: &Subject,
    target: &Target,
    plan: &Plan<'_>,
    today: &str,
) -> Result<Cell> {
    let Plan { strategy, cap, .. } = *plan;
    let limit = cap.to_string();
    let mut schedules = Vec::new();
    for number in 0..plan.searches {
        let seed = (number * SPACING).to_string();
        let mut arguments = vec!["--seed", &seed, "--executions", &limit];
        arguments.extend(["--max-findings", "1", "--strategy", strategy]);
        arguments.extend(points(subject));
        let findings = run(tool, target, &arguments)?.findings;
        let is_other = |finding: &&Sighting| !subject.has_kind(finding);
        if let Some(other) = findings.iter().find(is_other) {
            bail!("{strategy} found {}, which is not the bug", other.id);
        }
        schedules.push(findings.iter().map(|finding| finding.executions).min());
    }
    Ok(Cell {
        date: today.to_owned(),
        machine: machine(),
        cap,
        schedules,
    })
}

/// Runs a twin with the tool's defaults.
pub fn twin(tool: &Path, target: &Target, today: &str) -> Result<Twin> {
    let report = run(tool, target, &["--executions", &TWIN.to_string()])?;
    Ok(Twin {
        date: today.to_owned(),
        executions: report.executions,
        findings: report
            .findings
            .into_iter()
            .map(|finding| finding.id)
            .collect(),
    })
}

/// Whether the tool finds with its defaults what it should.
pub fn judge(tool: &Path, subject: &Subject, target: &Target, kind: Program) -> Result<()> {
    match kind {
        Program::Twin => {
            let found = twin(tool, target, "")?.findings;
            if !found.is_empty() {
                bail!("found {} where there is nothing", found.join(", "));
            }
        }
        Program::Buggy => {
            let executions = GENEROUS.to_string();
            let mut arguments = vec!["--executions", &executions, "--max-findings", "1"];
            arguments.extend(points(subject));
            let report = run(tool, target, &arguments)?;
            if !report
                .findings
                .iter()
                .any(|finding| subject.has_kind(finding))
            {
                let found: Vec<_> = report.findings.iter().map(|finding| &finding.id).collect();
                bail!("found {found:?} in {} executions", report.executions);
            }
        }
    }
    Ok(())
}

/// Options that say where scheduling points are.
fn points(subject: &Subject) -> &'static [&'static str] {
    match subject.language() {
        Language::C => &["--granularity", "access", "--races", "off"],
        Language::Rust => &[],
    }
}

/// What a run of the tool reported.
struct Report {
    executions: u64,
    findings: Vec<Sighting>,
}

struct Sighting {
    id: String,
    kind: String,
    executions: u64,
}

impl Subject {
    fn has_kind(&self, finding: &Sighting) -> bool {
        self.kinds.contains(&finding.kind)
    }
}

fn run(tool: &Path, target: &Target, arguments: &[&str]) -> Result<Report> {
    let directory = &target.directory;
    let results = directory.join("raddle-results");
    if results.exists() {
        fs::remove_dir_all(&results)?;
    }
    let mut command = shell::raddle(tool, directory, ["test", "--message-format", "json"]);
    command.args(["-j", "1", "--time", "30m"]).args(arguments);
    command.args(target.arguments).stdin(Stdio::null());
    let output = command.output()?;
    if !matches!(output.status.code(), Some(0 | 100)) {
        let words = String::from_utf8_lossy(&output.stderr);
        bail!("the tool ended with {}: {words}", output.status);
    }
    let (mut findings, mut test) = (Vec::new(), None);
    for message in messages::parse(&String::from_utf8_lossy(&output.stdout))? {
        match message {
            Message::Finding {
                id,
                kind,
                executions,
                ..
            } => findings.push(Sighting {
                id,
                kind,
                executions,
            }),
            Message::Test(message) => test = Some(message),
            _ => {}
        }
    }
    let test = test.context("the tool said nothing about the program")?;
    if test.verdict != "explored" {
        bail!("{}: {}", test.verdict, test.why.unwrap_or_default());
    }
    Ok(Report {
        executions: test.executions,
        findings,
    })
}

/// What kind of machine this is.
pub fn machine() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    let model = model.map(|rest| rest.trim_start_matches([' ', '\t', ':']));
    let cores = text.lines().filter(|line| line.starts_with("processor"));
    format!("{}, {} cores", model.unwrap_or("unknown"), cores.count())
}
