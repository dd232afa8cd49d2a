//! Runs the tool on programs of the system's archive: as they are, with the runtime preloaded, or
//! built from their sources with our compilers.

mod server;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::counts::Counts;
use crate::messages::{self, Message, TestMessage};
use crate::{archive, repository, setup, shell};

#[derive(Deserialize)]
struct Manifest {
    program: Vec<Program>,
}

/// A program and how it is called.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Program {
    /// The system's package that it is in, or was.
    package: String,
    /// Where its sources are, if the archive does not have them any more.
    published: Option<Published>,
    /// The shell command that builds it from its sources, with our compilers as `CC` and `CXX`;
    /// without one the program is taken as it is installed.
    build: Option<String>,
    /// Packages that it needs to be built.
    #[serde(default)]
    needs: Vec<String>,
    /// The program, in the directory of its sources if it is built, and its arguments.
    command: Vec<String>,
    /// Lines of its input.
    lines: u32,
    /// The port of loopback at which they are also served.
    served: Option<u16>,
    /// Further options of the tool.
    #[serde(default)]
    options: Vec<String>,
    /// What the tool must say of it.
    #[serde(default = "explored")]
    verdict: String,
    /// What must be part of the titles of its findings, one for each.
    #[serde(default)]
    findings: Vec<String>,
    /// A shell command that succeeds if it has done its work.
    check: String,
}

/// Files of a repository.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    repository: String,
    commit: String,
    /// A file or a directory.
    path: String,
}

fn explored() -> String {
    "explored".to_owned()
}

/// What came of one program.
struct Figures {
    test: TestMessage,
    findings: Vec<String>,
}

const EXECUTIONS: &str = "1000";
const TIME: &str = "60s";

/// What the table leaves open.
const REMARKS: &str = include_str!("programs_remarks.md");

/// Runs the programs of these packages, or all, and prints a table; with `write`, the table goes into
/// the book.
pub fn run(names: &[String], write: bool) -> Result<()> {
    let tool = setup::tool()?;
    let mut page = format!(
        "# Programs of the system\n\nWritten by `cargo xtask programs --write` on {}: programs of \
         Debian's archive, as they are with the\nruntime preloaded, or built from their \
         sources with `raddle cc` and `raddle c++`, up to {EXECUTIONS} executions in {TIME}\n\
         each. Afterwards what a last execution left was checked.\n\n\
         | program | | verdict | threads | executions | scheduling points | findings |\n\
         |---|---|---|---|---|---|---|\n",
        shell::today()?
    );
    let mut programs = manifest()?;
    if let Some(unknown) = names
        .iter()
        .find(|&name| !programs.iter().any(|program| program.package == *name))
    {
        bail!("subjects/programs.toml has no package {unknown}");
    }
    programs.retain(|program| names.is_empty() || names.contains(&program.package));
    for program in programs {
        let figures = explore(&tool, &program)?;
        let row = row(&program, &figures);
        println!("{row}");
        // Writing to a String cannot fail.
        let _ = writeln!(page, "{row}");
    }
    if write {
        page.push_str(REMARKS);
        fs::write(repository::root().join("book/src/programs.md"), page)?;
    }
    Ok(())
}

/// Runs all programs; each of which the tool says what it must, and that does its work, passes.
pub fn check(counts: &mut Counts, tool: &Path) -> Result<()> {
    for program in manifest()? {
        match explore(tool, &program) {
            Ok(figures) if is_expected(&program, &figures) => {
                println!("{}", row(&program, &figures));
                counts.pass();
            }
            Ok(figures) => counts.fail(row(&program, &figures)),
            Err(error) => counts.fail(format!("{}: {error:#}", program.command[0])),
        }
    }
    Ok(())
}

/// Whether the verdict and the findings are those of the manifest, no more and no less.
fn is_expected(program: &Program, figures: &Figures) -> bool {
    let Figures { test, findings } = figures;
    let is_found = |part: &String| findings.iter().any(|finding| finding.contains(part));
    let is_known = |finding: &String| program.findings.iter().any(|part| finding.contains(part));
    test.verdict == program.verdict
        && program.findings.iter().all(is_found)
        && findings.iter().all(is_known)
}

fn manifest() -> Result<Vec<Program>> {
    let text = fs::read_to_string(repository::root().join("subjects/programs.toml"))?;
    let manifest: Manifest = toml::from_str(&text).context("subjects/programs.toml")?;
    Ok(manifest.program)
}

fn row(program: &Program, figures: &Figures) -> String {
    let Figures { test, findings } = figures;
    let (verdict, why) = (&test.verdict, test.why.as_deref().unwrap_or_default());
    let verdict = [verdict.as_str(), why].join(" ");
    let findings = match findings.is_empty() {
        true => "none".to_owned(),
        false => findings.join("; "),
    };
    let how = match program.build {
        Some(_) => "from source",
        None => "preloaded",
    };
    let words = program.options.iter().chain(&program.command);
    let words: Vec<_> = words.map(String::as_str).collect();
    format!(
        "| `{}` | {how} | {} | {} | {} | {} | {findings} |",
        words.join(" "),
        verdict.trim(),
        test.threads,
        test.executions,
        test.points
    )
}

fn explore(tool: &Path, program: &Program) -> Result<Figures> {
    let exe = match &program.build {
        Some(build) => built(tool, program, build)?,
        None => archive::installed(&program.command[0], &program.package)?,
    };
    let directory = repository::scratch("programs").join(&program.package);
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    fs::create_dir_all(&directory)?;
    let input = input(program.lines);
    fs::write(directory.join("in.txt"), &input)?;
    let serve = |port| server::serve(port, input.into_bytes());
    let _server = program.served.map(serve).transpose()?;
    let run = |executions, time| {
        let mut command = shell::raddle(tool, &directory, ["test", "--message-format", "json"]);
        command.args(["--executions", executions, "--time", time]);
        command.args(&program.options).arg(&exe);
        command.args(&program.command[1..]);
        let (stdout, code) = shell::output(&mut command)?;
        if !messages::is_result(code) {
            bail!("the tool ended with {code:?}");
        }
        Ok(stdout)
    };
    let stdout = run(EXECUTIONS, TIME)?;
    let (mut findings, mut test) = (Vec::new(), None);
    for message in messages::parse(&stdout)? {
        match message {
            Message::Finding { id, title, .. } => findings.push(format!("{id}: {title}")),
            Message::Test(message) => test = Some(message),
            _ => {}
        }
    }
    // The end of the time may have come in the middle of an execution.
    run("1", "600s")?;
    let mut check = Command::new("sh");
    shell::run(check.args(["-c", &program.check]).current_dir(&directory))
        .context("it did not do its work")?;
    Ok(Figures {
        test: test.context("the tool said nothing about the program")?,
        findings,
    })
}

/// Builds a program from its sources and returns where it is.
fn built(tool: &Path, program: &Program, build: &str) -> Result<PathBuf> {
    let needs: Vec<_> = program.needs.iter().map(String::as_str).collect();
    if !needs.is_empty() {
        archive::install(&needs)?;
    }
    let sources = match &program.published {
        Some(sources) => archive::published(&sources.repository, &sources.commit, &sources.path)?,
        None => archive::source(&program.package)?,
    };
    let raddle = tool.with_file_name("raddle");
    let compiler = |language| format!("{} {language}", raddle.display());
    let mut command = Command::new("sh");
    command.args(["-c", build]).current_dir(&sources);
    command
        .env("CC", compiler("cc"))
        .env("CXX", compiler("c++"));
    command.env("RADDLE_CACHE", repository::cache());
    shell::run(&mut command).context("it does not build with our compilers")?;
    Ok(sources.join(&program.command[0]))
}

/// Lines of digits in no order, the same each time.
fn input(lines: u32) -> String {
    let mut state = 1u64;
    let mut text = String::new();
    for _ in 0..lines {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{:019}", state >> 1);
    }
    text
}
