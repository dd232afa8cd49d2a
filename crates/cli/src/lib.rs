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
mod cargo_locks;
mod commands;
mod config;
mod console;
mod documentation;
mod embedded;
mod exit;
mod file;
mod interrupt;
mod known_commands;
mod limits;
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
mod shell;
mod stored_flags;
mod streams;
mod targets;
mod test_arguments;
mod threads;
mod toolchain;
mod withdrawn;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use raddle_report::CheckResult;
use raddle_trace::visible::{is_hidden, visible};

use crate::exit::{Exit, Failure};

/// Runs the program that the command line names and returns its exit code.
pub fn main() -> ExitCode {
    exit::install_panic_hook();
    // A file that may not grow is an error of the call, not the end of the tool.
    // SAFETY: no other thread runs yet.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if let Some(code) = personality::dispatch(&arguments) {
        return code;
    }
    let stack = limits::stack();
    if stack.result == CheckResult::Bad {
        let sentence = format!("{}: {}", stack.name, stack.text);
        let failure = Failure::new(Exit::Unsupported, sentence);
        console::print_error(&failure);
        return failure.exit.into();
    }
    limits::watch_processor_time();
    run(arguments)
}

/// Shows what the parser says. It repeats the user's words, which a terminal may obey.
fn print_usage(error: &clap::Error) -> std::io::Result<()> {
    let text = error.render().to_string();
    if !error.use_stderr() || !text.contains(|character| is_hidden(character) && character != '\n')
    {
        return error.print();
    }
    std::io::stderr().write_all(visible(&text).as_bytes())
}

/// The tool itself. Its frame is a large one, for which there has to be stack.
#[inline(never)]
fn run(arguments: Vec<OsString>) -> ExitCode {
    let arguments = match arguments::parse(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            let is_usage = error.use_stderr();
            let printed = print_usage(&error).map_err(|error| console::cannot_write(&error));
            return match printed.and_then(|()| console::require_output()) {
                _ if is_usage => Exit::Usage,
                Ok(()) => Exit::Clean,
                Err(failure) => {
                    console::print_error(&failure);
                    failure.exit
                }
            }
            .into();
        }
    };
    let code = match commands::run(arguments.command) {
        Ok(code) => code,
        Err(failure) => {
            console::print_error(&failure);
            failure.exit.into()
        }
    };
    let bugs = raddle_campaign::internal_errors();
    if bugs.is_empty() {
        return code;
    }
    for bug in bugs {
        let sentence = format!("this is a bug in raddle, please report it: {bug}");
        console::print_error(&Failure::new(Exit::Internal, sentence));
    }
    Exit::Internal.into()
}
