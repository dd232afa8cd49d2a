//! Programs of the system's archive: installed as they are, or built from their source packages.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{repository, shell};

/// Where an installed program is; its package is installed if need be.
pub fn installed(name: &str, package: &str) -> Result<PathBuf> {
    let look = || {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut places = std::env::split_paths(&path).map(|directory| directory.join(name));
        places.find(|place| place.is_file())
    };
    if look().is_none() {
        eprintln!("xtask: there is no {name}; installing the package {package}");
        install(&[package])?;
    }
    look().with_context(|| format!("there is no {name}: install {package} and try again"))
}

/// Makes sure that packages are there.
pub fn install(packages: &[&str]) -> Result<()> {
    let mut command = Command::new("apt-get");
    shell::run(command.args(["install", "-y", "-q"]).args(packages))
}

/// The directory with the unpacked sources of a package.
pub fn source(package: &str) -> Result<PathBuf> {
    let directory = repository::scratch("archive").join(package);
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    fs::create_dir_all(&directory)?;
    if !shell::succeeds(Command::new("dpkg-source").arg("--version")) {
        eprintln!("xtask: there is no dpkg-source; installing the package dpkg-dev");
        install(&["dpkg-dev"])?;
    }
    let options = source_options()?;
    let mut get = Command::new("apt-get");
    shell::run(
        get.args(&options)
            .args(["source", "-q", package])
            .current_dir(&directory),
    )?;
    let unpacked = fs::read_dir(&directory)?.filter_map(Result::ok);
    let mut directories = unpacked
        .map(|entry| entry.path())
        .filter(|path| path.is_dir());
    directories
        .next()
        .with_context(|| format!("the source package of {package} has no directory"))
}

/// A directory with a file or directory of a repository that somebody has published, at one commit.
/// Where it cannot be reached, git's own `url.<copy>.insteadOf` names a copy.
pub fn published(repository: &str, commit: &str, path: &str) -> Result<PathBuf> {
    let directory = repository::scratch("archive").join(commit);
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    fs::create_dir_all(&directory)?;
    let fetch = [
        "fetch",
        "--quiet",
        "--depth=1",
        "--filter=blob:none",
        "origin",
    ];
    for arguments in [
        vec!["init", "--quiet"],
        vec!["remote", "add", "origin", repository],
        [&fetch[..], &[commit]].concat(),
        vec!["checkout", "--quiet", commit, "--", path],
    ] {
        let mut git = Command::new("git");
        shell::run(git.args(arguments).current_dir(&directory))
            .with_context(|| format!("{repository} cannot be had"))?;
    }
    Ok(directory)
}

/// Options with which apt looks for source packages in the archives that the machine takes its
/// programs from. The machine's own lists stay as they are.
fn source_options() -> Result<Vec<String>> {
    let scratch = repository::scratch("archive");
    let lists = scratch.join("lists");
    fs::create_dir_all(lists.join("partial"))?;
    let parts = scratch.join("parts");
    fs::create_dir_all(&parts)?;
    let mut any = false;
    let places = fs::read_dir("/etc/apt/sources.list.d")
        .into_iter()
        .flatten();
    let places = places.filter_map(|entry| Some(entry.ok()?.path()));
    for place in places.chain([PathBuf::from("/etc/apt/sources.list")]) {
        let Some(text) = sources_of(&place) else {
            continue;
        };
        let name = place.file_name().context("a list has a name")?;
        fs::write(parts.join(name), text)?;
        any = true;
    }
    if !any {
        bail!("apt has no list of archives: source packages cannot be downloaded");
    }
    let option = |name: &str, value: &Path| format!("-oDir::{name}={}", value.display());
    let options = vec![
        option("Etc::SourceList", Path::new("/dev/null")),
        option("Etc::SourceParts", &parts),
        option("State::Lists", &lists),
    ];
    let mut update = Command::new("apt-get");
    // One archive that does not answer does not matter if the others have the package.
    if shell::run(update.args(&options).args(["update", "-q"])).is_err() {
        eprintln!("xtask: not every archive has a list of source packages");
    }
    Ok(options)
}

/// A list of archives of programs turned into one of archives of sources; nothing for files of
/// other kinds.
fn sources_of(place: &Path) -> Option<String> {
    let extension = place.extension()?.to_str()?;
    if !matches!(extension, "list" | "sources") {
        return None;
    }
    let mut text = String::new();
    for line in fs::read_to_string(place).ok()?.lines() {
        let line = match line.strip_prefix("deb ") {
            Some(rest) => format!("deb-src {rest}"),
            None if line.starts_with("Types:") => "Types: deb-src".to_owned(),
            None => line.to_owned(),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{line}");
    }
    Some(text)
}
