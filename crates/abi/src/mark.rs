//! Programs made to be run by the tool: they ask the runtime for their input, which the plan
//! carries, and mark what they do, so that the tool knows without a recording in which order it
//! happened and what came of it.
//!
//! The runtime exports four C functions for them:
//!
//! ```c
//! size_t raddle_harness_input(void *buffer, size_t capacity); // bytes of input; copies what fits
//! void raddle_harness_mark(uint32_t kind, uint32_t number, const void *bytes, size_t len);
//! void raddle_harness_gate(uint32_t is_closed); // new threads wait until it is open again
//! void raddle_harness_clock(uint32_t nanoseconds); // each look at the clock takes so much longer
//! ```
//!
//! A mark is a [`Mark`] and its bytes, padded to a multiple of eight. `Control::marks` grows only
//! after a mark is complete. The marks of an execution stand between its [`kind::BEGIN`] and its
//! [`kind::END`]; one that is begun again has none of the first.

/// Fixed part of a mark.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// One of [`kind`].
    pub kind: u16,
    /// Number of the thread that made it.
    pub thread: u16,
    /// What it is about: the program's choice; of an end, a number of [`End`].
    pub number: u32,
    /// Bytes that follow, without padding.
    pub len: u32,
    /// Scheduling points of the execution so far.
    pub point: u32,
}

/// Values of [`Mark::kind`].
pub mod kind {
    /// An execution begins. The bytes are its seed and its length estimate, as `u64`.
    pub const BEGIN: u16 = 0;
    /// An execution has ended. The bytes are its schedule, an array of
    /// [`crate::plan::Decision`].
    pub const END: u16 = 1;
    /// The program has begun something.
    pub const CALL: u16 = 2;
    /// It is done, with these bytes as its result.
    pub const RETURN: u16 = 3;
    /// The thread has entered a function that the plan asks about
    /// ([`crate::plan::MethodAnchor`]); the number is what the plan calls it.
    pub const ENTER: u16 = 4;
    /// It has left that function, be it by unwinding.
    pub const LEAVE: u16 = 5;
}

/// How an execution with marks ended.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The program ended by itself, with exit code 0.
    Passed = 0,
    /// The program ended by itself, with another exit code.
    Failed = 1,
    /// A finding ended it, or all that could follow was known.
    Abandoned = 2,
    /// It was too long.
    Cut = 3,
    /// The program crashed.
    Crashed = 4,
}

impl End {
    /// The end with this number; unknown numbers mean a crash.
    pub const fn from_number(number: u32) -> Self {
        match number {
            0 => Self::Passed,
            1 => Self::Failed,
            2 => Self::Abandoned,
            3 => Self::Cut,
            _ => Self::Crashed,
        }
    }
}
