//! The few keys of cargo's configuration that we have to know because we stand in their place.
//! Cargo's own order holds: variable, `--config`, its `CARGO_BUILD_*` variable, then files from
//! the current directory upwards, and `$CARGO_HOME` last.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

/// Where cargo's configuration is looked for.
pub(crate) struct CargoConfig {
    given: Vec<(Table, PathBuf)>,
    files: Vec<(Table, PathBuf)>,
}

impl CargoConfig {
    /// Reads everything that applies in `directory` with these `--config` arguments.
    /// What cannot be read is left to cargo to complain about.
    pub(crate) fn load(directory: &Path, config: &[String]) -> Self {
        let given = config.iter().rev().filter_map(|argument| {
            let path = directory.join(argument);
            if path.is_file() {
                // Cargo resolves against the parent of the file's directory, here too.
                let base = path.parent()?.parent()?.to_owned();
                return Some((read(&path)?, base));
            }
            Some((argument.parse().ok()?, directory.to_owned()))
        });
        let mut directories: Vec<PathBuf> = directory
            .ancestors()
            .map(|above| above.join(".cargo"))
            .collect();
        directories.extend(cargo_home());
        let files = directories.iter().filter_map(|configuration| {
            let table = read(&configuration.join("config.toml"))
                .or_else(|| read(&configuration.join("config")))?;
            Some((table, configuration.parent()?.to_owned()))
        });
        Self {
            given: given.collect(),
            files: files.collect(),
        }
    }

    /// The program of `build.KEY`, which the variable `variable` overrides. Empty means none.
    pub(crate) fn program(&self, key: &str, variable: &str) -> Option<OsString> {
        let build_variable = format!("CARGO_BUILD_{}", key.replace('-', "_").to_uppercase());
        let program = std::env::var_os(variable)
            .or_else(|| find(&self.given, key))
            .or_else(|| std::env::var_os(build_variable))
            .or_else(|| find(&self.files, key))?;
        (!program.is_empty()).then_some(program)
    }
}

fn find(tables: &[(Table, PathBuf)], key: &str) -> Option<OsString> {
    tables.iter().find_map(|(table, base)| {
        let value = table.get("build")?.get(key).and_then(Value::as_str)?;
        // A name without a slash is looked up in PATH, as cargo does it.
        if value.contains('/') {
            Some(base.join(value).into_os_string())
        } else {
            Some(value.into())
        }
    })
}

fn read(path: &Path) -> Option<Table> {
    std::fs::read_to_string(path).ok()?.parse().ok()
}

/// Where cargo keeps what all projects share.
pub(crate) fn cargo_home() -> Option<PathBuf> {
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo"));
    std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(home)
}

#[cfg(test)]
mod tests {
    use super::CargoConfig;
    use std::fs;

    #[test]
    fn the_nearest_file_wins_and_arguments_beat_files() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("inner");
        for (directory, wrapper) in [(root.path(), "outer"), (&inner, "./near")] {
            fs::create_dir_all(directory.join(".cargo")).unwrap();
            let text = format!("[build]\nrustc-wrapper = '{wrapper}'\n");
            fs::write(directory.join(".cargo/config.toml"), text).unwrap();
        }
        let program = |directory, config: &[String]| {
            CargoConfig::load(directory, config).program("rustc-wrapper", "RADDLE_NO_SUCH_VARIABLE")
        };
        assert_eq!(program(root.path(), &[]).unwrap(), "outer");
        assert_eq!(
            program(&inner, &[]).unwrap(),
            inner.join("./near").as_os_str()
        );
        let config = ["build.rustc-wrapper = 'given'".to_owned()];
        assert_eq!(program(&inner, &config).unwrap(), "given");
        let config = ["build.rustc-wrapper = ''".to_owned()];
        assert_eq!(program(&inner, &config), None);
    }
}
