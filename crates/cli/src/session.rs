//! What the commands that build have in common: toolchain, workspace, configuration, runtime,
//! console, and at the end the targets.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;
use raddle_campaign::{IgnoreRule, Options, Overrides, Target, check_is_file};
use raddle_instrument::{Clang, ClangError, find_clang};

use crate::cache::Cache;
use crate::cargo_build::CargoBuild;
use crate::cargo_config::CargoConfig;
use crate::cargo_flags::CargoFlags;
use crate::config::Config;
use crate::console::{Console, replay_command};
use crate::exit::{Exit, Failure, OrExit};
use crate::interrupt::StopFlag;
use crate::link_reports;
use crate::metadata::Metadata;
use crate::settings::{OutputOptions, RunOptions};
use crate::targets::targets;
use crate::toolchain::Toolchain;

/// A workspace, ready to be built.
pub(crate) struct Session {
    /// The user's flags for cargo.
    pub flags: CargoFlags,
    /// The workspace.
    pub metadata: Metadata,
    /// Options after all sources were asked.
    pub run: RunOptions,
    /// Findings the user does not want to hear about.
    pub ignore: Vec<IgnoreRule>,
    /// What is not as types say it, for prediction.
    pub overrides: Overrides,
    /// The user's compiler.
    pub toolchain: Toolchain,
    /// Where events go.
    pub console: Console,
    /// Set when the user wants to stop.
    pub stop: StopFlag,
    /// Crates of the workspace that have no hooks because LLVM refused them, once it is built.
    pub uninstrumented: Vec<String>,
    /// Whether branches are recorded too.
    pub branches: bool,
    config: CargoConfig,
}

impl Session {
    /// Finds everything out, and builds nothing yet.
    pub(crate) fn open(
        flags: CargoFlags,
        run: RunOptions,
        output: OutputOptions,
    ) -> Result<Self, Failure> {
        let place = flags.place();
        Self::open_with_findings_in(&place, flags, run, output)
    }

    /// The same, if findings are kept elsewhere: where, as flags for `replay`.
    pub(crate) fn open_with_findings_in(
        place: &[OsString],
        flags: CargoFlags,
        run: RunOptions,
        output: OutputOptions,
    ) -> Result<Self, Failure> {
        let stop = StopFlag::install()?;
        let config = cargo_config(&flags)?;
        let (toolchain, metadata) = std::thread::scope(|scope| {
            let metadata = scope.spawn(|| Metadata::load(&flags));
            (find_toolchain(&config), metadata.join())
        });
        let toolchain = toolchain?;
        let metadata = metadata.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let file = Config::load(&metadata.workspace_root)?;
        let output = output.over(file.output);
        let sources = metadata.sources(toolchain.library_sources().as_deref());
        let replay = replay_command(place);
        let mut console = Console::new(output, sources, stop.clone(), replay);
        if let Some(warning) = toolchain.warning() {
            console.note(warning);
        }
        Ok(Self {
            flags,
            metadata,
            run: run.over(file.run),
            ignore: file.ignore,
            overrides: file.predict,
            toolchain,
            console,
            stop,
            uninstrumented: Vec::new(),
            branches: false,
            config,
        })
    }

    /// Builds the runtime and the user's executables and lists what is in them. `arguments`
    /// are those of programs.
    pub(crate) fn build(&mut self, arguments: &[String]) -> Result<Vec<Target>, Failure> {
        let release = &self.toolchain.release;
        let text = format!("the runtime for rustc {release} (once per toolchain)");
        let console = &mut self.console;
        let cache = Cache::prepare(&self.toolchain, || console.status("Compiling", text))?;
        self.stop.check()?;
        let clang = clang(&self.toolchain);
        let build = CargoBuild {
            flags: &self.flags,
            metadata: &self.metadata,
            toolchain: &self.toolchain,
            cache: &cache,
            config: &self.config,
            build_jobs: self.run.build_jobs(),
            branches: self.branches,
            clang: &clang,
            stop: &self.stop,
        };
        let executables = build.run()?;
        link_reports::put_maps_beside(&build.link_reports(), &executables)
            .context("cannot put the program map beside the executable")
            .or_exit(Exit::Unsupported)?;
        for warning in link_reports::warnings(&build.link_reports(), &executables, &clang) {
            self.console.note(warning);
        }
        self.uninstrumented = link_reports::uninstrumented(&build.link_reports(), &executables);
        self.uninstrumented
            .retain(|name| self.metadata.is_own_crate(name));
        let mut targets = targets(&executables, &self.metadata, arguments, &self.stop)?;
        for executable in &executables {
            let exe = &executable.record.exe;
            let names = link_reports::unseen(&build.link_reports(), executable);
            let code = link_reports::unseen_code(&build.link_reports(), executable);
            let shown = exe.file_name().unwrap_or_default().to_string_lossy();
            if let Some(sentence) = link_reports::about_unseen(&shown, &names) {
                self.console.note(sentence);
            }
            for target in targets.iter_mut().filter(|target| target.exe == *exe) {
                target.unseen_synchronisation.clone_from(&names);
                target.unseen_code.clone_from(&code);
            }
        }
        Ok(targets)
    }

    /// Options for a campaign in this workspace.
    pub(crate) fn campaign_options(&self) -> Options {
        Options {
            workspace_root: self.metadata.workspace_root.clone(),
            results: self.metadata.results(),
            ignore: self.ignore.clone(),
            overrides: self.overrides.clone(),
            ..self.run.campaign()
        }
    }
}

/// The clang that works with this toolchain.
pub(crate) fn clang(toolchain: &Toolchain) -> Result<Clang, ClangError> {
    find_clang(raddle_instrument::llvm_major(&toolchain.sysroot).unwrap_or(0))
}

/// Cargo's configuration in the current directory.
pub(crate) fn cargo_config(flags: &CargoFlags) -> Result<CargoConfig, Failure> {
    let directory = std::env::current_dir()
        .context("the current directory cannot be read")
        .or_exit(Exit::Unsupported)?;
    Ok(CargoConfig::load(&directory, &flags.config))
}

/// The toolchain that cargo would use.
pub(crate) fn find_toolchain(config: &CargoConfig) -> Result<Toolchain, Failure> {
    let rustc = config.program("rustc", "RUSTC");
    Toolchain::find(&rustc.unwrap_or_else(|| "rustc".into()))
}

/// Schedule files in a directory, sorted; none if there is no such directory. What is not a
/// directory with files is refused.
pub(crate) fn schedules(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let cannot = |path: &Path, error: std::io::Error| {
        Failure::new(
            Exit::Usage,
            format!("cannot read {}: {error}", path.display()),
        )
    };
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| cannot(directory, error))?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| cannot(directory, error))?.path();
        let is_schedule = path
            .extension()
            .is_some_and(|extension| extension == "schedule");
        if is_schedule {
            std::fs::metadata(&path)
                .and_then(|metadata| check_is_file(&metadata))
                .map_err(|error| cannot(&path, error))?;
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
