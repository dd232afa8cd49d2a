//! Stands in for the C compiler of build scripts: `CC` for crates that compile C themselves.
//!
//! The user's own compiler makes the object, so builds neither fail nor change, and what is
//! linked into build scripts and procedural macros has no hooks. Beside it clang makes bitcode
//! of the same source, which is stored under the object's hash: our linker finds it there when
//! it meets the object again, in whatever archive, and instruments it. Where clang cannot
//! compile the source, the object stays as it is, and the linker says so.

use std::ffi::OsString;
use std::process::{Command, ExitCode, Stdio};

use super::clang::Clang;
use super::command_line::{self, CommandLine, Mode};
use super::compile::default_object;
use super::{Error, Language, find_clang, flags};
use crate::environment::Environment;
use crate::linker::{self, Shop};

/// Acts as a build script's compiler. `real` is the user's, which may have several words.
pub fn compiler_beside(
    language: Language,
    arguments: impl IntoIterator<Item = OsString>,
    real: &str,
    environment: &Environment,
) -> Result<ExitCode, Error> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let mut words = real.split_whitespace();
    let program = words.next().unwrap_or("cc");
    let mut command = Command::new(program);
    command.args(words).args(&arguments);
    let status = command.status().map_err(|error| Error::Start {
        program: program.to_owned(),
        error,
    })?;
    if status.success() {
        // Whatever goes wrong here costs hooks and nothing else.
        let _ = store_bitcode(language, arguments, environment);
    }
    Ok(linker::exit_code(status))
}

fn store_bitcode(
    language: Language,
    arguments: Vec<OsString>,
    environment: &Environment,
) -> Result<(), Error> {
    let line = command_line::parse(linker::expand(arguments)?);
    if line.mode != Mode::Compile || line.foreign_machine().is_some() {
        return Ok(());
    }
    let major = crate::llvm_major(&environment.sysroot).map_err(linker::Error::from)?;
    let clang = find_clang(major)?;
    let shop = Shop::open(environment)?;
    let count = line.sources().count();
    for (source, named) in line.sources() {
        let object = match &line.output {
            Some(output) if count == 1 => output.clone(),
            _ => default_object(source),
        };
        let Ok(object) = std::fs::read(object) else {
            continue;
        };
        let mut command = command(&clang, language, &line);
        if let Some(name) = named {
            command.arg("-x").arg(name);
        }
        let output = command.arg(source).output().map_err(|error| Error::Start {
            program: clang.path.display().to_string(),
            error,
        })?;
        if output.status.success() {
            shop.keep_bitcode(&object, &output.stdout)?;
        }
    }
    Ok(())
}

/// clang, writing bitcode to its standard output, and nothing else anywhere.
fn command(clang: &Clang, language: Language, line: &CommandLine) -> Command {
    let mut command = clang.command(language);
    command
        .args(flags::LENIENT)
        .args(line.flags_without_dependencies())
        .args(flags::TOLERANT)
        .args(flags::COMPILING)
        .args(["-w", "-c", "-o", "-"])
        .stdin(Stdio::null());
    command
}
