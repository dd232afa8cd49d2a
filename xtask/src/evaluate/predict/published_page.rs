//! The book's page on published crates: a table of what came of each, and what there is to say about it.

use std::fmt::Write as _;
use std::fs;

use anyhow::Result;

use super::c_programs::{self, Programs};
use super::published::{self, Figures, TRIES, Tested};
use crate::repository;
use crate::subjects::{self, Subject};

/// What is said about programs of C.
const C_PROGRAMS: &str = include_str!("c_programs.md");
/// What stands above their table.
const C_TABLE: &str = "
## The C programs of `subjects/c`

`raddle predict` on all of them, each with its bug and with `-DFIXED`. What is found beside violations (failed assertions, data races,
deadlocks) counts, too.

| program | predicted | became real | findings | of these of kind `atomic-set` | `-DFIXED`: predicted | became real | findings |
|---|---|---|---|---|---|---|---|
";

/// Writes the page of all that is kept.
pub fn write() -> Result<()> {
    let mut rows = Vec::new();
    for subject in subjects::manifest()? {
        if subject.predict.is_some()
            && let Some(figures) = published::read(&subject.name)?
        {
            rows.push((subject, figures));
        }
    }
    let path = repository::root().join("book/src/predict-crates.md");
    fs::write(path, page(&rows) + &of_programs(&c_programs::read()?))?;
    Ok(())
}

fn page(rows: &[(Subject, Figures)]) -> String {
    let mut text = format!(
        "# Prediction in published crates and C programs

Written by `cargo xtask evaluate predict --published`, from `subjects/results/predict-crates` and the remarks in `subjects/manifest.toml`:
what `cargo raddle predict --tries {TRIES}` says about the own tests of published crates, as published. Every finding was looked at, and is
explained below. Notes are what happened and was found to do no harm (`--verbose`).

\"Gone through\" are tests with threads of which every prediction was tried. Of the others, the time was over before, or they could not be
run. The tests of many crates do the same thing very many times. Their executions are ended after some thousand steps (`--max-points`, where it
stands below), or only their beginning fits into a recording. The beginning of an execution is an execution as well, of which the same is
true; only what a function did that had not come to its end is not judged.

| crate | with threads | gone through | of these only their beginning | without threads | predicted | became real | findings | notes | executions | seconds |
|---|---|---|---|---|---|---|---|---|---|---|
"
    );
    for (subject, figures) in rows {
        text += &row(subject, figures);
    }
    for (subject, figures) in rows {
        text += &section(subject, figures);
    }
    text
}

fn of_programs(programs: &Programs) -> String {
    let mut text = C_TABLE.to_owned();
    for (name, [buggy, twin]) in &programs.0 {
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {} | {} | {} | {} |",
            buggy.sum(|tested| tested.predicted),
            buggy.sum(|tested| tested.real),
            buggy.findings.len(),
            buggy.violations(),
            twin.sum(|tested| tested.predicted),
            twin.sum(|tested| tested.real),
            twin.findings.len(),
        );
    }
    text + "\n" + C_PROGRAMS
}

fn row(subject: &Subject, figures: &Figures) -> String {
    let tests = || figures.tests.values();
    let count = |is: fn(&Tested) -> bool| tests().filter(|tested| is(tested)).count();
    format!(
        "| {} {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.0} |\n",
        subject.name,
        figures.version,
        tests().count(),
        count(|tested| tested.is_complete),
        count(|tested| tested.is_complete && tested.is_beginning),
        figures.summary.single_threaded,
        figures.sum(|tested| tested.predicted),
        figures.sum(|tested| tested.real),
        figures.findings.len(),
        figures
            .sum(|tested| tested.violations.len() as u64)
            .saturating_sub(figures.violations() as u64),
        figures.summary.executions,
        figures.summary.seconds,
    )
}

fn section(subject: &Subject, figures: &Figures) -> String {
    let options = match figures.options.is_empty() {
        true => String::new(),
        false => format!(", with `{}`", figures.options.join(" ")),
    };
    let mut text = format!(
        "\n## {} {}\n\n{} seconds{options}, on {}.\n",
        subject.name, figures.version, figures.time, figures.date
    );
    let remark = subject.predict.iter().map(|entry| entry.remark.trim());
    for remark in remark.filter(|remark| !remark.is_empty()) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "\n{remark}");
    }
    let unexplained: Vec<_> = figures.unexplained(subject).collect();
    let mut lines: Vec<String> = Vec::new();
    for finding in &figures.findings {
        let how = match unexplained.contains(&finding) {
            true => "not explained yet",
            false => "explained above",
        };
        lines.push(format!("- {} ({how})", finding.replace('\n', " ")));
    }
    for (name, tested) in &figures.tests {
        lines.extend(line(name, tested));
    }
    if !lines.is_empty() {
        let _ = writeln!(text, "\n{}", lines.join("\n"));
    }
    text
}

/// What there is to say about a test that led to something, or was not gone through.
fn line(name: &str, tested: &Tested) -> Option<String> {
    let mut words = Vec::new();
    if tested.predicted > 0 {
        words.push(format!(
            "{} predicted, {} became real",
            tested.predicted, tested.real
        ));
    }
    if tested.is_beginning {
        words.push("only the beginning of its executions".to_owned());
    }
    match (&tested.why, tested.is_complete) {
        (Some(why), _) => words.push(why.replace('\n', " ")),
        (None, false) => words.push(format!(
            "the time was over after {} executions",
            tested.executions
        )),
        (None, true) => {}
    }
    (!words.is_empty()).then(|| format!("- `{name}`: {}", words.join("; ")))
}
