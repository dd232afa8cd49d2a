//! Makes a subject ready to be run: C programs are compiled with `raddle cc`, Rust tests are put
//! into a crate of their own, which `cargo raddle test` builds.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::evaluate::manifest::{Language, Subject};
use crate::evaluate::scratch;
use crate::{repository, shell};

/// Which of the two programs in a source.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Program {
    Buggy,
    Twin,
}

impl fmt::Display for Program {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Buggy => "with its bug",
            Self::Twin => "correct twin",
        })
    }
}

/// What the tool is started with.
pub struct Target {
    pub directory: PathBuf,
    /// What stands behind the tool's options.
    pub arguments: &'static [&'static str],
}

/// Makes the program, in a directory of its own.
pub fn build(tool: &Path, subject: &Subject, kind: Program) -> Result<Target> {
    let suffix = if kind == Program::Twin { "-fixed" } else { "" };
    let directory = scratch().join(format!("{}{suffix}", subject.name));
    fs::create_dir_all(&directory)?;
    let arguments: &[&str] = match (subject.language(), kind) {
        (Language::C, _) => {
            compile(tool, subject, kind, &directory)?;
            &["./program"]
        }
        (Language::Rust, Program::Buggy) => &["--test", "subject", "--", "--exact", "bug"],
        (Language::Rust, Program::Twin) => &["--test", "subject", "--", "--exact", "twin"],
    };
    if subject.language() == Language::Rust {
        wrap(subject, &directory)?;
    }
    Ok(Target {
        directory,
        arguments,
    })
}

fn compile(tool: &Path, subject: &Subject, kind: Program, directory: &Path) -> Result<()> {
    let mut command = shell::raddle(tool, directory, ["cc", "-g", "-O1", "-pthread"]);
    command.args(subject.defines.iter().map(|define| format!("-D{define}")));
    if kind == Program::Twin {
        command.arg("-DFIXED");
    }
    let source = repository::root().join("subjects").join(&subject.source);
    command.args(["-o", "program"]).arg(source);
    match shell::output(&mut command)? {
        (_, Some(0)) => Ok(()),
        (_, code) => bail!("`raddle cc` ended with {code:?}"),
    }
}

fn wrap(subject: &Subject, directory: &Path) -> Result<()> {
    fs::create_dir_all(directory.join("src"))?;
    fs::create_dir_all(directory.join("tests"))?;
    let source = repository::root().join("subjects").join(&subject.source);
    fs::copy(source, directory.join("tests/subject.rs"))?;
    fs::write(directory.join("src/lib.rs"), "")?;
    let manifest =
        "[package]\nname = \"subject\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
    fs::write(directory.join("Cargo.toml"), manifest)?;
    Ok(())
}
