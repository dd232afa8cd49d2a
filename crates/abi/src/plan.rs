//! What the tool asks the runtime to do: a strategy, a number of executions, and what to
//! watch for. A plan is a fixed header followed by three arrays, all in the shared memory.

/// Header of a plan, at [`crate::control::PLAN_OFFSET`]. Behind it follow, without gaps,
/// `thread_anchors` × [`ThreadAnchor`], `switches` × [`Switch`], `racy` × `u64` (site keys of
/// plain accesses that are scheduling points).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The strategy as text, NUL-padded: `random`, `pct(3)`, `pos`, `round-robin`, `serial`,
    /// `replay`, or several joined by `+` that take turns from execution to execution.
    pub strategy: [u8; 64],
    /// Seed of the first execution; each further one adds one.
    pub seed: u64,
    /// Number of executions to run.
    pub executions: u64,
    /// Scheduling points after which an execution is continued fairly, and after ten times
    /// as many ended.
    pub max_points: u64,
    /// Estimated scheduling points per execution, for PCT; 0 takes the longest seen so far.
    pub length: u64,
    /// Bits of [`oracles`].
    pub oracles: u32,
    /// A number of [`Granularity`].
    pub granularity: u32,
    /// A number of [`Reexecution`].
    pub reexecution: u32,
    /// 1 to record every event into the shared memory (see [`crate::record`]).
    pub record: u32,
    /// 1 to end the plan at the first finding that is not a data race.
    pub stop_at_first: u32,
    /// Number of [`ThreadAnchor`]s that follow.
    pub thread_anchors: u32,
    /// Number of [`Switch`]es that follow.
    pub switches: u32,
    /// Number of racy site keys that follow.
    pub racy: u32,
}

/// Bits of [`Plan::oracles`]. Panic, crash and deadlock are always watched.
pub mod oracles {
    /// Report data races.
    pub const RACE: u32 = 1;
    /// Also report races in which an access is volatile.
    pub const VOLATILE_RACE: u32 = 2;
    /// Report use of freed memory, double frees and accesses beyond heap blocks.
    pub const HEAP: u32 = 4;
}

/// Where scheduling points stand.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// Synchronisation, atomics and blocking calls.
    Sync = 0,
    /// Also plain accesses at the plan's racy sites.
    Racy = 1,
    /// Also every plain access to memory that is not the thread's own stack.
    Access = 2,
}

/// How the program is brought back to its start between executions.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reexecution {
    /// Fork for the first execution; then snapshot if that is sound, else fork.
    Auto = 0,
    /// Call the test function again, restoring nothing but its stack.
    Loop = 1,
    /// Restore writable memory.
    Snapshot = 2,
    /// A new child process per execution.
    Fork = 3,
}

impl Reexecution {
    /// The mode with this number; unknown numbers mean [`Reexecution::Auto`].
    pub const fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Loop,
            2 => Self::Snapshot,
            3 => Self::Fork,
            _ => Self::Auto,
        }
    }

    /// The word used in flags and reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Loop => "loop",
            Self::Snapshot => "snapshot",
            Self::Fork => "fork",
        }
    }
}

/// What carries logical threads.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Fibers where the machine allows it.
    Auto = 0,
    /// All on one OS thread.
    Fiber = 1,
    /// Each on an OS thread of its own.
    Os = 2,
}

impl Carrier {
    /// The carrier with this number; unknown numbers mean [`Carrier::Auto`].
    pub const fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Fiber,
            2 => Self::Os,
            _ => Self::Auto,
        }
    }

    /// The word used in flags and reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Fiber => "fiber",
            Self::Os => "os",
        }
    }
}

/// Names a thread of a stored schedule: the `occurrence`-th thread that `parent` started at
/// the site with `site_key`. Thread 0 is the test's own and needs no anchor.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadAnchor {
    /// The number that switches use for this thread.
    pub thread: u16,
    /// The number of the thread that started it.
    pub parent: u16,
    /// Counts from 0 per (parent, site).
    pub occurrence: u32,
    /// Key of the spawn's site.
    pub site_key: u64,
}

/// One recorded switch: when thread `from` stands before the anchored step, run `to`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The thread that gives way.
    pub from: u16,
    /// The thread that runs next.
    pub to: u16,
    /// With `site_key` 0: the number of scheduling points `from` has passed, from 0.
    /// Else: how many points at that site `from` has passed, from 0.
    pub occurrence: u32,
    /// Key of the site before which `from` stands, or 0 to anchor by step number.
    pub site_key: u64,
}

/// One decision that the runtime noted down: a place where the thread that runs next is not
/// the default (the current thread if it can run, else the enabled one with the lowest number).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The thread that ran until here.
    pub from: u16,
    /// The thread chosen.
    pub to: u16,
    /// Scheduling points that `from` has passed, from 0.
    pub step: u32,
    /// Site of the step before which `from` stands (a [`crate::site::SiteId`]).
    pub site: u32,
    /// Scheduling points of the whole execution so far, from 0.
    pub point: u32,
}
