//! Checks that compilers do not make: documents name only what exists, crates depend only
//! downwards, and source files are small, documented and finished.

mod documents;
mod layers;
mod sources;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{repository, shell};

/// Something that is not as it should be.
pub struct Complaint {
    /// Relative to the repository.
    file: PathBuf,
    /// From 1; 0 for the whole file.
    line: usize,
    text: String,
    /// Whether it is only a warning.
    warning: bool,
}

impl Complaint {
    fn error(file: impl Into<PathBuf>, line: usize, text: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            line,
            text: text.into(),
            warning: false,
        }
    }

    fn warning(file: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        Self {
            warning: true,
            ..Self::error(file, 0, text)
        }
    }
}

/// Runs all checks.
pub fn run() -> Result<()> {
    let files = files()?;
    let mut complaints = documents::check(&files)?;
    complaints.extend(layers::check()?);
    complaints.extend(sources::check(&files)?);
    let mut errors = 0;
    for complaint in &complaints {
        let severity = if complaint.warning {
            "warning"
        } else {
            "error"
        };
        let (file, line) = (complaint.file.display(), complaint.line);
        eprintln!("{severity}: {file}:{line}: {}", complaint.text);
        errors += usize::from(!complaint.warning);
    }
    match errors {
        0 => Ok(()),
        _ => bail!("tidy has {errors} complaints"),
    }
}

/// All files that belong to the repository, relative to its root: those that git knows and
/// those that it would.
fn files() -> Result<Vec<PathBuf>> {
    let mut command = Command::new("git");
    command.args(["ls-files", "--cached", "--others", "--exclude-standard"]);
    let (stdout, code) = shell::output(command.current_dir(repository::root()))?;
    if code != Some(0) {
        bail!("git cannot list the repository's files");
    }
    let files = stdout.lines().map(PathBuf::from);
    Ok(files
        .filter(|file| repository::root().join(file).is_file())
        .collect())
}

/// A file's text; files that are not text are empty.
fn text(file: &PathBuf) -> Result<String> {
    let bytes = std::fs::read(repository::root().join(file))
        .with_context(|| format!("{} cannot be read", file.display()))?;
    Ok(String::from_utf8(bytes).unwrap_or_default())
}
