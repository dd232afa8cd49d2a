//! Has cargo build the user's executables with our compiler wrapper and linker, and asks it
//! how it would start them.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use anyhow::Context;
use raddle_abi::env;
use raddle_instrument::{Clang, ClangError, waiting_links};
use serde::Deserialize;

use crate::cache::Cache;
use crate::cargo_config::CargoConfig;
use crate::cargo_flags::CargoFlags;
use crate::cargo_locks;
use crate::console::say_note;
use crate::embedded;
use crate::exit::{Exit, Failure, OrExit};
use crate::interrupt::StopFlag;
use crate::limits;
use crate::link_reports;
use crate::metadata::{Metadata, cargo};
use crate::personality;
use crate::runner_record::{self, RunnerRecord};
use crate::settings::cores;
use crate::toolchain::{TARGET, Toolchain};

/// Cargo's variable for the runner of our target.
const RUNNER_VARIABLE: &str = "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER";

/// Variables that we set for the build and that programs under test must not see.
pub(crate) const OWN_VARIABLES: &[&str] = &[
    "RUSTC_WRAPPER",
    "RUSTDOC",
    RUNNER_VARIABLE,
    "CC_x86_64-unknown-linux-gnu",
    "CC_x86_64_unknown_linux_gnu",
    "CXX_x86_64-unknown-linux-gnu",
    "CXX_x86_64_unknown_linux_gnu",
];

/// An executable that cargo built.
#[derive(Clone, Debug)]
pub(crate) struct Executable {
    /// Cargo's message about it.
    pub artifact: Artifact,
    /// Whether it is run as a program, not for its tests.
    pub program: bool,
    /// How cargo would start it.
    pub record: RunnerRecord,
}

/// Cargo's message about something it built.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Artifact {
    /// Id of the package.
    pub package_id: String,
    /// Path of the package's Cargo.toml.
    pub manifest_path: PathBuf,
    /// What was built.
    pub target: ArtifactTarget,
    /// How it was built.
    pub profile: ArtifactProfile,
    /// Where it is.
    pub executable: Option<PathBuf>,
}

/// A target of a package.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ArtifactTarget {
    /// `lib`, `bin`, `test`, `example`, ...
    pub kind: Vec<String>,
    /// Its name.
    pub name: String,
}

/// The part of a profile that we read.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ArtifactProfile {
    /// Whether it was built for its tests.
    pub test: bool,
}

/// Cargo's messages, as far as we read them.
#[derive(Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Message {
    CompilerArtifact(Artifact),
    #[serde(other)]
    Other,
}

/// Everything a build needs to know.
pub(crate) struct CargoBuild<'a> {
    /// The user's flags.
    pub flags: &'a CargoFlags,
    /// The workspace.
    pub metadata: &'a Metadata,
    /// The compiler.
    pub toolchain: &'a Toolchain,
    /// The runtime and our links.
    pub cache: &'a Cache,
    /// The user's configuration of cargo.
    pub config: &'a CargoConfig,
    /// Jobs of cargo and modules instrumented at a time, if the user says how many.
    pub build_jobs: Option<usize>,
    /// Whether branches are recorded too.
    pub branches: bool,
    /// What compiles C for us, or why it cannot.
    pub clang: &'a Result<Clang, ClangError>,
    /// Set when the user wants to stop.
    pub stop: &'a StopFlag,
}

impl CargoBuild<'_> {
    /// Our own target directory: instrumented objects never mix with others.
    fn directory(&self) -> PathBuf {
        let kind = if self.branches { "-branches" } else { "" };
        let name = format!("build-{}{kind}", embedded::HASH);
        self.metadata.results().join(name)
    }

    /// Where the linker wrapper writes its reports.
    pub(crate) fn link_reports(&self) -> PathBuf {
        self.directory().join("link-reports")
    }

    /// Builds everything selected. Cargo shows its progress and errors as always.
    pub(crate) fn run(&self) -> Result<Vec<Executable>, Failure> {
        let reports = self.link_reports();
        if !reports.exists() {
            remove_old_builds(&self.metadata.results());
        }
        fs::create_dir_all(&reports)
            .with_context(|| format!("cannot make the directory {}", reports.display()))
            .or_exit(Exit::Unsupported)?;
        let mut executables = Vec::new();
        if self.flags.has_tests() {
            executables.extend(self.tests()?);
        }
        if self.flags.has_programs() {
            executables.extend(self.programs()?);
        }
        Ok(executables)
    }

    fn tests(&self) -> Result<Vec<Executable>, Failure> {
        let flags = [
            self.flags.package_selection(),
            self.flags.test_selection(),
            self.flags.profile(),
        ]
        .concat();
        let mut build = self.cargo("test");
        build.args(&flags).arg("--no-run");
        let artifacts = self.artifacts(build)?;
        let mut ask = self.cargo("test");
        ask.args(&flags).args(["--quiet", "--no-fail-fast"]);
        // Documentation tests are not built by our wrapper.
        ask.env("RUSTDOC", self.cache.program(personality::RUSTDOC));
        let records = self.records(ask)?;
        let tests = artifacts
            .into_iter()
            .filter(|artifact| artifact.profile.test);
        Ok(joined(tests, &records, |artifact| !has_harness(artifact)))
    }

    fn programs(&self) -> Result<Vec<Executable>, Failure> {
        let profile = match self.flags.profile() {
            none if none.is_empty() => vec!["--profile".into(), "test".into()],
            profile => profile,
        };
        let mut build = self.cargo("build");
        build.args(self.flags.package_selection());
        build.args(self.flags.program_selection()).args(&profile);
        let artifacts = self.artifacts(build)?.into_iter();
        let selected: Vec<_> = artifacts
            .filter(|artifact| artifact.executable.is_some() && self.selects(artifact))
            .collect();
        let mut records = Vec::new();
        for artifact in &selected {
            let mut ask = self.cargo("run");
            ask.args(&profile)
                .args(["--quiet", "--package", &artifact.package_id]);
            let flag = if artifact.is("example") {
                "--example"
            } else {
                "--bin"
            };
            ask.args([flag, &artifact.target.name]);
            records.extend(self.records(ask)?);
        }
        Ok(joined(selected.into_iter(), &records, |_| true))
    }

    fn selects(&self, artifact: &Artifact) -> bool {
        let names = if artifact.is("example") {
            &self.flags.example
        } else {
            &self.flags.bin
        };
        names.contains(&artifact.target.name)
    }

    /// A cargo command with everything that concerns how crates are built.
    fn cargo(&self, subcommand: &str) -> Command {
        let mut command = Command::new(cargo());
        command
            .arg(subcommand)
            .args(self.flags.common())
            .args(self.flags.features())
            .args(["--target", TARGET, "--target-dir"])
            .arg(self.directory())
            .env("RUSTC_WRAPPER", self.cache.program(personality::RUSTC))
            .env(env::RUNTIME_DIR, self.cache.runtime())
            .env(env::CACHE_DIR, self.cache.objects())
            .env(env::SYSROOT, &self.toolchain.sysroot)
            .env(env::LINK_REPORTS, self.link_reports())
            .env(
                env::BUILD_JOBS,
                self.build_jobs.unwrap_or_else(cores).to_string(),
            )
            .env_remove(env::REAL_LINKER)
            .env_remove(env::REAL_WRAPPER);
        if let Some(jobs) = self.build_jobs {
            command.args(["--jobs", &jobs.to_string()]);
        }
        if self.branches {
            command.env(env::BRANCHES, "1");
        }
        if let Some(wrapper) = self.config.program("rustc-wrapper", "RUSTC_WRAPPER") {
            command.env(env::REAL_WRAPPER, wrapper);
        }
        if self.clang.is_ok() {
            self.compile_c(&mut command);
        }
        command
    }

    /// Lets build scripts compile C through us.
    fn compile_c(&self, command: &mut Command) {
        let compilers = [
            ("CC", "cc", env::REAL_CC, personality::CC),
            ("CXX", "c++", env::REAL_CXX, personality::CXX),
        ];
        for (name, default, real, own) in compilers {
            let user = c_compiler(name, |variable| std::env::var(variable).ok());
            command.env(real, user.unwrap_or_else(|| default.to_owned()));
            // The most specific name wins in the crate `cc`, and so for those that use it.
            let ours = self.cache.program(own);
            for target in [TARGET, &TARGET.replace('-', "_")] {
                command.env(format!("{name}_{target}"), &ours);
            }
        }
    }

    /// Builds, and returns what was built.
    fn artifacts(&self, mut command: Command) -> Result<Vec<Artifact>, Failure> {
        limits::require_space(&self.directory())?;
        let started = SystemTime::now();
        let mut child = command
            .arg("--message-format=json-render-diagnostics")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot run cargo")
            .or_exit(Exit::Unsupported)?;
        let stdout = child.stdout.take().expect("stdout was asked for");
        let id = child.id();
        let (artifacts, status) = cargo_locks::watch(id, || {
            self.saying_what_links_wait_for(|| {
                self.stop
                    .ending(id, || (read_artifacts(stdout), child.wait()))
            })
        })?;
        let artifacts = artifacts
            .context("cannot read from cargo")
            .or_exit(Exit::Unsupported)?;
        let status = status
            .context("cannot wait for cargo")
            .or_exit(Exit::Unsupported)?;
        self.stop.check()?;
        if !status.success() {
            // Cargo says so too, but among much else, and as if it were the program's fault.
            limits::require_space(&self.directory())?;
            limits::require_space(self.cache.objects())?;
            if let Some(error) = link_reports::machine_trouble(&self.link_reports(), started) {
                return Err(Failure::new(Exit::Unsupported, error));
            }
            return Err(Failure::explained(Exit::ProgramBroken));
        }
        Ok(artifacts)
    }

    /// Does `work`, and says meanwhile what links wait for: cargo shows nothing of it.
    fn saying_what_links_wait_for<T>(&self, work: impl FnOnce() -> T) -> T {
        const PAUSE: Duration = Duration::from_millis(100);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let teller = scope.spawn(|| {
                let mut said = BTreeSet::new();
                while !done.load(Ordering::Relaxed) {
                    for sentence in waiting_links(&self.link_reports()) {
                        if said.insert(sentence.clone()) {
                            say_note(&sentence);
                        }
                    }
                    std::thread::park_timeout(PAUSE);
                }
            });
            let result = work();
            done.store(true, Ordering::Relaxed);
            teller.thread().unpark();
            result
        })
    }

    /// Has cargo start what it built, in a way that only notes down how.
    fn records(&self, mut command: Command) -> Result<Vec<RunnerRecord>, Failure> {
        let directory = self
            .directory()
            .join(format!("records-{}", std::process::id()));
        fs::create_dir_all(&directory)
            .with_context(|| format!("cannot make the directory {}", directory.display()))
            .or_exit(Exit::Unsupported)?;
        let child = command
            .env(RUNNER_VARIABLE, self.cache.program(personality::RUNNER))
            .env(runner_record::VARIABLE, &directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot run cargo")
            .or_exit(Exit::Unsupported)?;
        let id = child.id();
        let output = cargo_locks::watch(id, || self.stop.ending(id, || child.wait_with_output()))?;
        let output = output
            .context("cannot wait for cargo")
            .or_exit(Exit::Unsupported)?;
        let records = RunnerRecord::read_all(&directory);
        // Left-over records cost a few bytes at most.
        let _ = fs::remove_dir_all(&directory);
        self.stop.check()?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let sentence = format!("cargo does not start what it built: {}", stderr.trim());
            return Err(Failure::new(Exit::ProgramBroken, sentence));
        }
        records
            .with_context(|| format!("cannot read {}", directory.display()))
            .or_exit(Exit::Unsupported)
    }
}

/// The user's own C or C++ compiler, by the variables that the crate `cc` reads, in its order.
fn c_compiler(name: &str, variable: impl Fn(String) -> Option<String>) -> Option<String> {
    let names = [
        format!("{name}_{TARGET}"),
        format!("{name}_{}", TARGET.replace('-', "_")),
        format!("HOST_{name}"),
        format!("TARGET_{name}"),
        name.to_owned(),
    ];
    let mut values = names.into_iter().filter_map(variable);
    values.find(|value| !value.trim().is_empty())
}

fn read_artifacts(messages: impl Read) -> io::Result<Vec<Artifact>> {
    let mut artifacts = Vec::new();
    for line in BufReader::new(messages).lines() {
        // Lines that are no messages come from build scripts and are none of our business.
        if let Ok(Message::CompilerArtifact(artifact)) = serde_json::from_str(&line?) {
            artifacts.push(artifact);
        }
    }
    Ok(artifacts)
}

/// Brings messages and records of the same executables together.
fn joined(
    artifacts: impl Iterator<Item = Artifact>,
    records: &[RunnerRecord],
    is_program: impl Fn(&Artifact) -> bool,
) -> Vec<Executable> {
    let executables = artifacts.filter_map(|artifact| {
        let exe = artifact.executable.as_ref()?;
        let record = records.iter().find(|record| record.exe == *exe)?.clone();
        Some(Executable {
            program: is_program(&artifact),
            artifact,
            record,
        })
    });
    executables.collect()
}

impl Artifact {
    /// Whether the target is of this kind.
    pub(crate) fn is(&self, kind: &str) -> bool {
        self.target.kind.iter().any(|own| own == kind)
    }
}

/// Removes what other versions of the tool built here: nobody else would, and it is large. That
/// it fails does not matter.
fn remove_old_builds(results: &Path) {
    let own = format!("build-{}", embedded::HASH);
    for entry in fs::read_dir(results).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("build-") && !name.starts_with(&own) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether libtest is the executable's `main`. Cargo's messages do not say; the manifest does.
fn has_harness(artifact: &Artifact) -> bool {
    let kind = ["test", "bin", "example", "bench"]
        .into_iter()
        .find(|kind| artifact.is(kind));
    manifest_harness(&artifact.manifest_path, kind, &artifact.target.name).unwrap_or(true)
}

fn manifest_harness(manifest: &Path, kind: Option<&str>, name: &str) -> Option<bool> {
    let text = fs::read_to_string(manifest).ok()?;
    let table: toml::Table = text.parse().ok()?;
    let Some(kind) = kind else {
        return table.get("lib")?.get("harness")?.as_bool();
    };
    let targets = table.get(kind)?.as_array()?;
    let named =
        |target: &&toml::Value| target.get("name").and_then(|own| own.as_str()) == Some(name);
    targets.iter().find(named)?.get("harness")?.as_bool()
}

/// Arguments as text, for a command that is stored.
pub(crate) fn as_text(arguments: &[OsString]) -> Vec<String> {
    let texts = arguments.iter().map(|argument| argument.to_string_lossy());
    texts.map(|text| text.into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::{Message, c_compiler, manifest_harness, remove_old_builds};
    use std::fs;

    #[test]
    fn the_manifest_says_who_has_a_harness() {
        let directory = tempfile::tempdir().unwrap();
        let manifest = directory.path().join("Cargo.toml");
        let text = "[lib]\nharness = false\n[[test]]\nname = 'a'\nharness = false\n\
                    [[test]]\nname = 'b'\n";
        fs::write(&manifest, text).unwrap();
        let harness = |kind, name| manifest_harness(&manifest, kind, name);
        assert_eq!(harness(None, "x"), Some(false));
        assert_eq!(harness(Some("test"), "a"), Some(false));
        assert_eq!(harness(Some("test"), "b"), None);
        assert_eq!(harness(Some("bin"), "a"), None);
    }

    #[test]
    fn old_builds_go_and_findings_stay() {
        let directory = tempfile::tempdir().unwrap();
        let own = format!("build-{}-branches", crate::embedded::HASH);
        for name in ["build-1", &own, "findings"] {
            fs::create_dir_all(directory.path().join(name).join("x")).unwrap();
        }
        remove_old_builds(directory.path());
        assert!(!directory.path().join("build-1").exists());
        assert!(directory.path().join(own).exists());
        assert!(directory.path().join("findings/x").exists());
    }

    #[test]
    fn the_most_specific_compiler_is_kept() {
        let variables = [
            ("CC", "gcc-13"),
            ("CC_x86_64_unknown_linux_gnu", "ccache gcc"),
        ];
        let variable = |name: String| {
            let found = variables.iter().find(|(own, _)| *own == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        assert_eq!(c_compiler("CC", variable).as_deref(), Some("ccache gcc"));
        assert_eq!(c_compiler("CXX", variable), None);
    }

    #[test]
    fn unknown_messages_are_skipped() {
        for line in [
            r#"{"reason":"build-finished","success":true}"#,
            r#"{"reason":"new"}"#,
        ] {
            assert!(
                matches!(serde_json::from_str(line), Ok(Message::Other)),
                "{line}"
            );
        }
    }
}
