//! Raw events, as the runtime records them during a replay.
//!
//! They name things by address; the tool turns addresses into names that hold across
//! executions, with the allocations and spawns that the same recording contains.

/// One event, at [`crate::control::EVENTS_OFFSET`].
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawEvent {
    /// Number of a [`crate::site::Operation`].
    pub operation: u16,
    /// Thread number.
    pub thread: u16,
    /// Site id, or 0.
    pub site: u32,
    /// Address touched; for spawn, join and start the other thread's number; for locks the lock;
    /// for messages the channel; for frames where they end.
    pub address: u64,
    /// Value read, written or returned, where known: of a plain access of more than eight bytes a
    /// hash, which [`crate::site::Operation::Value`]s may follow; bytes of an allocation; for arguments
    /// their number, for wake-ups how many threads were woken, for messages what tells them apart, for branches the way, for leaving a
    /// function 1 if it was unwound, and for frames the number of the thread they belong to.
    pub value: u64,
    /// Bytes touched; bytes of a frame; for wake-ups and waits bits of [`wake`].
    pub len: u32,
    /// Memory order, or lock mode, or 0; for wake-ups the number of the thread that was woken first,
    /// + 1, or 0 if none was.
    pub order: u16,
    /// Bits of [`flags`].
    pub flags: u16,
    /// Index of the stack in the stacks area in units of eight bytes, + 1; 0 if none was taken.
    /// Of a frame, the stack from there on.
    pub stack: u32,
    /// Scheduling point of the execution at which the event happened.
    pub point: u32,
}

/// As [`RawEvent::operation`]: not an event of the program, but the scheduler letting
/// [`RawEvent::thread`] go on, which stood before [`RawEvent::site`]. One is recorded per
/// pick, so that decisions can be anchored to sites. Readers keep these apart from events.
pub const PICK: u16 = u16::MAX;

/// As [`RawEvent::operation`]: not an event of the program either, but a deadline that passed
/// although a thread could run. [`RawEvent::thread`] is the one that waited, or
/// [`NO_THREAD`] for a timer, [`RawEvent::site`] where it waits, [`RawEvent::value`] by how many
/// nanoseconds time advanced, and [`RawEvent::address`] how many it would have waited in all.
pub const EXPIRY: u16 = u16::MAX - 1;
/// In place of a thread.
pub const NO_THREAD: u16 = u16::MAX;

/// Bits of [`RawEvent::flags`].
pub mod flags {
    /// The event was a scheduling point.
    pub const POINT: u16 = 1;
    /// Another thread ran between this thread's previous event and this one.
    pub const SWITCHED: u16 = 2;
    /// The upper byte of an atomic load: how many stores the one that it read lies before the
    /// newest one.
    pub const AGE: u16 = 0xff00;
    /// How far [`AGE`] is shifted.
    pub const AGE_SHIFT: u32 = 8;
}

/// Bits of [`RawEvent::len`] of a wake-up, and of the beginning of a wait.
pub mod wake {
    /// A wake-up that finds no waiting thread is kept for the next one, as by a semaphore.
    pub const KEPT: u32 = 1;
    /// The object is a condition variable of libc.
    pub const CONDITION: u32 = 2;
    /// The object is a semaphore of libc.
    pub const SEMAPHORE: u32 = 4;
    /// The object is a barrier of libc.
    pub const BARRIER: u32 = 8;
    /// The object is a `pthread_once_t`.
    pub const ONCE: u32 = 16;
}

/// A stack in the stacks area: a count, then that many return addresses, innermost first.
/// Equal stacks are stored once.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct StackHeader {
    /// Number of `u64` return addresses that follow.
    pub frames: u64,
}

/// Where the program's heap begins.
pub const HEAP_BASE: usize = 0x10_0000_0000;
/// Bytes of address space for the program's heap.
pub const HEAP_SIZE: usize = 32 << 30;
/// From here on stand stacks and mappings.
pub const MAPPINGS_BASE: usize = 0x7000_0000_0000;

/// A word that is an address which depends on the schedule, as the address where such memory begins;
/// any other word as it is. Addresses of one kind are then equal, also with bits of the program's in
/// their upper part.
pub const fn without_address(word: u64) -> u64 {
    const HEAP: u64 = HEAP_BASE as u64;
    const HEAP_END: u64 = HEAP + HEAP_SIZE as u64;
    const MAPPINGS: u64 = MAPPINGS_BASE as u64;
    const END: u64 = 1 << 47;
    match word & ((1 << 48) - 1) {
        HEAP..HEAP_END => HEAP,
        MAPPINGS..END => MAPPINGS,
        _ => word,
    }
}
