//! A crate with one bug's test in it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::bugs::{Bug, Release};
use crate::repository;

/// Makes the crate, in a directory of its own.
pub fn probe(bug: &Bug, release: &Release) -> Result<PathBuf> {
    let Release { version, checksum } = release;
    let package = bug.package();
    let directory = repository::scratch("bugs").join(format!("{}-{version}", bug.name));
    fs::create_dir_all(directory.join("src"))?;
    fs::create_dir_all(directory.join("tests"))?;
    fs::copy(source(bug), directory.join("tests/bug.rs"))
        .with_context(|| format!("there is no {}", source(bug).display()))?;
    write_if_new(&directory.join("src/lib.rs"), "")?;
    let manifest = format!(
        "[package]\nname = \"probe\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n[dependencies]\n\
         {package} = {{ version = \"={version}\", features = {:?} }}\n",
        bug.features
    );
    write_if_new(&directory.join("Cargo.toml"), &manifest)?;
    // Cargo adds what is missing, and keeps a version that was withdrawn if it stands here.
    let lock = format!(
        "version = 4\n\n[[package]]\nname = \"probe\"\nversion = \"0.1.0\"\ndependencies = [\"{package}\"]\n\n\
         [[package]]\nname = \"{package}\"\nversion = \"{version}\"\n\
         source = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"{checksum}\"\n"
    );
    if !directory.join("Cargo.lock").is_file() {
        fs::write(directory.join("Cargo.lock"), lock)?;
    }
    Ok(directory)
}

/// The bug's test.
pub fn source(bug: &Bug) -> PathBuf {
    let tests = repository::root().join("subjects/bugs");
    tests.join(format!("{}.rs", bug.name))
}

/// Leaves a file alone that is already so: cargo builds again what is newer.
fn write_if_new(path: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(path).ok().as_deref() != Some(text) {
        fs::write(path, text)?;
    }
    Ok(())
}
