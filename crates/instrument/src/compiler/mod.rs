//! Stands in for a C or C++ compiler: `raddle cc` and `raddle c++`.
//!
//! clang turns a source into bitcode, which is instrumented at once, so that what stands in
//! the object file is an ordinary object. Archives, partial links and linkers that somebody
//! else calls then need no help. Programs are linked with the runtime library first, at a
//! fixed address, as Rust's are ([`crate::linker()`]).
//!
//! Whatever is not a compilation or a link (preprocessing, questions, syntax checks) is
//! clang's own business and goes to it as it came.

mod beside;
mod clang;
mod command_line;
mod compile;
mod flags;
mod link;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

pub use self::beside::compiler_beside;
pub use self::clang::{Clang, ClangError, find_clang};
use self::command_line::{CommandLine, Mode};
pub(crate) use self::link::notes_beside;
use crate::environment::Environment;
use crate::linker::{self, Error as LinkError};

/// Which compiler is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `cc`.
    C,
    /// `c++`.
    Cxx,
}

/// Why a C compiler's job cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no clang, or none that can be used.
    #[error(transparent)]
    Clang(#[from] ClangError),
    /// The program would have no place for the runtime.
    #[error("`{0}` does not work here: Raddle needs the dynamic C library; remove the flag")]
    Static(String),
    /// The program would be for another machine.
    #[error("`{0}` does not work here: Raddle instruments x86-64 programs only; remove the flag")]
    Machine(String),
    /// Something that compiling shares with linking.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A program cannot be started.
    #[error("cannot run `{program}`: {error}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        error: std::io::Error,
    },
}

/// Acts as the compiler. `arguments` are those after its name. Returns its exit code, or why
/// it was never called.
pub fn compiler(
    language: Language,
    arguments: impl IntoIterator<Item = OsString>,
    environment: &Environment,
) -> Result<ExitCode, Error> {
    let arguments = linker::expand(arguments)?;
    let major = crate::llvm_major(&environment.sysroot).map_err(LinkError::from)?;
    let clang = find_clang(major)?;
    let line = command_line::parse(arguments);
    if let Some(flag) = line.foreign_machine() {
        return Err(Error::Machine(flag));
    }
    match line.mode {
        Mode::Ask => ask(&clang, language, &line),
        Mode::Compile => compile::all(&clang, language, &line, environment),
        Mode::Link => link::run(&clang, language, &line, environment),
    }
}

/// Hands everything to clang.
fn ask(clang: &Clang, language: Language, line: &CommandLine) -> Result<ExitCode, Error> {
    let mut command = clang.command(language);
    command.args(line.unchanged());
    let error = command.exec();
    Err(Error::Start {
        program: clang.path.display().to_string(),
        error,
    })
}

/// Runs a command to its end.
fn status(command: &mut Command) -> Result<ExitCode, Error> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .map_err(|error| Error::Start { program, error })?;
    Ok(linker::exit_code(status))
}
