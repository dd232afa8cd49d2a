//! What prediction finds in the subjects of the paper that it comes from, beside what the paper compares it with.
//!
//! Every run is kept in `subjects/results/predict` as soon as it is done, so that an evaluation that was stopped goes on
//! where it was. The book's page is written of all that is kept.

mod c_programs;
mod growth;
mod manifest;
mod page;
mod published;
mod published_page;
mod results;
mod run;

use std::path::Path;

use anyhow::{Context, Result};
use clap::Args;

use self::manifest::Subject;
use self::results::Kept;
use self::run::Plan;
use crate::{setup, shell};

/// The engine that users get.
const ASSET: &str = "asset";
/// All engines, in the order in which they are run: some get as many executions as others took.
const ENGINES: [&str; 5] = [ASSET, "race", "monitor", "lock-pattern", "random"];
/// The usual options, and those that are compared with them.
const OPTIONS: [&[&str]; 5] = [
    &[],
    &["--profiles", "1"],
    &["--profiles", "10"],
    &["--vwls", "paper"],
    &["--vwls", "none"],
];

/// Engines whose cost per execution is measured, with few and many executions: none of them recorded,
/// and all of them recorded and looked at.
const LOOPS: [(&str, u64, u64); 2] = [("random", 100, 4100), ("monitor", 10, 60)];

/// `cargo xtask evaluate predict`.
#[derive(Args)]
pub struct Predict {
    /// Names out of subjects/predict.toml; all of them without any.
    names: Vec<String>,
    /// Runs of each engine on each subject, each with seeds of its own.
    #[arg(long, default_value_t = 10)]
    seeds: u64,
    /// Directed executions per prediction, all of which are made.
    #[arg(long, default_value_t = 20)]
    tries: u64,
    /// Measure also how long prediction takes on long traces.
    #[arg(long)]
    growth: bool,
    /// Measure also what was measured before.
    #[arg(long)]
    again: bool,
    /// Run the programs of C in subjects/search.toml, and published crates of subjects/manifest.toml, in place of the subjects.
    #[arg(long)]
    published: bool,
    /// Seconds for each published crate, if not what the manifest says.
    #[arg(long)]
    time: Option<u64>,
    /// Measure nothing, and write the page of what is kept.
    #[arg(long)]
    page: bool,
}

/// Measures what is missing, and writes the page.
pub fn predict(predict: &Predict) -> Result<()> {
    if predict.page {
        published_page::write()?;
        return page::write();
    }
    let tool = setup::tool()?;
    if predict.published {
        c_programs::measure(&tool, predict)?;
        published::measure(&tool, predict)?;
        return published_page::write();
    }
    let directory = run::prepare()?;
    let subjects = manifest::read()?;
    let is_chosen =
        |subject: &&Subject| predict.names.is_empty() || predict.names.contains(&subject.name);
    let chosen: Vec<_> = subjects.iter().filter(is_chosen).collect();
    plain(&directory, &chosen, predict.again)?;
    // A seed of all subjects before the next one: what is there early says something about all.
    for seed in 0..predict.seeds {
        for subject in &chosen {
            evaluate(&tool, &directory, subject, predict, seed)
                .with_context(|| subject.name.clone())?;
        }
    }
    if predict.growth {
        results::write_growth(&growth::measure()?)?;
    }
    page::write()
}

fn plain(directory: &Path, chosen: &[&Subject], again: bool) -> Result<()> {
    let is_known =
        |subject: &&Subject| -> Result<bool> { Ok(results::read(&subject.name)?.plain.is_some()) };
    let mut is_all = true;
    for subject in chosen {
        is_all &= is_known(subject)?;
    }
    if is_all && !again {
        return Ok(());
    }
    for (name, nanoseconds) in run::plain(directory)? {
        let mut kept = results::read(&name)?;
        kept.plain = Some(nanoseconds);
        results::write(&name, &kept)?;
    }
    Ok(())
}

/// Makes the runs with one seed that are missing.
fn evaluate(
    tool: &Path,
    directory: &Path,
    subject: &Subject,
    predict: &Predict,
    seed: u64,
) -> Result<()> {
    let name = &subject.name;
    let mut kept = results::read(name)?;
    if seed == 0 {
        for loops in LOOPS {
            if predict.again || !kept.in_loop.contains_key(loops.0) {
                let cost = run::per_execution(tool, directory, name, loops)?;
                println!("{name} {}: {cost} ns per execution", loops.0);
                kept.in_loop.insert(loops.0.to_owned(), cost);
                results::write(name, &kept)?;
            }
        }
    }
    kept.date = shell::today()?;
    kept.machine = super::cell::machine();
    for (engine, options) in columns() {
        let title = title(engine, options);
        let runs = kept.runs.entry(title.clone()).or_default();
        if predict.again && seed == 0 {
            runs.clear();
        }
        if runs.len() as u64 > seed {
            continue;
        }
        let tries = tries(engine, &kept, seed as usize, predict.tries);
        let mut all: Vec<&str> = options.to_vec();
        if is_directed(engine) {
            all.push("--all-tries");
        }
        let plan = Plan {
            engine,
            options: &all,
            tries,
            recorded: recorded(engine, options),
        };
        let run = run::bugs(tool, directory, name, &plan, seed)?;
        println!(
            "{name} {title} {seed}: {} violations, {} of {} tries, {} findings",
            run.violations.len(),
            run.hits,
            run.tries,
            run.failures.len()
        );
        kept.runs.entry(title.clone()).or_default().push(run);
        if options.is_empty() && (!kept.twins.contains_key(engine) || (predict.again && seed == 0))
        {
            let twin = run::twin(tool, directory, name, &plan)?;
            kept.twins.insert(engine.to_owned(), twin);
        }
        results::write(name, &kept)?;
    }
    Ok(())
}

/// Engines with options.
fn columns() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    let engines = ENGINES.into_iter().map(|engine| (engine, OPTIONS[0]));
    engines.chain(OPTIONS.into_iter().skip(1).map(|options| (ASSET, options)))
}

/// How a column is called.
fn title(engine: &str, options: &[&str]) -> String {
    [&[engine], options].concat().join(" ")
}

/// Whether tries are made for each prediction.
fn is_directed(engine: &str) -> bool {
    engine == ASSET || engine == "race"
}

/// Executions that are recorded and predicted from.
fn recorded(engine: &str, options: &[&str]) -> u64 {
    match options {
        _ if !is_directed(engine) && engine != "lock-pattern" => 0,
        ["--profiles", number] => number.parse().unwrap_or(0),
        _ => 3,
    }
}

/// Tries of each prediction, or as many executions as the paper gives those that do not predict.
fn tries(engine: &str, kept: &Kept, seed: usize, each: u64) -> u64 {
    let executions = |engine: &str| {
        let runs = kept.runs.get(engine);
        let run = runs.and_then(|runs| runs.get(seed));
        run.map_or(0, |run| run.executions)
    };
    match engine {
        engine if is_directed(engine) => each,
        "lock-pattern" => executions(ASSET).max(executions("race")),
        _ => executions(ASSET),
    }
}

#[cfg(test)]
mod tests {
    use super::results::{Kept, Run};
    use super::tries;

    #[test]
    fn those_that_do_not_predict_get_as_many_executions() {
        let run = |executions: u64| {
            vec![Run {
                executions,
                ..Run::default()
            }]
        };
        let mut kept = Kept::default();
        kept.runs.insert("asset".to_owned(), run(40));
        kept.runs.insert("race".to_owned(), run(60));
        let of = |engine: &str| tries(engine, &kept, 0, 20);
        assert_eq!(["asset", "race"].map(of), [20, 20]);
        assert_eq!(["monitor", "random", "lock-pattern"].map(of), [40, 40, 60]);
    }
}
