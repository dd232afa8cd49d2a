//! What came out of a plan, before anything is explained.

use raddle_abi::control::{ConflictingSite, PlanEnd, searched};
use raddle_abi::finding::Kind;
use raddle_abi::mark;
use raddle_abi::plan::{Carrier, Decision, Reexecution};
use raddle_abi::record::RawEvent;
use raddle_abi::site::{Operation, SiteId};

/// What came out of a plan. The counts are of this plan alone.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Why the plan ended; [`PlanEnd::None`] if the process died before.
    pub end: PlanEnd,
    /// Executions finished.
    pub executions: u64,
    /// Scheduling points passed.
    pub points: u64,
    /// Context switches.
    pub switches: u64,
    /// Executions cut for exceeding the point limit.
    pub cut: u64,
    /// Executions broken off, because the strategy knew all that could follow.
    pub broken_off: u64,
    /// Most threads alive at the same time so far.
    pub threads: u32,
    /// Scheduling points of the last execution.
    pub last_points: u64,
    /// Length estimate that the last execution used.
    pub length: u64,
    /// Trace hash of the last execution.
    pub last_hash: u64,
    /// Hash over the trace hashes of all executions, in order.
    pub plan_hash: u64,
    /// Exit code of the last execution.
    pub exit_code: u32,
    /// How executions were repeated.
    pub reexecution: Reexecution,
    /// What carried logical threads.
    pub carrier: Carrier,
    /// New findings, in order.
    pub findings: Vec<RawFinding>,
    /// New panics of executions that passed.
    pub expected_panics: Vec<RawStep>,
    /// Times each kind of finding occurred, duplicates included, by number of [`Kind`].
    pub occurrences: [u64; 16],
    /// The events, if the plan asked for them.
    pub recording: Option<RawRecording>,
    /// The schedule of the last execution, if the plan asked for its events.
    pub decisions: Vec<Decision>,
    /// What the last execution printed (its beginning, if it was long).
    pub output: Vec<u8>,
    /// Replay: index of the first switch that could not be followed. Directed: index of the
    /// first event that did not pass in its order.
    pub diverged: Option<usize>,
    /// Directed: executions that realised the whole order.
    pub realised: u64,
    /// Directed: times a thread was let go against the plan because nobody else could go on.
    pub released: u64,
    /// What the strategy has searched, once it has nothing more to do.
    pub searched: Option<Searched>,
    /// How often the last execution made a thread wait that could go on.
    pub preemptions: u32,
    /// How much of its search the strategy has done, in thousandths, as an estimate.
    pub search_progress: Option<u32>,
    /// Bits of [`raddle_abi::control::conditions`].
    pub conditions: u32,
    /// Panics in threads that nobody joined.
    pub stray_panics: u32,
    /// Numbers of the system calls seen beyond the allow-list.
    pub syscalls: Vec<u32>,
    /// How the process died, if it did.
    pub died: Option<Death>,
    /// What every execution marked, if the plan asked for it.
    pub marks: Vec<MarkedExecution>,
    /// Accesses that conflict with one of another thread, over all plans of the process.
    pub conflicts: Vec<ConflictingSite>,
    /// What executions printed and how they ended, if the plan asked for it.
    pub outcomes: Vec<ExecutionOutcome>,
}

impl Default for Outcome {
    fn default() -> Self {
        Self {
            end: PlanEnd::None,
            executions: 0,
            points: 0,
            switches: 0,
            cut: 0,
            broken_off: 0,
            threads: 0,
            last_points: 0,
            length: 0,
            last_hash: 0,
            plan_hash: 0,
            exit_code: 0,
            reexecution: Reexecution::Auto,
            carrier: Carrier::Auto,
            findings: Vec::new(),
            expected_panics: Vec::new(),
            occurrences: [0; 16],
            recording: None,
            decisions: Vec::new(),
            output: Vec::new(),
            diverged: None,
            realised: 0,
            released: 0,
            searched: None,
            preemptions: 0,
            search_progress: None,
            conditions: 0,
            stray_panics: 0,
            syscalls: Vec::new(),
            died: None,
            marks: Vec::new(),
            conflicts: Vec::new(),
            outcomes: Vec::new(),
        }
    }
}

/// How executions ended that printed the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExecutionOutcome {
    /// How they ended.
    pub end: OutcomeEnd,
    /// What they printed.
    pub output: Vec<u8>,
    /// How many they are.
    pub count: u64,
}

/// How an execution ended, as far as an outcome tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutcomeEnd {
    /// The test passed, or the program ended with this code.
    Exit(u32),
    /// A finding ended it.
    Finding,
    /// It was too long.
    Cut,
}

/// What one execution of a program made to be run by us has marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkedExecution {
    /// Its seed.
    pub seed: u64,
    /// Its length estimate.
    pub length: u64,
    /// In the order in which they were made.
    pub marks: Vec<Marked>,
    /// How it ended; `None` if the process died before the runtime could say so.
    pub end: Option<mark::End>,
    /// Its schedule.
    pub decisions: Vec<Decision>,
}

/// One mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marked {
    /// One of [`mark::kind`].
    pub kind: u16,
    /// Thread number.
    pub thread: u16,
    /// What it is about: the program's choice.
    pub number: u32,
    /// Scheduling points so far.
    pub point: u32,
    /// What came of it: the program's choice.
    pub bytes: Vec<u8>,
}

/// How much a search has covered so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Searched {
    /// Everything that can happen with at most so many preemptions.
    UpTo {
        /// The bound.
        preemptions: u32,
    },
    /// Everything that can happen, for which it took no more preemptions than that.
    All {
        /// The bound that kept nothing out.
        preemptions: u32,
    },
    /// The search has ended, but something was left out.
    Partly,
}

impl Searched {
    /// The word of [`raddle_abi::control::searched`] that means this.
    pub const fn word(this: Option<Self>) -> u32 {
        match this {
            None => searched::NOT_YET,
            Some(Self::Partly) => searched::PARTLY,
            Some(Self::All { preemptions }) => searched::ALL | (preemptions + 1),
            Some(Self::UpTo { preemptions }) => preemptions + 1,
        }
    }

    /// What a word of [`raddle_abi::control::searched`] means.
    pub const fn from_word(word: u32) -> Option<Self> {
        match word {
            searched::NOT_YET => None,
            searched::PARTLY => Some(Self::Partly),
            all if all & searched::ALL != 0 => Some(Self::All {
                preemptions: (all & !searched::ALL).saturating_sub(1),
            }),
            bound => Some(Self::UpTo {
                preemptions: bound - 1,
            }),
        }
    }
}

/// How a worker process died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Death {
    /// By itself, with this exit code.
    Exit(i32),
    /// By this signal.
    Signal(i32),
    /// Killed because it made no progress.
    Stuck {
        /// Whether it was running (else it waited in the kernel).
        running: bool,
        /// What it was doing, in words ("read of descriptor 0").
        doing: String,
    },
    /// Killed because it did not reach the start of executions: something before the test
    /// function or `main` does not end.
    NeverStarted {
        /// What it was doing, in words.
        doing: String,
    },
    /// Ended by a bug of the runtime.
    Internal {
        /// What the runtime said.
        message: String,
    },
    /// Killed because it used more memory than allowed.
    Memory {
        /// Bytes resident when it was killed.
        bytes: u64,
    },
}

/// A finding as the runtime wrote it down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawFinding {
    /// What went wrong.
    pub kind: Kind,
    /// Index of the execution within its plan.
    pub execution: u64,
    /// Seed of that execution.
    pub seed: u64,
    /// Length estimate of that execution.
    pub length: u64,
    /// Scheduling points up to the finding.
    pub points: u64,
    /// Trace hash up to the finding.
    pub hash: u64,
    /// Kind-specific: signal number, exit code, address of the race.
    pub detail: [u64; 2],
    /// The whole schedule so far.
    pub decisions: Vec<Decision>,
    /// The operations at fault, or where threads stood.
    pub steps: Vec<RawStep>,
    /// Blocked threads.
    pub waits: Vec<RawWait>,
    /// What the execution wrote.
    pub output: String,
}

/// One operation at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawStep {
    /// Site, or 0.
    pub site: SiteId,
    /// Kind of the operation.
    pub operation: Operation,
    /// Thread number.
    pub thread: u16,
    /// Address touched, or 0.
    pub address: u64,
    /// Bytes touched, or 0.
    pub len: u32,
    /// Return addresses, innermost first.
    pub frames: Vec<u64>,
}

/// A blocked thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawWait {
    /// Thread number.
    pub thread: u16,
    /// What it is blocked in.
    pub operation: Operation,
    /// Site of that, or 0.
    pub site: SiteId,
    /// Address of the lock or object.
    pub object: u64,
    /// Whether `object` is a lock known by its functions.
    pub is_lock: bool,
    /// Whether the thread is part of a wait cycle.
    pub in_cycle: bool,
    /// Threads that hold the lock.
    pub holders: Vec<u32>,
    /// Return addresses, innermost first.
    pub frames: Vec<u64>,
}

/// Events with the stacks they refer to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawRecording {
    /// In the order in which they happened.
    pub events: Vec<RawEvent>,
    /// The thread and the site it stood before, for each time the scheduler let one go on.
    pub picks: Vec<(u16, SiteId)>,
    /// Deadlines that passed although a thread could run (see [`raddle_abi::record::EXPIRY`]).
    pub expiries: Vec<RawEvent>,
    /// The stacks area in words: counts, each followed by that many return addresses.
    pub stacks: Vec<u64>,
    /// Whether something did not fit and is missing.
    pub overflow: bool,
}

impl RawRecording {
    /// Return addresses of an event's stack, innermost first; empty if none was taken.
    pub fn stack(&self, event: &RawEvent) -> &[u64] {
        let Some(start) = (event.stack as usize).checked_sub(1) else {
            return &[];
        };
        let Some((&frames, rest)) = self.stacks.get(start..).and_then(<[u64]>::split_first) else {
            return &[];
        };
        &rest[..usize::try_from(frames).map_or(rest.len(), |frames| frames.min(rest.len()))]
    }
}
