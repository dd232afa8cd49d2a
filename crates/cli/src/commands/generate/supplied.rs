//! The user's harness file: where it is, and what it may use.

use std::path::{Path, PathBuf};

use raddle_generate::supplied::FILE;

use crate::config::Config;
use crate::exit::{Exit, Failure};
use crate::metadata::{Metadata, Package};
use crate::scratch::Dependency;

/// The crate with which types say how values of them are made.
pub(super) const ARBITRARY: &str = "arbitrary";

/// The file that was named on the command line or in `raddle.toml`, or the one that lies beside the
/// package's Cargo.toml.
pub(super) fn find(
    named: Option<&Path>,
    metadata: &Metadata,
    package: Option<&Package>,
) -> Result<Option<PathBuf>, Failure> {
    let configured = Config::load(&metadata.workspace_root)?.generate.harness;
    let configured = configured.map(|file| metadata.workspace_root.join(file));
    if let Some(file) = named.map(Path::to_owned).or(configured) {
        return existing(&file).map(Some);
    }
    let usual = package.and_then(|package| package.manifest_path.parent());
    let usual = usual.map(|directory| directory.join(FILE));
    Ok(usual.filter(|file| file.is_file()))
}

/// A file that was named, which has to be there.
pub(super) fn existing(file: &Path) -> Result<PathBuf, Failure> {
    let absolute = std::path::absolute(file).ok();
    absolute.filter(|file| file.is_file()).ok_or_else(|| {
        let sentence = format!("there is no harness file {}", file.display());
        Failure::new(Exit::Usage, sentence)
    })
}

/// The package that a file belongs to: the one of the workspace in whose directory it lies.
pub(super) fn owner<'a>(metadata: &'a Metadata, file: &Path) -> Option<&'a Package> {
    let members = metadata.packages.iter();
    let members = members.filter(|package| metadata.workspace_members.contains(&package.id));
    let directory = |package: &Package| package.manifest_path.parent().map(Path::to_owned);
    members
        .filter(|package| directory(package).is_some_and(|one| file.starts_with(one)))
        .max_by_key(|package| directory(package).map(|one| one.components().count()))
}

/// What the file may use: its package, and what that and its tests depend on.
pub(super) fn dependencies(metadata: &Metadata, package: &Package) -> Vec<Dependency> {
    let own = package.library().map(|_| Dependency::of(metadata, package));
    let others = metadata.dependencies(&package.id).into_iter();
    let others = others.map(|(name, package)| Dependency::named(metadata, name, package));
    own.into_iter().chain(others).collect()
}
