//! Functions of the dynamic linker that call back under its lock.

use super::real;
use crate::world::{live, without_hooks};

/// libc's `dl_iterate_phdr`: nothing may be scheduled inside, its lock is held.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn dl_iterate_phdr(callback: usize, data: usize) -> i32 {
    let real = real::functions().dl_iterate_phdr;
    if !live() {
        // SAFETY: libc's contract.
        return unsafe { real(callback, data) };
    }
    // SAFETY: libc's contract.
    without_hooks(|| unsafe { real(callback, data) })
}
