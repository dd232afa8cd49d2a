//! `raddle cc` and `raddle c++`: compilers that instrument.

use std::process::ExitCode;

use raddle_instrument::{CompileError, Environment, Language};

use crate::arguments::CompilerCommand;
use crate::cache::Cache;
use crate::cargo_flags::CargoFlags;
use crate::exit::{Exit, Failure};
use crate::session::{cargo_config, find_toolchain};

pub(super) fn run(language: Language, command: CompilerCommand) -> Result<ExitCode, Failure> {
    let toolchain = find_toolchain(&cargo_config(&CargoFlags::default())?)?;
    // Nothing is announced: configure scripts take any word on stderr for a complaint.
    let cache = Cache::prepare(&toolchain, || {})?;
    let environment = Environment {
        runtime: cache.runtime(),
        sysroot: toolchain.sysroot,
        objects: cache.objects().to_owned(),
    };
    raddle_instrument::compiler(language, command.arguments, &environment).map_err(|error| {
        let exit = match error {
            CompileError::Clang(_) => Exit::Unsupported,
            _ => Exit::ProgramBroken,
        };
        Failure::new(exit, error)
    })
}
