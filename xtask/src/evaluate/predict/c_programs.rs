//! What prediction says about the programs of C in `subjects/c`, with their bugs and without.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::Predict;
use super::published::{EVALUATION, Figures, TRIES, predict_json};
use crate::evaluate::build::{self, Program};
use crate::evaluate::kept;
use crate::evaluate::manifest::{self, Language};
use crate::{repository, shell};

/// The file of results.
const NAME: &str = "c-programs";
/// Seconds for each program.
const SECONDS: u64 = 60;

/// By program: with its bug, and its correct twin.
#[derive(Default, Deserialize, Serialize)]
pub struct Programs(pub BTreeMap<String, [Figures; 2]>);

/// What is known.
pub fn read() -> Result<Programs> {
    kept::read(EVALUATION, NAME)
}

/// Measures what is missing.
pub fn measure(tool: &Path, predict: &Predict) -> Result<()> {
    for subject in manifest::read()? {
        let is_chosen = predict.names.is_empty() || predict.names.contains(&subject.name);
        let mut programs = read()?;
        let is_known = programs.0.contains_key(&subject.name) && !predict.again;
        if subject.language() != Language::C || !is_chosen || is_known {
            continue;
        }
        let run = |kind: Program| -> Result<Figures> {
            let target = build::build(tool, &subject, kind)?;
            let seconds = predict.time.unwrap_or(SECONDS);
            let mut command = shell::raddle(tool, &target.directory, ["predict"]);
            command.args(["--message-format", "json"]);
            command.args(["--tries", &TRIES.to_string()]);
            command.args(["--time", &format!("{seconds}s")]);
            command.args(target.arguments);
            let mut figures = Figures::new("", seconds)?;
            // Programs of C name their sources as the compiler was given them.
            let root = format!("{}/", repository::root().display());
            figures.read(&predict_json(&mut command)?.replace(&root, ""))?;
            Ok(figures)
        };
        let both = [run(Program::Buggy), run(Program::Twin)];
        let [buggy, twin] = both.map(|one| one.with_context(|| subject.name.clone()));
        let (buggy, twin) = (buggy?, twin?);
        println!(
            "{}: findings: {:?}, of its twin: {:?}",
            subject.name, buggy.findings, twin.findings
        );
        programs.0.insert(subject.name.clone(), [buggy, twin]);
        let text = serde_json::to_string_pretty(&programs)?;
        kept::write(EVALUATION, NAME, &text)?;
    }
    Ok(())
}
