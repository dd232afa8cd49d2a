//! The functions at which a thread passes between std's code and the user's.

use raddle_abi::hooks::phase;

/// What is announced when a function is entered and left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Phase {
    /// Event at entry.
    pub(super) begin: u32,
    /// Event before each return.
    pub(super) end: Option<u32>,
    /// Event before unwinding on.
    pub(super) unwind: Option<u32>,
    /// Whether the event at the return carries the result.
    pub(super) result: bool,
}

/// The phase of a function by its path.
pub(super) fn phase_of(path: &str) -> Option<Phase> {
    match path {
        "std::sys::backtrace::__rust_begin_short_backtrace" => Some(Phase {
            begin: phase::USER_BEGIN,
            end: Some(phase::USER_END),
            unwind: Some(phase::USER_END),
            result: false,
        }),
        "test::__rust_begin_short_backtrace" => Some(Phase {
            begin: phase::TEST_BEGIN,
            end: Some(phase::TEST_END),
            unwind: None,
            result: true,
        }),
        _ if path.starts_with("std::sys::") && path.ends_with("::thread_start") => Some(Phase {
            begin: phase::THREAD_START,
            end: None,
            unwind: None,
            result: false,
        }),
        "std::sys::thread_local::native::eager::destroy"
        | "std::sys::thread_local::native::lazy::destroy" => Some(Phase {
            begin: phase::DROP_BEGIN,
            end: Some(phase::DROP_END),
            unwind: None,
            result: false,
        }),
        _ => None,
    }
}

/// Whether a panic begins in the function with this path.
pub(super) fn is_panic_entry(path: &str) -> bool {
    matches!(
        path,
        "std::panicking::panic_with_hook" | "std::panicking::rust_panic_with_hook"
    )
}
