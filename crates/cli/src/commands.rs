//! The commands, one file each.

mod doctor;
mod keep;
mod list;
mod replay;
mod test;

use crate::arguments::Command;
use crate::exit::{Exit, Failure};

/// Runs a command.
pub(crate) fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Test(command) => test::run(command),
        Command::List(command) => list::run(command),
        Command::Replay(command) => replay::run(command),
        Command::Keep(command) => keep::run(&command),
        Command::Doctor(command) => doctor::run(&command),
    }
}
