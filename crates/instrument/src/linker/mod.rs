//! Stands in for the linker: instruments the bitcode among the inputs, and links the result
//! with the runtime library.
//!
//! Executables are linked at a fixed address (`-no-pie`), so that the address of a site is its
//! name within one build. The runtime comes first on the command line: it has to come before
//! libc in the list of needed libraries to replace functions of libc.

mod cache;
mod command_line;
mod error;
mod files;
mod inputs;
mod jobs;
mod notice;
mod parts;
mod report;
mod shop;

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::time::Instant;

use raddle_abi::env;
use raddle_trace::image::build_id;
use raddle_trace::program_map::{ProgramMap, map_beside};

use self::cache::{Cache, Key};
pub(crate) use self::command_line::expand;
use self::command_line::{Argument, CommandLine, OutputKind};
pub use self::error::Error;
use self::inputs::{Content, Member};
use self::jobs::{Job, Workshop};
pub use self::notice::waiting_links;
use self::parts::Part;
pub use self::report::{Failure, LinkReport, Unhooked};
pub(crate) use self::shop::Shop;
use crate::complain::complain;
use crate::environment::Environment;
use crate::llvm;
use crate::machine_code;
use crate::passes::Origin;

/// Acts as the linker. The first argument is the program's own name.
pub fn linker(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut report = LinkReport::default();
    let result = Link::from_environment()
        .and_then(|link| link.run(arguments.into_iter().skip(1), &mut report));
    let code = match result {
        Ok(code) => code,
        Err(error) => {
            complain(&error);
            report.is_machines = error.is_machines();
            report.error = Some(error.to_string());
            ExitCode::FAILURE
        }
    };
    if let Some(directory) = std::env::var_os(env::LINK_REPORTS) {
        report.write(Path::new(&directory));
    }
    code
}

/// What the environment says about a link.
struct Link {
    runtime: PathBuf,
    sysroot: PathBuf,
    linker: PathBuf,
    dump: Option<PathBuf>,
    parallel: usize,
    cache: Cache,
    libllvm: PathBuf,
    hooks: Vec<u8>,
}

/// Modules that were found, and what to tell about them.
#[derive(Default)]
struct Found {
    jobs: Vec<Job>,
    modules: Vec<(Key, String)>,
    pending: HashSet<Key>,
    native: Vec<String>,
    /// Those of them that can synchronise threads.
    synchronising: Vec<String>,
}

impl Found {
    /// An input without bitcode.
    fn native(&mut self, name: String, content: &[u8]) {
        if machine_code::synchronises(content) {
            self.synchronising.push(name.clone());
        }
        self.native.push(name);
    }

    /// A member of an archive.
    fn part(&mut self, part: Part) -> Key {
        if !part.is_native {
            self.modules.push((part.key.clone(), part.name));
            return part.key;
        }
        if part.synchronises {
            self.synchronising.push(part.name.clone());
        }
        self.native.push(part.name);
        part.key
    }
}

/// What takes the place of an input.
enum Replacement {
    Object(Key),
    Archive(Vec<Key>),
}

impl Link {
    fn from_environment() -> Result<Self, Error> {
        let Environment {
            runtime,
            sysroot,
            objects,
        } = Environment::from_variables()?;
        let hooks = inputs::read(&runtime.join(env::HOOKS_BITCODE))?;
        let libllvm = llvm::locate_llvm(&sysroot)?;
        let cache = Cache::open(objects, &libllvm, &hooks)?;
        let jobs = std::env::var(env::BUILD_JOBS)
            .ok()
            .and_then(|jobs| jobs.parse().ok());
        Ok(Self {
            runtime,
            sysroot,
            linker: std::env::var_os(env::REAL_LINKER).map_or_else(|| "cc".into(), PathBuf::from),
            dump: std::env::var_os(env::DUMP_IR).map(PathBuf::from),
            parallel: jobs
                .or_else(|| std::thread::available_parallelism().ok().map(usize::from))
                .unwrap_or(1)
                .max(1),
            cache,
            libllvm,
            hooks,
        })
    }

    fn run(
        &self,
        arguments: impl IntoIterator<Item = OsString>,
        report: &mut LinkReport,
    ) -> Result<ExitCode, Error> {
        let started = Instant::now();
        let line = command_line::parse(arguments)?;
        report.output = std::path::absolute(&line.output).unwrap_or_else(|_| line.output.clone());
        report.shared = line.kind == OutputKind::Shared;
        if line.is_static && line.kind == OutputKind::Executable {
            return Err(Error::Static(line.output));
        }
        let mut found = Found::default();
        let replacements = self.collect(&line, &mut found)?;
        report.instrumented = found.modules.len();
        report.from_cache = found.modules.len() - found.jobs.len();
        self.instrument(found.jobs)?;
        report.native = found.native;
        report.synchronising = found.synchronising;
        self.read_failures(&found.modules, report);
        self.read_assembly(&found.modules, report);
        let arguments = self.rewrite(&line, &replacements)?;
        report.instrument_seconds = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let response = line.output.with_extension("raddle-arguments");
        let code = call(Command::new(&self.linker), &arguments, &response)?;
        report.link_seconds = started.elapsed().as_secs_f64();
        if line.kind == OutputKind::Executable {
            self.write_map(&found.modules, &line.output)?;
        }
        Ok(code)
    }

    /// Finds all bitcode, and what will replace which argument.
    fn collect(
        &self,
        line: &CommandLine,
        found: &mut Found,
    ) -> Result<HashMap<usize, Replacement>, Error> {
        let mut replacements = HashMap::new();
        for (index, argument) in line.arguments.iter().enumerate() {
            let archive = match argument {
                Argument::Object(path) => {
                    let data = inputs::read(path)?;
                    let name = inputs::file_name(path);
                    if inputs::is_bitcode(&data) {
                        let key = self.module(found, name, data, Origin::Crate);
                        replacements.insert(index, Replacement::Object(key));
                    } else if let Some(bitcode) = self.beside(&data) {
                        let key = self.module(found, name, bitcode, Origin::C);
                        replacements.insert(index, Replacement::Object(key));
                    } else if name != "symbols.o" {
                        found.native(name, &data);
                    }
                    continue;
                }
                Argument::Archive(path) => path.clone(),
                Argument::Library {
                    name,
                    prefer_static,
                } => {
                    let path = inputs::static_library(name, *prefer_static, &line.directories);
                    let Some(path) = path else { continue };
                    path
                }
                Argument::Pie | Argument::Other(_) => continue,
            };
            if let Some(parts) = parts::recall(&self.cache, &archive) {
                let keys = parts.into_iter().map(|part| found.part(part)).collect();
                replacements.insert(index, Replacement::Archive(keys));
                continue;
            }
            match inputs::archive(&archive, &self.sysroot, |object| self.beside(object))? {
                Some(members) => {
                    let parts = self.members(found, &archive, members)?;
                    parts::remember(&self.cache, &archive, &parts);
                    let keys = parts.into_iter().map(|part| found.part(part)).collect();
                    replacements.insert(index, Replacement::Archive(keys));
                }
                None if archive.starts_with(&self.sysroot) => {}
                None => found.native(inputs::file_name(&archive), &inputs::read(&archive)?),
            }
        }
        Ok(replacements)
    }

    /// The bitcode that was made together with an object, if it was made by our `CC`.
    fn beside(&self, object: &[u8]) -> Option<Vec<u8>> {
        std::fs::read(self.cache.bitcode_of(object)).ok()
    }

    fn members(
        &self,
        found: &mut Found,
        archive: &Path,
        members: Vec<Member>,
    ) -> Result<Vec<Part>, Error> {
        let archive_name = inputs::file_name(archive);
        let mut parts = Vec::with_capacity(members.len());
        for member in members {
            let name = format!("{archive_name}({})", member.name);
            parts.push(match member.content {
                Content::Bitcode(bitcode, origin) => Part {
                    key: self.job(found, &name, bitcode, origin),
                    name,
                    is_native: false,
                    synchronises: false,
                },
                Content::Native(object) => Part {
                    key: self.cache.store_native(&object)?,
                    name,
                    is_native: true,
                    synchronises: machine_code::synchronises(&object),
                },
            });
        }
        Ok(parts)
    }

    fn module(&self, found: &mut Found, name: String, bitcode: Vec<u8>, origin: Origin) -> Key {
        let key = self.job(found, &name, bitcode, origin);
        found.modules.push((key.clone(), name));
        key
    }

    /// The key of a module, which is instrumented if it has not been yet.
    fn job(&self, found: &mut Found, name: &str, bitcode: Vec<u8>, origin: Origin) -> Key {
        let key = self.cache.module_key(&bitcode, origin);
        if !self.cache.object(&key).exists() && found.pending.insert(key.clone()) {
            found.jobs.push(Job {
                key: key.clone(),
                name: name.to_owned(),
                bitcode,
                origin,
            });
        }
        key
    }

    fn instrument(&self, jobs: Vec<Job>) -> Result<(), Error> {
        if jobs.is_empty() {
            return Ok(());
        }
        llvm::load(&self.libllvm)?;
        let workshop = Workshop {
            cache: &self.cache,
            hooks: &self.hooks,
            dump: self.dump.as_deref(),
            parallel: self.parallel,
        };
        workshop.run(jobs)
    }

    fn read_failures(&self, modules: &[(Key, String)], report: &mut LinkReport) {
        for (key, module) in modules {
            if let Ok(reason) = std::fs::read_to_string(self.cache.failure(key)) {
                report.failed.push(Failure {
                    module: module.clone(),
                    reason,
                });
                report.instrumented -= 1;
            }
        }
    }

    fn read_assembly(&self, modules: &[(Key, String)], report: &mut LinkReport) {
        for (key, module) in modules {
            if let Ok(content) = std::fs::read(self.cache.assembly(key)) {
                report.assembly.push(Unhooked {
                    module: module.clone(),
                    is_atomic: content == Cache::ATOMIC,
                });
            }
        }
    }

    /// The real linker's arguments.
    fn rewrite(
        &self,
        line: &CommandLine,
        replacements: &HashMap<usize, Replacement>,
    ) -> Result<Vec<OsString>, Error> {
        let option = |text: String| {
            OsString::from(if self.is_direct() {
                text
            } else {
                format!("-Wl,{text}")
            })
        };
        let mut arguments = vec![
            option("--push-state".to_owned()),
            option("--no-as-needed".to_owned()),
            self.runtime.join(env::RUNTIME_LIBRARY).into_os_string(),
            option("--pop-state".to_owned()),
            option(format!("-rpath={}", self.runtime.display())),
        ];
        if line.kind == OutputKind::Executable {
            arguments.push("-no-pie".into());
        }
        for (index, argument) in line.arguments.iter().enumerate() {
            match (replacements.get(&index), argument) {
                (Some(Replacement::Object(key)), _) => {
                    arguments.push(self.cache.object(key).into_os_string());
                }
                (Some(Replacement::Archive(keys)), _) => {
                    arguments.push(self.cache.archive(keys)?.into_os_string());
                }
                (None, Argument::Pie) => {}
                (None, Argument::Object(path) | Argument::Archive(path)) => {
                    arguments.push(path.clone().into_os_string());
                }
                (None, Argument::Library { name, .. }) => {
                    arguments.push(format!("-l{name}").into());
                }
                (None, Argument::Other(other)) => arguments.push(other.clone()),
            }
        }
        Ok(arguments)
    }

    /// Whether the real linker is one itself, and not a C compiler that calls one.
    fn is_direct(&self) -> bool {
        crate::rustc_wrapper::direct_flavor(&self.linker).is_some()
    }

    /// Joins the modules' maps into the executable's.
    fn write_map(&self, modules: &[(Key, String)], output: &Path) -> Result<(), Error> {
        let mut merged = ProgramMap::default();
        for (key, _) in modules {
            let Ok(text) = std::fs::read(self.cache.map(key)) else {
                continue;
            };
            if let Ok(part) = serde_json::from_slice::<ProgramMap>(&text) {
                merged.types.extend(part.types);
                merged.functions.extend(part.functions);
            }
        }
        merged.normalise();
        // Without an executable the linker has failed, and has said so.
        merged.build_id = build_id(output).unwrap_or_default();
        let path = map_beside(output);
        let mut content = Vec::new();
        let written = merged
            .write(&mut content)
            .map_err(|error| std::io::Error::other(error.to_string()));
        written
            .and_then(|()| files::write_atomically(&path, &content))
            .map_err(|error| Error::File {
                action: "write",
                path,
                error,
            })
    }
}

/// Calls a linker, or a compiler that calls one. Too many arguments go into a file.
pub(crate) fn call(
    mut command: Command,
    arguments: &[OsString],
    response: &Path,
) -> Result<ExitCode, Error> {
    /// The kernel's limit for all arguments is not below 128 KiB; stay away from it.
    const LIMIT: usize = 64 << 10;
    let length: usize = arguments.iter().map(|argument| argument.len() + 1).sum();
    if length > LIMIT {
        let lines: Vec<_> = arguments
            .iter()
            .map(|argument| command_line::escape(argument))
            .collect();
        std::fs::write(response, lines.join("\n")).map_err(|error| Error::File {
            action: "write",
            path: response.to_owned(),
            error,
        })?;
        let mut argument = OsString::from("@");
        argument.push(response);
        command.arg(argument);
    } else {
        command.args(arguments);
    }
    let status = command.status().map_err(|error| Error::Linker {
        linker: command.get_program().into(),
        error,
    })?;
    if length > LIMIT {
        let _ = std::fs::remove_file(response);
    }
    Ok(exit_code(status))
}

/// The exit code of a process as our own.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    ExitCode::from(code.unwrap_or(1))
}
