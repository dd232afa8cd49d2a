//! Site records: where in the source an instrumented operation stands.
//!
//! Instrumentation emits one constant [`Site`] per distinct debug location into
//! [`SITE_SECTION`]. The section is relocated read-only data, so that a snapshot never has to
//! restore it. Executables are linked at a fixed address, so the tool can read the records
//! straight from the ELF file: a site's address is its name within one build ([`SiteId`]).

use core::ffi::c_char;

/// Section of all site records.
pub const SITE_SECTION: &str = ".data.rel.ro.raddle_sites";

/// Address of a [`Site`]; 32 bits are enough because executables and instrumented libraries are
/// linked below 4 GiB. 0 means "unknown": also where a library was loaded elsewhere.
pub type SiteId = u32;

/// One source location of one operation.
#[repr(C)]
#[derive(Debug)]
pub struct Site {
    /// Identity across builds: a hash of crate, function path, operation kind, ordinal of that
    /// kind in the function, and inlined-at chain. Lines do not take part.
    pub key: u64,
    /// NUL-terminated path as the compiler wrote it.
    pub file: *const c_char,
    /// NUL-terminated function path, without hash and generic arguments.
    pub function: *const c_char,
    /// Where the call stood that this location was inlined from, or null.
    pub inlined_at: *const Site,
    /// Line, from 1; 0 if unknown.
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    pub column: u32,
    /// What happens here.
    pub operation: Operation,
    /// Bits of [`flags`].
    pub flags: u16,
    /// Keeps the size a multiple of eight.
    pub reserved: u32,
}

// SAFETY: a site record is immutable data of the program's image.
unsafe impl Sync for Site {}

/// The site of a function's entry ([`Operation::Enter`]) with the types of what it gets, or of a
/// new instance ([`Operation::Argument`]) with its type.
#[repr(C)]
#[derive(Debug)]
pub struct FunctionSite {
    /// The entry, or where the instance is made. Other hooks of the function point here too.
    pub site: Site,
    /// NUL-terminated: one line for each pointer that the hook passes, the full name of
    /// the type that it points to.
    pub types: *const c_char,
}

/// Size of a [`Site`] in the image; the reader of ELF files relies on it.
pub const SITE_SIZE: usize = 48;
const _: () = assert!(core::mem::size_of::<Site>() == SITE_SIZE);

/// Bits of [`Site::flags`].
pub mod flags {
    /// The innermost location is in the standard library.
    pub const STD: u16 = 1;
    /// No scheduling point here: thread start and exit inside std, and the test harness.
    /// Their atomics drown a random walk and their locks order threads by accident.
    pub const QUIET: u16 = 2;
    /// Of a function's entry: the first pointer is the method's receiver.
    pub const METHOD: u16 = 4;
    /// Of assembly: it has no result, so that its thread learns nothing by it.
    pub const TELLS_NOTHING: u16 = 8;
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident = $value:literal, $text:literal;)*) => {
        /// What kind of operation a site, a pending step or an event is.
        #[repr(u16)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Operation { $($(#[$doc])* $name = $value,)* }

        impl Operation {
            /// Every kind, in order of its number.
            pub const ALL: &'static [Operation] = &[$(Operation::$name,)*];

            /// The word used in text formats and reports.
            pub const fn word(self) -> &'static str {
                match self { $(Operation::$name => $text,)* }
            }

            /// The kind with this number, if there is one.
            pub const fn from_number(number: u16) -> Option<Self> {
                match number { $($value => Some(Operation::$name),)* _ => None }
            }

            /// The kind with this word, if there is one.
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|operation| operation.word() == word)
            }
        }
    };
}

operations! {
    /// Nothing known.
    Unknown = 0, "unknown";
    /// A plain load.
    Read = 1, "read";
    /// A plain store.
    Write = 2, "write";
    /// An atomic load.
    AtomicLoad = 3, "atomic-load";
    /// An atomic store.
    AtomicStore = 4, "atomic-store";
    /// An atomic read-modify-write, or a compare-exchange that succeeded.
    AtomicRmw = 5, "atomic-rmw";
    /// A compare-exchange; as an event, one that failed.
    AtomicCas = 6, "atomic-cas";
    /// A volatile load.
    VolatileRead = 7, "volatile-read";
    /// A volatile store.
    VolatileWrite = 8, "volatile-write";
    /// A memory fence.
    Fence = 9, "fence";
    /// A spin hint, `sched_yield`, or a loop seen to spin.
    Yield = 10, "yield";
    /// An allocation.
    Alloc = 11, "alloc";
    /// A free.
    Free = 12, "free";
    /// A thread starts another one.
    Spawn = 13, "spawn";
    /// A thread waits for another one's end.
    Join = 14, "join";
    /// A thread begins to run.
    Start = 15, "start";
    /// A thread has ended.
    Exit = 16, "exit";
    /// A futex wait that blocks.
    FutexWait = 17, "futex-wait";
    /// A futex wake.
    FutexWake = 18, "futex-wake";
    /// A lock is about to be acquired.
    LockWant = 19, "lock-want";
    /// A lock has been acquired.
    LockAcquire = 20, "lock-acquire";
    /// A lock is released.
    LockRelease = 21, "lock-release";
    /// A sleep, or the wait for a time.
    Sleep = 22, "sleep";
    /// A blocking system call.
    Io = 23, "io";
    /// A panic begins.
    Panic = 24, "panic";
    /// Inline assembly that may touch shared memory.
    Asm = 25, "asm";
    /// A function is entered.
    Enter = 26, "enter";
    /// A function is left.
    Leave = 27, "leave";
    /// The test function begins.
    TestBegin = 28, "test-begin";
    /// The test function has returned.
    TestEnd = 29, "test-end";
    /// A pointer that a function gets, after the function's [`Operation::Enter`].
    Argument = 30, "argument";
    /// A message is put into a channel.
    Send = 31, "send";
    /// A message is taken out of a channel.
    Receive = 32, "receive";
    /// A branch goes one of its ways.
    Branch = 33, "branch";
    /// The address of the thread's next event lies in this frame.
    Frame = 34, "frame";
    /// Up to eight bytes that the thread's last access, a wide one, read or wrote.
    Value = 35, "value";
}

impl Operation {
    /// Whether events of this kind only tell where a thread is: they touch nothing that
    /// another thread could see.
    pub const fn is_annotation(self) -> bool {
        matches!(
            self,
            Self::Enter
                | Self::Leave
                | Self::Argument
                | Self::Send
                | Self::Receive
                | Self::Branch
                | Self::Frame
                | Self::Value
        )
    }
}
