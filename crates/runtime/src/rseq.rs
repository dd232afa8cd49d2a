//! Restartable sequences, which the kernel need not keep up for us.
//!
//! glibc registers a place next to the thread control block where the kernel notes, whenever
//! it likes, on which processor the thread runs. Pages that the kernel writes to cannot be
//! write-protected, so that they would be restored after every execution. Nothing is lost
//! with the registration: where it is missing, glibc asks the kernel instead.

use crate::arch::{self, nr};
use crate::global::Global;
use crate::interpose::real;

const UNREGISTER: usize = 1;
/// What glibc signs its abort handlers with on this architecture.
const SIGNATURE: usize = 0x5305_3053;
/// Lengths that versions of glibc register with.
const LENGTHS: [usize; 3] = [32, 64, 96];

static GIVEN_UP: Global<bool> = Global::new(false);

/// Gives the calling thread's registration up.
pub fn give_up() {
    let offset = real::find(c"__rseq_offset") as *const isize;
    let size = real::find(c"__rseq_size") as *const u32;
    if offset.is_null() || size.is_null() {
        // A glibc that knows nothing of it.
        *GIVEN_UP.get() = true;
        return;
    }
    // SAFETY: glibc's variables, which never change after its start.
    let (offset, size) = unsafe { (*offset, *size) };
    let place = arch::fs_base().wrapping_add_signed(offset);
    *GIVEN_UP.get() = size == 0
        || LENGTHS.iter().any(|length| {
            // SAFETY: takes back what glibc registered, or is refused.
            unsafe { arch::syscall(nr::RSEQ, [place, *length, UNREGISTER, SIGNATURE, 0, 0]) == 0 }
        });
}

/// Whether the kernel leaves the first thread's storage alone.
pub fn is_given_up() -> bool {
    *GIVEN_UP.get()
}
