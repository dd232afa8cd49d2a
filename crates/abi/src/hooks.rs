//! The hooks that instrumentation inserts, in one list.
//!
//! Every hook `__raddle_X` has a body in `crates/runtime/hooks/fast.rs`, compiled to bitcode
//! and inlined into the program. It tests [`FLAGS_SYMBOL`] and calls the runtime's slow
//! function `__raddle_slow_X` only while a controlled execution is under way.
//! Plain hooks *announce* an access before it happens. Atomic hooks *perform* the operation
//! and return its result, so that the runtime may later return stale values.

use core::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize};

/// Name of the [`Gate`], whose flags decide whether hooks call the runtime.
pub const FLAGS_SYMBOL: &str = "__raddle_flags";

/// What inlined hooks look at. The runtime defines it, as [`FLAGS_SYMBOL`].
#[repr(C)]
#[derive(Debug, Default)]
pub struct Gate {
    /// Bits of `FLAG_...`.
    pub flags: AtomicU8,
    /// Start of memory whose plain accesses nobody wants.
    pub low: AtomicUsize,
    /// Length of that memory.
    pub len: AtomicUsize,
    /// Plain accesses to that memory before the next one that calls the runtime all the same:
    /// a loop of nothing else may wait for another thread.
    pub accesses_left: AtomicUsize,
    /// With [`FLAG_METHODS`]: which functions may be meant, a bit for the last six of each key.
    pub methods: AtomicU64,
}

impl Gate {
    /// Nothing is wanted.
    pub const fn new() -> Self {
        Self {
            flags: AtomicU8::new(0),
            low: AtomicUsize::new(0),
            len: AtomicUsize::new(0),
            accesses_left: AtomicUsize::new(0),
            methods: AtomicU64::new(0),
        }
    }
}

/// Bit of the flags byte: a controlled execution runs; synchronisation is hooked.
pub const FLAG_SYNC: u8 = 1;
/// Bit of the flags byte: plain accesses are wanted too.
pub const FLAG_PLAIN: u8 = 2;
/// Bit of the flags byte: the execution is recorded, so function entries and exits, messages
/// through channels and branches are wanted too.
pub const FLAG_CALLS: u8 = 4;
/// Bit of the flags byte: function entries and exits are wanted, because the plan asks about some
/// functions (see [`crate::plan::MethodAnchor`]).
pub const FLAG_METHODS: u8 = 8;
/// How many pointer parameters [`ENTER`] passes.
pub const PARAMETERS: usize = 4;

/// A C-level type in a hook's signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A pointer.
    Pointer,
    /// An 8-bit integer.
    I8,
    /// A 16-bit integer.
    I16,
    /// A 32-bit integer.
    I32,
    /// A 64-bit integer.
    I64,
    /// Nothing (as a result).
    Void,
}

/// One hook: its symbol and signature.
#[derive(Clone, Copy, Debug)]
pub struct Hook {
    /// The symbol that instrumented code calls.
    pub symbol: &'static str,
    /// Parameter types.
    pub parameters: &'static [Type],
    /// Result type.
    pub result: Type,
}

macro_rules! hooks {
    ($($(#[$doc:meta])* $constant:ident = $symbol:ident ( $($name:ident : $ty:ident),* ) -> $result:ident;)*) => {
        $($(#[$doc])* pub const $constant: Hook = Hook {
            symbol: stringify!($symbol),
            parameters: &[$(Type::$ty),*],
            result: Type::$result,
        };)*
        /// All hooks.
        pub const ALL: &[Hook] = &[$($constant),*];
    };
}

hooks! {
    /// A plain load of `len` bytes is about to happen.
    READ = __raddle_read(address: Pointer, len: I64, site: Pointer) -> Void;
    /// A plain store of `len` bytes is about to happen.
    WRITE = __raddle_write(address: Pointer, len: I64, site: Pointer) -> Void;
    /// A volatile access is about to happen; `write` is 0 or 1.
    VOLATILE = __raddle_volatile(address: Pointer, len: I64, write: I32, site: Pointer) -> Void;
    /// A function of libc is about to be called, or has returned. `call` is its number in
    /// [`libc::ALL`](crate::libc::ALL), with bits of [`libc::PRIVATE`](crate::libc::PRIVATE), and [`libc::RETURNED`](crate::libc::RETURNED) in the latter
    /// case. `variadic` points to the number of variadic arguments and the arguments. What
    /// the call reads has the site `reads`, what it writes `writes`.
    CALL = __raddle_call(call: I32, first: I64, second: I64, third: I64, fourth: I64, variadic: Pointer, result: I64, reads: Pointer, writes: Pointer) -> Void;
    /// Atomic load; `order` as in [`order`].
    LOAD_8 = __raddle_load_8(address: Pointer, order: I32, site: Pointer) -> I8;
    /// Atomic load.
    LOAD_16 = __raddle_load_16(address: Pointer, order: I32, site: Pointer) -> I16;
    /// Atomic load.
    LOAD_32 = __raddle_load_32(address: Pointer, order: I32, site: Pointer) -> I32;
    /// Atomic load.
    LOAD_64 = __raddle_load_64(address: Pointer, order: I32, site: Pointer) -> I64;
    /// Atomic store.
    STORE_8 = __raddle_store_8(address: Pointer, value: I8, order: I32, site: Pointer) -> Void;
    /// Atomic store.
    STORE_16 = __raddle_store_16(address: Pointer, value: I16, order: I32, site: Pointer) -> Void;
    /// Atomic store.
    STORE_32 = __raddle_store_32(address: Pointer, value: I32, order: I32, site: Pointer) -> Void;
    /// Atomic store.
    STORE_64 = __raddle_store_64(address: Pointer, value: I64, order: I32, site: Pointer) -> Void;
    /// Atomic read-modify-write; `op` as in [`rmw`]. Returns the old value.
    RMW_8 = __raddle_rmw_8(address: Pointer, value: I8, op: I32, order: I32, site: Pointer) -> I8;
    /// Atomic read-modify-write.
    RMW_16 = __raddle_rmw_16(address: Pointer, value: I16, op: I32, order: I32, site: Pointer) -> I16;
    /// Atomic read-modify-write.
    RMW_32 = __raddle_rmw_32(address: Pointer, value: I32, op: I32, order: I32, site: Pointer) -> I32;
    /// Atomic read-modify-write.
    RMW_64 = __raddle_rmw_64(address: Pointer, value: I64, op: I32, order: I32, site: Pointer) -> I64;
    /// Compare-exchange; `order` is success | failure << 8. Returns the old value; it
    /// succeeded if that equals `expected`. Weak ones never fail spuriously.
    CAS_8 = __raddle_cas_8(address: Pointer, expected: I8, new: I8, order: I32, site: Pointer) -> I8;
    /// Compare-exchange.
    CAS_16 = __raddle_cas_16(address: Pointer, expected: I16, new: I16, order: I32, site: Pointer) -> I16;
    /// Compare-exchange.
    CAS_32 = __raddle_cas_32(address: Pointer, expected: I32, new: I32, order: I32, site: Pointer) -> I32;
    /// Compare-exchange.
    CAS_64 = __raddle_cas_64(address: Pointer, expected: I64, new: I64, order: I32, site: Pointer) -> I64;
    /// A fence; the real instruction stays in place after the hook.
    FENCE = __raddle_fence(order: I32, site: Pointer) -> Void;
    /// A spin hint (`pause`).
    SPIN = __raddle_spin(site: Pointer) -> Void;
    /// Reads the processor's counter of cycles.
    CYCLES = __raddle_cycles() -> I64;
    /// The call that follows (an allocation, a free, a libc function, the start of a panic)
    /// stands at `site`. Never tests the flags: also wanted before the snapshot.
    AT = __raddle_at(site: Pointer) -> Void;
    /// Inline assembly that may touch memory is about to run.
    ASM = __raddle_asm(site: Pointer) -> Void;
    /// A lock function was entered or left; `event` as in [`lock`].
    LOCK = __raddle_lock(event: I32, lock: Pointer, site: Pointer) -> Void;
    /// A thread passed from std's code into the user's or back; `event` as in [`phase`].
    /// For [`phase::TEST_END`], `value` is the first word of the test function's result.
    PHASE = __raddle_phase(event: I32, value: I64, frame: Pointer, site: Pointer) -> Void;
    /// A panic begins (before the panic hook runs).
    PANIC = __raddle_panic(site: Pointer) -> Void;
    /// A function is entered; `site` is a [`FunctionSite`](crate::site::FunctionSite), which
    /// says what the pointers point to. Those that are not needed are null.
    ENTER = __raddle_enter(first: Pointer, second: Pointer, third: Pointer, fourth: Pointer, site: Pointer) -> Void;
    /// The function with this site is left, or goes on after a call has unwound; `how` as in
    /// [`leave`].
    LEAVE = __raddle_leave(how: I32, site: Pointer) -> Void;
    /// What `address` points to was just made; `site` is a
    /// [`FunctionSite`](crate::site::FunctionSite) whose only type is its.
    INSTANCE = __raddle_instance(address: Pointer, site: Pointer) -> Void;
    /// A message is about to be put into a channel, or was found in it; `event` as in
    /// [`channel`]. `message` points to the words that tell which message.
    CHANNEL = __raddle_channel(event: I32, channel: Pointer, message: Pointer, site: Pointer) -> Void;
    /// A conditional branch goes its way if `way` is 1, or a switch to the case of this value.
    /// Only in builds that ask for it.
    BRANCH = __raddle_branch(way: I32, site: Pointer) -> Void;
}

/// Values of `how` of [`LEAVE`].
pub mod leave {
    /// The function returns.
    pub const RETURN: u32 = 0;
    /// The function is unwound.
    pub const UNWIND: u32 = 1;
    /// Something that the function called was unwound, and the function goes on.
    pub const LANDING: u32 = 2;
}

/// Values of `event` of [`CHANNEL`]: an action in the low byte, a number of words in the next.
/// A message is found in the channel under the same words as it was put in. Without words,
/// messages come out in the order in which they went in. Without a channel, the word is what
/// the message goes through.
pub mod channel {
    /// A message is put in.
    pub const SEND: u32 = 1;
    /// A message is taken out.
    pub const RECEIVE: u32 = 2;
    /// Unit of the number of words.
    pub const WORD: u32 = 1 << 8;
}

/// Memory orders, numbered as in LLVM's C API.
pub mod order {
    /// `Relaxed` (LLVM: monotonic).
    pub const RELAXED: u32 = 2;
    /// `Acquire`.
    pub const ACQUIRE: u32 = 4;
    /// `Release`.
    pub const RELEASE: u32 = 5;
    /// `AcqRel`.
    pub const ACQ_REL: u32 = 6;
    /// `SeqCst`.
    pub const SEQ_CST: u32 = 7;

    /// Whether a load with this order acquires.
    pub const fn acquires(order: u32) -> bool {
        order == ACQUIRE || order >= ACQ_REL
    }

    /// Whether a store with this order releases.
    pub const fn releases(order: u32) -> bool {
        order >= RELEASE
    }
}

/// Read-modify-write operations, numbered as LLVM's `LLVMAtomicRMWBinOp`.
pub mod rmw {
    /// Exchange.
    pub const XCHG: u32 = 0;
    /// Wrapping addition.
    pub const ADD: u32 = 1;
    /// Wrapping subtraction.
    pub const SUB: u32 = 2;
    /// Bitwise and.
    pub const AND: u32 = 3;
    /// Bitwise nand.
    pub const NAND: u32 = 4;
    /// Bitwise or.
    pub const OR: u32 = 5;
    /// Bitwise exclusive or.
    pub const XOR: u32 = 6;
    /// Signed maximum.
    pub const MAX: u32 = 7;
    /// Signed minimum.
    pub const MIN: u32 = 8;
    /// Unsigned maximum.
    pub const UMAX: u32 = 9;
    /// Unsigned minimum.
    pub const UMIN: u32 = 10;
    /// Addition of floats of four or eight bytes, as are the three that follow.
    pub const FADD: u32 = 11;
    /// Subtraction of floats.
    pub const FSUB: u32 = 12;
    /// Maximum of floats; a number wins over none.
    pub const FMAX: u32 = 13;
    /// Minimum of floats; a number wins over none.
    pub const FMIN: u32 = 14;
}

/// Events of [`LOCK`]: an action in the low byte, a mode in the next.
pub mod lock {
    /// The thread is about to try for the lock and may block.
    pub const WANT: u32 = 1;
    /// It has the lock.
    pub const ACQUIRED: u32 = 2;
    /// It gave up, or never got it.
    pub const FAILED: u32 = 3;
    /// It is about to release the lock.
    pub const RELEASE: u32 = 4;
    /// Mode: exclusive.
    pub const EXCLUSIVE: u32 = 0;
    /// Mode: shared.
    pub const SHARED: u32 = 1 << 8;
}

/// Events of [`PHASE`].
pub mod phase {
    /// std's thread start routine begins: std's own code until [`USER_BEGIN`].
    pub const THREAD_START: u32 = 1;
    /// `__rust_begin_short_backtrace` of std: the user's closure, or main, begins.
    pub const USER_BEGIN: u32 = 2;
    /// The user's closure has returned or unwound.
    pub const USER_END: u32 = 3;
    /// libtest is about to call a test function.
    pub const TEST_BEGIN: u32 = 4;
    /// The test function has returned (not unwound).
    pub const TEST_END: u32 = 5;
    /// std is about to drop a thread's own value, at the thread's end: the user's code begins again.
    pub const DROP_BEGIN: u32 = 6;
    /// The value was dropped.
    pub const DROP_END: u32 = 7;
}
