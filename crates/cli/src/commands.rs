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
use crate::console;
use crate::exit::{Exit, Failure};
use crate::limits;

/// Runs a command. Compilers have exit codes of their own.
pub(crate) fn run(command: Command) -> Result<ExitCode, Failure> {
    // Compilers seldom write there, and say themselves if they cannot.
    if !matches!(command, Command::Cc(_) | Command::Cxx(_)) {
        console::require_output()?;
    }
    if !matches!(command, Command::Doctor(_)) {
        limits::require()?;
    }
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
    // Output that does not arrive stops the work as if the user had.
    let exit = match exit {
        Err(failure) if failure.exit == Exit::Interrupted && console::is_in_trouble() => {
            Ok(Exit::Interrupted)
        }
        exit => exit,
    };
    exit.and_then(console::finish).map(Exit::into)
}
