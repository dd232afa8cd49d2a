//! The book's page about what prediction finds.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use anyhow::Result;

use super::growth;
use super::manifest::{self, Bug, Subject};
use super::results::{self, Kept, Run};
use super::{ASSET, ENGINES, OPTIONS, title};
use crate::plot::{self, Axis, Chart, Series};
use crate::repository;

const INTRODUCTION: &str = "# What prediction finds

Written by `cargo xtask evaluate predict`, from `subjects/results/predict`: the programs of the paper on AssetFuzzer, re-created
in Rust (`subjects/predict`), with each engine of `cargo raddle predict`. The table is that of the paper: kinds of violations
that happened, the share of executions that showed one among those that were meant to, distinct failures, real bugs that
failures follow from, and how much longer an execution takes than without the tool.

`asset` makes 3 recorded executions and 20 directed ones for each prediction, also after the first that shows it; `race` does
the same for each race. What the first 10 tries do not show gets the other 10 after everything else has been tried, and none if
another prediction of the same pattern between the same functions has become real by then. The monitor looks at the tries in which
the predicted order was realised, and at those that failed. `monitor` and `random` get as many executions as `asset` took, `lock-pattern` as many as the larger
of `asset` and `race`, and none where no thread gives a lock up and acquires it again inside of a block. `random` and
`lock-pattern` look for violations only in executions that failed or were directed, so their shares are no detection rates. Failures in the recorded executions that predictions are made from are chance, and count for
no engine that predicts; what was seen there is not reported again when directed executions show it.

How much longer an execution takes includes the start of the process, the reading of the program's types and, for executions
that showed something, the recording of them: where there are few executions, that is most of it. Much other work ran on the
machine at the same time, so that these figures say little. Without the tool threads are the system's, and with it they are fibers, so that executions
may take less time with the tool than without.
";

/// Engines in the order of the tables.
const COLUMNS: [&str; 5] = ["monitor", ASSET, "race", "lock-pattern", "random"];

/// A subject with what was measured.
type Row = (Subject, Kept);

/// Writes page and plots.
pub fn write() -> Result<()> {
    let mut rows = Vec::new();
    for subject in manifest::read()? {
        let kept = results::read(&subject.name)?;
        if kept.runs.contains_key(ASSET) {
            rows.push((subject, kept));
        }
    }
    let growth = results::read_growth()?;
    let mut page = INTRODUCTION.to_owned();
    page += &measured_when(&rows);
    page += &table(&rows);
    page += &loops(&rows);
    page += &rates(&rows);
    page += "\n![Detection rates](predict-rates.svg)\n";
    page += &contained(&rows);
    page += &severity(&rows);
    page += &missed(&rows);
    page += &sweep(&rows);
    page += &twins(&rows);
    if !growth.is_empty() {
        page += &growth::section(&growth);
    }
    let book = repository::root().join("book/src");
    fs::write(book.join("predict-results.md"), page)?;
    fs::write(book.join("predict-rates.svg"), rates_plot(&rows))?;
    if !growth.is_empty() {
        fs::write(book.join("predict-growth.svg"), growth::plot(&growth))?;
    }
    Ok(())
}

fn runs<'a>(kept: &'a Kept, title: &str) -> &'a [Run] {
    kept.runs.get(title).map_or(&[], Vec::as_slice)
}

fn violations<'a>(kept: &'a Kept, title: &str) -> BTreeSet<&'a str> {
    let all = runs(kept, title).iter().flat_map(|run| &run.violations);
    all.map(String::as_str).collect()
}

/// Titles of the failures that are not mere chance.
fn failures<'a>(kept: &'a Kept, title: &str) -> BTreeSet<&'a str> {
    let all = runs(kept, title).iter().flat_map(|run| &run.failures);
    all.filter(|failure| !failure.is_chance)
        .map(|failure| failure.title.as_str())
        .collect()
}

fn bugs<'a>(subject: &'a Subject, kept: &Kept, title: &str) -> Vec<&'a Bug> {
    let failures = failures(kept, title);
    let bugs = subject.bugs.iter();
    bugs.filter(|bug| failures.iter().any(|title| bug.shows_as(title)))
        .collect()
}

/// Share of the tries that showed a violation.
fn rate(kept: &Kept, title: &str) -> Option<f64> {
    let sum = |of: fn(&Run) -> u64| runs(kept, title).iter().map(of).sum::<u64>();
    let tries = sum(|run| run.tries);
    (tries > 0).then(|| sum(|run| run.hits) as f64 / tries as f64)
}

/// Time of an execution, in those without the tool.
fn slowdown(kept: &Kept, title: &str) -> Option<f64> {
    let executions: u64 = runs(kept, title).iter().map(|run| run.executions).sum();
    let seconds: f64 = runs(kept, title).iter().map(|run| run.seconds).sum();
    let plain = kept.plain? as f64 / 1e9;
    (executions > 0).then(|| seconds / executions as f64 / plain)
}

fn measured_when(rows: &[Row]) -> String {
    let list = |of: fn(&Kept) -> &str| {
        let words: BTreeSet<_> = rows.iter().map(|(_, kept)| of(kept)).collect();
        words.into_iter().collect::<Vec<_>>().join("; ")
    };
    let least = rows.iter().map(|(_, kept)| runs(kept, ASSET).len()).min();
    format!(
        "\nMeasured on {} ({}), at least {} runs of each engine on each subject, with seeds of their own.\n",
        list(|kept| &kept.date),
        list(|kept| &kept.machine),
        least.unwrap_or(0)
    )
}

fn table(rows: &[Row]) -> String {
    let engines = &COLUMNS;
    let mut text = String::new();
    for group in ["violations", "failures", "bugs", "times as long"] {
        let _ = write!(text, "\n**{group}**\n\n| subject |");
        if group == "bugs" {
            text += " real |";
        }
        for engine in engines {
            // Writing to a String cannot fail.
            let _ = write!(text, " {engine} |");
        }
        let columns = engines.len() + usize::from(group == "bugs") + 1;
        let _ = writeln!(text, "\n|{}", "---|".repeat(columns));
        for (subject, kept) in rows {
            let _ = write!(text, "| {} |", subject.name);
            if group == "bugs" {
                let _ = write!(text, " {} |", subject.bugs.len());
            }
            for engine in engines {
                let cell = match group {
                    "violations" => violations(kept, engine).len().to_string(),
                    "failures" => failures(kept, engine).len().to_string(),
                    "bugs" => bugs(subject, kept, engine).len().to_string(),
                    _ => slowdown(kept, engine).map_or_else(String::new, |n| format!("{n:.1}")),
                };
                let _ = write!(text, " {cell} |");
            }
            text.push('\n');
        }
        if group != "times as long" {
            text += &sums(rows, group);
        }
    }
    text
}

/// What one more execution costs, in those without the tool.
fn loops(rows: &[Row]) -> String {
    let mut text = "\n**times as long, without the start of the process**\n\n\
                    | subject | plain, µs | not recorded | recorded and looked at |\n|---|---|---|---|\n"
        .to_owned();
    for (subject, kept) in rows {
        let Some(plain) = kept.plain else { continue };
        let times = |engine: &str| {
            let cost = kept.in_loop.get(engine);
            cost.map_or_else(String::new, |cost| {
                format!("{:.1}", *cost as f64 / plain as f64)
            })
        };
        let _ = writeln!(
            text,
            "| {} | {:.0} | {} | {} |",
            subject.name,
            plain as f64 / 1e3,
            times("random"),
            times("monitor")
        );
    }
    text + "\nProcessor time of one more execution of the correct twin: that of many executions without that of few. \
            Recorded executions\nare named, and the monitor looks at them; their cost is known to 0.2 ms. Without the tool it is the shortest of 20 times, by the clock.\n"
}

fn sums(rows: &[Row], group: &str) -> String {
    let mut text = "| all |".to_owned();
    if group == "bugs" {
        let real: usize = rows.iter().map(|(subject, _)| subject.bugs.len()).sum();
        let _ = write!(text, " {real} |");
    }
    for engine in COLUMNS {
        let counts = rows.iter().map(|(subject, kept)| match group {
            "violations" => violations(kept, engine).len(),
            "failures" => failures(kept, engine).len(),
            _ => bugs(subject, kept, engine).len(),
        });
        let _ = write!(text, " {} |", counts.sum::<usize>());
    }
    text + "\n"
}

fn rates(rows: &[Row]) -> String {
    let mut text = "\n## Detection rate\n\nThe share of all tries that showed a violation, whether or not a try before had shown it. The paper's mean ratio is 3; \
                    it is asked for where `monitor`\nshows one in less than 0.3 of its executions. Predictions that no schedule can show count with all their tries.\n\n\
                    | subject | monitor | asset | asset / monitor | at least 3 |\n|---|---|---|---|---|\n"
        .to_owned();
    for (subject, kept) in rows {
        let (Some(asset), Some(monitor)) = (rate(kept, ASSET), rate(kept, "monitor")) else {
            continue;
        };
        let ratio = match monitor > 0.0 {
            true => format!("{:.1}", asset / monitor),
            false => "∞".to_owned(),
        };
        let verdict = match (monitor < 0.3, asset >= 3.0 * monitor) {
            (true, true) => "yes",
            (true, false) => "**no**",
            (false, _) => "not asked for",
        };
        let _ = writeln!(
            text,
            "| {} | {monitor:.3} | {asset:.3} | {ratio} | {verdict} |",
            subject.name
        );
    }
    text
}

fn contained(rows: &[Row]) -> String {
    let mut text = "\n## What chance finds\n\n".to_owned();
    let mut lines = Vec::new();
    for (subject, kept) in rows {
        let asset = violations(kept, ASSET);
        let missing = violations(kept, "monitor");
        let missing = missing
            .iter()
            .filter(|violation| !asset.contains(*violation));
        lines.extend(missing.map(|violation| format!("- {}: pattern {violation}\n", subject.name)));
    }
    let together: usize = rows
        .iter()
        .map(|(_, kept)| violations(kept, "monitor").len())
        .sum();
    match lines.is_empty() {
        true => {
            let _ = writeln!(
                text,
                "Each of the {together} kinds of violations that `monitor` saw happened with `asset` too."
            );
        }
        false => {
            let _ = writeln!(
                text,
                "Of the {together} kinds of violations that `monitor` saw, these did not happen with `asset`:\n"
            );
            text.extend(lines);
        }
    }
    text
}

fn severity(rows: &[Row]) -> String {
    let mut text = "\n## What follows\n\nOf what `asset` makes happen: kinds of failures; violations that are findings of their own, because nothing fails \
                    but what is read\nand left is what no serial order has; both the most of one run. All else are notes.\n\n\
                    | subject | violations | failures | without a failure, but of no serial order |\n|---|---|---|---|\n"
        .to_owned();
    for (subject, kept) in rows {
        let most = |of: fn(&Run) -> u64| runs(kept, ASSET).iter().map(of).max().unwrap_or(0);
        let failures = most(|run| run.failures.len() as u64);
        let _ = writeln!(
            text,
            "| {} | {} | {failures} | {} |",
            subject.name,
            violations(kept, ASSET).len(),
            most(|run| run.harmful)
        );
    }
    text
}

fn missed(rows: &[Row]) -> String {
    let mut text =
        "\n## Bugs that are missed\n\n| bug | what it is | missed by |\n|---|---|---|\n".to_owned();
    for (subject, kept) in rows {
        for bug in &subject.bugs {
            let missing = ENGINES.into_iter().filter(|engine| {
                let found = bugs(subject, kept, engine);
                !found.iter().any(|found| found.name == bug.name)
            });
            let missing = missing.map(|engine| {
                let all = runs(kept, engine).iter().flat_map(|run| &run.failures);
                match all.into_iter().any(|failure| bug.shows_as(&failure.title)) {
                    true => format!("{engine} (seen while recording)"),
                    false => engine.to_owned(),
                }
            });
            let missing: Vec<_> = missing.collect();
            let missing = match missing.is_empty() {
                true => "none".to_owned(),
                false => missing.join(", "),
            };
            let kind = bug.race.words();
            let _ = writeln!(
                text,
                "| {}: {} | {kind} | {missing} |",
                subject.name, bug.name
            );
        }
    }
    text.push('\n');
    for (subject, _) in rows.iter().filter(|(subject, _)| subject.bugs.is_empty()) {
        let _ = writeln!(text, "- {} has no bug: {}.", subject.name, subject.remark);
    }
    text
}

fn sweep(rows: &[Row]) -> String {
    let titles: Vec<_> = OPTIONS
        .iter()
        .map(|options| title(ASSET, options))
        .collect();
    let mut text = "\n## Options of `asset`\n\nKinds of violations, and in brackets the share of predictions that became real and of \
                    tries that showed a violation.\nWithout options there are 3 recorded executions, and a unit of work gives \
                    up the locks that the other one needs before\nit is held.\n\n| subject |"
        .to_owned();
    for title in &titles {
        let _ = write!(text, " `{title}` |");
    }
    let _ = writeln!(text, "\n|{}", "---|".repeat(titles.len() + 1));
    let cell = |of: &[Row], title: &str| {
        let all = || of.iter().flat_map(|(_, kept)| runs(kept, title));
        let sum = |of: fn(&Run) -> u64| all().map(of).sum::<u64>();
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let became = share(sum(|run| run.real), sum(|run| run.predicted));
        let showed = share(sum(|run| run.hits), sum(|run| run.tries));
        let kinds = of.iter().map(|(_, kept)| violations(kept, title).len());
        format!(" {} ({became:.2}, {showed:.2}) |", kinds.sum::<usize>())
    };
    let each = rows
        .iter()
        .map(|row| (row.0.name.as_str(), std::slice::from_ref(row)));
    for (name, of) in each.chain([("all", rows)]) {
        let _ = write!(text, "| {name} |");
        for title in &titles {
            text += &cell(of, title);
        }
        text.push('\n');
    }
    text
}

fn twins(rows: &[Row]) -> String {
    let twins = || rows.iter().flat_map(|(_, kept)| kept.twins.values());
    let executions: u64 = twins().map(|twin| twin.executions).sum();
    let seen: Vec<_> = twins()
        .flat_map(|twin| twin.violations.iter().chain(&twin.findings))
        .cloned()
        .collect();
    let seen = match seen.is_empty() {
        true => "no violation happened, and nothing was found".to_owned(),
        false => format!("**seen: {}**", seen.join("; ")),
    };
    format!(
        "\n## The correct twins\n\n{} twins with each engine, {executions} executions: {seen}.\n",
        rows.len()
    )
}

/// Both rates of each subject.
fn rates_plot(rows: &[Row]) -> String {
    let ticks: Vec<f64> = (1..=rows.len()).map(|number| number as f64).collect();
    let series = ["monitor", ASSET].map(|engine| Series {
        name: engine.to_owned(),
        points: rows
            .iter()
            .enumerate()
            .filter_map(|(index, (_, kept))| Some(((index + 1) as f64, rate(kept, engine)?)))
            .collect(),
    });
    let chart = Chart {
        title: "of the tries that show a violation",
        x: Axis {
            label: "subject, in the order of the tables",
            ticks: &ticks,
            is_logarithmic: false,
        },
        y: Axis {
            label: "share",
            ticks: &[0.0, 0.2, 0.4, 0.6, 0.8, 1.0],
            is_logarithmic: false,
        },
    };
    plot::draw(&chart, &series)
}
