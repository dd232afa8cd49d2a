//! The book's page about schedules to the first bug.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use anyhow::Result;

use crate::evaluate::manifest::{self, Published, Subject};
use crate::evaluate::results::{self, Cell, Kept};
use crate::evaluate::{DEFAULT, statistics};
use crate::plot::{self, Axis, Chart, Series};
use crate::repository;

const INTRODUCTION: &str = "# Schedules to the first bug

Written by `cargo xtask evaluate search`, from `subjects/results/search`: how many schedules each strategy needs until it
sees the bug of each program in `subjects/c` and each test in `subjects/rust`. The programs are re-created from published
descriptions of benchmarks, with the same numbers of threads. Each has a correct twin, in which nothing may be found.

A number is the mean over 20 searches with seeds of their own (one for `exhaustive`, which draws nothing) and its 95 %
interval, by bootstrap. A search is given up after 10,000 schedules:
`≥ 4200 (15/20)` is a mean in which 5 searches without success count with these, and `never (10000)` had no success at
all. The three serial executions before each search are not counted. Of these bugs they show that of parallel_zip only. The
portfolio begins with what it has learnt from the last of them.

In the C programs plain accesses to shared memory are scheduling points, and data races are not looked for, because that
is how the figures of others were made. By default the tool looks for races, and makes the places of those that it saw
scheduling points; here these are the same places after the first execution, in which it reports the races.
";

/// The published strategy beside which the benchmark set stands.
const BENCHMARK: &str = "reads-from";

/// A subject with what was measured.
type Row = (Subject, Kept);

/// Writes page and plots.
pub fn write() -> Result<()> {
    let mut rows = Vec::new();
    for subject in manifest::read()? {
        let kept = results::read(&subject.name)?;
        if !kept.cells.is_empty() {
            rows.push((subject, kept));
        }
    }
    let cells = rows.iter().flat_map(|(_, kept)| kept.cells.keys().cloned());
    let strategies: BTreeSet<String> = cells.collect();
    let mut page = INTRODUCTION.to_owned();
    page += &measured_when(&rows);
    page += &all(&rows, &strategies);
    page += "\n![Share of searches that have found the bug](search.svg)\n";
    page += "\n![Schedules against threads](search-threads.svg)\n";
    page += &benchmark(&rows);
    page += &published(&rows);
    page += &default(&rows);
    page += &twins(&rows);
    let book = repository::root().join("book/src");
    fs::write(book.join("search.md"), page)?;
    fs::write(book.join("search.svg"), shares(&rows, &strategies))?;
    fs::write(book.join("search-threads.svg"), threads(&rows, &strategies))?;
    Ok(())
}

/// Days and machines of the measurements.
fn measured_when(rows: &[Row]) -> String {
    let cells = || rows.iter().flat_map(|(_, kept)| kept.cells.values());
    let days: BTreeSet<_> = cells().map(|cell| cell.date.as_str()).collect();
    let machines: BTreeSet<_> = cells().map(|cell| cell.machine.as_str()).collect();
    let list = |words: BTreeSet<&str>| words.into_iter().collect::<Vec<_>>().join("; ");
    format!("\nMeasured on {} ({}).\n", list(days), list(machines))
}

fn all(rows: &[Row], strategies: &BTreeSet<String>) -> String {
    let mut table = "\n| program |".to_owned();
    for strategy in strategies {
        // Writing to a String cannot fail.
        let _ = write!(table, " {strategy} |");
    }
    table += "\n|---|";
    table += &"---|".repeat(strategies.len());
    table.push('\n');
    for (subject, kept) in rows {
        let _ = write!(table, "| {} |", subject.name);
        for strategy in strategies {
            let words = kept.cells.get(strategy).map(statistics::words);
            let _ = write!(table, " {} |", words.unwrap_or_default());
        }
        table.push('\n');
    }
    table
}

/// The default strategy beside the figures of reads-from fuzzing on the same benchmark set.
fn benchmark(rows: &[Row]) -> String {
    let mut text = "\n## The benchmark set of reads-from fuzzing\n\nThe programs of the published set by their published names, \
                    the published mean of reads-from fuzzing, and ours with the\ndefault strategy.\n\n\
                    | original | program | published | ours |\n|---|---|---|---|\n"
        .to_owned();
    let (mut theirs, mut ours, mut only_ours) = (Vec::new(), Vec::new(), Vec::new());
    for (subject, kept) in rows {
        let (Some(original), Some(cell)) = (&subject.original, kept.cells.get(DEFAULT)) else {
            continue;
        };
        let mean = statistics::mean(cell);
        let published = match subject.published.get(BENCHMARK) {
            Some(Published::Mean(figure)) => {
                theirs.push(*figure);
                ours.push(mean.mean);
                figure.to_string()
            }
            words => {
                if mean.found == mean.searches {
                    only_ours.push(subject.name.as_str());
                }
                words.map_or_else(String::new, Published::to_string)
            }
        };
        let words = statistics::words(cell);
        let _ = writeln!(
            text,
            "| {original} | {} | {published} | {words} |",
            subject.name
        );
    }
    let count = theirs.len();
    let _ = writeln!(
        text,
        "\nGeometric mean over the {count} programs with a published mean: published {:.1}, ours {:.1}. Found by all our \
         searches, but\nnot by all of the published ones: {}.",
        statistics::geometric_mean(theirs.into_iter()),
        statistics::geometric_mean(ours.into_iter()),
        match only_ours.is_empty() {
            true => "none".to_owned(),
            false => only_ours.join(", "),
        }
    );
    text
}

/// Ours beside the figures of others.
fn published(rows: &[Row]) -> String {
    let mut text = "\n## Beside published figures\n\nMeans of others' tools for programs of the same shape. The last column says \
                    whether our interval reaches down\nto 1.5 times their mean.\n\n\
                    | program | strategy | published | ours | within 1.5 times |\n|---|---|---|---|---|\n"
        .to_owned();
    for (subject, kept) in rows {
        for (strategy, figure) in &subject.published {
            let Some(cell) = kept.cells.get(strategy) else {
                continue;
            };
            let verdict = match figure {
                Published::Words(_) => "yes",
                Published::Mean(mean) => verdict(cell, *mean),
            };
            let ours = statistics::words(cell);
            let name = &subject.name;
            let _ = writeln!(
                text,
                "| {name} | {strategy} | {figure} | {ours} | {verdict} |"
            );
        }
    }
    let remarks = rows
        .iter()
        .filter(|(subject, _)| !subject.remark.is_empty());
    for (index, (subject, _)) in remarks.enumerate() {
        let space = if index == 0 { "\n" } else { "" };
        let _ = writeln!(text, "{space}- {}: {}", subject.name, subject.remark.trim());
    }
    text
}

fn verdict(cell: &Cell, published: f64) -> &'static str {
    let mean = statistics::mean(cell);
    match mean.low <= 1.5 * published {
        // Given up too early to say.
        true if mean.found == 0 => "unknown",
        true => "yes",
        false => "**no**",
    }
}

/// The default beside the best of the others.
fn default(rows: &[Row]) -> String {
    let mut text = "\n## The portfolio beside the best\n\nThe default strategy, which shares the schedules among others, beside \
                    the one that needed least for each program.\n\n\
                    | program | portfolio | best | times the best |\n|---|---|---|---|\n"
        .to_owned();
    for (subject, kept) in rows {
        let Some(default) = kept.cells.get(DEFAULT) else {
            continue;
        };
        let others = kept.cells.iter().filter(|(name, _)| *name != DEFAULT);
        let best = others.min_by(|(_, one), (_, other)| {
            let means = [one, other].map(|cell| statistics::mean(cell).mean);
            means[0].total_cmp(&means[1])
        });
        let Some((name, best)) = best else {
            continue;
        };
        let ratio = statistics::mean(default).mean / statistics::mean(best).mean;
        let _ = writeln!(
            text,
            "| {} | {} | {name}: {} | {ratio:.1} |",
            subject.name,
            statistics::words(default),
            statistics::words(best)
        );
    }
    text
}

fn twins(rows: &[Row]) -> String {
    let twins = || rows.iter().filter_map(|(_, kept)| kept.twin.as_ref());
    let executions: u64 = twins().map(|twin| twin.executions).sum();
    let findings: Vec<_> = twins().flat_map(|twin| &twin.findings).cloned().collect();
    let findings = match findings.is_empty() {
        true => "nothing was found in them".to_owned(),
        false => format!("found in them: {}", findings.join(", ")),
    };
    format!(
        "\n## The correct twins\n\n{} twins, {executions} executions with the tool's defaults: {findings}.\n",
        twins().count()
    )
}

/// Share of all searches that have found the bug, against schedules.
fn shares(rows: &[Row], strategies: &BTreeSet<String>) -> String {
    let ticks = [1.0, 10.0, 100.0, 1000.0, 10_000.0];
    let series = strategies.iter().map(|strategy| {
        let cells = rows.iter().filter_map(|(_, kept)| kept.cells.get(strategy));
        let all: Vec<Option<u64>> = cells.flat_map(|cell| cell.schedules.clone()).collect();
        let mut found: Vec<u64> = all.iter().copied().flatten().collect();
        found.sort_unstable();
        let points = found.iter().enumerate().map(|(index, &schedules)| {
            let share = (index + 1) as f64 / all.len() as f64;
            (schedules as f64, 100.0 * share)
        });
        Series {
            name: strategy.clone(),
            points: points.collect(),
        }
    });
    let chart = Chart {
        title: "of all searches have found the bug",
        x: Axis {
            label: "schedules",
            ticks: &ticks,
            is_logarithmic: true,
        },
        y: Axis {
            label: "percent",
            ticks: &[0.0, 20.0, 40.0, 60.0, 80.0, 100.0],
            is_logarithmic: false,
        },
    };
    plot::draw(&chart, &series.collect::<Vec<_>>())
}

/// Mean schedules for the program that exists with most numbers of threads. A line ends where
/// the bug was not found any more.
fn threads(rows: &[Row], strategies: &BTreeSet<String>) -> String {
    let of_family = |(subject, kept): &'_ Row| -> Option<f64> {
        let number = subject.name.strip_prefix("reorder_")?.parse().ok()?;
        // The one with as many checkers as setters is another family.
        (number != 20.0 && !kept.cells.is_empty()).then_some(number)
    };
    let series = strategies.iter().map(|strategy| {
        let points = rows.iter().filter_map(|row| {
            let cell = row.1.cells.get(strategy)?;
            // Where no search had success, the mean would be the number at which it was given up.
            let any = cell.schedules.iter().any(Option::is_some);
            Some((of_family(row)?, statistics::mean(cell).mean)).filter(|_| any)
        });
        Series {
            name: strategy.clone(),
            points: points.collect(),
        }
    });
    let chart = Chart {
        title: "to the first bug of reorder",
        x: Axis {
            label: "threads",
            ticks: &[3.0, 5.0, 10.0, 20.0, 50.0, 100.0],
            is_logarithmic: true,
        },
        y: Axis {
            label: "schedules",
            ticks: &[1.0, 10.0, 100.0, 1000.0, 10_000.0],
            is_logarithmic: true,
        },
    };
    plot::draw(&chart, &series.collect::<Vec<_>>())
}
