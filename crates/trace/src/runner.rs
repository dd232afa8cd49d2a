//! The one way in which everything above gets a program executed.
//!
//! `campaign` implements [`Runner`] with worker processes; loops that run, analyse and run
//! again take any `Runner`, and tests give them a fake.

pub use crate::outcome::{
    Death, ExecutionOutcome, Marked, MarkedExecution, Outcome, OutcomeEnd, RawFinding,
    RawRecording, RawStep, RawWait, Searched,
};
pub use crate::plan::{PlanError, PlanRequest};

/// Executes plans on one program and one test of it.
pub trait Runner {
    /// Runs a plan to its end. That the program crashes, hangs or misbehaves is part of the
    /// outcome, not an error.
    ///
    /// # Errors
    ///
    /// If the plan could not be run at all.
    fn run(&mut self, request: &PlanRequest) -> Result<Outcome, RunnerError>;
}

/// Why a plan could not be run at all.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// The plan cannot be put into the shared memory.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The process cannot be started.
    #[error("cannot start `{program}`: {source}")]
    Start {
        /// Path of the executable.
        program: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The executable ran without our runtime.
    #[error("`{program}` is not instrumented")]
    NotInstrumented {
        /// Path of the executable.
        program: String,
    },
    /// The program ended before its `main`: a constructor has ended it.
    #[error("a constructor ended the program before `main`")]
    EndedInConstructor {
        /// The end of what it printed.
        output: String,
    },
    /// The program ended before the start of executions was reached.
    #[error("the program ended before the test function was reached")]
    NeverStarted {
        /// The end of what it printed.
        output: String,
    },
    /// The program has written to what the runtime shares with the tool, so that nothing in it
    /// can be believed.
    #[error(
        "the program overwrites memory that the runtime shares with the tool, so nothing is known \
         about its executions"
    )]
    Overwritten,
    /// The runtime and the tool disagree, which is a bug of ours.
    #[error("the runtime broke the protocol: {0}")]
    Protocol(String),
    /// The system refused something that the runtime cannot do without.
    #[error("{0}")]
    Machine(String),
    /// Anything else that the system refused.
    #[error("{action}: {source}")]
    System {
        /// What was attempted.
        action: String,
        /// What the system says.
        source: std::io::Error,
    },
}
