//! How source files are shown: relative to the workspace or to where the program stands, else by
//! package, else as `std`.

use std::path::{Component, Path, PathBuf};

/// Whose code a place is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    /// A package of the workspace.
    Workspace,
    /// Any other package.
    Dependency,
    /// The standard library, or code without source.
    Std,
}

/// Knows where the user's sources are.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    /// The workspace, and the directory of the program: one that is tested from another directory
    /// may have been built in its own.
    homes: [PathBuf; 2],
}

impl Paths {
    /// Shows files relative to this workspace, or else to the directory of this executable.
    pub fn new(workspace: &Path, executable: &Path) -> Self {
        let beside = executable.parent().unwrap_or(executable);
        let homes = [workspace, beside];
        Self {
            homes: homes.map(|home| home.canonicalize().unwrap_or_else(|_| home.to_owned())),
        }
    }

    /// The file as it is shown, and whose it is.
    pub fn shown(&self, file: &str) -> (String, Owner) {
        if file.is_empty() {
            return (String::new(), Owner::Std);
        }
        if let Some(shown) = std_file(file) {
            return (shown, Owner::Std);
        }
        let path = normalised(Path::new(file));
        if path.is_relative() {
            // rustc names the files of workspace packages relative to the workspace.
            return (path.display().to_string(), Owner::Workspace);
        }
        for home in &self.homes {
            if let Ok(inside) = path.strip_prefix(home)
                && !inside.starts_with("target")
                && !inside.starts_with("vendor")
            {
                return (inside.display().to_string(), Owner::Workspace);
            }
        }
        (package_file(&path), Owner::Dependency)
    }
}

/// Directories of the system's headers: what is inlined from there is nobody's code.
const SYSTEM: &[&str] = &["/usr/include/", "/usr/lib/"];

/// `std/...` for files of the standard library and of the packages built into it.
fn std_file(file: &str) -> Option<String> {
    if SYSTEM.iter().any(|directory| file.starts_with(directory)) {
        return Some(file.to_owned());
    }
    let is_std = file.starts_with("/rustc/")
        || file.contains("/lib/rustlib/src/rust/")
        || file.starts_with("/rust/deps/");
    if !is_std {
        return None;
    }
    let rest = match (file.find("/library/"), file.strip_prefix("/rust/deps/")) {
        (Some(at), _) => &file[at + "/library/".len()..],
        (None, Some(rest)) => rest,
        (None, None) => file.rsplit('/').next().unwrap_or(file),
    };
    Some(match rest.strip_prefix("std/") {
        Some(rest) => format!("std/{rest}"),
        None => format!("std/{rest}"),
    })
}

/// `name-version/...` for a file in cargo's registry or among its git checkouts; for other
/// files the part from the package's directory on, or all of it.
fn package_file(path: &Path) -> String {
    let parts: Vec<_> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(part) => part.to_str(),
            _ => None,
        })
        .collect();
    let after = |marker: [&str; 2], skip: usize| {
        let at = parts.windows(2).position(|pair| pair == marker)?;
        parts.get(at + 2 + skip..).filter(|rest| rest.len() > 1)
    };
    let rest = after(["registry", "src"], 1)
        .or_else(|| after(["git", "checkouts"], 0))
        .or_else(|| {
            let source = parts
                .iter()
                .rposition(|part| matches!(*part, "src" | "tests"))?;
            parts.get(source.saturating_sub(1)..)
        });
    rest.map_or_else(|| path.display().to_string(), |rest| rest.join("/"))
}

/// Without `.` and `..`.
fn normalised(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                result.pop();
            }
            part => result.push(part),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_shown_by_who_owns_them() {
        let paths = Paths {
            homes: ["/ws", "/built"].map(PathBuf::from),
        };
        for (file, shown, owner) in [
            ("/ws/src/lib.rs", "src/lib.rs", Owner::Workspace),
            ("/ws/a/../b/src/x.rs", "b/src/x.rs", Owner::Workspace),
            ("src/lib.rs", "src/lib.rs", Owner::Workspace),
            (
                "/cargo/registry/src/index-1/flume-0.11.0/src/lib.rs",
                "flume-0.11.0/src/lib.rs",
                Owner::Dependency,
            ),
            (
                "/cargo/git/checkouts/x-12ab/34cd/src/lib.rs",
                "x-12ab/34cd/src/lib.rs",
                Owner::Dependency,
            ),
            (
                "/elsewhere/pkg/src/a/b.rs",
                "pkg/src/a/b.rs",
                Owner::Dependency,
            ),
            ("/built/a.c", "a.c", Owner::Workspace),
            ("/elsewhere/a.c", "/elsewhere/a.c", Owner::Dependency),
            (
                "/rustc/59807616e/library/std/src/sync/mpsc.rs",
                "std/src/sync/mpsc.rs",
                Owner::Std,
            ),
            (
                "/rustc/59807616e/library/core/src/ptr/mod.rs",
                "std/core/src/ptr/mod.rs",
                Owner::Std,
            ),
            (
                "/rust/deps/hashbrown-0.15.2/src/raw.rs",
                "std/hashbrown-0.15.2/src/raw.rs",
                Owner::Std,
            ),
            (
                "/usr/include/c++/12/bits/std_mutex.h",
                "/usr/include/c++/12/bits/std_mutex.h",
                Owner::Std,
            ),
            ("", "", Owner::Std),
        ] {
            assert_eq!(paths.shown(file), (shown.to_owned(), owner), "{file}");
        }
    }
}
