//! Finds the clang that compiles for us: the newest whose bitcode rustc's LLVM can read.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Language;

/// Names the clang to use, instead of the newest one.
const VARIABLE: &str = "RADDLE_CLANG";

/// The oldest major version that is known to work.
const OLDEST: u32 = 14;

/// A clang that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clang {
    /// The program.
    pub path: PathBuf,
    /// Its major version.
    pub major: u32,
}

/// Why there is none.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ClangError {
    /// There is none at all.
    #[error(
        "there is no clang, which compiles C and C++ for Raddle; install it \
         (on Debian and Ubuntu: apt-get install clang)"
    )]
    Missing,
    /// What there is has the wrong version.
    #[error(
        "{} is clang {major}, but Raddle needs one from {OLDEST} up to {newest}, which is the \
         LLVM of this rustc; install such a clang, or name it in {VARIABLE}", path.display()
    )]
    Version {
        /// The program.
        path: PathBuf,
        /// Its major version.
        major: u32,
        /// The newest that can be used.
        newest: u32,
    },
    /// It does not say its version.
    #[error(
        "`{} --version` does not name a version of clang; name a clang in {VARIABLE}", path.display()
    )]
    Unknown {
        /// The program.
        path: PathBuf,
    },
}

impl Clang {
    /// The compiler for a language. The driver's mode makes it link the right libraries.
    pub(super) fn command(&self, language: Language) -> Command {
        let mut command = Command::new(&self.path);
        if language == Language::Cxx {
            command.arg("--driver-mode=g++");
        }
        command
    }
}

/// The clang named by the user, or the newest in `PATH` that is not newer than `newest`.
pub fn find_clang(newest: u32) -> Result<Clang, ClangError> {
    if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        let path = PathBuf::from(path);
        let path = in_path(&path).unwrap_or(path);
        return usable(path, newest);
    }
    let plain = in_path("clang".as_ref()).map(|path| usable(path, newest));
    let numbered = (OLDEST..=newest)
        .rev()
        .find_map(|major| Some((in_path(format!("clang-{major}").as_ref())?, major)))
        .map(|(path, major)| Clang { path, major });
    match (plain, numbered) {
        (Some(Ok(plain)), Some(numbered)) if numbered.major > plain.major => Ok(numbered),
        (Some(Ok(plain)), _) => Ok(plain),
        (_, Some(numbered)) => Ok(numbered),
        (Some(Err(error)), None) => Err(error),
        (None, None) => Err(ClangError::Missing),
    }
}

fn usable(path: PathBuf, newest: u32) -> Result<Clang, ClangError> {
    match version(&path) {
        None => Err(ClangError::Unknown { path }),
        Some(major) if (OLDEST..=newest).contains(&major) => Ok(Clang { path, major }),
        Some(major) => Err(ClangError::Version {
            path,
            major,
            newest,
        }),
    }
}

/// The major version: from the file that the path leads to, else by asking.
fn version(path: &Path) -> Option<u32> {
    let target = path.canonicalize().ok()?;
    if let Some(major) = version_in_path(&target) {
        return Some(major);
    }
    let output = Command::new(path).arg("--version").output().ok()?;
    parse_version(&String::from_utf8_lossy(&output.stdout))
}

/// The version in a name such as `clang-17` or `lib/llvm-17/bin/clang`.
fn version_in_path(path: &Path) -> Option<u32> {
    let name = path.file_name().and_then(OsStr::to_str)?;
    if let Some(major) = name.strip_prefix("clang-").and_then(leading_number) {
        return Some(major);
    }
    let binaries = path.parent().filter(|_| name == "clang")?;
    let prefix = binaries.parent().filter(|_| binaries.ends_with("bin"))?;
    let directory = prefix.file_name().and_then(OsStr::to_str)?;
    directory.strip_prefix("llvm-")?.parse().ok()
}

fn parse_version(text: &str) -> Option<u32> {
    leading_number(text.split_once("clang version ")?.1)
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(text.len());
    text[..end].parse().ok()
}

/// The program that a name means, as a shell would look for it.
fn in_path(name: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 {
        return name.is_file().then(|| name.to_owned());
    }
    let directories = std::env::var_os("PATH")?;
    std::env::split_paths(&directories)
        .map(|directory| directory.join(name))
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::{ClangError, parse_version, usable, version, version_in_path};

    #[test]
    fn versions_are_read_from_what_clang_says() {
        let said = "Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu\n";
        assert_eq!(parse_version(said), Some(14));
        assert_eq!(parse_version("clang version 21.1.8 (git)"), Some(21));
        assert_eq!(parse_version("gcc (Debian 12.2.0) 12.2.0"), None);
    }

    #[test]
    fn versions_are_read_from_the_usual_directories() {
        let version = |path: &str| version_in_path(path.as_ref());
        assert_eq!(version("/usr/lib/llvm-14/bin/clang"), Some(14));
        assert_eq!(version("/usr/lib/llvm-14/bin/clang-14"), Some(14));
        assert_eq!(version("/opt/llvm-19.1/bin/clang"), None);
        assert_eq!(version("/usr/lib/llvm-14/clang"), None);
        assert_eq!(version("/usr/bin/clang"), None);
        assert_eq!(version("/usr/lib/llvm-14/bin/wrapper"), None);
    }

    #[test]
    fn versions_are_read_from_names_and_held_to_the_limits() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let real = directory.path().join("clang-30");
        let link = directory.path().join("clang");
        std::fs::write(&real, "").expect("a written file");
        std::os::unix::fs::symlink(&real, &link).expect("a link");
        assert_eq!(version(&link), Some(30));
        let error = usable(link.clone(), 22).expect_err("30 is newer than 22");
        assert!(matches!(
            error,
            ClangError::Version {
                major: 30,
                newest: 22,
                ..
            }
        ));
        assert!(error.to_string().contains("from 14 up to 22"));
        assert_eq!(usable(link, 30).expect("30 is allowed").major, 30);
    }
}
