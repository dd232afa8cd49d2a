//! How cargo starts an executable: its arguments, environment and working directory.
//!
//! Cargo is asked to run the executables through [`write()`], which notes down how it was called
//! and runs nothing. So tests get exactly the environment that `cargo test` would give them.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::file::write_whole;

/// Names the directory for records, one file per executable.
pub(crate) const VARIABLE: &str = "RADDLE_RUNNER_RECORDS";

/// How one executable is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunnerRecord {
    /// The executable.
    pub exe: PathBuf,
    /// Working directory.
    pub cwd: PathBuf,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
}

/// Acts as cargo's runner: `arguments` are ours, the executable and its arguments.
pub(crate) fn write(arguments: &[OsString]) -> ExitCode {
    match (arguments.get(1), std::env::var_os(VARIABLE)) {
        (Some(exe), Some(directory)) => match record(exe, Path::new(&directory)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        _ => ExitCode::FAILURE,
    }
}

fn record(exe: &OsStr, directory: &Path) -> io::Result<()> {
    let cwd = std::env::current_dir()?;
    let record = RunnerRecord {
        exe: cwd.join(exe),
        cwd,
        env: std::env::vars_os().collect(),
    };
    write_whole(
        &directory.join(std::process::id().to_string()),
        &record.to_bytes(),
    )
}

impl RunnerRecord {
    /// Reads all records of a directory.
    pub(crate) fn read_all(directory: &Path) -> io::Result<Vec<Self>> {
        let mut records = Vec::new();
        for entry in fs::read_dir(directory)? {
            records.extend(Self::from_bytes(&fs::read(entry?.path())?));
        }
        Ok(records)
    }

    /// The variables that are not as in our own environment, without those that are only for
    /// the build.
    pub(crate) fn changed_env(&self) -> Vec<(OsString, OsString)> {
        let changed = self.env.iter().filter(|(name, value)| {
            let name_text = name.to_string_lossy();
            std::env::var_os(name).as_ref() != Some(value)
                && !name_text.starts_with("RADDLE_")
                && !crate::cargo_build::OWN_VARIABLES.contains(&&*name_text)
        });
        changed.cloned().collect()
    }

    /// NUL-separated, as neither paths nor variables contain NUL.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = [self.exe.as_os_str(), self.cwd.as_os_str()]
            .map(OsStr::as_bytes)
            .join(&0);
        for (name, value) in &self.env {
            bytes.push(0);
            bytes.extend(name.as_bytes());
            bytes.push(b'=');
            bytes.extend(value.as_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut parts = bytes.split(|&byte| byte == 0);
        let mut path = || Some(PathBuf::from(OsStr::from_bytes(parts.next()?)));
        let (exe, cwd) = (path()?, path()?);
        let env = parts.filter_map(|part| {
            let end = part.iter().position(|&byte| byte == b'=')?;
            let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
            Some((text(&part[..end]), text(&part[end + 1..])))
        });
        Some(Self {
            exe,
            cwd,
            env: env.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::RunnerRecord;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    #[test]
    fn any_environment_survives() {
        let record = RunnerRecord {
            exe: "/a b/exe".into(),
            cwd: "/".into(),
            env: vec![
                ("A".into(), "b=c\nd".into()),
                ("EMPTY".into(), OsString::new()),
                ("BYTES".into(), OsString::from_vec(vec![0xff, 0xfe])),
            ],
        };
        assert_eq!(RunnerRecord::from_bytes(&record.to_bytes()), Some(record));
        assert_eq!(RunnerRecord::from_bytes(b"only"), None);
    }
}
