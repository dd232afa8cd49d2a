//! Exit codes, and errors that know theirs.

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

use raddle_trace::results::Conclusion;
use raddle_trace::visible::visible;

/// Every way in which the tool ends. Part of the public interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Nothing was found.
    Clean = 0,
    /// The command line, the configuration or a file given by the user is wrong.
    Usage = 2,
    /// Nothing was selected that could be tested.
    NothingToTest = 4,
    /// The machine or the toolchain cannot do it.
    Unsupported = 69,
    /// A bug of ours.
    Internal = 70,
    /// A failure was seen that could not be confirmed, or nothing could be explored.
    Inconclusive = 75,
    /// There are findings.
    Findings = 100,
    /// The program under test does not build or run, or a test fails without any interleaving.
    ProgramBroken = 101,
    /// The user stopped it before anything was found.
    Interrupted = 130,
}

impl Exit {
    /// How a run with this conclusion ends; `allows_inconclusive` makes the inconclusive clean.
    pub(crate) const fn of(conclusion: Conclusion, allows_inconclusive: bool) -> Self {
        match conclusion {
            Conclusion::InternalError => Self::Internal,
            Conclusion::Findings => Self::Findings,
            Conclusion::Interrupted => Self::Interrupted,
            Conclusion::Failed => Self::ProgramBroken,
            Conclusion::Unconfirmed | Conclusion::NothingExplored | Conclusion::Uninstrumented => {
                match allows_inconclusive {
                    true => Self::Clean,
                    false => Self::Inconclusive,
                }
            }
            Conclusion::NothingSelected => Self::NothingToTest,
            Conclusion::Clean => Self::Clean,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error with its exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    /// How the tool ends.
    pub exit: Exit,
    /// What to tell the user; `None` if cargo has already told it.
    pub error: Option<anyhow::Error>,
}

impl Failure {
    /// A failure with one sentence.
    pub(crate) fn new(exit: Exit, sentence: impl Display) -> Self {
        Self {
            exit,
            error: Some(anyhow::anyhow!("{sentence}")),
        }
    }

    /// A failure that was already explained to the user.
    pub(crate) const fn explained(exit: Exit) -> Self {
        Self { exit, error: None }
    }
}

impl From<raddle_campaign::Error> for Failure {
    fn from(error: raddle_campaign::Error) -> Self {
        use raddle_campaign::Error;
        let exit = match &error {
            Error::Store { .. } | Error::SharedMemory(_) | Error::Machine { .. } => {
                Exit::Unsupported
            }
            Error::Start { .. } => Exit::ProgramBroken,
            _ => Exit::Usage,
        };
        // Its text already names its sources.
        Self::new(exit, error)
    }
}

/// Gives errors their exit code.
pub(crate) trait OrExit<T> {
    /// Fails with this code.
    fn or_exit(self, exit: Exit) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> OrExit<T> for Result<T, E> {
    fn or_exit(self, exit: Exit) -> Result<T, Failure> {
        self.map_err(|error| Failure {
            exit,
            error: Some(error.into()),
        })
    }
}

/// A panic anywhere in the tool ends it with [`Exit::Internal`], never with 101, which means
/// that the program under test is broken.
pub(crate) fn install_panic_hook() {
    std::panic::set_hook(Box::new(|panic| {
        // Nobody may be reading; then there is nobody to tell.
        let _ = writeln!(
            std::io::stderr(),
            "error: this is a bug in raddle, please report it: {}\n{}",
            visible(&panic.to_string()),
            std::backtrace::Backtrace::capture()
        );
        std::process::exit(Exit::Internal as i32);
    }));
}
