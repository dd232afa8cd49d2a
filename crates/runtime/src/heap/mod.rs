//! The program's heap: at a fixed address, the same in every execution.
//!
//! Freed blocks are kept back for a while before they are used again, so that addresses of
//! freed memory stay recognisable. All that is known about blocks is kept beside the heap, not
//! in it: a program that writes where it must not does no harm to the heap itself.

pub mod granules;

use crate::own;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Where the heap stands.
pub const BASE: usize = raddle_abi::record::HEAP_BASE;
/// Its size; pages never touched cost nothing.
pub const SIZE: usize = raddle_abi::record::HEAP_SIZE;
/// Bytes of freed blocks that are kept back before any is used again.
const KEPT_BACK: usize = 32 << 20;
const GRANULE: usize = 16;
const CLASSES: usize = 64 + 4 * 32;

/// A queue of freed blocks of one size.
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
        if self.top > from.top {
            granules::clear(from.top, self.top);
        }
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

/// Size and successor of each block, in the words of its first two granules: the gap behind a
/// block makes sure that it has two.
static TABLE: AtomicUsize = AtomicUsize::new(0);

fn words(block: usize) -> *mut [usize; 2] {
    (TABLE.load(Ordering::Relaxed) + (block - BASE) / GRANULE * 8) as *mut [usize; 2]
}

fn size_word(block: usize) -> &'static mut usize {
    // SAFETY: the table covers the heap.
    unsafe { &mut (*words(block))[0] }
}

fn next_word(block: usize) -> &'static mut usize {
    // SAFETY: the table covers the heap.
    unsafe { &mut (*words(block))[1] }
}

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
    TABLE.store(own::map(SIZE / GRANULE * 8), Ordering::Relaxed);
    granules::set_up();
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

/// Bytes behind a block that belong to none, so that what runs over its end is noticed.
fn gap_behind(rounded: usize) -> usize {
    ((rounded / 4) & !(GRANULE - 1)).clamp(GRANULE, 16 * GRANULE)
}

/// Whether an address lies in the heap.
#[inline(always)]
pub fn contains(address: usize) -> bool {
    address.wrapping_sub(BASE) < SIZE
}

/// A new block. `None` if the heap is full.
pub fn allocate(state: &mut HeapState, size: usize, alignment: usize) -> Option<usize> {
    if size > SIZE / 2 || alignment > SIZE / 2 {
        return None;
    }
    let (class, rounded) = class_of(size);
    let alignment = alignment.max(GRANULE);
    let queue = &mut state.queues[class];
    let block = if state.kept > KEPT_BACK && queue.head != 0 && queue.head.is_multiple_of(alignment)
    {
        let block = queue.head;
        queue.head = *next_word(block);
        state.kept -= rounded;
        state.changes += 1;
        // The next owner is not in a race with the last one: an allocator orders them.
        crate::oracles::race::forget(block, rounded);
        block
    } else {
        let block = (state.top + alignment - 1) & !(alignment - 1);
        let top = block + rounded + gap_behind(rounded);
        if top > BASE + SIZE {
            return None;
        }
        state.top = top;
        block
    };
    *size_word(block) = size;
    granules::handed_out(block, size, rounded);
    Some(block)
}

/// Size of a block, live or freed.
pub fn size_of(block: usize) -> usize {
    *size_word(block)
}

/// The tables for the used part of the heap: they belong to its contents.
pub fn tables(state: &HeapState) -> [(usize, usize); 2] {
    [
        (words(BASE) as usize, words(state.top) as usize),
        (granules::place(BASE), granules::place(state.top)),
    ]
}

/// Gives a live block back. Its bytes stay as they are until the place is used again.
pub fn free(state: &mut HeapState, block: usize) {
    let (class, rounded) = class_of(size_of(block));
    granules::freed(block, rounded);
    *next_word(block) = 0;
    state.kept += rounded;
    state.changes += 1;
    let queue = &mut state.queues[class];
    if queue.head == 0 {
        queue.head = block;
    } else {
        *next_word(queue.tail) = block;
    }
    queue.tail = block;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Maps the heap for whichever test comes first.
    pub(super) fn map() {
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(set_up);
    }

    #[test]
    fn places_of_freed_blocks_are_used_again_when_enough_is_kept_back() {
        map();
        let mut state = HeapState::new();
        state.top += SIZE / 4;
        let start = state.clone();
        let rounds = KEPT_BACK / (1 << 20) + 1;
        let blocks: Vec<usize> = (0..rounds)
            .map(|_| {
                let block = allocate(&mut state, 1 << 20, 16).expect("there is room");
                free(&mut state, block);
                block
            })
            .collect();
        let again = allocate(&mut state, (1 << 20) - 5, 16).expect("there is room");
        assert_eq!(again, blocks[0], "the one that was freed first");
        assert!(granules::may_touch(again, (1 << 20) - 5));
        assert!(!granules::may_touch(blocks[1], 1));
        assert!(blocks.windows(2).all(|pair| pair[0] < pair[1]));
        state.restore(&start);
        assert_eq!(granules::standing(again), granules::Standing::None);
        assert_eq!(allocate(&mut state, 1 << 20, 16), Some(blocks[0]));
    }

    #[test]
    fn writes_to_freed_memory_do_no_harm_to_the_heap() {
        map();
        let mut state = HeapState::new();
        state.top += SIZE / 8;
        let blocks = [(); 3].map(|()| allocate(&mut state, 24, 16).expect("there is room"));
        for block in blocks {
            free(&mut state, block);
            // SAFETY: the heap is mapped, whoever owns the block.
            unsafe { core::ptr::write_bytes(block as *mut u8, 0xff, 24) };
        }
        state.kept = KEPT_BACK + 1024;
        let again = [(); 3].map(|()| allocate(&mut state, 24, 16).expect("there is room"));
        assert_eq!(again, blocks);
    }

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
