//! Of which directories an execution that changes files gets a private view.
//!
//! These are the workspace, where cargo builds, where the program runs, and the directories for
//! temporary files. Each becomes an overlay in the execution's own mount namespace
//! (`crates/runtime/src/view.rs`). An overlay hides what is mounted below it, so that every such
//! mount becomes a part of the view too.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use raddle_abi::control::{VIEW_SIZE, view};

use crate::Target;

/// Where programs put temporary files, whatever `TMPDIR` says.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// File systems that are no place for files, or refuse to stand below an overlay.
const SPECIAL: [&str; 16] = [
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "fusectl",
    "hugetlbfs",
    "mqueue",
    "nsfs",
    "proc",
    "sysfs",
    "tracefs",
];

/// One line of the kernel's list of mounts.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    path: PathBuf,
    is_read_only: bool,
    kind: String,
}

impl Mount {
    fn takes_overlay(&self) -> bool {
        !self.is_read_only && !SPECIAL.contains(&self.kind.as_str())
    }
}

/// What the runtime needs to know to make a view for executions of `target`.
pub(crate) fn encode(target: &Target) -> Vec<u8> {
    let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let mut bytes = Vec::new();
    for (kind, path) in entries(&directories(target), &parse(&mounts)) {
        bytes.push(kind);
        bytes.extend_from_slice(path.as_os_str().as_bytes());
        bytes.push(0);
    }
    // Without any, the runtime says that there is no view.
    if bytes.len() >= VIEW_SIZE {
        bytes.clear();
    }
    bytes
}

/// Directories of a target that exist, without links.
fn directories(target: &Target) -> BTreeSet<PathBuf> {
    let variable = target.env.iter().rev().find(|(name, _)| name == "TMPDIR");
    let variable = variable.map_or_else(std::env::temp_dir, |(_, value)| PathBuf::from(value));
    let temporary = TEMPORARY.iter().map(PathBuf::from);
    let all = target.private.iter().cloned().chain(temporary);
    all.chain([target.cwd.clone(), variable])
        .filter_map(|path| path.canonicalize().ok())
        .filter(|path| path.is_dir())
        .collect()
}

/// What has to be mounted, in this order.
fn entries(directories: &BTreeSet<PathBuf>, mounts: &[Mount]) -> Vec<(u8, PathBuf)> {
    let mut entries = Vec::new();
    let mut covered = BTreeSet::new();
    for directory in directories {
        let is_below = covered
            .iter()
            .any(|above: &PathBuf| directory.starts_with(above));
        let mount = mounts
            .iter()
            .rev()
            .filter(|mount| directory.starts_with(&mount.path))
            .max_by_key(|mount| mount.path.components().count());
        // Nothing can stand over the root directory, in which the process already is.
        let is_root = directory.parent().is_none();
        if is_below || is_root || !mount.is_some_and(Mount::takes_overlay) {
            continue;
        }
        covered.insert(directory.clone());
        entries.push((view::OVERLAY, directory.clone()));
        let mut seen = BTreeSet::new();
        // Where several are mounted at the same place, the last one is seen.
        let below = mounts.iter().rev().filter(|mount| {
            mount.path != *directory
                && mount.path.starts_with(directory)
                && seen.insert(mount.path.clone())
        });
        let mut below: Vec<&Mount> = below.collect();
        below.sort_by_key(|mount| mount.path.components().count());
        entries.extend(below.into_iter().map(|mount| {
            let is_overlay = mount.takes_overlay() && mount.path.is_dir();
            let kind = if is_overlay {
                view::OVERLAY
            } else {
                view::BIND
            };
            (kind, mount.path.clone())
        }));
    }
    entries
}

fn parse(text: &[u8]) -> Vec<Mount> {
    let lines = text.split(|byte| *byte == b'\n');
    lines.filter_map(parse_line).collect()
}

fn parse_line(line: &[u8]) -> Option<Mount> {
    const PATH: usize = 4;
    let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let end = fields.iter().position(|field| *field == b"-")?;
    let options = String::from_utf8_lossy(fields.get(PATH + 1)?);
    Some(Mount {
        path: PathBuf::from(std::ffi::OsString::from_vec(unescape(fields.get(PATH)?))),
        is_read_only: options.split(',').any(|option| option == "ro"),
        kind: String::from_utf8_lossy(fields.get(end + 1)?).into_owned(),
    })
}

/// The kernel writes spaces and the like as three octal digits after a backslash.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let [first, others @ ..] = rest {
        let digits = others.get(..3).and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 8).ok()
        });
        match digits.filter(|_| *first == b'\\') {
            Some(byte) => {
                bytes.push(byte);
                rest = &others[3..];
            }
            None => {
                bytes.push(*first);
                rest = others;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 27 0:27 / /tmp rw,relatime shared:3 - tmpfs tmpfs rw
31 30 254:1 /a\\040b /tmp/a\\040b rw - ext4 /dev/vdb rw
32 27 254:2 / /cd ro,relatime - iso9660 /dev/sr0 ro
33 30 0:28 / /tmp/proc rw - proc proc rw
";

    fn check(directories: &[&str]) -> Vec<(u8, String)> {
        let directories = directories.iter().map(PathBuf::from).collect();
        let entries = entries(&directories, &parse(MOUNTS.as_bytes()));
        let shown = |path: PathBuf| path.display().to_string();
        let shown = entries.into_iter().map(|(kind, path)| (kind, shown(path)));
        shown.collect()
    }

    #[test]
    fn directories_below_others_are_covered_by_them() {
        let home = (view::OVERLAY, "/home/x".to_owned());
        assert_eq!(check(&["/home/x", "/home/x/target"]), [home]);
        assert_eq!(check(&["/home/x", "/home/xy"]).len(), 2);
    }

    #[test]
    fn mounts_below_stay_visible() {
        let entries = check(&["/tmp", "/tmp/a b/c"]);
        assert_eq!(entries[0], (view::OVERLAY, "/tmp".to_owned()));
        assert_eq!(entries.len(), 3, "{entries:?}");
        assert!(entries.contains(&(view::BIND, "/tmp/proc".to_owned())));
    }

    #[test]
    fn nothing_stands_over_the_root_or_what_cannot_be_written() {
        assert_eq!(check(&["/", "/cd/x", "/proc/1"]), []);
    }
}
