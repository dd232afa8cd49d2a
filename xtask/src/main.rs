//! Set-up, demo, tests, benchmarks and checks of this repository: `cargo xtask <task>`.

mod archive;
mod bench;
mod bless;
mod bugs;
mod counts;
mod demo;
mod evaluate;
mod lint;
mod messages;
mod plot;
mod programs;
mod repository;
mod setup;
mod shell;
mod subjects;
mod test;
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tasks of this repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build the tool and run it on the example crates.
    Demo,
    /// Run lints, unit tests, end-to-end tests and the suites of published crates.
    Test {
        /// 1,000 seeds instead of 100, and all published crates.
        #[arg(long)]
        full: bool,
    },
    /// Compare speed with shuttle, loom, ThreadSanitizer and rebuilds with plain cargo.
    Bench {
        /// Executions per measurement.
        #[arg(long, default_value_t = 100_000)]
        executions: u64,
        /// Measurements of each kind; the median counts.
        #[arg(long, default_value_t = 5)]
        rounds: usize,
        /// Write the figures into the book.
        #[arg(long)]
        write: bool,
    },
    /// Accept the present output as the expected one in all snapshot tests.
    Bless,
    /// Check documents, layers and source files.
    Tidy,
    /// Run rustfmt, clippy, rustdoc and tidy.
    Lint,
    /// Run the tool on published crates with a known bug, and on the versions that fixed it.
    Bugs {
        /// Names out of subjects/manifest.toml; all of them without any.
        names: Vec<String>,
        /// Also repeat the tests natively, and write the figures into the book.
        #[arg(long)]
        write: bool,
    },
    /// Measure the tool on programs with known bugs.
    Evaluate {
        #[command(subcommand)]
        what: Evaluation,
    },
    /// Run the tool on programs of the system's archive.
    Programs {
        /// Packages out of subjects/programs.toml; all of them without any.
        names: Vec<String>,
        /// Write the figures into the book.
        #[arg(long, conflicts_with = "names")]
        write: bool,
    },
    /// Run the tool on the test suites of published crates.
    Subjects {
        /// Names out of subjects/manifest.toml; all of them without any.
        names: Vec<String>,
        /// Executions per test.
        #[arg(long, default_value_t = 1000)]
        executions: u64,
        /// Seconds per crate, instead of what subjects/manifest.toml says.
        #[arg(long)]
        time: Option<u64>,
        /// Write the figures into the book.
        #[arg(long)]
        write: bool,
    },
}

#[derive(Subcommand)]
enum Evaluation {
    /// How many schedules each strategy needs to the first sight of each bug.
    Search(evaluate::Search),
    /// What prediction finds in the subjects of its paper, beside what that is compared with.
    Predict(evaluate::Predict),
    /// How soon `generate` finds the bugs of the classes of its paper, beside other guidances.
    Generate(evaluate::Generate),
    /// Only whether bugs are found, by searches and by generated tests, and nothing where there are none; parts of `test`.
    Check {
        /// All of them.
        #[arg(long)]
        full: bool,
    },
}

fn main() -> ExitCode {
    let result = match Arguments::parse().task {
        Task::Demo => demo::run(),
        Task::Test { full } => test::run(full),
        Task::Bench {
            executions,
            rounds,
            write,
        } => bench::run(executions, rounds, write),
        Task::Bless => bless::run(),
        Task::Tidy => tidy::run(),
        Task::Lint => lint::run(),
        Task::Bugs { names, write } => bugs::run(&names, write),
        Task::Evaluate {
            what: Evaluation::Search(search),
        } => evaluate::search(&search),
        Task::Evaluate {
            what: Evaluation::Predict(predict),
        } => evaluate::predict(&predict),
        Task::Evaluate {
            what: Evaluation::Generate(generate),
        } => evaluate::generate(&generate),
        Task::Evaluate {
            what: Evaluation::Check { full },
        } => evaluate::check_alone(full),
        Task::Programs { names, write } => programs::run(&names, write),
        Task::Subjects {
            names,
            executions,
            time,
            write,
        } => {
            let seconds = time;
            let budget = subjects::Budget {
                executions,
                seconds,
            };
            subjects::run(&names, budget, write)
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
