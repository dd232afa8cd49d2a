//! How the runtime writes down a finding.
//!
//! A finding is a [`FindingHeader`] followed by parts. Each part is a [`PartHeader`] and its
//! payload, padded to eight bytes. `Control::findings` grows only after a record is complete,
//! so a reader never sees half of one.

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $value:literal, $text:literal;)*) => {
        /// What went wrong.
        #[repr(u32)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Kind { $($(#[$doc])* $name = $value,)* }

        impl Kind {
            /// Every kind.
            pub const ALL: &'static [Kind] = &[$(Kind::$name,)*];

            /// The word used in ids, JSON and `raddle.toml`.
            pub const fn word(self) -> &'static str {
                match self { $(Kind::$name => $text,)* }
            }

            /// The kind with this number, if there is one.
            pub const fn from_number(number: u32) -> Option<Self> {
                match number { $($value => Some(Kind::$name),)* _ => None }
            }

            /// The kind with this word, if there is one.
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.word() == word)
            }
        }
    };
}

kinds! {
    /// A test failed by panicking (or by returning an error).
    Panic = 0, "panic";
    /// The process died by a signal or by `abort`.
    Crash = 1, "crash";
    /// Threads wait for each other, or for something that can no longer happen.
    Deadlock = 2, "deadlock";
    /// Threads run for ever without progress.
    Livelock = 3, "livelock";
    /// Two accesses without order between them, at least one a write and one not atomic.
    DataRace = 4, "data-race";
    /// An access to a freed heap block.
    UseAfterFree = 5, "use-after-free";
    /// A heap block freed twice.
    DoubleFree = 6, "double-free";
    /// An access beyond a heap block.
    OutOfBounds = 7, "out-of-bounds";
    /// An unserializable pattern over an atomic set.
    AtomicSet = 8, "atomic-set";
    /// A result that no sequential order of the calls explains.
    Linearizability = 9, "linearizability";
    /// A user's assertion on the side of the tool.
    Assertion = 10, "assertion";
    /// A failure that needs no concurrency.
    Sequential = 11, "sequential";
}

/// Fixed part of a finding.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FindingHeader {
    /// Bytes of the whole record, this header included; a multiple of eight.
    pub size: u32,
    /// Number of a [`Kind`].
    pub kind: u32,
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
    /// Kind-specific: signal number, exit code, address of the race, last point that got on, panics
    /// before a deadlock.
    pub detail: [u64; 2],
}

/// Second detail of panics that are no finding: the execution passed in spite of them.
pub const PASSED: u64 = 1;

/// Bit in the signal number of a crash: the thread ran over the end of its stack.
pub const STACK_OVERFLOW: u64 = 1 << 32;

/// Starts a part.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PartHeader {
    /// One of [`part`].
    pub tag: u32,
    /// Bytes of payload, without padding.
    pub len: u32,
}

/// Tags of parts.
pub mod part {
    /// An array of [`crate::plan::Decision`]: the whole schedule so far.
    pub const DECISIONS: u32 = 1;
    /// A [`super::Step`] with its frames: one of the operations at fault, or a place where a
    /// thread stood. The first ones name the finding.
    pub const STEP: u32 = 2;
    /// A [`super::Wait`] with its frames: a blocked thread and what it waits for.
    pub const WAIT: u32 = 3;
    /// UTF-8 text: what the execution wrote (the panic message is in there).
    pub const OUTPUT: u32 = 4;
}

/// Payload of [`part::STEP`]; `frames` × u64 return addresses follow, innermost first.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Site id, or 0.
    pub site: u32,
    /// Number of a [`crate::site::Operation`].
    pub operation: u16,
    /// Thread number.
    pub thread: u16,
    /// Address touched, or 0.
    pub address: u64,
    /// Bytes touched, or 0.
    pub len: u32,
    /// Number of frames that follow.
    pub frames: u32,
}

/// Payload of [`part::WAIT`]; `holders` × u32 thread numbers (padded to eight bytes) and then
/// `frames` × u64 return addresses follow.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// Thread number.
    pub thread: u16,
    /// Number of a [`crate::site::Operation`] (what the thread is blocked in).
    pub operation: u16,
    /// Site id of the blocked operation, or 0.
    pub site: u32,
    /// Address of the lock that the thread wants, else of the object it waits on.
    pub object: u64,
    /// 1 if `object` is a lock known by its functions.
    pub is_lock: u32,
    /// 1 if the thread is part of a wait cycle.
    pub in_cycle: u32,
    /// Number of threads that hold the lock.
    pub holders: u32,
    /// Number of frames.
    pub frames: u32,
}
