//! Compiles sources into instrumented objects.
//!
//! clang writes its bitcode to the very file that the object will be, with the user's own
//! `-o`: so names in dependency files and messages are what they would be without us.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::clang::Clang;
use super::command_line::{CommandLine, Word};
use super::{Error, Language, flags, status};
use crate::complain::complain;
use crate::environment::Environment;
use crate::linker::{Error as LinkError, Shop};
use crate::passes::Origin;

/// Compiles each source (`-c`).
pub(super) fn all(
    clang: &Clang,
    language: Language,
    line: &CommandLine,
    environment: &Environment,
) -> Result<ExitCode, Error> {
    let others = line.words.iter().any(|word| matches!(word, Word::Other(_)));
    if others {
        // Assembler files; objects have nothing left to compile, which clang says itself.
        let code = plain(clang, language, line)?;
        if code != ExitCode::SUCCESS {
            return Ok(code);
        }
    }
    let count = line.sources().count();
    let mut result = ExitCode::SUCCESS;
    for (source, named) in line.sources() {
        let default = default_object(source);
        let output = match &line.output {
            // Several sources and one output is an error that clang words best.
            Some(_) if count > 1 => return plain_all(clang, language, line),
            Some(output) => output,
            None => &default,
        };
        let source = Source {
            path: source,
            language: named,
            output,
            extra: &[],
        };
        let code = source.compile(clang, language, line, environment)?;
        if code != ExitCode::SUCCESS {
            result = code;
        }
    }
    Ok(result)
}

/// Compiles what is not C or C++, as clang does it.
fn plain(clang: &Clang, language: Language, line: &CommandLine) -> Result<ExitCode, Error> {
    let mut command = clang.command(language);
    command.args(flags::TOLERANT).arg("-c");
    for word in &line.words {
        match word {
            Word::Flag(words) => drop(command.args(words)),
            Word::Language(name) => drop(command.arg("-x").arg(name)),
            Word::Output(path) => drop(command.arg("-o").arg(path)),
            Word::Source(..) => {}
            Word::Other(input) => drop(command.arg(input)),
        }
    }
    status(&mut command)
}

fn plain_all(clang: &Clang, language: Language, line: &CommandLine) -> Result<ExitCode, Error> {
    status(clang.command(language).args(line.unchanged()))
}

/// The object of a source without `-o`.
pub(super) fn default_object(source: &Path) -> PathBuf {
    Path::new(source.file_name().unwrap_or(OsStr::new("-"))).with_extension("o")
}

/// A source to be compiled.
pub(super) struct Source<'a> {
    /// The file, or `-`.
    pub(super) path: &'a Path,
    /// What `-x` says.
    pub(super) language: Option<&'a OsString>,
    /// The object.
    pub(super) output: &'a Path,
    /// Flags for this source alone.
    pub(super) extra: &'a [OsString],
}

impl Source<'_> {
    /// Compiles and instruments it. The result is clang's.
    pub(super) fn compile(
        &self,
        clang: &Clang,
        language: Language,
        line: &CommandLine,
        environment: &Environment,
    ) -> Result<ExitCode, Error> {
        let mut command = clang.command(language);
        command
            .args(flags::LENIENT)
            .args(line.flags())
            .args(flags::TOLERANT)
            .args(self.extra);
        let is_file = !self.output.exists() || self.output.is_file();
        let is_stdout = self.output == Path::new("-");
        if is_file && !is_stdout {
            command.args(flags::COMPILING);
        }
        command.arg("-c").arg("-o").arg(self.output);
        if let Some(name) = self.language {
            command.arg("-x").arg(name);
        }
        command.arg(self.path);
        let code = status(&mut command)?;
        if code != ExitCode::SUCCESS || !is_file || is_stdout {
            return Ok(code);
        }
        let instrumented = self.instrument(environment);
        if instrumented.is_err() {
            // Bitcode must not be taken for an object by the next make.
            let _ = std::fs::remove_file(self.output);
        }
        instrumented?;
        Ok(code)
    }

    fn instrument(&self, environment: &Environment) -> Result<(), Error> {
        let file = |action, error| LinkError::File {
            action,
            path: self.output.to_owned(),
            error,
        };
        let bitcode = std::fs::read(self.output).map_err(|error| file("read", error))?;
        let name = self.path.file_name().unwrap_or(OsStr::new("-"));
        let shop = Shop::open(environment)?;
        let object = shop.object(name.to_string_lossy().into_owned(), bitcode, Origin::C)?;
        if let Some(reason) = &object.failure {
            complain(format_args!(
                "{} is compiled without hooks, so what happens inside of it is not seen: {reason}",
                self.path.display()
            ));
        }
        std::fs::write(self.output, object.content).map_err(|error| file("write", error))?;
        Ok(())
    }
}
