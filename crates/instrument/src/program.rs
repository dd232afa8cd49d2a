//! What an executable is, from its ELF file: whether it can run under Raddle, and how.

use std::path::{Path, PathBuf};

use object::read::elf::{Dyn as _, FileHeader as _, ProgramHeader as _};
use object::{Endianness, FileKind, elf};
use raddle_abi::env;

/// How a program gets the runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// It was linked with this runtime library.
    Instrumented(PathBuf),
    /// It was built without us, and is dynamically linked: the runtime can be preloaded.
    Plain,
}

/// Why a file is no program that can be run.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// It cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It is a script, or something else that the loader does not load.
    #[error("{} is not an ELF program; if it is a script, name the program that it runs", .0.display())]
    NotElf(PathBuf),
    /// It is for another machine.
    #[error("{} is a {what} program; Raddle runs x86-64 programs only", path.display())]
    Machine {
        /// The file.
        path: PathBuf,
        /// `32-bit`, or a number of the ELF format.
        what: String,
    },
    /// It has no place for the runtime.
    #[error(
        "{} is linked statically; Raddle needs the dynamic C library: link it without `-static`", .0.display()
    )]
    Static(PathBuf),
}

/// Looks at a program.
pub fn examine(path: &Path) -> Result<Program, ProgramError> {
    let data = std::fs::read(path).map_err(|error| ProgramError::Read {
        path: path.to_owned(),
        error,
    })?;
    let machine = |what: String| ProgramError::Machine {
        path: path.to_owned(),
        what,
    };
    match FileKind::parse(&*data) {
        Ok(FileKind::Elf64) => {}
        Ok(FileKind::Elf32) => return Err(machine("32-bit".to_owned())),
        _ => return Err(ProgramError::NotElf(path.to_owned())),
    }
    let not_elf = |_| ProgramError::NotElf(path.to_owned());
    let header = elf::FileHeader64::<Endianness>::parse(&*data).map_err(not_elf)?;
    let endian = header.endian().map_err(not_elf)?;
    let number = header.e_machine(endian);
    if number != elf::EM_X86_64 {
        return Err(machine(format!("foreign (ELF machine {number})")));
    }
    if !matches!(header.e_type(endian), elf::ET_EXEC | elf::ET_DYN) {
        return Err(ProgramError::NotElf(path.to_owned()));
    }
    let segments = header.program_headers(endian, &*data).map_err(not_elf)?;
    if !segments
        .iter()
        .any(|segment| segment.p_type(endian) == elf::PT_INTERP)
    {
        return Err(ProgramError::Static(path.to_owned()));
    }
    let needed = needed(header, endian, &data).unwrap_or_default();
    let runtime = needed.into_iter().find(|name| {
        Path::new(name)
            .file_name()
            .is_some_and(|name| name == env::RUNTIME_LIBRARY)
    });
    Ok(runtime.map_or(Program::Plain, |name| Program::Instrumented(name.into())))
}

/// Names of the libraries that a program needs.
fn needed(
    header: &elf::FileHeader64<Endianness>,
    endian: Endianness,
    data: &[u8],
) -> Option<Vec<String>> {
    let sections = header.sections(endian, data).ok()?;
    let (entries, link) = sections.dynamic(endian, data).ok()??;
    let strings = sections.strings(endian, data, link).ok()?;
    let names = entries
        .iter()
        .filter(|entry| entry.tag(endian) == elf::DT_NEEDED)
        .filter_map(|entry| strings.get(u32::try_from(entry.val(endian)).ok()?).ok())
        .map(|name| String::from_utf8_lossy(name).into_owned());
    Some(names.collect())
}

#[cfg(test)]
mod tests {
    use super::{Program, ProgramError, examine};

    /// The beginning of an ELF file: class, type, machine.
    fn header(class: u8, kind: u16, machine: u16) -> Vec<u8> {
        let mut bytes = vec![0x7f, b'E', b'L', b'F', class, 1, 1];
        bytes.resize(16, 0);
        bytes.extend(kind.to_le_bytes());
        bytes.extend(machine.to_le_bytes());
        bytes.resize(64, 0);
        bytes
    }

    fn check(content: &[u8]) -> Result<Program, ProgramError> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("program");
        std::fs::write(&path, content).expect("a written file");
        examine(&path)
    }

    #[test]
    fn files_that_cannot_be_run_are_told_apart() {
        assert!(matches!(
            check(b"#!/bin/sh\n"),
            Err(ProgramError::NotElf(_))
        ));
        assert!(matches!(
            check(&header(2, 1, 62)),
            Err(ProgramError::NotElf(_))
        ));
        let error = check(&header(1, 2, 3)).expect_err("a 32-bit program");
        assert!(error.to_string().contains("is a 32-bit program"));
        let error = check(&header(2, 2, 183)).expect_err("an ARM program");
        assert!(error.to_string().contains("machine 183"));
        assert!(matches!(
            check(&header(2, 2, 62)),
            Err(ProgramError::Static(_))
        ));
    }

    #[test]
    fn a_program_built_without_us_is_plain() {
        let own = std::env::current_exe().expect("a test knows its executable");
        assert_eq!(examine(&own).expect("a program"), Program::Plain);
    }
}
