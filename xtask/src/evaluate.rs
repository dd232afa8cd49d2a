//! How many schedules each strategy needs to the first sight of each bug in `subjects/search.toml`.
//!
//! Every cell (a subject and a strategy) is kept in `subjects/results/search` as soon as it is
//! done, so that a run that was stopped goes on where it was, and several machines may share the
//! work. The book's page is written of all cells kept.

mod build;
mod cell;
mod generate;
mod kept;
mod manifest;
mod page;
mod predict;
mod results;
mod statistics;

use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::counts::Counts;
use crate::evaluate::build::Program;
pub use crate::evaluate::generate::{Generate, check as check_generate, generate};
use crate::evaluate::manifest::Subject;
pub use crate::evaluate::predict::{Predict, predict};
use crate::{repository, setup, shell};

/// The strategy that the tool takes if none is named.
const DEFAULT: &str = "portfolio";

/// Strategies that do not search: they follow something, or give one schedule only.
const FOLLOWING: [&str; 5] = ["round-robin", "serial", "replay", "directed", "unit-order"];

/// Strategies that draw nothing: all their searches are the same one.
const WITHOUT_SEED: [&str; 1] = ["exhaustive"];

/// `cargo xtask evaluate search`.
#[derive(Args)]
pub struct Search {
    /// Names out of subjects/search.toml; all of them without any.
    names: Vec<String>,
    /// Strategies; all that search without any.
    #[arg(long)]
    strategy: Vec<String>,
    /// Searches per cell, each with seeds of its own.
    #[arg(long, default_value_t = 20)]
    seeds: u64,
    /// Schedules after which a search is given up.
    #[arg(long, default_value_t = 10_000)]
    cap: u64,
    /// Which part of the cells: 2/4 is the second quarter.
    #[arg(long, default_value = "1/1")]
    shard: Shard,
    /// Cells at a time.
    #[arg(short, long, default_value_t = cores())]
    jobs: usize,
    /// Measure also what was measured before.
    #[arg(long)]
    again: bool,
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, Into::into)
}

/// One of several equal parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shard {
    index: usize,
    count: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        let numbers =
            parts.and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        match numbers {
            Some((index, count)) if 1 <= index && index <= count => Ok(Self { index, count }),
            _ => Err(format!("`{text}` is not like 2/4")),
        }
    }
}

impl Shard {
    fn has(self, index: usize) -> bool {
        index % self.count == self.index - 1
    }
}

/// Measures what is missing, and writes the page.
pub fn search(search: &Search) -> Result<()> {
    let tool = setup::tool()?;
    let mut subjects = manifest::read()?;
    if !search.names.is_empty() {
        subjects.retain(|subject| search.names.contains(&subject.name));
    }
    if subjects.is_empty() {
        bail!("no subject of subjects/search.toml has one of these names");
    }
    let strategies = match search.strategy.is_empty() {
        true => strategies(),
        false => search.strategy.clone(),
    };
    // A subject's cells are in one file, so they stay together.
    let chosen = subjects.iter().enumerate();
    let chosen: Vec<&Subject> = chosen
        .filter(|(index, _)| search.shard.has(*index))
        .map(|(_, subject)| subject)
        .collect();
    let today = shell::today()?;
    at_a_time(search.jobs, &chosen, |subject| {
        evaluate(&tool, subject, &strategies, search, &today).with_context(|| subject.name.clone())
    })?;
    page::write()
}

/// The strategies that search, by their names.
fn strategies() -> Vec<String> {
    let names = raddle_schedule::list::ALL.iter().map(|entry| entry.name);
    let searching = names.filter(|name| !FOLLOWING.contains(name));
    searching.map(str::to_owned).collect()
}

/// Measures the cells of one subject that are missing.
fn evaluate(
    tool: &Path,
    subject: &Subject,
    strategies: &[String],
    search: &Search,
    today: &str,
) -> Result<()> {
    let mut kept = results::read(&subject.name)?;
    let is_done = |known: Option<&results::Cell>, searches: u64| {
        !search.again
            && known.is_some_and(|cell| {
                cell.schedules.len() as u64 >= searches && cell.cap >= search.cap
            })
    };
    if search.again || kept.twin.is_none() {
        let target = build::build(tool, subject, Program::Twin)?;
        kept.twin = Some(cell::twin(tool, &target, today)?);
        results::write(&subject.name, &kept)?;
    }
    let target = build::build(tool, subject, Program::Buggy)?;
    for strategy in strategies {
        let searches = match WITHOUT_SEED.contains(&strategy.as_str()) {
            true => 1,
            false => search.seeds,
        };
        if is_done(kept.cells.get(strategy), searches) {
            continue;
        }
        let plan = cell::Plan {
            strategy,
            searches,
            cap: search.cap,
        };
        let cell = cell::measure(tool, subject, &target, &plan, today)?;
        println!("{} {strategy}: {}", subject.name, statistics::words(&cell));
        kept.cells.insert(strategy.clone(), cell);
        results::write(&subject.name, &kept)?;
    }
    Ok(())
}

/// The part for `cargo xtask test`: the default strategy finds each bug, and nothing in a twin.
pub fn check(counts: &mut Counts, tool: &Path, full: bool) -> Result<()> {
    let subjects = manifest::read()?;
    let chosen: Vec<&Subject> = subjects
        .iter()
        .filter(|subject| full || subject.short)
        .collect();
    let counts = std::sync::Mutex::new(counts);
    at_a_time(cores(), &chosen, |subject| {
        for kind in [Program::Buggy, Program::Twin] {
            let judged = build::build(tool, subject, kind)
                .and_then(|target| cell::judge(tool, subject, &target, kind));
            let mut counts = counts.lock().unwrap_or_else(|error| error.into_inner());
            match judged {
                Ok(()) => counts.pass(),
                Err(error) => counts.fail(format!("{} ({kind}): {error:#}", subject.name)),
            }
        }
        Ok(())
    })
}

/// The same by itself, and the part of generated tests.
pub fn check_alone(full: bool) -> Result<()> {
    let tool = setup::tool()?;
    let mut counts = Counts::default();
    check(&mut counts, &tool, full)?;
    check_generate(&mut counts, &tool, full)?;
    match counts.conclude() {
        true => Ok(()),
        false => bail!("not everything is as it should be"),
    }
}

/// Does something with each of a list, several at a time; the first error ends it.
fn at_a_time<T: Sync>(
    jobs: usize,
    list: &[T],
    work: impl Fn(&T) -> Result<()> + Sync,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let one = || -> Result<()> {
        while let Some(item) = list.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(item)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(one)).collect();
        let ends = workers.into_iter().map(|worker| match worker.join() {
            Ok(end) => end,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        // All of them are waited for, also after an error.
        ends.fold(Ok(()), Result::and)
    })
}

/// Where programs are built and run.
fn scratch() -> std::path::PathBuf {
    repository::scratch("search")
}

#[cfg(test)]
mod tests {
    use super::{Shard, strategies};

    #[test]
    fn shards_are_parts_of_a_whole() {
        let parts: Vec<Shard> = ["1/3", "2/3", "3/3"]
            .map(|text| text.parse().unwrap())
            .into();
        for index in 0..10 {
            let owners = parts.iter().filter(|part| part.has(index));
            assert_eq!(owners.count(), 1, "{index}");
        }
        for text in ["0/3", "4/3", "1", "a/b", "1/0"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }

    #[test]
    fn strategies_that_search_are_those_of_the_tool() {
        let strategies = strategies();
        assert!(strategies.contains(&"pos".to_owned()));
        assert!(!strategies.contains(&"replay".to_owned()));
    }
}
