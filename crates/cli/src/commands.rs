//! The commands, one file each.

mod compiler;
mod doctor;
mod generate;
mod keep;
mod list;
mod predict;
mod replay;
mod test;

use std::process::ExitCode;

use raddle_instrument::Language;

use crate::arguments::Command;
use crate::exit::{Exit, Failure};

/// Runs a command. Compilers have exit codes of their own.
pub(crate) fn run(command: Command) -> Result<ExitCode, Failure> {
    let exit = match command {
        Command::Cc(command) => return compiler::run(Language::C, command),
        Command::Cxx(command) => return compiler::run(Language::Cxx, command),
        Command::Test(command) => test::run(command),
        Command::Predict(command) => predict::run(command),
        Command::Generate(command) => generate::run(command),
        Command::List(command) => list::run(command),
        Command::Replay(command) => replay::run(command),
        Command::Keep(command) => keep::run(&command),
        Command::Doctor(command) => doctor::run(&command),
    };
    exit.map(Exit::into)
}
