//! Cargo's own selection and build flags, taken and handed on unchanged.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// Flags that mean what they mean to `cargo test`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Cargo options")]
pub(crate) struct CargoFlags {
    /// Package to test
    #[arg(short, long = "package", value_name = "SPEC")]
    pub packages: Vec<String>,
    /// Test all packages of the workspace
    #[arg(long, visible_alias = "all")]
    pub workspace: bool,
    /// Packages to leave out
    #[arg(long, value_name = "SPEC")]
    pub exclude: Vec<String>,
    /// Test only the library's unit tests
    #[arg(long)]
    pub lib: bool,
    /// Test the unit tests of all binaries
    #[arg(long)]
    pub bins: bool,
    /// Run this binary; arguments after `--` are its own
    #[arg(long = "bin", value_name = "NAME")]
    pub bin: Vec<String>,
    /// Test only this integration test
    #[arg(long = "test", value_name = "NAME")]
    pub test: Vec<String>,
    /// Test all targets that have tests
    #[arg(long)]
    pub tests: bool,
    /// Run this example; arguments after `--` are its own
    #[arg(long = "example", value_name = "NAME")]
    pub example: Vec<String>,
    /// Test the unit tests of all examples
    #[arg(long)]
    pub examples: bool,
    /// Test all targets
    #[arg(long)]
    pub all_targets: bool,
    /// Features to activate
    #[arg(short = 'F', long, value_name = "FEATURES")]
    pub features: Vec<String>,
    /// Activate all features
    #[arg(long)]
    pub all_features: bool,
    /// Do not activate the default feature
    #[arg(long)]
    pub no_default_features: bool,
    /// Build with this profile
    #[arg(long, value_name = "NAME", conflicts_with = "release")]
    pub profile: Option<String>,
    /// Build with the release profile
    #[arg(short, long)]
    pub release: bool,
    /// Path of Cargo.toml
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Directory for all generated files
    #[arg(long, value_name = "DIRECTORY")]
    pub target_dir: Option<PathBuf>,
    /// Leave Cargo.lock as it is
    #[arg(long)]
    pub locked: bool,
    /// Do not use the network
    #[arg(long)]
    pub offline: bool,
    /// Both of the above
    #[arg(long)]
    pub frozen: bool,
    /// Override a configuration value of cargo's
    #[arg(long, value_name = "KEY=VALUE|PATH")]
    pub config: Vec<String>,
}

impl CargoFlags {
    /// Flags that every cargo command takes.
    pub(crate) fn common(&self) -> Vec<OsString> {
        let mut list = FlagList::default();
        list.value("--manifest-path", self.manifest_path.as_ref());
        list.switch("--locked", self.locked);
        list.switch("--offline", self.offline);
        list.switch("--frozen", self.frozen);
        list.values("--config", &self.config);
        list.0
    }

    /// Flags that choose features.
    pub(crate) fn features(&self) -> Vec<OsString> {
        let mut list = FlagList::default();
        list.values("--features", &self.features);
        list.switch("--all-features", self.all_features);
        list.switch("--no-default-features", self.no_default_features);
        list.0
    }

    /// Flags that choose packages.
    pub(crate) fn package_selection(&self) -> Vec<OsString> {
        let mut list = FlagList::default();
        list.values("--package", &self.packages);
        list.switch("--workspace", self.workspace);
        list.values("--exclude", &self.exclude);
        list.0
    }

    /// Flags that choose test executables.
    pub(crate) fn test_selection(&self) -> Vec<OsString> {
        let mut list = FlagList::default();
        list.switch("--lib", self.lib);
        list.switch("--bins", self.bins);
        list.values("--test", &self.test);
        list.switch("--tests", self.tests);
        list.switch("--examples", self.examples);
        list.switch("--all-targets", self.all_targets);
        list.0
    }

    /// Flags that choose programs.
    pub(crate) fn program_selection(&self) -> Vec<OsString> {
        let mut list = FlagList::default();
        list.values("--bin", &self.bin);
        list.values("--example", &self.example);
        list.0
    }

    /// The profile, if one is named.
    pub(crate) fn profile(&self) -> Vec<OsString> {
        let mut list = FlagList::default();
        list.value("--profile", self.profile.as_ref());
        list.switch("--release", self.release);
        list.0
    }

    /// Whether programs are to be run.
    pub(crate) fn has_programs(&self) -> bool {
        !self.bin.is_empty() || !self.example.is_empty()
    }

    /// Whether tests are to be run: they are unless only programs are named.
    pub(crate) fn has_tests(&self) -> bool {
        !self.has_programs() || !self.test_selection().is_empty()
    }

    /// All flags, so that a later command can build the same executables.
    pub(crate) fn all(&self) -> Vec<OsString> {
        let mut list = FlagList::default();
        list.value("--target-dir", self.target_dir.as_ref());
        [
            self.common(),
            self.features(),
            self.package_selection(),
            self.test_selection(),
            self.program_selection(),
            self.profile(),
            list.0,
        ]
        .concat()
    }

    /// Flags that say where the workspace is, and where it is built.
    pub(crate) fn place(&self) -> Vec<OsString> {
        let mut list = FlagList::default();
        list.value("--manifest-path", self.manifest_path.as_ref());
        list.value("--target-dir", self.target_dir.as_ref());
        list.0
    }

    /// These flags with the place that the user names, if any: stored ones are those of a place.
    pub(crate) fn in_place_of(self, given: &Self) -> Self {
        Self {
            manifest_path: given.manifest_path.clone().or(self.manifest_path),
            target_dir: given.target_dir.clone().or(self.target_dir),
            ..self
        }
    }

    /// Only what chooses among the tests of a workspace: what is built then, and by what, is the
    /// workspace's and the user's alone.
    pub(crate) fn choices(self) -> Self {
        Self {
            bin: Vec::new(),
            example: Vec::new(),
            manifest_path: None,
            target_dir: None,
            config: Vec::new(),
            ..self
        }
    }

    /// Whether any flag says what to build; those that only say where do not count.
    pub(crate) fn chooses(&self) -> bool {
        let choices = [
            self.features(),
            self.package_selection(),
            self.test_selection(),
            self.program_selection(),
            self.profile(),
        ];
        choices.iter().any(|flags| !flags.is_empty())
    }
}

/// A command line under construction.
#[derive(Default)]
struct FlagList(Vec<OsString>);

impl FlagList {
    fn switch(&mut self, name: &str, on: bool) {
        if on {
            self.0.push(name.into());
        }
    }

    /// In one word, so that cargo takes no value for a flag, whatever it begins with.
    fn value(&mut self, name: &str, value: Option<impl Into<OsString>>) {
        if let Some(value) = value {
            let mut word = OsString::from(format!("{name}="));
            word.push(value.into());
            self.0.push(word);
        }
    }

    fn values(&mut self, name: &str, values: &[String]) {
        for value in values {
            self.value(name, Some(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CargoFlags;
    use clap::Parser;

    #[derive(Parser)]
    struct Only {
        #[command(flatten)]
        flags: CargoFlags,
    }

    fn parsed(text: &str) -> CargoFlags {
        Only::try_parse_from(["x"].into_iter().chain(text.split_whitespace()))
            .unwrap()
            .flags
    }

    #[test]
    fn all_flags_survive_a_round_trip() {
        let text = "-p a --workspace --exclude b --lib --bins --bin c --test d --tests --example e \
                    --features f,g --all-features --no-default-features --profile h \
                    --manifest-path i --target-dir j --locked --offline --config k=1";
        let flags = parsed(text);
        let again: Vec<_> = flags
            .all()
            .into_iter()
            .map(|s| s.into_string().unwrap())
            .collect();
        assert_eq!(parsed(&again.join(" ")), flags);
        assert_eq!(again.len(), 18);
    }

    #[test]
    fn a_value_is_never_a_flag() {
        let bin = vec!["--config=x".to_owned()];
        let flags = CargoFlags {
            bin,
            ..CargoFlags::default()
        };
        assert_eq!(flags.all(), ["--bin=--config=x"]);
    }

    #[test]
    fn choices_say_nothing_about_where_and_with_which_programs() {
        let flags =
            parsed("-p a --features b --config k=1 --manifest-path x --target-dir y --bin z");
        assert_eq!(flags.choices(), parsed("-p a --features b"));
    }

    #[test]
    fn programs_alone_leave_tests_out() {
        assert!(parsed("").has_tests());
        assert!(!parsed("--bin a").has_tests());
        assert!(parsed("--bin a --lib").has_tests());
        assert!(!parsed("--locked --manifest-path x").chooses());
        assert!(parsed("--features x").chooses());
    }
}
