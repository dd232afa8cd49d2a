//! The program's heap: at a fixed address, the same in every execution.
//!
//! Freed blocks are kept back for a while before they are used again, so that addresses of
//! freed memory stay recognisable. Sizes are kept beside the heap, not in it.

use crate::own;

/// Where the heap stands.
pub const BASE: usize = 0x10_0000_0000;
/// Its size; pages never touched cost nothing.
pub const SIZE: usize = 32 << 30;
/// Bytes of freed blocks that are kept back before any is used again.
const KEPT_BACK: usize = 32 << 20;
const GRANULE: usize = 16;
const CLASSES: usize = 64 + 4 * 32;

/// A queue of freed blocks of one size, linked through their first words.
#[derive(Clone, Copy)]
struct Queue {
    head: usize,
    tail: usize,
}

/// What has to be restored with the heap's contents.
#[derive(Clone)]
pub struct HeapState {
    /// First address never used.
    pub top: usize,
    kept: usize,
    /// Counts changes of the queues.
    changes: u64,
    queues: [Queue; CLASSES],
}

impl HeapState {
    /// An empty heap.
    pub const fn new() -> Self {
        Self {
            top: BASE + GRANULE,
            kept: 0,
            changes: 0,
            queues: [Queue { head: 0, tail: 0 }; CLASSES],
        }
    }

    /// Takes over another state; queues are copied only where they differ.
    pub fn restore(&mut self, from: &Self) {
        self.top = from.top;
        if self.changes != from.changes {
            self.queues = from.queues;
            self.kept = from.kept;
            self.changes = from.changes;
        }
    }
}

impl Default for HeapState {
    fn default() -> Self {
        Self::new()
    }
}

struct Sizes(core::sync::atomic::AtomicUsize);

/// Sizes of blocks, one word per granule.
static SIZES: Sizes = Sizes(core::sync::atomic::AtomicUsize::new(0));

impl Sizes {
    fn place(&self, block: usize) -> *mut u64 {
        let table = self.0.load(core::sync::atomic::Ordering::Relaxed);
        (table + (block - BASE) / GRANULE * 8) as *mut u64
    }

    fn get(&self, block: usize) -> usize {
        // SAFETY: the table covers the heap.
        unsafe { *self.place(block) as usize }
    }

    fn set(&self, block: usize, size: usize) {
        // SAFETY: the table covers the heap.
        unsafe { *self.place(block) = size as u64 }
    }
}

/// Bit of a size entry: the block is free.
const FREE: usize = 1 << 63;

/// Maps the heap.
pub fn set_up() {
    use crate::arch::{self, nr};
    let flags = arch::MAP_PRIVATE_ANONYMOUS | arch::MAP_NORESERVE | arch::MAP_FIXED_NOREPLACE;
    // SAFETY: a new mapping at an address that nothing else uses.
    let mapped = unsafe {
        arch::syscall(
            nr::MMAP,
            [BASE, SIZE, arch::PROT_READ_WRITE, flags, usize::MAX, 0],
        )
    };
    if mapped != BASE as isize {
        own::say(format_args!(
            "raddle runtime: cannot map the program's heap (error {})\n",
            -mapped
        ));
        arch::exit_group(69);
    }
    SIZES.0.store(
        own::map(SIZE / GRANULE * 8),
        core::sync::atomic::Ordering::Relaxed,
    );
}

/// Size class and rounded size of a request.
fn class_of(size: usize) -> (usize, usize) {
    let rounded = (size.max(1) + GRANULE - 1) & !(GRANULE - 1);
    if rounded <= 64 * GRANULE {
        return (rounded / GRANULE - 1, rounded);
    }
    // Four steps per power of two above 1 KiB.
    let power = usize::BITS as usize - 1 - (rounded - 1).leading_zeros() as usize;
    let step = 1usize << (power - 2);
    let rounded = (rounded + step - 1) & !(step - 1);
    let quarter = (rounded - 1) >> (power - 2) & 3;
    ((64 + (power - 10) * 4 + quarter).min(CLASSES - 1), rounded)
}

/// Whether an address lies in the heap.
#[inline(always)]
pub fn contains(address: usize) -> bool {
    address.wrapping_sub(BASE) < SIZE
}

/// A new block. `None` if the heap is full.
pub fn allocate(state: &mut HeapState, size: usize, alignment: usize) -> Option<usize> {
    if size > SIZE / 2 {
        return None;
    }
    let (class, rounded) = class_of(size);
    let alignment = alignment.max(GRANULE);
    let queue = &mut state.queues[class];
    let block = if state.kept > KEPT_BACK && queue.head != 0 && queue.head.is_multiple_of(alignment)
    {
        let block = queue.head;
        // SAFETY: a free block holds the address of the next one.
        queue.head = unsafe { *(block as *const usize) };
        state.kept -= rounded;
        state.changes += 1;
        // The next owner is not in a race with the last one: an allocator orders them.
        crate::oracles::race::forget(block, rounded);
        block
    } else {
        let block = (state.top + alignment - 1) & !(alignment - 1);
        if block + rounded + GRANULE > BASE + SIZE {
            return None;
        }
        state.top = block + rounded + GRANULE;
        block
    };
    SIZES.set(block, size);
    Some(block)
}

/// Size of a live block.
pub fn size_of(block: usize) -> usize {
    if contains(block) {
        SIZES.get(block) & !FREE
    } else {
        0
    }
}

/// The table of sizes for the used part of the heap: it belongs to the heap's contents.
pub fn size_table(state: &HeapState) -> (usize, usize) {
    (SIZES.place(BASE) as usize, SIZES.place(state.top) as usize)
}

/// Whether a block is free already.
pub fn is_free(block: usize) -> bool {
    SIZES.get(block) & FREE != 0
}

/// Gives a block back.
pub fn free(state: &mut HeapState, block: usize) {
    let size = SIZES.get(block);
    let (class, rounded) = class_of(size & !FREE);
    SIZES.set(block, size | FREE);
    state.kept += rounded;
    state.changes += 1;
    let queue = &mut state.queues[class];
    // SAFETY: the block belongs to the heap now.
    unsafe {
        *(block as *mut usize) = 0;
        if queue.head == 0 {
            queue.head = block;
        } else {
            *(queue.tail as *mut usize) = block;
        }
    }
    queue.tail = block;
}

#[cfg(test)]
mod tests {
    use super::class_of;

    #[test]
    fn classes_grow_with_sizes_and_hold_them() {
        let mut last = (0, 16);
        for size in 1..200_000 {
            let (class, rounded) = class_of(size);
            assert!(
                rounded >= size && rounded % 16 == 0,
                "size {size} in {rounded}"
            );
            assert!(class >= last.0 && rounded >= last.1, "size {size}");
            assert!(
                class == last.0 || rounded > last.1,
                "size {size}: one class, one size"
            );
            assert!(
                class != last.0 || rounded == last.1 || size == 1,
                "size {size}: one class, one size"
            );
            last = (class, rounded);
        }
    }
}
