//! What the program writes to stdout and stderr during an execution is captured.

use crate::arch::nr;
use crate::descriptors;
use crate::scheduler;
use crate::shared::shared;
use crate::syscalls::as_errno;
use crate::world::{is_executing, live, take_at_site, world};
use raddle_abi::site::Operation;

/// Whether output to this descriptor is captured now. The program may have put a file of its
/// own in the place of stdout.
pub fn is_captured(descriptor: usize) -> bool {
    world().running && (descriptor == 1 || descriptor == 2) && !descriptors::is_own(descriptor)
}

/// The order of what threads print can be seen: a scheduling point.
fn begin() {
    if live() {
        scheduler::point(Operation::Io, true, 0, take_at_site());
    }
}

/// Captures a buffer.
pub fn capture(buffer: usize, bytes: usize) -> isize {
    begin();
    append(buffer, bytes)
}

fn append(buffer: usize, bytes: usize) -> isize {
    // SAFETY: the program's buffer.
    shared().note_output(unsafe { core::slice::from_raw_parts(buffer as *const u8, bytes) });
    bytes as isize
}

/// Captures a vector of buffers.
pub fn capture_vector(vector: usize, count: usize) -> isize {
    begin();
    // SAFETY: the program's iovec.
    let buffers = unsafe { core::slice::from_raw_parts(vector as *const [usize; 2], count) };
    buffers
        .iter()
        .map(|[buffer, bytes]| append(*buffer, *bytes))
        .sum()
}

fn through(number: usize, arguments: [usize; 6]) -> isize {
    as_errno(if is_executing() {
        crate::syscalls::call(number, arguments)
    } else {
        // SAFETY: the program asked for it.
        unsafe { crate::arch::syscall(number, arguments) }
    })
}

/// libc's `write`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn write(descriptor: i32, buffer: usize, bytes: usize) -> isize {
    through(nr::WRITE, [descriptor as usize, buffer, bytes, 0, 0, 0])
}

/// libc's `writev`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn writev(descriptor: i32, vector: usize, count: i32) -> isize {
    through(
        nr::WRITEV,
        [descriptor as usize, vector, count as usize, 0, 0, 0],
    )
}
