//! The trace model: what happened in one execution, with names that hold across executions.
//!
//! A trace never contains addresses. Threads are named by where they were started, objects by
//! where they were allocated, both with the number of times the same had happened before.
//! Events refer to threads, objects and sites by their index in the trace.

use alloc::string::String;
use alloc::vec::Vec;

/// Index into [`Trace::threads`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(pub u16);

/// Index into [`Trace::objects`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(pub u32);

/// Index into [`Trace::sites`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SiteIndex(pub u32);

/// Index into [`Trace::types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeIndex(pub u32);

/// One execution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Build id of the executable.
    pub build: String,
    /// Name of the test.
    pub test: String,
    /// Names of the threads; the first is the test's own.
    pub threads: Vec<ThreadName>,
    /// Names of the objects.
    pub objects: Vec<ObjectName>,
    /// Full names of types, as in the program map.
    pub types: Vec<String>,
    /// Names of the locks whose place in a type is known.
    pub locks: Vec<LockName>,
    /// Where operations stand.
    pub sites: Vec<TraceSite>,
    /// What happened, in order: an event's place in the list is its logical time.
    pub events: Vec<Event>,
}

/// A thread: the `occurrence`-th that `parent` started at a site.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ThreadName {
    /// Who started it; none for a thread that was there from the start.
    pub parent: Option<ThreadId>,
    /// Key of the site where it was started, or 0.
    pub site_key: u64,
    /// From 0, per parent and site.
    pub occurrence: u32,
}

/// What an object is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ObjectName {
    /// A heap block: the `occurrence`-th that a thread allocated at a site in a context.
    Heap {
        /// Key of the allocation's site, or 0.
        site_key: u64,
        /// Who allocated it.
        thread: ThreadId,
        /// From 0, per thread, site and context.
        occurrence: u32,
        /// Bytes.
        size: u64,
        /// Hash of the functions outside of the standard library that were being executed,
        /// or 0.
        context: u64,
        /// The innermost of them; empty if there is none.
        function: String,
    },
    /// A variable in the frame of a function on a thread's stack. What no variable is known for
    /// is the frame itself; offsets then count from its lowest address.
    Stack {
        /// The function.
        function: String,
        /// The variable's name; empty for the frame.
        variable: String,
        /// Hash of the functions outside of the standard library that called it, or 0.
        context: u64,
        /// Whose stack.
        thread: ThreadId,
        /// From 0, per thread, function, variable and context.
        occurrence: u32,
    },
    /// A static variable.
    Static {
        /// Its path.
        path: String,
    },
    /// Eight bytes that nothing else explains (mappings): the `occurrence`-th such that a
    /// thread first touched at a site.
    Region {
        /// Key of the first access's site, or 0.
        site_key: u64,
        /// Who touched it first.
        thread: ThreadId,
        /// From 0, per thread and site.
        occurrence: u32,
    },
}

/// A lock: a place in an object, and the fields that lead to it. Offsets change with every field
/// that is added; paths do not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LockName {
    /// Where it is in this execution.
    pub location: Location,
    /// The outermost type around it that is known.
    pub type_index: TypeIndex,
    /// The fields of that type that lead to it (`queue.head.lock`).
    pub path: String,
}

/// Where an operation stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TraceSite {
    /// Identity across builds.
    pub key: u64,
    /// Path as the compiler wrote it.
    pub file: String,
    /// Function path.
    pub function: String,
    /// From 1; 0 if unknown.
    pub line: u32,
    /// From 1; 0 if unknown.
    pub column: u32,
}

/// A place in an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    /// The object.
    pub object: ObjectId,
    /// Bytes from its start.
    pub offset: u64,
}

/// Something that a thread did.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// Who.
    pub thread: ThreadId,
    /// Where in the source, if known.
    pub site: Option<SiteIndex>,
    /// What.
    pub action: Action,
}

/// What a thread did.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Touched memory.
    Access {
        /// How.
        access: Access,
        /// Where.
        location: Location,
        /// Bytes.
        size: u32,
        /// Value read or written; of more than eight bytes a hash. Of a read-modify-write what was
        /// there before. 0 if unknown. An address is only told from what is no address.
        value: u64,
        /// Memory order.
        order: Order,
    },
    /// A part of what the thread's last access, a wide one, read or wrote.
    Value {
        /// Where.
        location: Location,
        /// Bytes, at most eight.
        size: u32,
        /// As in [`Action::Access`].
        value: u64,
    },
    /// A memory fence.
    Fence {
        /// Memory order.
        order: Order,
    },
    /// Used a lock.
    Lock {
        /// How.
        step: LockStep,
        /// Which.
        lock: Location,
        /// Whether others may hold it at the same time.
        shared: bool,
    },
    /// Did something that another thread's [`Action::Receive`] of the same message comes after.
    Send(Message),
    /// See [`Action::Send`].
    Receive(Message),
    /// Began to wait for a wake-up at this place.
    Wait(Location),
    /// Allocated a heap block.
    Alloc {
        /// The block.
        object: ObjectId,
    },
    /// Freed a heap block.
    Free {
        /// The block, and where in it the freed pointer pointed.
        location: Location,
    },
    /// Entered a function (named by the site).
    Enter {
        /// What it is a method of, where it is one and other threads could see that.
        receiver: Option<Location>,
    },
    /// Left the function that it entered last and has not left yet.
    Leave {
        /// Whether by unwinding, `longjmp` or the end of the thread.
        unwound: bool,
    },
    /// An instance of a type is here: the function that was just entered got a pointer to it, it was
    /// just made, or it is a variable.
    Typed {
        /// Where the instance begins.
        location: Location,
        /// Which type.
        type_index: TypeIndex,
    },
    /// A place was seen to hold a pointer into a heap block, and was not known to.
    Points {
        /// The place.
        location: Location,
        /// What it points to.
        target: Location,
    },
    /// Came to a conditional branch or a switch.
    Branch {
        /// Which way it went: of a conditional branch, 1 if the condition held; of a switch,
        /// the low bits of the value that decides.
        way: u32,
    },
    /// Something else that is worth a line.
    Mark(Mark),
}

/// What orders one thread's event after another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// The start of this thread.
    Start(ThreadId),
    /// The end of this thread.
    End(ThreadId),
    /// A wake-up of those who wait at this place.
    Wake(Location),
    /// The `number`-th item that went through a channel.
    Item {
        /// The channel.
        channel: Location,
        /// From 0.
        number: u64,
    },
}

/// A type of small words: an enum with the words that the text format uses.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// All values.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];
            /// The words of all values, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word,)*];

            /// The word used in text.
            pub const fn word(self) -> &'static str {
                Self::WORDS[self as usize]
            }
        }
    };
}

words! {
    /// A way to touch memory.
    Access {
        /// A plain load.
        Read = "read",
        /// A plain store.
        Write = "write",
        /// An atomic load.
        AtomicLoad = "atomic-load",
        /// An atomic store.
        AtomicStore = "atomic-store",
        /// An atomic read-modify-write, or a compare-exchange that succeeded.
        AtomicRmw = "atomic-rmw",
        /// A compare-exchange that failed.
        AtomicCas = "atomic-cas",
        /// A volatile load.
        VolatileRead = "volatile-read",
        /// A volatile store.
        VolatileWrite = "volatile-write",
    }
}

impl Access {
    /// Whether memory may have changed.
    pub const fn writes(self) -> bool {
        use Access::{AtomicRmw, AtomicStore, VolatileWrite, Write};
        matches!(self, Write | AtomicStore | AtomicRmw | VolatileWrite)
    }

    /// Whether it is an atomic operation.
    pub const fn is_atomic(self) -> bool {
        use Access::{AtomicCas, AtomicLoad, AtomicRmw, AtomicStore};
        matches!(self, AtomicLoad | AtomicStore | AtomicRmw | AtomicCas)
    }
}

words! {
    /// A memory order.
    Order {
        /// Not atomic, or unknown.
        None = "none",
        /// `Relaxed`.
        Relaxed = "relaxed",
        /// `Acquire`.
        Acquire = "acquire",
        /// `Release`.
        Release = "release",
        /// `AcqRel`.
        AcqRel = "acq-rel",
        /// `SeqCst`.
        SeqCst = "seq-cst",
    }
}

words! {
    /// What is done with a lock.
    LockStep {
        /// About to be acquired.
        Want = "want",
        /// Acquired.
        Acquire = "acquire",
        /// Released.
        Release = "release",
    }
}

words! {
    /// Events without further facts.
    Mark {
        /// A spin hint or `sched_yield`.
        Yield = "yield",
        /// A sleep.
        Sleep = "sleep",
        /// A blocking system call.
        Io = "io",
        /// A panic begins.
        Panic = "panic",
        /// Inline assembly ran.
        Asm = "asm",
        /// The test function begins.
        TestBegin = "test-begin",
        /// The test function has returned.
        TestEnd = "test-end",
        /// Nothing known.
        Unknown = "unknown",
    }
}
