//! What a program made to be run by the tool asks for and says (see [`raddle_abi::mark`]).

use crate::end::End;
use crate::methods;
use crate::shared::shared;
use crate::world::world;
use core::sync::atomic::Ordering;
use raddle_abi::control::{MARKS_OFFSET, MARKS_SIZE};
use raddle_abi::mark::{self, Mark, kind};

/// The execution under way begins.
pub fn begin(seed: u64, length: u64) {
    if world().orders.marks {
        methods::begin();
        put(kind::BEGIN, 0, bytes_of(&[seed, length]));
    }
}

/// The execution under way has ended.
pub fn end(ended: End) {
    if !world().orders.marks {
        return;
    }
    let number = match ended {
        End::Passed | End::Exit(0) => mark::End::Passed,
        End::Exit(_) => mark::End::Failed,
        End::Cut => mark::End::Cut,
        End::Crashed => mark::End::Crashed,
        _ => mark::End::Abandoned,
    };
    put(kind::END, number as u32, bytes_of(shared().decisions()));
}

fn bytes_of<T: Copy>(values: &[T]) -> &[u8] {
    // SAFETY: the callers' values have no padding.
    unsafe {
        core::slice::from_raw_parts(values.as_ptr().cast::<u8>(), core::mem::size_of_val(values))
    }
}

/// Whether there is room for marks that are many in some programs, beside those of the program itself.
pub fn has_room() -> bool {
    (shared().control().marks.load(Ordering::Relaxed) as usize) < MARKS_SIZE / 2
}

/// Appends a mark; one that does not fit is left out, as are all after it.
pub fn put(kind: u16, number: u32, bytes: &[u8]) {
    const HEADER: usize = core::mem::size_of::<Mark>();
    let used = &shared().control().marks;
    let start = used.load(Ordering::Relaxed) as usize;
    let padded = (bytes.len() + 7) & !7;
    if start + HEADER + padded > MARKS_SIZE {
        used.store(MARKS_SIZE as u32, Ordering::Relaxed);
        return;
    }
    let execution = &world().execution;
    let header = Mark {
        kind,
        thread: execution.current as u16,
        number,
        len: bytes.len() as u32,
        point: u32::try_from(execution.point).unwrap_or(u32::MAX),
    };
    let place = shared().at(MARKS_OFFSET) + start;
    // SAFETY: inside the marks area, which nobody reads beyond what the counter says.
    unsafe {
        (place as *mut Mark).write_unaligned(header);
        let rest = (place + HEADER) as *mut u8;
        core::ptr::copy_nonoverlapping(bytes.as_ptr(), rest, bytes.len());
    }
    used.store((start + HEADER + padded) as u32, Ordering::Release);
}

/// Copies the plan's input, as much of it as fits, and returns how long it is. There is none
/// outside of executions.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn raddle_harness_input(buffer: *mut u8, capacity: usize) -> usize {
    if !world().running {
        return 0;
    }
    let (place, len) = world().orders.input;
    // SAFETY: the tool wrote that many bytes, and the caller has room for so many.
    unsafe { core::ptr::copy_nonoverlapping(place as *const u8, buffer, len.min(capacity)) };
    len
}

/// Marks what the running thread begins or has done.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn raddle_harness_mark(kind: u32, number: u32, bytes: *const u8, len: usize) {
    if !world().running || !world().orders.marks {
        return;
    }
    let bytes = match len {
        0 => &[],
        // SAFETY: the caller's bytes.
        _ => unsafe { core::slice::from_raw_parts(bytes, len) },
    };
    put(kind as u16, number, bytes);
}

/// Closes a gate behind which new threads wait, or opens it.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub extern "C" fn raddle_harness_gate(is_closed: u32) {
    if !world().running {
        return;
    }
    match is_closed {
        0 => world().execution.open_gate(),
        _ => world().execution.close_gate(),
    }
}

/// Makes each look at the clock take so many nanoseconds longer, until the execution ends.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub extern "C" fn raddle_harness_clock(nanoseconds: u32) {
    if world().running {
        world().execution.slow_clock = nanoseconds;
    }
}
