//! Randomness that is the same in every execution.

use crate::arch::nr;
use crate::syscalls::as_errno;
use crate::world::{is_controlled, world};

/// Fills the program's buffer.
pub fn fill(buffer: usize, bytes: usize) -> isize {
    let state = &mut world().execution.random;
    for offset in 0..bytes {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = *state;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        // SAFETY: the program's buffer.
        unsafe { *((buffer + offset) as *mut u8) = (value ^ value >> 31) as u8 };
    }
    bytes as isize
}

/// Fills the program's buffers, as `readv` does.
pub fn fill_vector(buffers: usize, count: usize) -> isize {
    // SAFETY: the program's array of addresses and lengths.
    let buffers = unsafe { core::slice::from_raw_parts(buffers as *const [usize; 2], count) };
    buffers
        .iter()
        .map(|[buffer, bytes]| fill(*buffer, *bytes))
        .sum()
}

/// Fixes the 16 random bytes that the kernel gives every process at its start. libc has taken what it
/// needs from them before.
pub fn fix_start_value() {
    const AT_RANDOM: usize = 25;
    const BYTES: usize = 16;
    // SAFETY: the bytes stand on the stack of the first thread, for as long as the process runs.
    unsafe {
        let place = super::real::getauxval(AT_RANDOM) as *mut u8;
        if !place.is_null() {
            place.write_bytes(0x5a, BYTES);
        }
    }
}

/// libc's `getrandom`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn getrandom(buffer: usize, bytes: usize, flags: u32) -> isize {
    if is_controlled() {
        return fill(buffer, bytes);
    }
    // SAFETY: the program asked for it.
    as_errno(unsafe {
        crate::arch::syscall(nr::GETRANDOM, [buffer, bytes, flags as usize, 0, 0, 0])
    })
}

/// libc's `getentropy`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn getentropy(buffer: usize, bytes: usize) -> i32 {
    // SAFETY: as `getrandom`.
    if unsafe { getrandom(buffer, bytes, 0) } < 0 {
        -1
    } else {
        0
    }
}
