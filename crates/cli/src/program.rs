//! Programs that cargo does not build: `raddle test ./prog`.
//!
//! A program that `raddle cc` or `raddle c++` built has the runtime in it. Any other program
//! that is dynamically linked gets it preloaded: then everything that goes through libc is
//! scheduled, but its memory accesses are not seen.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use raddle_campaign::{
    self as campaign, IgnoreRule, Options, Overrides, Stored, Target, TargetKind,
};
use raddle_instrument::{
    Program, ProgramError, examine, refused_sources, unseen_code, unseen_synchronisation,
};
use raddle_report::Sources;

use crate::arguments::ProgramOptions;
use crate::cache::Cache;
use crate::cargo_flags::CargoFlags;
use crate::config::Config;
use crate::console::{Console, replay_command};
use crate::exit::{Exit, Failure, OrExit};
use crate::interrupt::StopFlag;
use crate::link_reports;
use crate::metadata::REGRESSIONS;
use crate::session::{cargo_config, find_toolchain};
use crate::settings::{OutputOptions, RunOptions};
use crate::stored_flags::StoredFlags;
use crate::toolchain::Toolchain;

/// Directory of results, where the user names none.
const RESULTS: &str = "raddle-results";

/// Name of the target in reports and schedule files.
pub(crate) const TARGET: &str = "main";

impl ProgramOptions {
    /// Complains about options that make no sense without a program.
    pub(crate) fn refuse(&self) -> Result<(), Failure> {
        let given = [
            (self.results.is_some(), "--results"),
            (self.stdin.is_some(), "--stdin"),
            (self.exit_code.is_some(), "--exit-code"),
        ];
        let Some((_, flag)) = given.into_iter().find(|(is_given, _)| *is_given) else {
            return Ok(());
        };
        Err(Failure::new(
            Exit::Usage,
            format!(
                "`{flag}` is for programs that cargo does not build, as in `raddle test {flag} X ./prog`"
            ),
        ))
    }
}

/// Where programs are run, and where their kept schedules are.
pub(crate) fn root() -> Result<PathBuf, Failure> {
    std::env::current_dir()
        .context("the current directory cannot be read")
        .or_exit(Exit::Unsupported)
}

/// The stored finding of a program, and where it is stored; `None` if it is not a program's.
pub(crate) fn find_stored(
    finding: &str,
    options: &ProgramOptions,
) -> Result<Option<(Stored, PathBuf)>, Failure> {
    let results = match &options.results {
        Some(results) => results.clone(),
        None => root()?.join(RESULTS),
    };
    let is_file = Path::new(finding).is_file();
    if options.results.is_none() && !results.is_dir() && !is_file {
        return Ok(None);
    }
    // Where cargo has a project, it may be one of that.
    let may_be_cargos = options.results.is_none() && is_in_project(&root()?);
    match campaign::find_stored(finding, &results) {
        Ok(stored) if stored.target == TARGET => Ok(Some((stored, results))),
        Ok(_) => Ok(None),
        Err(campaign::Error::UnknownFinding { .. }) if may_be_cargos => Ok(None),
        Err(_) if may_be_cargos && is_file => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether a directory belongs to a project of cargo's.
fn is_in_project(directory: &Path) -> bool {
    let mut around = directory.ancestors();
    around.any(|directory| directory.join("Cargo.toml").is_file())
}

/// What the commands have in common when they run a program.
pub(crate) struct ProgramSession {
    /// Where events go.
    pub console: Console,
    /// Set when the user wants to stop.
    pub stop: StopFlag,
    /// Sources of the program that have no hooks because LLVM refused them.
    pub uninstrumented: Vec<String>,
    root: PathBuf,
    results: PathBuf,
    run: RunOptions,
    ignore: Vec<IgnoreRule>,
    overrides: Overrides,
    toolchain: Toolchain,
}

impl ProgramSession {
    /// Finds everything out that does not depend on the program.
    pub(crate) fn open(
        program: ProgramOptions,
        run: RunOptions,
        output: OutputOptions,
    ) -> Result<Self, Failure> {
        let stop = StopFlag::install()?;
        let toolchain = find_toolchain(&cargo_config(&CargoFlags::default())?)?;
        let root = root()?;
        let file = Config::load(&root)?;
        let flags = program.results.iter();
        let flags = flags.flat_map(|results| ["--results".into(), results.into()]);
        let replay = replay_command(&flags.collect::<Vec<_>>());
        let sources = Sources::new(&root);
        let console = Console::new(output.over(file.output), sources, stop.clone(), replay);
        let results = program.results.unwrap_or_else(|| RESULTS.into());
        Ok(Self {
            console,
            stop,
            uninstrumented: Vec::new(),
            results: root.join(results),
            run: run.over(file.run),
            ignore: file.ignore,
            overrides: file.predict,
            toolchain,
            root,
        })
    }

    /// The program as a target.
    pub(crate) fn target(&mut self, path: &str, flags: &StoredFlags) -> Result<Target, Failure> {
        let exe = self.root.join(path);
        check_file(&exe, path)?;
        let stdin = flags.stdin.as_ref().map(|stdin| self.root.join(stdin));
        if let Some(stdin) = &stdin
            && let Err(error) = std::fs::File::open(stdin)
        {
            let sentence = format!("cannot read {}: {error}", stdin.display());
            return Err(Failure::new(Exit::Usage, sentence));
        }
        let program = examine(&exe).map_err(|error| {
            let exit = match error {
                ProgramError::Read { .. } | ProgramError::NotElf(_) => Exit::Usage,
                ProgramError::Machine { .. } | ProgramError::Static(_) => Exit::Unsupported,
            };
            Failure::new(exit, error)
        })?;
        let console = &mut self.console;
        let release = &self.toolchain.release;
        let text = format!("the runtime for rustc {release} (once per toolchain)");
        let cache = Cache::prepare(&self.toolchain, || console.status("Compiling", text))?;
        let library = cache.runtime().join(raddle_abi::env::RUNTIME_LIBRARY);
        let env = match program {
            Program::Instrumented(linked) if linked == library => Vec::new(),
            Program::Instrumented(linked) => {
                return Err(Failure::new(
                    Exit::ProgramBroken,
                    format!(
                        "{path} was built by another version of raddle or for another toolchain \
                         (it needs {}): build it again",
                        linked.display()
                    ),
                ));
            }
            Program::Plain => {
                self.console.note(format!(
                    "{path} was not built with `raddle cc`: the runtime is preloaded, so what \
                     goes through libc is scheduled, but memory accesses are not seen and data \
                     races are not found"
                ));
                vec![preload(&library)]
            }
        };
        let unseen_synchronisation = unseen_synchronisation(&exe);
        // Without hooks, races are not found anyway.
        if env.is_empty()
            && let Some(sentence) = link_reports::about_unseen(path, &unseen_synchronisation)
        {
            self.console.note(sentence);
        }
        self.uninstrumented = match env.is_empty() {
            true => refused_sources(&exe),
            // Nothing of it is instrumented, which was said.
            false => Vec::new(),
        };
        if !self.uninstrumented.is_empty() {
            self.console.note(format!(
                "LLVM refused to instrument {} of {path}: accesses in there are not seen",
                self.uninstrumented.join(", ")
            ));
        }
        let unseen_code = match env.is_empty() {
            true => [unseen_code(&exe), self.uninstrumented.clone()].concat(),
            false => vec![path.to_owned()],
        };
        Ok(Target {
            exe,
            name: path.to_owned(),
            target: TARGET.to_owned(),
            package: String::new(),
            kind: TargetKind::Program,
            args: flags.arguments.clone(),
            stdin,
            success: flags.exit_code.unwrap_or(0),
            env,
            cwd: self.root.clone(),
            private: vec![self.results.clone()],
            unseen_synchronisation,
            unseen_code,
            ignored: false,
        })
    }

    /// Where kept schedules are.
    pub(crate) fn regressions(&self) -> PathBuf {
        self.root.join(REGRESSIONS)
    }

    /// Options for a campaign.
    pub(crate) fn campaign_options(&self) -> Options {
        Options {
            workspace_root: self.root.clone(),
            results: self.results.clone(),
            ignore: self.ignore.clone(),
            overrides: self.overrides.clone(),
            ..self.run.campaign()
        }
    }
}

/// `LD_PRELOAD`, with our library before what the user has there.
fn preload(library: &Path) -> (OsString, OsString) {
    const NAME: &str = "LD_PRELOAD";
    let mut value = library.as_os_str().to_owned();
    if let Some(present) = std::env::var_os(NAME).filter(|present| !present.is_empty()) {
        value.push(":");
        value.push(present);
    }
    (NAME.into(), value)
}

fn check_file(exe: &Path, shown: &str) -> Result<(), Failure> {
    let bad = |what: &str| {
        Err(Failure::new(
            Exit::Usage,
            format!("{shown} {what}; name a program, as in `raddle test ./prog`"),
        ))
    };
    match std::fs::metadata(exe) {
        Err(error) => bad(&format!("cannot be run: {error}")),
        Ok(metadata) if !metadata.is_file() => bad("is not a file"),
        Ok(metadata) if metadata.permissions().mode() & 0o111 == 0 => bad("is not executable"),
        Ok(_) => Ok(()),
    }
}
