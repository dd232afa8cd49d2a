//! Compiles a subject with `raddle cc`.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::evaluate::manifest::Subject;
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

/// Compiles the program and returns where it is, in a directory of its own.
pub fn build(tool: &Path, subject: &Subject, kind: Program) -> Result<PathBuf> {
    let suffix = if kind == Program::Twin { "-fixed" } else { "" };
    let directory = scratch().join(format!("{}{suffix}", subject.name));
    fs::create_dir_all(&directory)?;
    let mut command = shell::raddle(tool, &directory, ["cc", "-g", "-O1", "-pthread"]);
    command.args(subject.defines.iter().map(|define| format!("-D{define}")));
    if kind == Program::Twin {
        command.arg("-DFIXED");
    }
    let source = repository::root().join("subjects/c").join(&subject.source);
    command.args(["-o", "program"]).arg(source);
    match shell::output(&mut command)? {
        (_, Some(0)) => Ok(directory.join("program")),
        (_, code) => bail!("`raddle cc` ended with {code:?}"),
    }
}
