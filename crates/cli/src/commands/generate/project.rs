//! The project in which a type is tested: what it depends on.

use std::collections::BTreeSet;

use super::supplied;
use crate::arguments::GenerateCommand;
use crate::cache;
use crate::exit::{Exit, Failure};
use crate::metadata::{Metadata, Package};
use crate::scratch::{self, Dependency, Scratch};
use crate::withdrawn;

/// Crates of the standard library.
const STANDARD: [&str; 3] = ["std", "core", "alloc"];

/// What to write in the place of a name that names no crate, or only the standard library.
pub(super) fn without_crate(subject: &str) -> String {
    match subject.split_once("::") {
        Some((name, _)) if STANDARD.contains(&name) => format!(
            "`{subject}` is a type of the standard library, for which no tests are generated: name a type of this \
             workspace, of one of its dependencies, or of the registry (`--crate NAME@VERSION`); a type of yours that \
             has a `{subject}` in it is tested with it"
        ),
        _ => format!("say where `{subject}` comes from, like `my_crate::{subject}`"),
    }
}

/// The crates that a type's name begins with.
pub(super) fn crate_names(subject: &str) -> Vec<String> {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let paths = subject.split(|letter| !is_word(letter));
    let mut names: Vec<_> = paths
        .filter_map(|path| path.split_once("::"))
        .map(|(name, _)| name.to_owned())
        .filter(|name| !STANDARD.contains(&name.as_str()))
        .collect();
    names.dedup();
    names
}

/// A project for a package of the registry.
pub(super) fn published(
    package: &str,
    command: &GenerateCommand,
    names: &[String],
) -> Result<Scratch, Failure> {
    let flags = &command.cargo;
    let Some((name, version)) = package.split_once('@') else {
        let sentence =
            format!("`--crate {package}` lacks a version, as in `--crate {package}@1.0.0`");
        return Err(Failure::new(Exit::Usage, sentence));
    };
    let directory = cache::root()?
        .join("scratch")
        .join(format!("{name}-{version}"));
    if !names.iter().any(|known| *known == name.replace('-', "_")) {
        let sentence = format!("the type does not come from `{name}`: name it from there on");
        return Err(Failure::new(Exit::Usage, sentence));
    }
    let features = flags
        .features
        .iter()
        .flat_map(|list| list.split([',', ' ']))
        .filter(|name| !name.is_empty())
        .map(str::to_owned);
    let features: Vec<String> = features.collect();
    let dependency = Dependency::published(name, version, &features);
    let harness = command.harness.as_deref().map(supplied::existing);
    let scratch = Scratch::create(directory, &[dependency], None, harness.transpose()?)?;
    scratch.lock(|| {
        let is_offline = flags.offline || flags.frozen;
        match withdrawn::resolves(&scratch.manifest(), is_offline) {
            true => None,
            false => withdrawn::lock(scratch::NAME, name, version),
        }
    })?;
    Ok(scratch)
}

/// A project beside the user's.
pub(super) fn beside(command: &GenerateCommand, names: &[String]) -> Result<Scratch, Failure> {
    let metadata = Metadata::load(&command.cargo)?;
    let mut packages = Vec::new();
    for name in names {
        let package = metadata.library(name).ok_or_else(|| {
            let sentence = format!(
                "there is no library `{name}` in this workspace or among its dependencies; for one \
                 of the registry use `--crate NAME@VERSION`"
            );
            Failure::new(Exit::Usage, sentence)
        })?;
        packages.push(package);
    }
    let is_member = |package: &&&Package| metadata.workspace_members.contains(&package.id);
    let own = packages.iter().find(is_member).copied();
    let root = metadata
        .packages
        .iter()
        .find(|package| package.manifest_path.parent() == Some(metadata.workspace_root.as_path()));
    let harness = supplied::find(command.harness.as_deref(), &metadata, own.or(root))?;
    let mut dependencies: Vec<_> = packages
        .into_iter()
        .map(|package| Dependency::of(&metadata, package))
        .collect();
    if let Some(file) = &harness {
        let owner = supplied::owner(&metadata, file).or(own).or(root);
        let others = owner.map(|owner| supplied::dependencies(&metadata, owner));
        dependencies.extend(others.into_iter().flatten());
    }
    let arbitrary = metadata.library(supplied::ARBITRARY);
    dependencies.extend(arbitrary.map(|package| Dependency::of(&metadata, package)));
    let mut known = BTreeSet::new();
    dependencies.retain(|one| known.insert(one.name.clone()));
    let directory = metadata.results().join("generate").join(names.join("-"));
    let lock = metadata.workspace_root.join("Cargo.lock");
    let scratch = Scratch::create(directory, &dependencies, Some(&lock), harness)?;
    Ok(scratch.for_user(&metadata))
}
