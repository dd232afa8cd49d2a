//! How many executions a second a generated test comes to: two threads with two calls each on a queue, on one core.

use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::run::{self, Mode, Plan};
use super::{Generate, published};
use crate::evaluate::kept;
use crate::shell;

/// Where it is kept.
const EVALUATION: &str = "generate-published";
const NAME: &str = "rate";
/// Many schedules for each test, so that few of them ask for another one.
const MODE: Mode = Mode {
    name: "many schedules",
    options: &[
        "--crate",
        "crossbeam-queue@0.3.14",
        "--op",
        "push",
        "--op",
        "pop",
        "--schedules",
        "1000",
        "--strategy",
        "random",
    ],
    covering: 0,
};
/// Pairs are tried so few times in this time that threads make two calls each.
const SECONDS: u64 = 1;

/// What was measured.
#[derive(Default, Deserialize, Serialize)]
struct Kept {
    executions: u64,
    /// Time of running them.
    seconds: f64,
    date: String,
    machine: String,
}

/// Measures it, unless it is known.
pub fn measure(tool: &Path, generate: &Generate) -> Result<()> {
    let known: Kept = kept::read(EVALUATION, NAME)?;
    if known.executions > 0 && !generate.again {
        return Ok(());
    }
    let plan = Plan {
        type_name: "crossbeam_queue::ArrayQueue<u32>".to_owned(),
        guidance: "pairs",
        mode: MODE,
        first: 0,
        count: 1,
        seconds: SECONDS,
    };
    let trials = run::trials(tool, &published::directory()?, &plan)?;
    let trial = trials.first().context("there was no search")?;
    let kept = Kept {
        executions: trial.executions,
        seconds: trial.running,
        date: shell::today()?,
        machine: crate::evaluate::cell::machine(),
    };
    println!("ArrayQueue: {}", words(&kept));
    kept::write(EVALUATION, NAME, &serde_json::to_string(&kept)?)
}

/// The sentence of the book's page.
pub fn sentence() -> Result<String> {
    let kept: Kept = kept::read(EVALUATION, NAME)?;
    Ok(match kept.executions {
        0 => String::new(),
        _ => format!(
            "\n`ArrayQueue<u32>`, two threads with two calls each, 1000 random schedules for each test, on one core: {} ({}, {}).\n",
            words(&kept),
            kept.date,
            kept.machine
        ),
    })
}

fn words(kept: &Kept) -> String {
    let rate = kept.executions as f64 / kept.seconds.max(f64::MIN_POSITIVE);
    format!("{rate:.0} executions/s")
}

#[cfg(test)]
mod tests {
    use super::{Kept, words};

    #[test]
    fn a_rate_is_executions_by_time() {
        let kept = Kept {
            executions: 3000,
            seconds: 0.25,
            ..Kept::default()
        };
        assert_eq!(words(&kept), "12000 executions/s");
    }
}
