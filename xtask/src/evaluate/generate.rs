//! How soon `generate` finds the bugs of the classes that its paper was evaluated on, beside the guidances that the paper
//! compares it with.
//!
//! Every cell is kept in `subjects/results/generate` as soon as it is done, so that an evaluation that was stopped goes on
//! where it was, and several machines may share the work. The book's page is written of all that is kept.

mod manifest;
mod page;
mod plots;
mod printed;
mod published;
mod rate;
mod results;
mod run;
mod types;

use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Args;

use self::manifest::Subject;
use self::run::Mode;
use super::Shard;
use crate::counts::Counts;
use crate::{setup, shell};

/// The guidance that users get, and what it is compared with.
const GUIDANCES: [&str; 4] = ["pairs", "uniform", "naive", "random"];
/// How schedules are made: as the paper leaves them to the system, and as users get them.
const MODES: [Mode; 2] = [
    Mode {
        name: "one schedule",
        options: &["--schedules", "1", "--strategy", "random"],
        covering: 3,
    },
    Mode {
        name: "all strategies",
        options: &[],
        covering: 9,
    },
];
/// Seconds after which a search is given up.
const SECONDS: u64 = 20;
/// Seed of the first search. Changes are tried out with smaller ones, so that what is measured was not
/// chosen by what is measured.
const FIRST_SEED: u64 = 1000;
/// Types whose coverage over time is measured, and by which guidances.
const LARGE: [&str; 4] = [
    "XYPlot",
    "PerUserPoolDataSource",
    "TimeSeries",
    "StringBuffer",
];
const COVERING: [&str; 3] = ["pairs", "uniform", "random"];

/// `cargo xtask evaluate generate`.
#[derive(Args)]
pub struct Generate {
    /// Names out of subjects/generate.toml; all of them without any.
    names: Vec<String>,
    /// Searches per cell, each with a seed of its own.
    #[arg(long, default_value_t = 10)]
    seeds: u64,
    /// Seconds after which a search is given up: 20, or 300 in published crates.
    #[arg(long)]
    time: Option<u64>,
    /// Look at the types of published crates instead.
    #[arg(long)]
    published: bool,
    /// Look at popular types of current crates instead, those of subjects/generate-types.toml, for 120 s each.
    #[arg(long)]
    types: bool,
    /// Compare what so many random tests of each class, and of ten published types, do with what they do when they are written down.
    #[arg(long, value_name = "TESTS")]
    printed: Option<u16>,
    /// Which part of the subjects: 2/4 is the second quarter.
    #[arg(long, default_value = "1/1")]
    shard: Shard,
    /// Measure also what was measured before.
    #[arg(long)]
    again: bool,
    /// Measure nothing, and write the page of what is kept.
    #[arg(long)]
    page: bool,
}

/// Measures what is missing, and writes the page.
pub fn generate(generate: &Generate) -> Result<()> {
    match (generate.page, generate.types) {
        (true, true) => return types::write(),
        (true, false) => return page::write(),
        (false, _) => {}
    }
    let tool = setup::tool()?;
    if let Some(tests) = generate.printed {
        return printed::compare(&tool, generate, tests);
    }
    if generate.types {
        types::measure(&tool, generate)?;
        return types::write();
    }
    if generate.published {
        rate::measure(&tool, generate)?;
        published::measure(&tool, generate)?;
        return page::write();
    }
    let directory = run::prepare()?;
    let subjects = manifest::read()?;
    let is_chosen =
        |subject: &Subject| generate.names.is_empty() || generate.names.contains(&subject.name);
    let chosen = subjects.iter().filter(|subject| is_chosen(subject));
    let chosen: Vec<_> = chosen
        .enumerate()
        .filter(|(index, _)| generate.shard.has(*index))
        .map(|(_, subject)| subject)
        .collect();
    if chosen.is_empty() {
        bail!("no subject of subjects/generate.toml has one of these names");
    }
    if generate.again {
        for subject in &chosen {
            results::write(&subject.name, &results::Kept::default())?;
        }
    }
    // What is compared first, of all subjects, and then what users get.
    for mode in MODES {
        for subject in &chosen {
            search(&tool, &directory, subject, mode, generate)
                .with_context(|| subject.name.clone())?;
        }
    }
    for subject in &chosen {
        look(&tool, &directory, subject, generate).with_context(|| subject.name.clone())?;
    }
    page::write()
}

/// Measures the cells of one subject and mode that are missing.
fn search(
    tool: &Path,
    directory: &Path,
    subject: &Subject,
    mode: Mode,
    generate: &Generate,
) -> Result<()> {
    let name = &subject.name;
    let mut kept = results::read(name)?;
    kept.date = shell::today()?;
    kept.machine = super::cell::machine();
    for guidance in GUIDANCES {
        let title = title(guidance, mode);
        let known = kept.runs.entry(title.clone()).or_default();
        let done = known.len() as u64;
        if done >= generate.seeds {
            continue;
        }
        let plan = run::Plan {
            type_name: subject.buggy(),
            guidance,
            mode,
            first: FIRST_SEED + done,
            count: generate.seeds - done,
            seconds: generate.time.unwrap_or(SECONDS),
        };
        let trials = run::trials(tool, directory, &plan)?;
        known.extend(trials.into_iter().map(|trial| {
            kept.pairs = trial.pairs;
            results::Run::new(subject, trial)
        }));
        println!("{name} {title}: {}", results::words(known));
        results::write(name, &kept)?;
    }
    Ok(())
}

/// Looks at what is not compared: coverage over time, and what usual runs report.
fn look(tool: &Path, directory: &Path, subject: &Subject, generate: &Generate) -> Result<()> {
    let name = &subject.name;
    let mut kept = results::read(name)?;
    if LARGE.contains(&name.as_str()) {
        coverage(tool, directory, subject, generate, &mut kept)?;
    }
    if kept.reported.is_none() {
        kept.reported = Some(run::reported(tool, directory, &subject.buggy(), 30)?);
        results::write(name, &kept)?;
    }
    if kept.twin.is_none() {
        kept.twin = Some(run::reported(tool, directory, &subject.twin(), 10)?);
        println!("{name}: {:?}, its twin: {:?}", kept.reported, kept.twin);
        results::write(name, &kept)?;
    }
    Ok(())
}

/// Coverage over time, where no bug ends the search.
fn coverage(
    tool: &Path,
    directory: &Path,
    subject: &Subject,
    generate: &Generate,
    kept: &mut results::Kept,
) -> Result<()> {
    for mode in MODES {
        for guidance in COVERING {
            let known = kept.coverage.entry(title(guidance, mode)).or_default();
            let done = known.len() as u64;
            if done >= generate.seeds {
                continue;
            }
            let plan = run::Plan {
                type_name: subject.twin(),
                guidance,
                mode,
                first: FIRST_SEED + done,
                count: generate.seeds - done,
                seconds: mode.covering,
            };
            let trials = run::trials(tool, directory, &plan)?;
            known.extend(trials.into_iter().map(|trial| trial.over_time));
            results::write(&subject.name, kept)?;
        }
    }
    Ok(())
}

/// How a cell is called.
fn title(guidance: &str, mode: Mode) -> String {
    format!("{guidance}, {}", mode.name)
}

/// The part for `cargo xtask test`: some bugs are found, and nothing in their correct twins, nor in versions
/// without them.
pub fn check(counts: &mut Counts, tool: &Path, full: bool) -> Result<()> {
    let directory = run::prepare()?;
    for subject in manifest::read()? {
        if !full && !subject.short {
            continue;
        }
        let buggy = run::reported(tool, &directory, &subject.buggy(), 30);
        let twin = run::reported(tool, &directory, &subject.twin(), 3);
        match (buggy, twin) {
            (Ok(buggy), Ok(twin)) if subject.is_shown_by(&buggy) && twin.is_empty() => {
                counts.pass();
            }
            (buggy, twin) => counts.fail(format!(
                "{}: found {buggy:?}, and in its twin {twin:?}",
                subject.name
            )),
        }
    }
    published::check(counts, tool, full)
}
