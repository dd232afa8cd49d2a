//! With which flags a finding's executable was built, so that `replay ID` builds the same one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use raddle_campaign::{LARGEST, read_file};
use serde::{Deserialize, Serialize};

use crate::arguments::ProgramOptions;
use crate::cargo_build::as_text;
use crate::cargo_flags::CargoFlags;
use crate::file::write_whole;

/// Name of the file in the results directory.
const FILE_NAME: &str = "flags.json";

/// How the executable of one finding was built and started.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct StoredFlags {
    /// Cargo's flags.
    pub flags: Vec<String>,
    /// The program's own arguments.
    pub arguments: Vec<String>,
    /// What the program reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<PathBuf>,
    /// The exit code by which the program says that all is well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
}

impl StoredFlags {
    /// Flags as the user gave them.
    pub(crate) fn new(flags: &CargoFlags, arguments: &[String]) -> Self {
        Self {
            flags: as_text(&flags.all()),
            arguments: arguments.to_vec(),
            ..Self::default()
        }
    }

    /// Those of a program that cargo does not build.
    pub(crate) fn of_program(arguments: &[String], options: &ProgramOptions) -> Self {
        Self {
            flags: Vec::new(),
            arguments: arguments.to_vec(),
            stdin: options.stdin.clone(),
            exit_code: options.exit_code,
        }
    }

    /// The same, but for what the user says anew.
    pub(crate) fn with(self, options: &ProgramOptions) -> Self {
        Self {
            stdin: options.stdin.clone().or(self.stdin),
            exit_code: options.exit_code.or(self.exit_code),
            ..self
        }
    }

    /// Notes down that they belong to this finding. A finding can be replayed without, so
    /// errors do not matter.
    pub(crate) fn store(&self, results: &Path, id: &str) {
        let mut all = read(results);
        if all.get(id) == Some(self) {
            return;
        }
        all.insert(id.to_owned(), self.clone());
        if let Ok(text) = serde_json::to_vec_pretty(&all) {
            let _ = write_whole(&results.join(FILE_NAME), &text);
        }
    }

    /// Those of this finding, if they are known.
    pub(crate) fn load(results: &Path, id: &str) -> Option<Self> {
        read(results).remove(id)
    }

    /// The flags, understood again.
    pub(crate) fn cargo_flags(&self) -> Option<CargoFlags> {
        #[derive(clap::Parser)]
        struct Only {
            #[command(flatten)]
            flags: CargoFlags,
        }
        let words = std::iter::once("raddle").chain(self.flags.iter().map(String::as_str));
        let only: Only = clap::Parser::try_parse_from(words).ok()?;
        Some(only.flags)
    }
}

fn read(results: &Path) -> BTreeMap<String, StoredFlags> {
    let text = read_file(&results.join(FILE_NAME), LARGEST).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::StoredFlags;
    use crate::cargo_flags::CargoFlags;

    #[test]
    fn flags_of_several_findings_are_kept() {
        let results = tempfile::tempdir().unwrap();
        let flags = CargoFlags {
            bin: vec!["a".to_owned()],
            locked: true,
            ..CargoFlags::default()
        };
        let stored = StoredFlags::new(&flags, &["-x".to_owned()]);
        stored.store(results.path(), "panic-1");
        StoredFlags::default().store(results.path(), "panic-2");
        let loaded = StoredFlags::load(results.path(), "panic-1").unwrap();
        assert_eq!(loaded, stored);
        assert_eq!(loaded.cargo_flags(), Some(flags));
        assert_eq!(StoredFlags::load(results.path(), "panic-3"), None);
    }
}
