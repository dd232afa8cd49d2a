//! A project of our own, beside the user's: its one program runs generated tests.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use raddle_generate::supplied::CRATE;

use crate::exit::{Exit, Failure, OrExit};
use crate::metadata::{Metadata, Package};

/// Name of the project's package, and of its program.
pub(crate) const NAME: &str = "raddle-harness";

/// Name of the target with tests that fail.
pub(crate) const TESTS: &str = "generated";

/// Directory with the tests of each finding, under its id: the next run writes other tests.
const KEPT: &str = "kept";

/// Does nothing, until there is something to do.
const EMPTY: &str = "fn main() {}\n";

/// What the project depends on.
pub(crate) struct Dependency {
    /// The package.
    pub name: String,
    /// How it is written in Cargo.toml.
    pub value: String,
}

impl Dependency {
    /// A package as the user's workspace has it: the same version and the same features.
    pub(crate) fn of(metadata: &Metadata, package: &Package) -> Self {
        let features: Vec<_> = metadata
            .features(&package.id)
            .iter()
            .map(|name| format!("{name:?}"))
            .collect();
        let place = match package.source.as_deref() {
            None => {
                let directory = package.manifest_path.parent().unwrap_or(Path::new("."));
                format!("path = {:?}", directory.display().to_string())
            }
            Some(source) => match source.strip_prefix("git+") {
                Some(git) => {
                    let (url, revision) = git.split_once('#').unwrap_or((git, ""));
                    let url = url.split('?').next().unwrap_or(url);
                    format!("git = {url:?}, rev = {revision:?}")
                }
                None => format!("version = {:?}", format!("={}", package.version)),
            },
        };
        Self {
            name: package.name.clone(),
            value: format!(
                "{{ {place}, default-features = false, features = [{}] }}",
                features.join(", ")
            ),
        }
    }

    /// The same, by the name that it has in paths of the package that depends on it.
    pub(crate) fn named(metadata: &Metadata, name: &str, package: &Package) -> Self {
        let own = Self::of(metadata, package);
        let mut targets = package.targets.iter();
        match targets.any(|target| target.name.replace('-', "_") == name) {
            true => own,
            false => Self {
                value: own
                    .value
                    .replacen("{ ", &format!("{{ package = {:?}, ", package.name), 1),
                name: name.to_owned(),
            },
        }
    }

    /// A package of the registry, with its default features and these.
    pub(crate) fn published(name: &str, version: &str, features: &[String]) -> Self {
        let version = format!("={version}");
        Self {
            name: name.to_owned(),
            value: format!("{{ version = {version:?}, features = {features:?} }}"),
        }
    }
}

/// The project.
pub(crate) struct Scratch {
    directory: Occupied,
    user: Option<User>,
    harness: Option<PathBuf>,
}

/// What the project takes from the user's.
struct User {
    root: PathBuf,
    results: PathBuf,
}

impl Scratch {
    /// Writes the project, here or beside if another run works here, with the versions of `lock` where it names them, and with the user's harness file as
    /// its library. What was built in it before stays.
    pub(crate) fn create(
        directory: PathBuf,
        dependencies: &[Dependency],
        lock: Option<&Path>,
        harness: Option<PathBuf>,
    ) -> Result<Self, Failure> {
        let library = harness.as_ref().map(|file| {
            let file = file.display().to_string();
            format!("[lib]\nname = {CRATE:?}\npath = {file:?}\n\n")
        });
        let directory = Occupied::first_free(&directory)
            .with_context(|| format!("cannot write to {}", directory.display()))
            .or_exit(Exit::Unsupported)?;
        let scratch = Self {
            directory,
            user: None,
            harness,
        };
        let library = library.unwrap_or_default();
        let lines = dependencies.iter();
        let lines: String = lines
            .map(|one| format!("{} = {}\n", one.name, one.value))
            .collect();
        let manifest = format!(
            "# Written by raddle.\n[package]\nname = {NAME:?}\nversion = \"0.0.0\"\n\
             edition = \"2024\"\npublish = false\n\n{library}[workspace]\n\n[lints.rust]\nwarnings = \"allow\"\n\n[dependencies]\n{lines}"
        );
        scratch.write("Cargo.toml", &manifest)?;
        if !scratch.directory.path.join("src/main.rs").exists() {
            scratch.write("src/main.rs", EMPTY)?;
        }
        scratch.lock(|| fs::read_to_string(lock?).ok())?;
        Ok(scratch)
    }

    /// Writes a lock file, unless there is one.
    pub(crate) fn lock(&self, lock: impl FnOnce() -> Option<String>) -> Result<(), Failure> {
        match self.directory.path.join("Cargo.lock").exists() {
            true => Ok(()),
            false => lock().map_or(Ok(()), |text| self.write("Cargo.lock", &text)),
        }
    }

    /// With findings kept where the user's are, so that other commands find them.
    pub(crate) fn for_user(self, metadata: &Metadata) -> Self {
        Self {
            user: Some(User {
                root: metadata.workspace_root.clone(),
                results: metadata.results(),
            }),
            ..self
        }
    }

    /// The user's harness file.
    pub(crate) fn harness(&self) -> Option<&Path> {
        self.harness.as_deref()
    }

    /// Where findings are kept, if not in the project itself.
    pub(crate) fn results(&self) -> Option<&Path> {
        self.user.as_ref().map(|user| user.results.as_path())
    }

    /// The user's workspace, if it is beside one.
    pub(crate) fn user_root(&self) -> Option<&Path> {
        self.user.as_ref().map(|user| user.root.as_path())
    }

    /// Its Cargo.toml.
    pub(crate) fn manifest(&self) -> PathBuf {
        self.directory.path.join("Cargo.toml")
    }

    /// Where it is built.
    pub(crate) fn target(&self) -> PathBuf {
        self.directory.path.join("target")
    }

    /// Writes its program. What has not changed is not touched, so that it is not built again.
    pub(crate) fn write_program(&self, source: &str) -> Result<(), Failure> {
        self.write("src/main.rs", source)
    }

    /// Writes tests that fail, and says where.
    pub(crate) fn write_tests(&self, source: &str) -> Result<PathBuf, Failure> {
        let name = format!("tests/{TESTS}.rs");
        self.write(&name, source)?;
        Ok(self.directory.path.join(name))
    }

    /// Keeps the tests that show a finding, for its replay.
    pub(crate) fn keep_tests(&self, finding: &str, source: &str) -> Result<(), Failure> {
        self.write(&format!("{KEPT}/{finding}.rs"), source)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        self.directory.write(name, text)
    }
}

/// The tests that were kept for a finding in the project with this Cargo.toml.
pub(crate) fn kept_tests(manifest: &Path, finding: &str) -> Option<PathBuf> {
    let is_id = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let file = format!("{KEPT}/{finding}.rs");
    let path = manifest.parent()?.join(file);
    (finding.bytes().all(is_id) && path.is_file()).then_some(path)
}

/// Writes the tests of a finding again, if they were kept in the project with this Cargo.toml. Keep
/// what is returned while they are used.
pub(crate) fn restore_tests(manifest: &Path, finding: &str) -> Result<Option<Occupied>, Failure> {
    let kept = kept_tests(manifest, finding);
    let (Some(kept), Some(directory)) = (kept, manifest.parent()) else {
        return Ok(None);
    };
    let source = fs::read_to_string(&kept)
        .with_context(|| format!("cannot read {}", kept.display()))
        .or_exit(Exit::Unsupported)?;
    let occupied = Occupied::at(directory)
        .with_context(|| format!("cannot write to {}", directory.display()))
        .or_exit(Exit::Unsupported)?;
    let Some(occupied) = occupied else {
        let sentence = format!(
            "`generate` is at work in {}: replay {finding} when it is done",
            directory.display()
        );
        return Err(Failure::new(Exit::Unsupported, sentence));
    };
    occupied.write(&format!("tests/{TESTS}.rs"), &source)?;
    Ok(Some(occupied))
}

/// A directory that no other run works in as long as this lives: each writes a program of its own, and starts it
/// again and again.
pub(crate) struct Occupied {
    path: PathBuf,
    _lock: File,
}

impl Occupied {
    /// The directory itself, or else the first of those with a number behind.
    fn first_free(directory: &Path) -> io::Result<Self> {
        let mut path = directory.to_owned();
        for number in 2_u32.. {
            fs::create_dir_all(&path)?;
            if let Some(occupied) = Self::at(&path)? {
                return Ok(occupied);
            }
            path = directory.to_owned();
            // No version ends like this.
            path.as_mut_os_string().push(format!(".{number}"));
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// This directory, unless another run works in it.
    fn at(directory: &Path) -> io::Result<Option<Self>> {
        let lock = File::create(directory.join(".lock"))?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => Ok(None),
            // There are file systems without locks.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(Self {
                path: directory.to_owned(),
                _lock: lock,
            })),
        }
    }

    /// Writes a file, unless it is there with this text: what is not touched is not built again.
    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.path.join(name);
        if fs::read_to_string(&path).is_ok_and(|present| present == text) {
            return Ok(());
        }
        let parent = path.parent().unwrap_or(&self.path);
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, text))
            .with_context(|| format!("cannot write {}", path.display()))
            .or_exit(Exit::Unsupported)
    }
}

#[cfg(test)]
mod tests {
    use super::Occupied;

    #[test]
    fn runs_at_the_same_time_have_directories_of_their_own() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("spin-0.9.2");
        let [first, second, third] = [(); 3].map(|()| Occupied::first_free(&directory).unwrap());
        assert_eq!(first.path, directory);
        assert_eq!(second.path, parent.path().join("spin-0.9.2.2"));
        assert_eq!(third.path, parent.path().join("spin-0.9.2.3"));
        drop(second);
        let next = Occupied::first_free(&directory).unwrap();
        assert_eq!(next.path, parent.path().join("spin-0.9.2.2"));
    }
}
