//! The command line as the user types it.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args, CommandFactory, Parser, Subcommand, ValueEnum};
use raddle_campaign::Engine;
use raddle_generate::select::Guidance;

use crate::cargo_flags::CargoFlags;
use crate::settings::{OutputOptions, RunOptions};

/// Finds concurrency bugs in unmodified Rust crates
#[derive(Debug, Parser)]
#[command(name = "cargo raddle", bin_name = "cargo raddle", version, about)]
#[command(
    after_help = "Exit codes: 0 clean, 2 usage, 4 nothing to test, 69 machine or toolchain \
    unsupported, 70 bug in raddle, 100 findings, 101 the program does not build or run, \
    130 interrupted without findings."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the crate's own tests under many schedules
    Test(TestCommand),
    /// Predict violations of atomic sets from a few executions, and make them real
    Predict(PredictCommand),
    /// Write and run concurrent tests for a type, from its name alone
    Generate(GenerateCommand),
    /// List the tests that `test` would run
    List(ListCommand),
    /// Run the execution of a finding again
    Replay(ReplayCommand),
    /// Keep a finding's schedule in raddle-regressions/, which `test` replays first
    Keep(KeepCommand),
    /// Say whether toolchain and machine can do it, and what to do if not
    Doctor(DoctorCommand),
    /// Compile and link C with instrumentation: a drop-in for clang, as in CC="raddle cc"
    #[command(disable_help_flag = true)]
    Cc(CompilerCommand),
    /// Compile and link C++ with instrumentation: a drop-in for clang++
    #[command(name = "c++", disable_help_flag = true)]
    Cxx(CompilerCommand),
}

/// `cc` and `c++`.
#[derive(Args, Debug)]
pub(crate) struct CompilerCommand {
    /// clang's arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENTS"
    )]
    pub arguments: Vec<OsString>,
}

/// Options for programs that cargo does not build.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Options for programs")]
pub(crate) struct ProgramOptions {
    /// Where results are kept [default: raddle-results, or target/raddle for cargo's]
    #[arg(long, value_name = "DIR")]
    pub results: Option<PathBuf>,
    /// What the program reads from its standard input [default: nothing]
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,
    /// The exit code by which the program says that all is well [default: 0]
    #[arg(long, value_name = "N")]
    pub exit_code: Option<u8>,
}

/// `test`.
#[derive(Args, Debug)]
pub(crate) struct TestCommand {
    /// Run only tests whose names contain this; with a slash in it (./prog), run that program
    /// with the arguments that follow
    #[arg(value_name = "FILTER|PROGRAM")]
    pub filter: Option<String>,
    /// Continue where the last run with the same options stopped
    #[arg(long = "continue")]
    pub resume: bool,
    /// Build, but run nothing
    #[arg(long)]
    pub no_run: bool,
    /// List the different outputs of each test's executions, and how often each was seen
    #[arg(long)]
    pub outcomes: bool,
    #[command(flatten)]
    pub run: RunOptions,
    #[command(flatten)]
    pub output: OutputOptions,
    #[command(flatten)]
    pub program: ProgramOptions,
    #[command(flatten)]
    pub cargo: CargoFlags,
    /// libtest's --exact, --ignored, --include-ignored, --skip NAME and further filters; with
    /// --bin or --example the program's arguments
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub rest: Vec<String>,
}

/// `predict`.
#[derive(Args, Debug)]
pub(crate) struct PredictCommand {
    /// What finds violations
    #[arg(long, value_name = "ENGINE", default_value = Engine::default().name(), value_parser = engines())]
    pub engine: Engine,
    /// Executions that are recorded and predicted from
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    pub profiles: u64,
    /// Directed executions per prediction; all executions of `monitor`, `lock-pattern` and `random`
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    pub tries: u64,
    /// Make all tries, also after the first that shows what was predicted: to measure how many do
    #[arg(long)]
    pub all_tries: bool,
    /// Which locks a unit of work has given up before it is held: those that the other one needs,
    /// or only those held at all accesses, as in the paper on AssetFuzzer, or none
    #[arg(long, value_name = "KIND", default_value = "needed")]
    pub vwls: VwlsKind,
    /// Report violations of which every access is atomic like any other
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub test: TestCommand,
}

/// `generate`.
#[derive(Args, Debug)]
pub(crate) struct GenerateCommand {
    /// The type, like my_crate::Pool or "dashmap::DashMap<u32, u32>"; parameters left open are u32
    #[arg(value_name = "TYPE")]
    pub subject: String,
    /// Show what can be called, and what cannot and why; run nothing
    #[arg(long)]
    pub list: bool,
    /// Take the type from this package of the registry, which is downloaded, built and run
    #[arg(long = "crate", value_name = "NAME@VERSION")]
    pub package: Option<String>,
    /// What decides which methods to call next
    #[arg(long, value_name = "GUIDANCE", default_value = "pairs", value_parser = guidances())]
    pub guidance: Guidance,
    /// Threads of a test (by default two, and three in a share of the tests)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(2..=8))]
    pub threads: Option<u8>,
    /// Schedules under which each test is run
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub schedules: u64,
    /// Call only these operations, as `--list` names them
    #[arg(long, value_name = "NAME")]
    pub op: Vec<String>,
    /// Do not call these operations, nor anything that they return
    #[arg(long, value_name = "NAME")]
    pub skip: Vec<String>,
    /// Do not check the results of this operation, since it promises less: METHOD=REASON
    #[arg(long, value_name = "METHOD=REASON", value_parser = Relaxation::parse)]
    pub relax: Vec<Relaxation>,
    /// Take values, constructors and operations from this file of yours
    #[arg(long, value_name = "FILE")]
    pub harness: Option<PathBuf>,
    /// Search so many times, each with a seed of its own, and only say when each found something
    #[arg(long, value_name = "N", hide = true)]
    pub trials: Option<u64>,
    /// Only compare what so many random tests do with what they do when they are written down
    #[arg(long, value_name = "N", hide = true)]
    pub compare: Option<u16>,
    #[command(flatten)]
    pub run: RunOptions,
    #[command(flatten)]
    pub output: OutputOptions,
    #[command(flatten)]
    pub cargo: CargoFlags,
}

/// A value of `--relax`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relaxation {
    /// The operation, as `--list` names it.
    pub method: String,
    /// Why its results are not checked.
    pub reason: String,
}

impl Relaxation {
    fn parse(text: &str) -> Result<Self, String> {
        let parts = text
            .split_once('=')
            .map(|(method, reason)| (method.trim(), reason.trim()));
        let parts = parts.filter(|(method, reason)| !method.is_empty() && !reason.is_empty());
        let (method, reason) =
            parts.ok_or("write METHOD=REASON, like `depth=nodes are removed lazily`")?;
        Ok(Self {
            method: method.to_owned(),
            reason: reason.to_owned(),
        })
    }
}

/// Values of `--guidance`.
fn guidances() -> impl TypedValueParser<Value = Guidance> {
    let names = Guidance::ALL
        .iter()
        .map(|(name, _)| PossibleValue::new(*name));
    PossibleValuesParser::new(names).try_map(|name| {
        let found = Guidance::ALL.iter().find(|(known, _)| *known == name);
        found
            .map(|(_, guidance)| *guidance)
            .ok_or("there is no such guidance")
    })
}

/// Values of `--engine`.
fn engines() -> impl TypedValueParser<Value = Engine> {
    let names = Engine::all()
        .iter()
        .map(|engine| PossibleValue::new(engine.name()).help(engine.about()));
    PossibleValuesParser::new(names)
        .try_map(|name| Engine::named(&name).ok_or("there is no such engine"))
}

/// Values of `--vwls`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum VwlsKind {
    Needed,
    Paper,
    None,
}

/// `list`.
#[derive(Args, Debug)]
pub(crate) struct ListCommand {
    /// List only tests whose names contain this; with a slash in it, that program
    #[arg(value_name = "FILTER|PROGRAM")]
    pub filter: Option<String>,
    #[command(flatten)]
    pub output: OutputOptions,
    #[command(flatten)]
    pub program: ProgramOptions,
    #[command(flatten)]
    pub cargo: CargoFlags,
    #[command(flatten)]
    pub run: RunOptions,
    /// libtest's --exact, --ignored, --include-ignored, --skip NAME and further filters
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub rest: Vec<String>,
}

/// `replay`.
#[derive(Args, Debug)]
pub(crate) struct ReplayCommand {
    /// Id of a finding, or path of a schedule file
    #[arg(value_name = "ID|FILE")]
    pub finding: String,
    /// The program that it is of, if cargo does not build it, with the arguments that follow; not
    /// needed if `test` found it on this machine
    #[arg(value_name = "PROGRAM")]
    pub given: Option<String>,
    /// How often, each time in a new process
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub times: u64,
    /// Write what the first execution did, event by event, to this file
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Have branches in the trace, which needs a build of its own
    #[arg(long, requires = "trace")]
    pub branches: bool,
    #[command(flatten)]
    pub run: RunOptions,
    #[command(flatten)]
    pub output: OutputOptions,
    #[command(flatten)]
    pub program: ProgramOptions,
    #[command(flatten)]
    pub cargo: CargoFlags,
    /// Arguments of the program
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub rest: Vec<String>,
}

/// `keep`.
#[derive(Args, Debug)]
pub(crate) struct KeepCommand {
    /// Id of a finding
    #[arg(value_name = "ID")]
    pub finding: String,
    #[command(flatten)]
    pub output: OutputOptions,
    #[command(flatten)]
    pub program: ProgramOptions,
    #[command(flatten)]
    pub cargo: CargoFlags,
}

/// `doctor`.
#[derive(Args, Debug)]
pub(crate) struct DoctorCommand {
    #[command(flatten)]
    pub output: OutputOptions,
}

/// Understands the command line. Cargo calls `cargo-raddle raddle ARGUMENTS`: the first of
/// them is dropped. What follows a program's path belongs to the program.
pub(crate) fn parse(mut arguments: Vec<OsString>) -> Result<Arguments, clap::Error> {
    if arguments.get(1).is_some_and(|first| first == "raddle") {
        arguments.remove(1);
    }
    if let Some(program) = program_position(&arguments)
        && arguments.get(program + 1).is_some_and(|next| next != "--")
    {
        arguments.insert(program + 1, "--".into());
    }
    Arguments::try_parse_from(arguments)
}

/// Whether a filter is the path of a program: names of tests have no slashes.
pub(crate) fn is_program(filter: &str) -> bool {
    filter.contains('/')
}

/// Where the path of a program stands: first word of `test` or `list` that is neither a flag
/// nor a flag's value, or the second of `replay`.
fn program_position(arguments: &[OsString]) -> Option<usize> {
    let name = arguments.get(1)?.to_str()?;
    let definition = Arguments::command();
    let command = definition
        .get_subcommands()
        .find(|command| matches!(name, "test" | "list" | "replay") && command.get_name() == name)?;
    let mut finding_is_next = name == "replay";
    let takes_value = |flag: &str| {
        let named = |argument: &&Arg| match flag.strip_prefix("--") {
            Some(long) => argument.get_long() == Some(long),
            None => {
                flag.strip_prefix('-').map(str::to_owned) == argument.get_short().map(String::from)
            }
        };
        let found = command.get_arguments().find(named);
        found.is_some_and(|argument| argument.get_action().takes_values())
    };
    let mut position = 2;
    loop {
        let word = arguments.get(position)?.to_str()?;
        if word == "--" {
            return None;
        }
        if !word.starts_with('-') {
            if std::mem::take(&mut finding_is_next) {
                position += 1;
                continue;
            }
            return is_program(word).then_some(position);
        }
        position += if takes_value(word) { 2 } else { 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::{Arguments, Command, parse};
    use clap::CommandFactory;

    fn parsed(text: &str) -> Result<Command, clap::Error> {
        let arguments = text.split_whitespace().map(Into::into).collect();
        parse(arguments).map(|arguments| arguments.command)
    }

    #[test]
    fn the_definition_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn cargo_and_direct_calls_mean_the_same() {
        for text in [
            "cargo-raddle raddle test abc -- --exact",
            "raddle test abc -- --exact",
        ] {
            let Command::Test(test) = parsed(text).unwrap() else {
                panic!("{text} is a test command");
            };
            assert_eq!(test.filter.as_deref(), Some("abc"));
            assert_eq!(test.rest, ["--exact"]);
        }
    }

    #[test]
    fn the_flags_of_the_book_are_understood() {
        for text in [
            "raddle test --strategy pct(4) --seed 7 --executions 10 --time 30s -j 2 --build-jobs 2",
            "raddle test --granularity access --message-format json --color never -v --continue",
            "raddle test -p a --test b --features c,d --profile release --locked -- --skip x",
            "raddle test --races off --time 90",
            "raddle list --workspace --exclude a",
            "raddle replay data-race-0123456789 --times 100",
            "raddle keep data-race-0123456789",
            "raddle doctor --color always",
            "raddle cc -c -o a.o a.c",
            "raddle c++ --version",
            "raddle cc -h",
        ] {
            parsed(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        }
    }

    #[test]
    fn what_follows_a_program_is_for_the_program() {
        for (text, seed) in [
            ("raddle test ./prog -x --time y", None),
            (
                "raddle test --seed 7 --results ./r -j 2 ./prog -x --time y",
                Some(7),
            ),
            ("raddle test --seed=7 dir/prog -- -x --time y", Some(7)),
        ] {
            let Command::Test(test) = parsed(text).unwrap() else {
                panic!("{text} is a test command");
            };
            assert!(test.filter.unwrap().ends_with("/prog"), "{text}");
            assert_eq!(test.rest, ["-x", "--time", "y"], "{text}");
            assert_eq!(test.run.seed, seed, "{text}");
        }
        let Command::Replay(replay) = parsed("raddle replay dir/x --times 2 ./prog -x").unwrap()
        else {
            panic!("a replay command");
        };
        assert_eq!(replay.finding, "dir/x");
        assert_eq!(replay.given.as_deref(), Some("./prog"));
        assert_eq!((replay.times, replay.rest), (2, vec!["-x".to_owned()]));
        let Command::Test(test) = parsed("raddle test prog --seed 3").unwrap() else {
            panic!("a test command");
        };
        assert_eq!((test.run.seed, test.rest.len()), (Some(3), 0));
    }

    #[test]
    fn a_compilers_arguments_are_its_own() {
        for text in ["-v", "--help", "-o x a.c -- b.c", "-x c -"] {
            let Command::Cc(cc) = parsed(&format!("cargo-raddle raddle cc {text}")).unwrap() else {
                panic!("{text} is for the compiler");
            };
            assert_eq!(cc.arguments, text.split(' ').collect::<Vec<_>>());
        }
    }

    #[test]
    fn bad_values_are_refused() {
        for text in [
            "raddle",
            "raddle dance",
            "raddle test --time soon",
            "raddle test --strategy best",
            "raddle test --seed -1",
            "raddle test -j 0",
            "raddle test --executions 0",
            "raddle test --granularity fine",
            "raddle replay",
            "raddle replay x --times 0",
        ] {
            assert!(parsed(text).is_err(), "{text}");
        }
    }
}
