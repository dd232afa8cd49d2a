//! Schedule files: a finding's interleaving as text, anchored to events, so that it can be
//! committed, read, and replayed after small edits of the program.
//!
//! ```text
//! raddle schedule 1
//! build 5b0f3c61a7
//! test queue::tests::push_pop
//! target lib
//! finding data-race-0123456789
//! kind data-race
//! seed 17
//! granularity racy
//! max-points 100000
//! length 41
//! first-thread 1
//! oracles race
//! racy 00f1e2d3c4b5a697  # src/queue.rs:31 in Queue::push
//! thread 1 parent 0 site 8a7b6c5d4e3f2a1b occurrence 0  # src/queue.rs:90 in push_pop
//! switch 1 site 00f1e2d3c4b5a697 occurrence 2 to 0  # src/queue.rs:31 in Queue::push
//! switch 0 step 12 to 1
//! end
//! ```
//!
//! With `memory weak` an atomic load may have read a value that is no longer the newest one. Such
//! loads stand among the switches, with the number of stores that have come after the one they read:
//!
//! ```text
//! memory weak
//! read 1 site 00f1e2d3c4b5a697 occurrence 0 old 2  # src/queue.rs:31 in Queue::push
//! ```
//!
//! Where a deadline passes although a thread can run, that stands among the switches too: time
//! `advances` to it before the step, or it has `passed` already, but its thread has not gone on yet:
//!
//! ```text
//! time 0 site 00f1e2d3c4b5a697 occurrence 0 advances  # src/queue.rs:31 in Queue::push
//! ```
//!
//! Instead of switches, a file may say in which order events have to come (see
//! `crates/schedule/src/directed.rs`): which thread's, where, the how-maniest there, and whether
//! they touch what another event touches; which come before which; and after which a thread
//! waits until others have passed. Where that leaves a choice, `strategy` decides.
//!
//! ```text
//! strategy directed(random)
//! event 0 thread 1 site 00f1e2d3c4b5a697 occurrence 2  # src/queue.rs:31 in Queue::push
//! event 1 thread not 0 site 8a7b6c5d4e3f2a1b occurrence any object 0
//! event 2 thread of 0 site 5b0f3c61a7000000 occurrence any
//! before 1 2
//! hold 0 until 1
//! ```
//!
//! Thread numbers are those of reports and traces: the test's own thread is 0. With `first-thread N` that
//! thread has the number N in the program, because threads of the test's harness come first; files without
//! this line have the program's numbers.
//!
//! What follows ` #` is for people. A file of another version, a damaged one and one that was
//! cut off are refused with the line at fault.

use raddle_abi::finding::Kind;
use raddle_abi::plan::{
    ANY_THREAD, Choice, EventAnchor, Granularity, Memory, Relation, Rule, Switch, ThreadAnchor,
};
use raddle_trace::plan::PlanRequest;

/// Version of the format.
pub const VERSION: u32 = 1;

/// A stored schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Build id of the executable that it was made with.
    pub build: String,
    /// Name of the test, or of the binary.
    pub test: String,
    /// Name of the executable's target (`lib`, `tests/foo`).
    pub target: String,
    /// Arguments of the program, for a binary.
    pub arguments: Vec<String>,
    /// Id of the finding.
    pub finding: String,
    /// Kind of the finding.
    pub kind: Kind,
    /// Seed of the execution.
    pub seed: u64,
    /// Where scheduling points stand.
    pub granularity: Granularity,
    /// Which values atomic loads may read; a file that says nothing means the newest one.
    pub memory: Memory,
    /// Scheduling points after which the execution is continued fairly.
    pub max_points: u64,
    /// Length estimate of the execution.
    pub length: u64,
    /// Bits of [`raddle_abi::plan::oracles`].
    pub oracles: u32,
    /// Number of the test's own thread, from which the file counts threads. In older files, and here,
    /// the threads of the test's harness come first.
    pub first_thread: u16,
    /// Plain accesses that are scheduling points.
    pub racy: Vec<Placed<u64>>,
    /// The threads that switches name.
    pub threads: Vec<Placed<ThreadAnchor>>,
    /// The switches, in order.
    pub switches: Vec<Placed<Switch>>,
    /// The strategy, where it is not the one that follows switches or orders events.
    pub strategy: Option<String>,
    /// Events whose order is given, in place of switches.
    pub events: Vec<Placed<EventAnchor>>,
    /// That order.
    pub rules: Vec<Rule>,
}

/// Something with its place in the source, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed<T> {
    /// The thing itself.
    pub value: T,
    /// `file:line in function`, or empty.
    pub place: String,
}

/// Why a schedule file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// The first line is another.
    #[error("this is not a schedule file of Raddle")]
    NotASchedule,
    /// It was written by another version.
    #[error("the schedule file has version {0}, but only version {VERSION} can be read")]
    Version(String),
    /// A line makes no sense.
    #[error("line {line}: {problem}")]
    Line {
        /// From 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// The last line is missing.
    #[error("the schedule file was cut off after line {0}")]
    CutOff(usize),
    /// An event that another line refers to is missing.
    #[error("the schedule file has no event {0}, but refers to it")]
    NoEvent(u32),
    /// A thread's number is too large.
    #[error("the schedule file names a thread that is too far from its first thread, {0}")]
    Threads(u16),
    /// A line that every schedule has is missing.
    #[error("the schedule file has no line `{0}`")]
    Missing(&'static str),
}

impl Schedule {
    /// The text of the file.
    pub fn to_text(&self) -> String {
        crate::schedule_text::write(self)
    }

    /// Reads the contents of a file.
    ///
    /// # Errors
    ///
    /// If it is something else, damaged, cut off, or of another version.
    pub fn parse(contents: &[u8]) -> Result<Self, ScheduleError> {
        crate::schedule_text::parse(contents)
    }

    /// The schedule with other numbers for its threads; `None` if one has none.
    pub(crate) fn with_threads(&self, number: impl Fn(u16) -> Option<u16>) -> Option<Self> {
        let mut schedule = self.clone();
        for Placed { value, .. } in &mut schedule.threads {
            value.thread = number(value.thread)?;
            value.parent = number(value.parent)?;
        }
        for Placed { value, .. } in &mut schedule.switches {
            value.from = number(value.from)?;
            if let Choice::Thread(to) = Choice::of(value.to) {
                value.to = number(to)?;
                // Large numbers mean something else.
                (Choice::of(value.to) == Choice::Thread(value.to)).then_some(())?;
            }
        }
        for Placed { value, .. } in &mut schedule.events {
            let is_numbered = Relation::from_number(value.relation) == Relation::None;
            if is_numbered && value.thread != ANY_THREAD {
                value.thread = number(value.thread)?;
            }
        }
        Some(schedule)
    }

    /// A plan that replays this schedule once.
    pub fn plan(&self) -> PlanRequest {
        let strategy = match (&self.strategy, self.events.is_empty()) {
            (Some(strategy), _) => strategy,
            (None, true) => "replay",
            (None, false) => "directed",
        };
        PlanRequest {
            strategy: strategy.into(),
            seed: self.seed,
            max_points: self.max_points,
            length: self.length,
            oracles: self.oracles,
            granularity: self.granularity,
            memory: self.memory,
            threads: self.threads.iter().map(|placed| placed.value).collect(),
            switches: self.switches.iter().map(|placed| placed.value).collect(),
            racy: self.racy.iter().map(|placed| placed.value).collect(),
            events: self.events.iter().map(|placed| placed.value).collect(),
            rules: self.rules.clone(),
            ..PlanRequest::default()
        }
    }
}
