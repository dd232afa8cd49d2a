//! The user's Rust toolchain, as cargo would choose it in the current directory.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context;

use crate::exit::{Exit, Failure, OrExit};

/// The only target that is instrumented.
pub(crate) const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Minor versions of Rust 1 that are known to work.
const OLDEST: u32 = 93;
const NEWEST: u32 = 95;

/// A toolchain that can be used.
#[derive(Clone, Debug)]
pub(crate) struct Toolchain {
    /// The compiler.
    pub rustc: OsString,
    /// `1.95.0`.
    pub release: String,
    /// Commit hash, or `unknown`.
    pub commit: String,
    /// Where its libraries are.
    pub sysroot: PathBuf,
    /// Major version of LLVM as rustc tells it.
    pub llvm: String,
}

impl Toolchain {
    /// Asks the compiler; fails if it is too old or for another machine.
    pub(crate) fn find(rustc: &OsStr) -> Result<Self, Failure> {
        // Each answer takes a compiler's start; asked at the same time they take one.
        let sysroot = Question::ask(rustc, &["--print", "sysroot"])?;
        let verbose = Question::ask(rustc, &["-vV"]).and_then(Question::answer);
        let sysroot = sysroot.answer();
        let verbose = verbose?;
        let field = |name: &str| field(&verbose, name);
        let release = field("release: ").unwrap_or("unknown").to_owned();
        check_release(&release)?;
        let host = field("host: ").unwrap_or("unknown");
        if host != TARGET {
            return Err(Failure::new(
                Exit::Unsupported,
                format!("raddle works with {TARGET} toolchains only, and this one is for {host}"),
            ));
        }
        Ok(Self {
            rustc: rustc.to_owned(),
            release,
            commit: field("commit-hash: ").unwrap_or("unknown").to_owned(),
            sysroot: PathBuf::from(sysroot?.trim_end()),
            llvm: field("LLVM version: ").unwrap_or("unknown").to_owned(),
        })
    }

    /// A directory name that is different for every compiler.
    pub(crate) fn directory_name(&self) -> String {
        let commit = self.commit.get(..9).unwrap_or(&self.commit);
        format!("{}-{commit}", self.release)
    }

    /// A warning, if this compiler is newer than those known to work.
    pub(crate) fn warning(&self) -> Option<String> {
        let minor = minor(&self.release)?;
        (minor > NEWEST).then(|| {
            format!(
                "rustc {} is newer than this version of raddle knows; if it misbehaves, use 1.{NEWEST}",
                self.release
            )
        })
    }

    /// The sources of the standard library, if they are installed.
    pub(crate) fn library_sources(&self) -> Option<PathBuf> {
        let directory = self.sysroot.join("lib/rustlib/src/rust/library");
        directory.is_dir().then_some(directory)
    }
}

/// A compiler that was asked something.
struct Question {
    command: String,
    child: Child,
}

impl Question {
    fn ask(rustc: &OsStr, arguments: &[&str]) -> Result<Self, Failure> {
        let name = Path::new(rustc).display();
        let child = Command::new(rustc)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run `{name}`; install Rust 1.{OLDEST} or newer"))
            .or_exit(Exit::Unsupported)?;
        let command = format!("{name} {}", arguments.join(" "));
        Ok(Self { command, child })
    }

    fn answer(self) -> Result<String, Failure> {
        let Self { command, child } = self;
        let output = child
            .wait_with_output()
            .with_context(|| format!("cannot wait for `{command}`"))
            .or_exit(Exit::Unsupported)?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            return Err(Failure::new(
                Exit::Unsupported,
                format!("`{command}` failed: {}", stderr.trim()),
            ));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn field<'a>(verbose: &'a str, name: &str) -> Option<&'a str> {
    verbose.lines().find_map(|line| line.strip_prefix(name))
}

fn minor(release: &str) -> Option<u32> {
    let mut parts = release.split('.');
    let major = parts.next()?;
    let minor = parts.next()?.parse().ok()?;
    (major == "1").then_some(minor)
}

fn check_release(release: &str) -> Result<(), Failure> {
    match minor(release) {
        Some(minor) if minor < OLDEST => Err(Failure::new(
            Exit::Unsupported,
            format!(
                "rustc {release} is too old: the oldest supported one is 1.{OLDEST} (try `rustup update`)"
            ),
        )),
        Some(_) => Ok(()),
        None => Err(Failure::new(
            Exit::Unsupported,
            format!("cannot tell the version of rustc from `{release}`"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::{Toolchain, check_release, field, minor};
    use crate::exit::Exit;

    #[test]
    fn an_old_compiler_is_named_with_the_oldest_supported() {
        let failure = check_release("1.80.1").unwrap_err();
        assert_eq!(failure.exit, Exit::Unsupported);
        assert!(failure.error.unwrap().to_string().contains("1.93"));
        for release in ["1.93.0", "1.95.0", "1.99.0-nightly"] {
            assert!(check_release(release).is_ok(), "{release}");
        }
        assert!(check_release("unknown").is_err());
    }

    #[test]
    fn only_newer_compilers_are_warned_about() {
        let toolchain = |release: &str| Toolchain {
            rustc: "rustc".into(),
            release: release.to_owned(),
            commit: "0123456789abcdef".to_owned(),
            sysroot: "/".into(),
            llvm: "22".to_owned(),
        };
        assert!(toolchain("1.95.0").warning().is_none());
        assert!(toolchain("1.250.0").warning().is_some());
        assert_eq!(toolchain("1.95.0").directory_name(), "1.95.0-012345678");
    }

    #[test]
    fn fields_are_read_from_verbose_output() {
        let verbose = "rustc 1.95.0\nrelease: 1.95.0\nhost: x\n";
        assert_eq!(field(verbose, "release: "), Some("1.95.0"));
        assert_eq!(field(verbose, "LLVM version: "), None);
        assert_eq!(minor("2.0.0"), None);
    }
}
