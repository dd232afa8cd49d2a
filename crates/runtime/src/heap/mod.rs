//! The program's heap: at a fixed address, the same in every execution.
//!
//! Freed blocks are kept back for a while before they are used again, so that addresses of
//! freed memory stay recognisable. All that is known about blocks is kept beside the heap, not
//! in it: a program that writes where it must not does no harm to the heap itself.

pub mod granules;

use crate::own;
use alloc::vec::Vec;
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
    queues: [Queue; CLASSES],
    /// One bit for each queue that has changed since executions start.
    changed: [u64; CLASSES.div_ceil(64)],
    /// First address that was never used when executions start.
    start: usize,
    /// Blocks below it that were handed out again since, with their words of before.
    reused: Vec<(usize, [usize; 2])>,
}

impl HeapState {
    /// An empty heap.
    pub const fn new() -> Self {
        Self {
            top: BASE + GRANULE,
            kept: 0,
            queues: [Queue { head: 0, tail: 0 }; CLASSES],
            changed: [0; CLASSES.div_ceil(64)],
            start: 0,
            reused: Vec::new(),
        }
    }

    /// Executions start here: this is what [`Self::restore`] comes back to.
    pub fn starts(&mut self) {
        self.start = self.top;
        self.changed = [0; CLASSES.div_ceil(64)];
        debug_assert!(self.reused.is_empty(), "restored, or never started");
    }

    /// Takes over the state in which executions start, and puts right what the table says of its
    /// blocks: few words, of pages that would have to be copied whole.
    pub fn restore(&mut self, from: &Self) {
        if self.top > from.top {
            granules::clear(from.top, self.top);
        }
        self.top = from.top;
        self.kept = from.kept;
        for (block, saved) in self.reused.drain(..) {
            // SAFETY: the table covers the heap.
            unsafe { *words(block) = saved };
        }
        for (word, changed) in self.changed.iter_mut().enumerate() {
            while *changed != 0 {
                let class = word * 64 + changed.trailing_zeros() as usize;
                *changed &= *changed - 1;
                let queue = from.queues[class];
                self.queues[class] = queue;
                if queue.head != 0 {
                    *next_word(queue.tail) = 0;
                }
            }
        }
    }

    fn change(&mut self, class: usize) -> &mut Queue {
        self.changed[class / 64] |= 1 << (class % 64);
        &mut self.queues[class]
    }

    /// A block that was freed is handed out again: its words are about to change.
    fn reuse(&mut self, block: usize) {
        // SAFETY: the table covers the heap.
        let words = unsafe { *words(block) };
        if block < self.start && words[0] & SAVED == 0 {
            self.reused.push((block, words));
            *size_word(block) |= SAVED;
        }
    }
}

/// Bit of a size: the words of the block are saved. No block is as large.
const SAVED: usize = 1 << 63;

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
    let first = state.queues[class].head;
    let block = if state.kept > KEPT_BACK && first != 0 && first.is_multiple_of(alignment) {
        let block = first;
        state.reuse(block);
        state.change(class).head = *next_word(block);
        state.kept -= rounded;
        // The next owner is not in a race with the last one: an allocator orders them.
        crate::oracles::race::forget(block, rounded);
        crate::weak::forget(block, rounded);
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
    *size_word(block) = *size_word(block) & SAVED | size;
    granules::handed_out(block, size, rounded);
    Some(block)
}

/// Size of a block, live or freed.
pub fn size_of(block: usize) -> usize {
    *size_word(block) & !SAVED
}

/// Gives a live block back. Its bytes stay as they are until the place is used again.
pub fn free(state: &mut HeapState, block: usize) {
    let (class, rounded) = class_of(size_of(block));
    granules::freed(block, rounded);
    *next_word(block) = 0;
    state.kept += rounded;
    let queue = state.change(class);
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
    fn what_executions_do_to_blocks_of_before_is_undone() {
        map();
        let mut state = HeapState::new();
        state.top += SIZE / 2;
        let allocate = |state: &mut HeapState, size| allocate(state, size, 16).expect("room");
        let [first, second, live] = [24, 32, 17].map(|size| allocate(&mut state, size));
        free(&mut state, first);
        free(&mut state, second);
        state.kept = KEPT_BACK + 1024;
        state.starts();
        let start = state.clone();
        for _ in 0..3 {
            // One execution: what was freed before is used again and freed in another order.
            assert_eq!(allocate(&mut state, 20), first);
            assert_eq!(allocate(&mut state, 30), second);
            free(&mut state, second);
            free(&mut state, live);
            free(&mut state, first);
            assert_eq!(allocate(&mut state, 18), second);
            let new = allocate(&mut state, 1000);
            free(&mut state, new);
            state.restore(&start);
            assert_eq!([first, second, live].map(size_of), [24, 32, 17]);
            assert_eq!((state.top, state.kept), (start.top, start.kept));
        }
        let order = [(); 3].map(|()| allocate(&mut state, 32));
        assert_eq!(order[..2], [first, second]);
        assert!(order[2] >= start.top, "the queue ends where it did");
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
