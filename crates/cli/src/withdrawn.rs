//! Versions that were withdrawn from the registry. Cargo takes none of them anew, but keeps one that
//! a lock file names with its checksum, which cargo's own copy of the index still has.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::cargo_config::cargo_home;
use crate::cargo_locks;
use crate::metadata::cargo;

/// How lock files name the registry, wherever its packages are really taken from.
const SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// What the index says about a version.
#[derive(Deserialize)]
struct Entry {
    vers: String,
    cksum: String,
    #[serde(default)]
    yanked: bool,
}

/// The lock file of a project that depends on a version which was withdrawn; nothing if it was not, or
/// if the index does not have it. Cargo has to be asked for the version first, so that the index is there.
pub(crate) fn lock(project: &str, name: &str, version: &str) -> Option<String> {
    let indices = fs::read_dir(cargo_home()?.join("registry/index")).ok()?;
    let entries = indices.filter_map(Result::ok).filter_map(|index| {
        let cached = index.path().join(".cache").join(place(name));
        entry(&fs::read(cached).ok()?, version)
    });
    let entry = entries.filter(|entry| entry.yanked).last()?;
    Some(format!(
        "version = 4\n\n[[package]]\nname = {project:?}\nversion = \"0.0.0\"\ndependencies = [{name:?}]\n\n\
         [[package]]\nname = {name:?}\nversion = {version:?}\nsource = {SOURCE:?}\nchecksum = {:?}\n",
        entry.cksum
    ))
}

/// Whether cargo finds versions for all that a project depends on. Why it does not is said by the
/// build that follows.
pub(crate) fn resolves(manifest: &Path, is_offline: bool) -> bool {
    let mut command = Command::new(cargo());
    command.args(["generate-lockfile", "--quiet", "--manifest-path"]);
    command
        .arg(manifest)
        .args(is_offline.then_some("--offline"));
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else {
        return false;
    };
    let status = cargo_locks::watch(child.id(), || child.wait());
    status.is_ok_and(|status| status.is_ok_and(|status| status.success()))
}

/// Where an index has a package.
fn place(name: &str) -> PathBuf {
    let name = name.to_lowercase();
    let part = |from: usize, to: usize| name.get(from..to).unwrap_or_default();
    match name.len() {
        1 | 2 => [name.len().to_string().as_str(), &name].iter().collect(),
        3 => ["3", part(0, 1), &name].iter().collect(),
        _ => [part(0, 2), part(2, 4), &name].iter().collect(),
    }
}

/// A version in cargo's copy of the index: objects between zeros, among other things.
fn entry(cached: &[u8], version: &str) -> Option<Entry> {
    let parts = cached.split(|byte| *byte == 0);
    let entries = parts.filter_map(|part| serde_json::from_slice::<Entry>(part).ok());
    entries.into_iter().find(|entry| entry.vers == version)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{entry, place};

    #[test]
    fn versions_are_found_among_others() {
        let cached = b"\x03\x02\0\0\0etag: x\x000.9.1\0{\"vers\":\"0.9.1\",\"cksum\":\"aa\"}\0\
            0.9.2\0{\"name\":\"spin\",\"vers\":\"0.9.2\",\"cksum\":\"bb\",\"yanked\":true}\0";
        let found = entry(cached, "0.9.2").unwrap();
        assert_eq!((found.cksum.as_str(), found.yanked), ("bb", true));
        assert!(!entry(cached, "0.9.1").unwrap().yanked);
        assert!(entry(cached, "0.9").is_none());
    }

    #[test]
    fn packages_stand_where_cargo_puts_them() {
        for (name, expected) in [
            ("a", "1/a"),
            ("Cc", "2/cc"),
            ("log", "3/l/log"),
            ("spin", "sp/in/spin"),
        ] {
            assert_eq!(place(name), Path::new(expected));
        }
    }
}
