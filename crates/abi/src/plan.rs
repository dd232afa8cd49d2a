//! What the tool asks the runtime to do: a strategy, a number of executions, and what to
//! watch for. A plan is a fixed header followed by arrays, all in the shared memory.

/// Header of a plan, at [`crate::control::PLAN_OFFSET`]. Behind it follow, without gaps,
/// `thread_anchors` × [`ThreadAnchor`], `switches` × [`Switch`], `racy` × `u64` (site keys of
/// plain accesses that are scheduling points), `events` × [`EventAnchor`], `rules` × [`Rule`],
/// `methods` × [`MethodAnchor`], and `input` bytes that the program may ask for. The sites of events are scheduling points too.
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
    /// Scheduling points of the longest execution that earlier workers have seen.
    pub longest: u64,
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
    /// Number of [`EventAnchor`]s that follow.
    pub events: u32,
    /// Number of [`Rule`]s that follow.
    pub rules: u32,
    /// Bytes of input that follow, for a program that asks for it (see [`crate::mark`]).
    pub input: u32,
    /// 1 to keep the marks of every execution (see [`crate::mark`]), and to tell every finding
    /// anew that an earlier plan has shown: with another input it means something else.
    pub marks: u32,
    /// 1 to break an execution off that starts a thread, unless it has done something to the
    /// world outside that its end might undo.
    pub alone: u32,
    /// A number of [`Memory`].
    pub memory: u32,
    /// Number of [`MethodAnchor`]s that follow, by ascending key. Entries and exits of these
    /// functions are marked, unless the execution is recorded, which has those of all.
    pub methods: u32,
    /// A number of [`Time`].
    pub time: u32,
    /// 1 to keep the different outcomes of executions (see [`crate::control::OutcomeHeader`]).
    pub outcomes: u32,
    /// Keeps the size a multiple of eight.
    pub reserved: u32,
}

/// Bits of [`Plan::oracles`]. Panic, crash and deadlock are always watched.
pub mod oracles {
    /// Look for data races, and report them.
    pub const RACE: u32 = 1;
    /// Also report races in which an access is volatile.
    pub const VOLATILE_RACE: u32 = 2;
    /// Report use of freed memory, double frees and accesses beyond heap blocks.
    pub const HEAP: u32 = 4;
    /// Look for data races, without reporting them: their sites are scheduling points later on.
    pub const SILENT_RACE: u32 = 8;
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

/// Which values an atomic load may read.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memory {
    /// The newest one only: executions are sequentially consistent.
    #[default]
    Sc = 0,
    /// Also an older one, where the memory model of C++20 allows it.
    Weak = 1,
}

impl Memory {
    /// The model with this number; unknown numbers mean [`Memory::Sc`].
    pub const fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Weak,
            _ => Self::Sc,
        }
    }

    /// The word used in flags and reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Sc => "sc",
            Self::Weak => "weak",
        }
    }
}

/// When virtual time advances to the earliest deadline.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Time {
    /// When no thread can run, and where a given schedule says so.
    #[default]
    Idle = 0,
    /// Also at scheduling points that the strategy chooses, or the seed if the strategy decides
    /// about threads only.
    Any = 1,
    /// The same, but only for deadlines that have passed already.
    Passed = 2,
}

impl Time {
    /// The value with this number; unknown numbers mean [`Time::Idle`].
    pub const fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Any,
            2 => Self::Passed,
            _ => Self::Idle,
        }
    }
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

/// A bit of [`Switch::to`] and [`Decision::to`]: this is no switch. The step is an atomic load
/// of thread `from` that reads an old value, and the other bits say how many stores it lies
/// before the newest one. [`TIME_ADVANCES`] and [`TIME_IS_UP`] are apart.
pub const READS_OLD: u16 = 1 << 15;

/// As [`Switch::to`] and [`Decision::to`]: before the step of `from`, virtual time advances to the
/// earliest deadline although a thread can run. Only then the next thread is picked.
pub const TIME_ADVANCES: u16 = u16::MAX;

/// The same where that deadline has passed already, or does within [`TIME_SLACK`]: no program can
/// rely on the difference.
pub const TIME_IS_UP: u16 = u16::MAX - 1;

/// Nanoseconds by which a deadline may pass late without anything being slow: the slack that
/// Linux gives the timers of a thread.
pub const TIME_SLACK: u64 = 50_000;

/// What a [`Switch::to`] or [`Decision::to`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// This thread runs next.
    Thread(u16),
    /// The load reads the value that so many stores lie behind.
    OldValue(u16),
    /// The earliest deadline passes, which was still to come if `is_early`.
    Time {
        /// Whether time advances for that.
        is_early: bool,
    },
}

impl Choice {
    /// The choice that this number means.
    pub const fn of(to: u16) -> Self {
        match to {
            TIME_ADVANCES => Self::Time { is_early: true },
            TIME_IS_UP => Self::Time { is_early: false },
            to if to & READS_OLD != 0 => Self::OldValue(to & !READS_OLD),
            to => Self::Thread(to),
        }
    }
}

/// One recorded switch: when thread `from` stands before the anchored step, run `to`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// The thread that gives way.
    pub from: u16,
    /// The thread that runs next, or another [`Choice`].
    pub to: u16,
    /// With `site_key` 0: the number of scheduling points `from` has passed, from 0.
    /// Else: how many points at that site `from` has passed, from 0.
    pub occurrence: u32,
    /// Key of the site before which `from` stands, or 0 to anchor by step number.
    pub site_key: u64,
}

/// An event of a directed plan: the first step of an execution that has this site, is the
/// `occurrence`-th of its thread there, and stands in the given relations to other events.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventAnchor {
    /// A number that [`ThreadAnchor`]s give, or [`ANY_THREAD`].
    pub thread: u16,
    /// A number of [`Relation`].
    pub relation: u16,
    /// Counts from 0 per thread, or [`ANY_OCCURRENCE`].
    pub occurrence: u32,
    /// Key of the site.
    pub site_key: u64,
    /// Index of the event that `relation` refers to, or [`NO_EVENT`].
    pub related: u32,
    /// Index of the event that touches the same address, or [`NO_EVENT`].
    pub object: u32,
}

/// In [`EventAnchor::thread`]: whichever comes first.
pub const ANY_THREAD: u16 = u16::MAX;
/// In [`EventAnchor::occurrence`]: whichever comes first.
pub const ANY_OCCURRENCE: u32 = u32::MAX;
/// In [`EventAnchor::related`] and [`EventAnchor::object`]: none.
pub const NO_EVENT: u32 = u32::MAX;

/// How the thread of an event relates to that of another one.
#[repr(u16)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Not at all.
    None = 0,
    /// It is the same.
    SameThread = 1,
    /// It is another one.
    OtherThread = 2,
}

impl Relation {
    /// The relation with this number; unknown numbers mean none.
    pub const fn from_number(number: u16) -> Self {
        match number {
            1 => Self::SameThread,
            2 => Self::OtherThread,
            _ => Self::None,
        }
    }
}

/// A rule of a directed plan.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// A number of [`RuleKind`].
    pub kind: u32,
    /// Which hold this is about; 0 for [`RuleKind::Before`].
    pub hold: u32,
    /// Index of an event.
    pub event: u32,
    /// Index of the event that comes later, for [`RuleKind::Before`]; else 0.
    pub then: u32,
}

/// A function whose entries and exits are marked.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MethodAnchor {
    /// Key of the site of its entry.
    pub site_key: u64,
    /// Key of the full name of the type that it is called on, if only that tells it from others
    /// of the same path; else 0.
    pub receiver: u64,
    /// What the marks call it.
    pub number: u32,
    /// Keeps the size a multiple of eight.
    pub reserved: u32,
}

/// What a [`Rule`] says.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleKind {
    /// A thread that stands before `then` waits until `event` has passed.
    Before = 0,
    /// One of the events after which a thread is held: the thread of the first of them, once
    /// all have passed (an access, say, and the releases of the locks held then).
    Hold = 1,
    /// One of the events that end the hold once all have passed.
    Until = 2,
}

impl RuleKind {
    /// The kind with this number, if there is one.
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::Before),
            1 => Some(Self::Hold),
            2 => Some(Self::Until),
            _ => None,
        }
    }
}

/// One decision that the runtime noted down: a place where the thread that runs next is not
/// the default (the current thread if it can run, else the enabled one with the lowest number),
/// where an atomic load did not read the newest value, or where a deadline passed although a
/// thread could run.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The thread that ran until here.
    pub from: u16,
    /// The thread chosen, or another [`Choice`].
    pub to: u16,
    /// Scheduling points that `from` has passed, from 0.
    pub step: u32,
    /// Site of the step before which `from` stands (a [`crate::site::SiteId`]).
    pub site: u32,
    /// Scheduling points of the whole execution so far, from 0.
    pub point: u32,
}
