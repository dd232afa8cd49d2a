//! Crates depend only downwards. The list below is the whole truth about who may know whom.

use std::fs;

use anyhow::{Context, Result};

use super::Complaint;
use crate::repository;

/// Each crate's directory and the crates of ours that it may depend on.
const LAYERS: [(&str, &[&str]); 12] = [
    ("attributes", &[]),
    ("raddle", &["attributes"]),
    ("abi", &[]),
    ("trace", &["abi"]),
    ("schedule", &["abi", "trace"]),
    ("runtime", &["abi", "trace", "schedule"]),
    ("instrument", &["abi", "trace"]),
    ("analysis", &["abi", "trace"]),
    ("campaign", &["abi", "trace", "schedule", "analysis"]),
    ("generate", &["abi", "trace", "schedule"]),
    ("report", &["abi", "trace"]),
    (
        "cli",
        &[
            "abi",
            "trace",
            "schedule",
            "instrument",
            "analysis",
            "campaign",
            "generate",
            "report",
        ],
    ),
];

/// Crates that are compiled into the program under test. Of foreign crates they may only have
/// optional ones, which are absent there.
const BARE: [&str; 4] = ["abi", "trace", "schedule", "runtime"];

/// Checks the manifests of all crates.
pub fn check() -> Result<Vec<Complaint>> {
    let mut complaints = Vec::new();
    for entry in fs::read_dir(repository::root().join("crates"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let file = format!("crates/{name}/Cargo.toml");
        let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| *layer == name) else {
            let sentence = "is in no layer: add it to xtask/src/tidy/layers.rs";
            complaints.push(Complaint::error(file, 0, sentence));
            continue;
        };
        let text = fs::read_to_string(repository::root().join(&file))
            .with_context(|| format!("{file} cannot be read"))?;
        let manifest: toml::Table = toml::from_str(&text).with_context(|| file.clone())?;
        for (dependency, optional) in dependencies(&manifest) {
            let sentence = match dependency.strip_prefix("raddle-") {
                Some(own) if !allowed.contains(&own) => format!("{name} must not depend on {own}"),
                None if !optional && BARE.contains(&name.as_str()) => {
                    format!(
                        "{name} goes into the program under test and must not depend on {dependency}"
                    )
                }
                _ => continue,
            };
            complaints.push(Complaint::error(&file, 0, sentence));
        }
    }
    Ok(complaints)
}

/// Names of all dependencies that are not only for tests, and whether they are optional.
fn dependencies(manifest: &toml::Table) -> Vec<(&str, bool)> {
    let tables = ["dependencies", "build-dependencies"];
    let tables = tables
        .iter()
        .filter_map(|table| manifest.get(*table)?.as_table());
    let entries = tables.flatten().map(|(name, value)| {
        let optional = value.get("optional").and_then(toml::Value::as_bool);
        (name.as_str(), optional.unwrap_or(false))
    });
    entries.collect()
}
