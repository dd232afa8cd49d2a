//! Backtraces of panics while panicking.
//!
//! std prints a full backtrace for them, whatever the user's settings say. It reads the debug
//! information of the whole program for that, which takes seconds in each execution, opens files,
//! and depends on addresses. What was called is in the finding.

use super::real;
use crate::world::{is_executing, world};
use core::sync::atomic::AtomicUsize;

/// `_URC_END_OF_STACK`.
const END_OF_STACK: i32 = 5;

/// libgcc's `_Unwind_Backtrace`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
#[expect(non_snake_case, reason = "the name of libgcc")]
pub unsafe extern "C" fn _Unwind_Backtrace(visit: usize, argument: usize) -> i32 {
    static REAL: AtomicUsize = AtomicUsize::new(0);
    if is_executing() {
        let execution = &world().execution;
        let is_second = execution.threads[execution.current].panics > 1;
        if is_second {
            return END_OF_STACK;
        }
    }
    let real = real::resolve(&REAL, "_Unwind_Backtrace\0");
    // SAFETY: libgcc's function of this name has this signature.
    unsafe {
        let real: unsafe extern "C" fn(usize, usize) -> i32 = core::mem::transmute(real);
        real(visit, argument)
    }
}
