//! Where the program reads and writes in files that were open before executions start, its
//! standard input among them. The kernel keeps these offsets, for forked children too.

use crate::arch::{self, nr};
use crate::global::Global;
use alloc::vec::Vec;

/// Descriptors that are looked at: programs open theirs from 0 on.
const DESCRIPTORS: usize = 64;
const SEEK_SET: usize = 0;
const SEEK_CUR: usize = 1;
const SEEK_END: usize = 2;

/// Descriptor and offset.
static OFFSETS: Global<Vec<(usize, usize)>> = Global::new(Vec::new());

fn seek(descriptor: usize, offset: usize, whence: usize) -> isize {
    // SAFETY: moves the offset of a descriptor, or fails.
    unsafe { arch::syscall(nr::LSEEK, [descriptor, offset, whence, 0, 0, 0]) }
}

/// Notes down where the offsets are. Pipes and terminals have none.
pub fn save() {
    let offsets = OFFSETS.get();
    offsets.clear();
    for descriptor in 0..DESCRIPTORS {
        let offset = seek(descriptor, 0, SEEK_CUR);
        if offset < 0 {
            continue;
        }
        // Devices such as /dev/null have an offset that means nothing, and no end.
        if seek(descriptor, 0, SEEK_END) > 0 {
            offsets.push((descriptor, offset as usize));
        }
        seek(descriptor, offset as usize, SEEK_SET);
    }
}

/// Puts them back for the next execution.
pub fn restore() {
    for (descriptor, offset) in OFFSETS.get().iter() {
        seek(*descriptor, *offset, SEEK_SET);
    }
}
