//! The shared memory between the tool and one worker process.
//!
//! The tool owns it (a memfd), so that decisions, findings and counters survive any crash of
//! the worker. The worker maps it outside of everything that snapshots restore. Protocol:
//!
//! 1. The tool writes a [`Plan`](crate::plan::Plan) and increments [`Control::plan_sequence`]
//!    (and wakes the futex on it).
//! 2. The worker runs the plan, counting as it goes, appends findings, then writes
//!    [`Control::end`] and stores the plan's number in [`Control::done_sequence`] (and wakes).
//! 3. The tool may set [`Control::stop`] at any time: the worker ends the plan after the
//!    execution under way. It may also kill the worker: what is in here stays valid.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// First word of the memory: `RADDLECT`.
pub const CONTROL_MAGIC: u64 = u64::from_le_bytes(*b"RADDLECT");

/// Offset of the directories of which executions that change files get a private view: a
/// byte of [`view`] and a path that ends with a zero byte for each, in the order of mounting.
pub const VIEW_OFFSET: usize = 0x1000;
/// Bytes for them; a byte of zero ends them.
pub const VIEW_SIZE: usize = PLAN_OFFSET - VIEW_OFFSET;
/// Offset of the plan.
pub const PLAN_OFFSET: usize = 0x1_0000;
/// Bytes for the plan with its arrays.
pub const PLAN_SIZE: usize = SITES_OFFSET - PLAN_OFFSET;
/// Offset of the accesses that conflict, records of [`ConflictingSite`].
pub const SITES_OFFSET: usize = 24 << 20;
/// Capacity in such sites.
pub const SITES_CAPACITY: usize = (OUTCOMES_OFFSET - SITES_OFFSET) / size_of::<ConflictingSite>();
/// Offset of the outcomes of a plan that asks for them: an [`OutcomeHeader`] each and what was printed,
/// padded to a multiple of eight.
pub const OUTCOMES_OFFSET: usize = 28 << 20;
/// Bytes for outcomes.
pub const OUTCOMES_SIZE: usize = DECISIONS_OFFSET - OUTCOMES_OFFSET;
/// Offset of the decisions of the execution under way.
pub const DECISIONS_OFFSET: usize = 32 << 20;
/// Capacity in decisions.
pub const DECISIONS_CAPACITY: usize = 1 << 20;
/// Offset of the findings, records of [`crate::finding`].
pub const FINDINGS_OFFSET: usize = 64 << 20;
/// Bytes for findings.
pub const FINDINGS_SIZE: usize = 64 << 20;
/// Offset of what the execution under way wrote to stdout and stderr.
pub const OUTPUT_OFFSET: usize = 128 << 20;
/// Bytes for output; more is dropped and counted.
pub const OUTPUT_SIZE: usize = 1 << 20;
/// Offset of what the strategy has learnt, in words that it alone understands.
pub const EXPERIENCE_OFFSET: usize = OUTPUT_OFFSET + OUTPUT_SIZE;
/// Words for that.
pub const EXPERIENCE_WORDS: usize = (MARKS_OFFSET - EXPERIENCE_OFFSET) / size_of::<u64>();
/// Offset of the marks of a plan that asks for them, records of [`crate::mark`].
pub const MARKS_OFFSET: usize = 192 << 20;
/// Bytes for marks.
pub const MARKS_SIZE: usize = EVENTS_OFFSET - MARKS_OFFSET;
/// Offset of recorded events.
pub const EVENTS_OFFSET: usize = 256 << 20;
/// Bytes for events.
pub const EVENTS_SIZE: usize = 512 << 20;
/// Offset of the stacks that events refer to.
pub const STACKS_OFFSET: usize = 768 << 20;
/// Bytes for stacks.
pub const STACKS_SIZE: usize = 128 << 20;
/// Size of the whole memory. It is sparse: pages never touched cost nothing.
pub const CONTROL_SIZE: usize = 1 << 30;

/// Address space that a worker reserves, in all: heap, shadow memory, arenas and stacks. Hardly any of
/// it is ever touched.
pub const ADDRESS_SPACE: usize = 5 << 39;

/// The header, at offset 0.
#[repr(C)]
pub struct Control {
    /// [`CONTROL_MAGIC`].
    pub magic: u64,
    /// [`crate::ABI_VERSION`] of the tool.
    pub version: u32,
    /// What is being run (see [`target`]).
    pub target: u32,
    /// Incremented by the tool for each plan; a futex.
    pub plan_sequence: AtomicU32,
    /// Number of the last plan that the worker finished; a futex.
    pub done_sequence: AtomicU32,
    /// Set by the tool to end the plan after the execution under way.
    pub stop: AtomicU32,
    /// Where the worker is (see [`stage`]).
    pub stage: AtomicU32,
    /// Why the last plan ended (a number of [`PlanEnd`]).
    pub end: AtomicU32,
    /// How executions are repeated (a number of [`crate::plan::Reexecution`], never auto once decided).
    pub reexecution: AtomicU32,
    /// What carries logical threads (a number of [`crate::plan::Carrier`]): written by the tool
    /// as it wants it, by the worker as it is.
    pub carrier: AtomicU32,
    /// Executions finished, over all plans.
    pub executions: AtomicU64,
    /// Scheduling points passed, over all plans; also the watchdog's heartbeat.
    pub points: AtomicU64,
    /// Context switches, over all plans.
    pub switches: AtomicU64,
    /// Executions that were cut for exceeding the plan's point limit without a livelock.
    pub cut: AtomicU64,
    /// Largest number of threads alive at the same time in one execution so far.
    pub threads: AtomicU32,
    /// Entries of the decisions area.
    pub decisions: AtomicU32,
    /// Bytes used of the findings area.
    pub findings: AtomicU32,
    /// Bytes used of the output area.
    pub output: AtomicU32,
    /// Entries of the events area.
    pub events: AtomicU32,
    /// Bytes used of the stacks area.
    pub stacks: AtomicU32,
    /// 1 if events or stacks did not fit.
    pub record_overflow: AtomicU32,
    /// Exit code of the execution that ended last, as libtest or main gave it; 0 for a test
    /// that passed.
    pub exit_code: AtomicU32,
    /// Seed of the execution under way.
    pub seed: AtomicU64,
    /// Length estimate in use by the execution under way.
    pub length: AtomicU64,
    /// Scheduling points of the last execution.
    pub last_points: AtomicU64,
    /// Trace hash of the last execution.
    pub last_hash: AtomicU64,
    /// Hash over the trace hashes of all executions of the plan, in order.
    pub plan_hash: AtomicU64,
    /// Replay: 1 + index of the first switch that could not be followed; 0 if all were.
    /// Directed: the same for the first event that did not pass in its order.
    pub diverged: AtomicU32,
    /// Panics in threads that nobody joined, so far.
    pub stray_panics: AtomicU32,
    /// One bit per system call number seen beyond the allow-list during executions.
    pub syscalls: [AtomicU64; 8],
    /// Bits of [`conditions`] seen so far.
    pub conditions: AtomicU32,
    /// Process id of the child that runs the current execution in fork mode, else 0.
    pub child: AtomicU32,
    /// Number of the thread in which executions start: the test's own. libtest's thread, which
    /// waits for it, has another number and is never part of a finding.
    pub first_thread: AtomicU32,
    /// Times each kind of finding occurred, by [`crate::finding::Kind`] number, duplicates included.
    pub occurrences: [AtomicU64; 16],
    /// Executions of directed plans that realised the whole order, over all plans.
    pub realised: AtomicU64,
    /// Times a thread was let go against a directed plan because nobody else could go on, over
    /// all plans.
    pub released: AtomicU64,
    /// What the plan's strategy has searched so far (see [`searched`]).
    pub searched: AtomicU32,
    /// 1 + how much of its search a strategy has done, in thousandths, as an estimate; 0 if
    /// it does not search.
    pub search_progress: AtomicU32,
    /// How many decisions of the execution under way made a thread wait that could go on.
    pub preemptions: AtomicU32,
    /// Set by the tool with a plan: 1 if it wants what the strategy has learnt, at its end.
    pub keeps_experience: AtomicU32,
    /// Words of the experience area. Written by the tool with a plan, for a strategy that has
    /// to take in what one of an earlier worker has learnt; by the worker at the end of a plan
    /// that asks for it, 0 if they do not fit.
    pub experience: AtomicU64,
    /// Bytes used of the marks area.
    pub marks: AtomicU32,
    /// Executions that were broken off, because all that could follow was known.
    pub broken_off: AtomicU64,
    /// Exit code that means success.
    pub success: u32,
    /// 0, or the exit code with which the runtime itself ended the worker, or its child: 70 for a
    /// bug of the runtime. What it says then stands on stderr.
    pub failure: AtomicU32,
    /// Entries of the sites area, over all plans.
    pub sites: AtomicU32,
    /// Bytes used of the outcomes area.
    pub outcomes: AtomicU32,
}

/// The site of an access that is not atomic, and touches what another thread touches too, where
/// one of them writes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConflictingSite {
    /// Key of the site.
    pub key: u64,
    /// 1 if nothing ordered the two accesses, which is a data race; else 0. A site may be listed once
    /// for each.
    pub is_race: u64,
}

/// How one or more executions ended that printed the same.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutcomeHeader {
    /// How many they are.
    pub count: u64,
    /// Hash of what they printed and how they ended.
    pub hash: u64,
    /// A number of [`crate::mark::End`].
    pub end: u32,
    /// The exit code.
    pub code: u32,
    /// Bytes that they printed.
    pub len: u32,
    /// Keeps the size a multiple of eight.
    pub reserved: u32,
}

/// How a directory becomes part of a private view of the file system.
pub mod view {
    /// By an overlay: what is changed in it is seen by the execution alone.
    pub const OVERLAY: u8 = 1;
    /// As it is: another file system below an overlay that cannot be changed, or not that way.
    pub const BIND: u8 = 2;
}

/// Values of [`Control::searched`]; any other is 1 + the number of preemptions up to which
/// everything was searched.
pub mod searched {
    /// Nothing can be said yet.
    pub const NOT_YET: u32 = 0;
    /// The search has ended, but something was left out.
    pub const PARTLY: u32 = u32::MAX;
    /// A bit: the number of preemptions kept nothing out.
    pub const ALL: u32 = 1 << 30;
}

/// Values of [`Control::target`].
pub mod target {
    /// A libtest binary running one test: executions start at the test function.
    pub const TEST: u32 = 0;
    /// A Rust program: executions start at the user's `main`, after std's preparations.
    pub const MAIN: u32 = 1;
    /// A program of any language: executions start at the C function `main`.
    pub const PROGRAM: u32 = 2;
}

/// Values of [`Control::stage`].
pub mod stage {
    /// The runtime has not come to life yet. A worker that ends in this stage was not instrumented.
    pub const NONE: u32 = 0;
    /// The program runs up to the point where executions start.
    pub const STARTING: u32 = 1;
    /// The worker waits for a plan.
    pub const READY: u32 = 2;
    /// An execution is under way.
    pub const RUNNING: u32 = 3;
    /// The program ended before the start of executions was reached.
    pub const NEVER_STARTED: u32 = 4;
}

/// Bits of [`Control::conditions`]: what the runtime could not fully control.
pub mod conditions {
    /// The program forked.
    pub const FORKED: u32 = 1;
    /// Inline assembly that may synchronise ran.
    pub const ASM: u32 = 2;
    /// A native thread was started behind the runtime's back.
    pub const FOREIGN_THREAD: u32 = 4;
    /// The program waited in a system call for something outside of it.
    pub const BLOCKED_OUTSIDE: u32 = 8;
    /// The program's heap limit was reached.
    pub const HEAP_LIMIT: u32 = 16;
    /// A thread asked for a larger stack than the runtime gives.
    pub const STACK_LIMIT: u32 = 32;
    /// There were more threads than the runtime can hold.
    pub const THREAD_LIMIT: u32 = 64;
    /// The program called `exit` from a thread other than its first.
    pub const EXIT_IN_THREAD: u32 = 128;
    /// The machine offers no system call dispatch: executions are forked to be safe.
    pub const NO_DISPATCH: u32 = 256;
    /// The program brings its own allocator, in whose place the runtime's heap stands.
    pub const OTHER_ALLOCATOR: u32 = 512;
    /// A mutex, condition or barrier shared between processes was taken for a private one.
    pub const SHARED_OBJECT: u32 = 1024;
    /// A native thread was there before executions start, and is in none of them.
    pub const EARLY_THREAD: u32 = 2048;
    /// Files were changed without a private view of them.
    pub const NO_VIEW: u32 = 4096;
    /// Files were changed outside of the private view.
    pub const FILES_OUTSIDE: u32 = 8192;
    /// The race oracle has forgotten accesses for lack of room: a race may have gone unseen.
    pub const RACES_MISSED: u32 = 1 << 14;
    /// An access to more than 16 bytes, or across their border, was a scheduling point: searches go by its
    /// first byte.
    pub const WIDE_RACE: u32 = 1 << 15;
    /// A signal handler ran.
    pub const SIGNAL: u32 = 1 << 16;
    /// Something waited for a time.
    pub const DEADLINE: u32 = 1 << 17;
    /// The search left out rounds of a loop that gives up waiting after many of them.
    pub const LOOP_CUT_SHORT: u32 = 1 << 18;
    /// A plain access behind one of the same thread that races was no scheduling point.
    pub const READ_NOT_KEPT: u32 = 1 << 19;
}

/// Why a plan ended.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanEnd {
    /// It has not.
    None = 0,
    /// All executions were run.
    Complete = 1,
    /// The tool asked to stop.
    Stopped = 2,
    /// A finding ended it, as the plan asked.
    Finding = 3,
    /// The runtime cannot go on in this process (after a crash of the program); findings are stored.
    Broken = 4,
    /// The program starts threads behind the runtime's back, so that the plan has to be run
    /// again, from its start, with [`crate::plan::Carrier::Os`].
    Carrier = 5,
}

impl PlanEnd {
    /// The end with this number.
    pub const fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Complete,
            2 => Self::Stopped,
            3 => Self::Finding,
            4 => Self::Broken,
            5 => Self::Carrier,
            _ => Self::None,
        }
    }
}
