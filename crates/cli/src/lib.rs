//! The command line: builds the user's crate with instrumentation, runs campaigns on its
//! tests, and shows what they find.
//!
//! The same executable also serves cargo as compiler wrapper, linker and runner, by the name
//! it is called with (`personality`).
//!
//! Deliberately absent: everything that knows about schedules, traces or LLVM.

mod arguments;
mod cache;
mod cargo_build;
mod cargo_config;
mod cargo_flags;
mod commands;
mod config;
mod console;
mod documentation;
mod embedded;
mod exit;
mod file;
mod interrupt;
mod link_reports;
mod listing;
mod machine;
mod metadata;
mod personality;
mod probe;
mod process;
mod program;
mod runner_record;
mod scratch;
mod session;
mod settings;
mod stored_flags;
mod targets;
mod test_arguments;
mod toolchain;
mod withdrawn;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::exit::Exit;

/// Runs the program that the command line names and returns its exit code.
pub fn main() -> ExitCode {
    exit::install_panic_hook();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if let Some(code) = personality::dispatch(&arguments) {
        return code;
    }
    let arguments = match arguments::parse(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // A closed stream cannot be told that it is closed.
            let _ = error.print();
            return if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Clean
            }
            .into();
        }
    };
    match commands::run(arguments.command) {
        Ok(code) => code,
        Err(failure) => {
            console::print_error(&failure);
            failure.exit.into()
        }
    }
}
