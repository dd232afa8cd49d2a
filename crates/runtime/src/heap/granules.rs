//! What may be touched: one byte for each granule of the heap.
//!
//! The low bits count the bytes, from the granule's start, that belong to a live block: 0 in
//! gaps between blocks and in memory never handed out. Two more bits tell where a block starts
//! and that it was freed. The table belongs to the heap's contents and is restored with it.

use super::{BASE, GRANULE, SIZE};
use crate::arch::{self, nr};
use crate::own;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that may be touched.
const COUNT: u8 = 0x1f;
/// A block starts here.
const START: u8 = 0x20;
/// The block was freed.
const FREED: u8 = 0x80;
/// Granules above which the table is cleared page by page.
const LARGE: usize = 1 << 16;
/// Granules looked at to find the block around an address.
const SEARCHED: usize = 1 << 20;

/// Address of the table, less what the heap's own address adds to a place in it.
static BIAS: AtomicUsize = AtomicUsize::new(0);

/// What an address is, as far as freeing goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The start of a live block.
    Live,
    /// The start of a freed block.
    Freed,
    /// No start of any block.
    None,
}

/// Maps the table.
pub fn set_up() {
    let table = own::map(SIZE / GRANULE);
    BIAS.store(table.wrapping_sub(BASE / GRANULE), Ordering::Relaxed);
}

/// Where the table holds the granule of an address.
#[inline(always)]
pub fn place(address: usize) -> usize {
    BIAS.load(Ordering::Relaxed).wrapping_add(address / GRANULE)
}

#[inline(always)]
fn get(address: usize) -> u8 {
    // SAFETY: the table covers the heap.
    unsafe { *(place(address) as *const u8) }
}

fn fill(address: usize, granules: usize, byte: u8) {
    // SAFETY: the table covers the heap, and blocks lie in it.
    unsafe { core::ptr::write_bytes(place(address) as *mut u8, byte, granules) };
}

/// A block of `size` bytes in a place for `rounded` was handed out.
pub fn handed_out(block: usize, size: usize, rounded: usize) {
    let whole = size / GRANULE;
    fill(block, whole, GRANULE as u8);
    fill(block + whole * GRANULE, rounded / GRANULE - whole, 0);
    // SAFETY: as above; the granule of the last bytes is part of the place.
    unsafe {
        if !size.is_multiple_of(GRANULE) {
            *(place(block + whole * GRANULE) as *mut u8) = (size % GRANULE) as u8;
        }
        *(place(block) as *mut u8) |= START;
    }
}

/// A block in a place for `rounded` bytes was freed.
pub fn freed(block: usize, rounded: usize) {
    fill(block, rounded / GRANULE, FREED);
    fill(block, 1, FREED | START);
}

/// Nothing between two addresses was ever handed out.
pub fn clear(from: usize, to: usize) {
    let granules = (to - from).div_ceil(GRANULE);
    if granules < LARGE {
        return fill(from, granules, 0);
    }
    // Giving pages back is faster than writing them.
    let (low, high) = (place(from), place(from) + granules);
    let (inner_low, inner_high) = (low.next_multiple_of(arch::PAGE), high & !(arch::PAGE - 1));
    fill(from, inner_low - low, 0);
    fill(to - (high - inner_high) * GRANULE, high - inner_high, 0);
    // SAFETY: whole pages of the table, which are zero when they are next touched.
    unsafe {
        arch::syscall(
            nr::MADVISE,
            [
                inner_low,
                inner_high - inner_low,
                arch::MADV_DONTNEED,
                0,
                0,
                0,
            ],
        )
    };
}

/// What an address in the heap is to `free`.
pub fn standing(address: usize) -> Standing {
    match get(address) & (START | FREED) {
        START if address.is_multiple_of(GRANULE) => Standing::Live,
        byte if byte == START | FREED && address.is_multiple_of(GRANULE) => Standing::Freed,
        _ => Standing::None,
    }
}

/// Whether `len` bytes at an address in the heap all belong to live blocks.
#[inline(always)]
pub fn may_touch(address: usize, len: usize) -> bool {
    let offset = address % GRANULE;
    if len <= GRANULE - offset {
        return offset + len <= usize::from(get(address) & COUNT);
    }
    may_touch_range(address, len)
}

#[inline(never)]
fn may_touch_range(address: usize, len: usize) -> bool {
    const COUNTS: u64 = u64::from_ne_bytes([COUNT; 8]);
    const WHOLE: u64 = u64::from_ne_bytes([GRANULE as u8; 8]);
    let end = address.saturating_add(len);
    if end > BASE + SIZE {
        return false;
    }
    let last = (end - 1) & !(GRANULE - 1);
    let (mut at, to) = (place(address), place(last));
    while at + 8 <= to {
        // SAFETY: eight entries of the table.
        if unsafe { (at as *const u64).read_unaligned() } & COUNTS != WHOLE {
            return false;
        }
        at += 8;
    }
    while at < to {
        // SAFETY: an entry of the table.
        if unsafe { *(at as *const u8) } & COUNT != GRANULE as u8 {
            return false;
        }
        at += 1;
    }
    end - last <= usize::from(get(last) & COUNT)
}

/// The first of `len` bytes that belongs to no live block, and whether it was freed.
pub fn first_bad(address: usize, len: usize) -> (usize, bool) {
    let end = address.saturating_add(len).min(BASE + SIZE);
    let mut at = address;
    while at < end {
        let live_until = (at & !(GRANULE - 1)) + usize::from(get(at) & COUNT);
        if at >= live_until {
            return (at, get(at) & FREED != 0);
        }
        at = live_until;
    }
    (end, false)
}

/// The start of the block that an address is in or behind, if there is one near.
pub fn block_before(address: usize) -> Option<usize> {
    let granule = address & !(GRANULE - 1);
    (0..SEARCHED)
        .map_while(|back| granule.checked_sub(back * GRANULE))
        .take_while(|at| *at >= BASE)
        .find(|at| get(*at) & START != 0)
}

/// The start of the next block behind an address, if there is one within `bytes`.
pub fn block_after(address: usize, bytes: usize) -> Option<usize> {
    let granule = (address & !(GRANULE - 1)) + GRANULE;
    (granule..granule + bytes)
        .step_by(GRANULE)
        .take_while(|at| *at < BASE + SIZE)
        .find(|at| get(*at) & START != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block of `size` bytes in a place for `rounded`, `number` KiB behind the heap's middle.
    fn block(number: usize, size: usize, rounded: usize) -> usize {
        crate::heap::tests::map();
        let block = BASE + SIZE / 2 + number * 1024;
        handed_out(block, size, rounded);
        block
    }

    #[test]
    fn bytes_of_a_block_may_be_touched_and_none_beyond() {
        for (number, size) in [(1, 1), (2, 8), (3, 16), (4, 17), (5, 40), (6, 300)] {
            let block = block(number, size, (size + 15) & !15);
            for from in 0..size {
                assert!(may_touch(block + from, size - from), "{from} of {size}");
                assert!(
                    !may_touch(block + from, size - from + 1),
                    "{from} of {size}"
                );
                let bad = first_bad(block + from, size + 1);
                assert_eq!(bad, (block + size, false), "{from} of {size}");
            }
            assert!(
                !may_touch(block + size, 1) && !may_touch(block - 1, 2),
                "{size}"
            );
        }
    }

    #[test]
    fn freed_bytes_may_not_be_touched_until_the_place_is_used_again() {
        let start = block(8, 100, 112);
        assert_eq!(standing(start), Standing::Live);
        freed(start, 112);
        assert_eq!(standing(start), Standing::Freed);
        assert_eq!(first_bad(start + 50, 4), (start + 50, true));
        assert!(!may_touch(start, 1) && !may_touch(start, 100));
        block(8, 97, 112);
        assert!(may_touch(start, 97) && !may_touch(start, 98));
    }

    #[test]
    fn only_the_start_of_a_block_may_be_freed() {
        let start = block(10, 64, 64);
        for offset in [1, 8, 16, 48, 64] {
            assert_eq!(standing(start + offset), Standing::None, "{offset}");
        }
        let empty = block(11, 0, 16);
        assert_eq!(standing(empty), Standing::Live);
        assert!(!may_touch(empty, 1));
    }

    #[test]
    fn the_block_around_an_address_is_found() {
        let start = block(12, 200, 208);
        assert_eq!(block_before(start + 230), Some(start));
        assert_eq!(block_before(start), Some(start));
        assert_eq!(block_after(start - 40, 64), Some(start));
        assert_eq!(block_after(start - 100, 64), None);
        clear(start, start + 208);
        assert!(!may_touch(start, 1) && standing(start) == Standing::None);
    }

    #[test]
    fn what_runs_out_of_the_heap_may_not_be_touched() {
        block(13, 16, 16);
        assert!(!may_touch(BASE + SIZE - 8, 64) && !may_touch(BASE + SIZE - 8, usize::MAX));
    }
}
