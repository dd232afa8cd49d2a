//! Whether tests do the same when they are written down, on the classes of `subjects/generate` and on published types:
//! `crates/generate/src/comparison.rs` says what is compared.

use std::path::Path;

use anyhow::{Result, bail};

use super::{Generate, manifest, published, run};

/// Types of published crates that are looked at, the first ones of `subjects/generate.toml`.
const PUBLISHED: usize = 10;

/// A type, and what the tool has to be told about it.
struct Compared {
    name: String,
    type_name: String,
    options: Vec<String>,
    is_published: bool,
}

/// Compares so many tests of each type.
pub fn compare(tool: &Path, generate: &Generate, tests: u16) -> Result<()> {
    let (classes, directory) = (run::prepare()?, published::directory()?);
    let is_chosen =
        |one: &&Compared| generate.names.is_empty() || generate.names.contains(&one.name);
    let all = all()?;
    let chosen = all.iter().filter(is_chosen).enumerate();
    let (mut done, mut failed) = (0, Vec::new());
    for (_, one) in chosen.filter(|(index, _)| generate.shard.has(*index)) {
        let directory = if one.is_published {
            &directory
        } else {
            &classes
        };
        let options: Vec<&str> = one.options.iter().map(String::as_str).collect();
        let compared = run::compare(tool, directory, &one.type_name, (tests, &options))?;
        println!(
            "{}: {} the same in {} events, {} different, {} not compared, {} not recorded",
            one.type_name,
            compared.same,
            compared.events,
            compared.different.len(),
            compared.skipped,
            compared.incomplete
        );
        done += 1;
        for different in &compared.different {
            println!("{}\n\n{}", different.text, different.source);
        }
        if !compared.different.is_empty() || compared.same == 0 {
            failed.push(one.type_name.as_str());
        }
    }
    match (done, failed.as_slice()) {
        (0, _) => bail!("no subject of subjects/generate.toml has one of these names"),
        (_, []) => Ok(()),
        (_, failed) => bail!("not all tests do the same: {}", failed.join(", ")),
    }
}

fn all() -> Result<Vec<Compared>> {
    let classes = manifest::read()?.into_iter().map(|subject| Compared {
        type_name: subject.twin(),
        name: subject.name,
        options: Vec::new(),
        is_published: false,
    });
    let published = manifest::published()?.into_iter().take(PUBLISHED);
    let published = published.map(|one| {
        let package = format!("{}@{}", one.package(), one.clean);
        let features = one.features.iter();
        let features = features.flat_map(|name| ["--features".to_owned(), name.clone()]);
        Compared {
            options: ["--crate".to_owned(), package]
                .into_iter()
                .chain(features)
                .collect(),
            type_name: one.subject,
            name: one.name,
            is_published: true,
        }
    });
    Ok(classes.chain(published).collect())
}
