//! Shadow memory: for each eight bytes of the program the last few accesses.
//!
//! Every slot carries the number of its execution, so that clearing costs nothing. With four
//! slots an old access can be forgotten, which can hide a race but never invents one.

use super::clocks::Clocks;
use crate::arch::{self, nr};
use crate::own;
use raddle_abi::site::SiteId;

/// Bits of an access's kind.
pub mod access {
    /// It writes.
    pub const WRITE: u8 = 1;
    /// It is atomic.
    pub const ATOMIC: u8 = 2;
    /// It is volatile.
    pub const VOLATILE: u8 = 4;
    /// It is a free of the whole block (always with [`WRITE`]).
    pub const FREE: u8 = 8;
}

/// Address bits that choose a cell. Executable, heap, stacks and libraries differ in them.
const ADDRESS_BITS: u32 = 38;
const ADDRESS_MASK: usize = (1 << ADDRESS_BITS) - 1;
const SLOTS: usize = 4;
/// Bytes above which a free counts as a write only where the block was touched: the shadow of
/// memory that a program asked for and never used would be eight times as large.
const LARGE: usize = 1 << 16;

/// One access: `stamp` is execution and time, `what` is site, slot, mask and kind. Two words
/// that are put together in registers: smaller fields would stall on store forwarding.
#[derive(Clone, Copy)]
#[repr(C)]
struct Slot {
    stamp: u64,
    what: u64,
}

#[repr(C, align(64))]
struct Cell([Slot; SLOTS]);

const THREAD: u32 = 32;
const MASK: u32 = 44;
const KIND: u32 = 52;

/// An access found in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// Its site.
    pub site: SiteId,
    /// Clock slot of its thread.
    pub slot: usize,
    /// Time of that slot.
    pub time: u32,
    /// Kind bits.
    pub kind: u8,
    /// Address of the cell.
    pub address: usize,
}

/// The shadow memory.
pub struct Shadow {
    base: usize,
    turn: usize,
}

impl Shadow {
    /// Without memory yet.
    pub const fn new() -> Self {
        Self { base: 0, turn: 0 }
    }

    /// Maps memory.
    pub fn set_up(&mut self) {
        self.base = own::map((ADDRESS_MASK + 1) * 8);
    }

    #[inline(always)]
    fn cell(&self, address: usize) -> *mut Cell {
        (self.base + (address & ADDRESS_MASK & !7) * 8) as *mut Cell
    }

    /// Notes an access of `len` bytes and returns one earlier access it races with, if any.
    #[inline(always)]
    pub fn access(
        &mut self,
        clocks: &Clocks,
        slot: usize,
        address: usize,
        len: usize,
        kind: u8,
        site: SiteId,
    ) -> Option<Earlier> {
        let stamp = u64::from(clocks.run()) | u64::from(clocks.time(slot)) << 32;
        let what = u64::from(site) | (slot as u64) << THREAD | u64::from(kind) << KIND;
        let offset = address & 7;
        if offset + len <= 8 {
            let mask = ((1u64 << len) - 1) << offset;
            return self.check(clocks, address & !7, stamp, what | mask << MASK);
        }
        if kind & access::FREE != 0 && len > LARGE {
            return self.free_large(clocks, address, len, stamp, what);
        }
        let mut race = None;
        let end = address + len;
        let mut cell = address & !7;
        while cell < end {
            let low = address.saturating_sub(cell);
            let high = (end - cell).min(8);
            let mask = (0xffu64 << low) & (0xff >> (8 - high));
            let found = self.check(clocks, cell, stamp, what | mask << MASK);
            race = race.or(found);
            cell += 8;
        }
        race
    }

    /// A free that counts as a write where this execution has touched the block.
    #[inline(never)]
    fn free_large(
        &mut self,
        clocks: &Clocks,
        address: usize,
        len: usize,
        stamp: u64,
        what: u64,
    ) -> Option<Earlier> {
        let mut race = None;
        let what = what | 0xff << MASK;
        self.each_in_memory(address, len, |shadow, cell| {
            // SAFETY: the shadow covers every address.
            let first = unsafe { (*shadow.cell(cell)).0[0] };
            if first.stamp as u32 == stamp as u32 {
                race = race.or(shadow.check(clocks, cell, stamp, what));
            }
        });
        race
    }

    /// Calls `visit` for the cells of a range whose pages exist: the others are zero, and
    /// looking at them would take long.
    fn each_in_memory(
        &mut self,
        address: usize,
        len: usize,
        mut visit: impl FnMut(&mut Self, usize),
    ) {
        /// Bytes of the program whose cells fill a page.
        const PER_PAGE: usize = arch::PAGE / 8;
        const PAGES: usize = 1024;
        let end = address + len;
        let mut exists = [0u8; PAGES];
        let mut window = address & !(PER_PAGE - 1);
        while window < end {
            let cells = self.cell(window) as usize;
            // SAFETY: asks about the shadow's own pages; one byte for each.
            unsafe {
                let place = exists.as_mut_ptr() as usize;
                arch::syscall(nr::MINCORE, [cells, PAGES * arch::PAGE, place, 0, 0, 0]);
            }
            for (page, _) in exists
                .iter()
                .enumerate()
                .filter(|(_, exists)| **exists & 1 != 0)
            {
                let first = window + page * PER_PAGE;
                let mut cell = first.max(address & !7);
                while cell < (first + PER_PAGE).min(end) {
                    visit(self, cell);
                    cell += 8;
                }
            }
            window += PAGES * PER_PAGE;
        }
    }

    #[inline(always)]
    fn check(&mut self, clocks: &Clocks, address: usize, stamp: u64, what: u64) -> Option<Earlier> {
        let cell = self.cell(address);
        // SAFETY: the shadow covers every address.
        let first = unsafe { (*cell).0[0] };
        // The same thread did the same to the same bytes since its last release.
        if first.stamp == stamp && first.what >> 32 == what >> 32 {
            // The latest of them is the one to show.
            // SAFETY: the shadow covers every address.
            unsafe { (*cell).0[0].what = what };
            return None;
        }
        self.check_slots(clocks, cell, address, stamp, what)
    }

    #[inline(never)]
    fn check_slots(
        &mut self,
        clocks: &Clocks,
        cell: *mut Cell,
        address: usize,
        stamp: u64,
        what: u64,
    ) -> Option<Earlier> {
        // SAFETY: the shadow covers every address.
        let slots = unsafe { &mut (*cell).0 };
        let thread = (what >> THREAD) as usize & 0xfff;
        let mask = (what >> MASK) as u8;
        let kind = (what >> KIND) as u8;
        let mut place = None;
        let mut race = None;
        for (index, earlier) in slots.iter().enumerate() {
            if earlier.stamp as u32 != stamp as u32 {
                // Slots fill up in order within an execution.
                place = place.or(Some(index));
                break;
            }
            let other_mask = (earlier.what >> MASK) as u8;
            if other_mask & mask == 0 {
                continue;
            }
            let other_kind = (earlier.what >> KIND) as u8;
            let other_thread = (earlier.what >> THREAD) as usize & 0xfff;
            let covers = other_mask & mask == other_mask;
            // A later access may take an earlier one's place if it conflicts with at least as much.
            let replaces = covers && stronger(kind, other_kind);
            if other_thread == thread {
                if earlier.stamp == stamp && other_mask & mask == mask && stronger(other_kind, kind)
                {
                    return race;
                }
                if replaces {
                    place = Some(index);
                }
                continue;
            }
            let time = (earlier.stamp >> 32) as u32;
            let ordered = clocks.has_seen(thread, other_thread, time);
            if ordered {
                if replaces {
                    place = Some(index);
                }
                continue;
            }
            let conflict =
                (kind | other_kind) & access::WRITE != 0 && kind & other_kind & access::ATOMIC == 0;
            if conflict && race.is_none() {
                race = Some(Earlier {
                    site: earlier.what as u32,
                    slot: other_thread,
                    time,
                    kind: other_kind,
                    address,
                });
            }
        }
        let place = place.unwrap_or_else(|| {
            self.turn = self.turn.wrapping_add(1);
            self.turn % SLOTS
        });
        slots[place] = Slot { stamp, what };
        race
    }

    /// Forgets all accesses to a range.
    pub fn forget(&mut self, address: usize, len: usize) {
        let forget = |shadow: &mut Self, cell: usize| {
            // SAFETY: the shadow covers every address.
            unsafe { (*shadow.cell(cell)).0 = [Slot { stamp: 0, what: 0 }; SLOTS] };
        };
        if len > LARGE {
            return self.each_in_memory(address, len, forget);
        }
        let mut cell = address & !7;
        while cell < address + len {
            forget(self, cell);
            cell += 8;
        }
    }
}

impl Default for Shadow {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether everything that conflicts with an access of kind `other` conflicts with `kind` too.
fn stronger(kind: u8, other: u8) -> bool {
    let writes = kind & access::WRITE != 0 || other & access::WRITE == 0;
    let plain = kind & access::ATOMIC == 0 || other & access::ATOMIC != 0;
    let volatile = kind & access::VOLATILE == 0 || other & access::VOLATILE != 0;
    writes && plain && volatile
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_abi::hooks::order;

    struct Race {
        clocks: Clocks,
        shadow: Shadow,
    }

    fn race() -> Race {
        let mut clocks = Clocks::new();
        clocks.set_up();
        clocks.begin(1);
        for _ in 0..3 {
            clocks.spawn(0);
        }
        let mut shadow = Shadow::new();
        shadow.set_up();
        Race { clocks, shadow }
    }

    impl Race {
        fn access(
            &mut self,
            slot: usize,
            address: usize,
            len: usize,
            kind: u8,
            site: u32,
        ) -> Option<u32> {
            self.shadow
                .access(&self.clocks, slot, address, len, kind, site)
                .map(|earlier| earlier.site)
        }
    }

    #[test]
    fn unordered_write_and_read_race() {
        let mut race = race();
        assert_eq!(race.access(1, 0x5000, 8, access::WRITE, 11), None);
        assert_eq!(race.access(2, 0x5004, 4, 0, 12), Some(11));
    }

    #[test]
    fn reads_do_not_race_and_neither_do_atomics() {
        let mut race = race();
        assert_eq!(race.access(1, 0x5000, 8, 0, 11), None);
        assert_eq!(race.access(2, 0x5000, 8, 0, 12), None);
        let atomic = access::WRITE | access::ATOMIC;
        assert_eq!(race.access(1, 0x6000, 8, atomic, 13), None);
        assert_eq!(race.access(2, 0x6000, 8, atomic, 14), None);
        assert_eq!(
            race.access(3, 0x6000, 8, access::WRITE, 15),
            Some(13),
            "plain against atomic"
        );
    }

    #[test]
    fn neighbours_in_one_cell_do_not_race() {
        let mut race = race();
        assert_eq!(race.access(1, 0x5000, 2, access::WRITE, 11), None);
        assert_eq!(race.access(2, 0x5002, 2, access::WRITE, 12), None);
        assert_eq!(race.access(3, 0x5001, 2, 0, 13), Some(11));
    }

    #[test]
    fn an_edge_ends_the_race_and_a_new_execution_forgets() {
        let mut race = race();
        assert_eq!(race.access(1, 0x5000, 8, access::WRITE, 11), None);
        race.clocks.store(1, 0x7000, order::RELEASE);
        race.clocks.load(2, 0x7000, order::ACQUIRE);
        assert_eq!(race.access(2, 0x5000, 8, access::WRITE, 12), None);
        race.clocks.begin(1);
        race.clocks.spawn(0);
        assert_eq!(race.access(1, 0x5000, 8, access::WRITE, 13), None);
    }

    #[test]
    fn long_accesses_cover_every_cell() {
        let mut race = race();
        assert_eq!(race.access(1, 0x5003, 100, access::WRITE, 11), None);
        assert_eq!(race.access(2, 0x5002, 1, 0, 12), None);
        assert_eq!(race.access(2, 0x5066, 1, 0, 12), Some(11));
        assert_eq!(race.access(2, 0x5067, 1, 0, 12), None);
    }

    #[test]
    fn of_several_equal_accesses_the_latest_is_shown() {
        let mut race = race();
        assert_eq!(race.access(1, 0x5000, 8, access::WRITE, 11), None);
        assert_eq!(race.access(1, 0x5000, 8, access::WRITE, 12), None);
        assert_eq!(race.access(2, 0x5000, 8, 0, 13), Some(12));
    }

    #[test]
    fn a_large_block_is_freed_where_it_was_touched() {
        let mut race = race();
        let free = access::WRITE | access::FREE;
        let (block, touched) = (0x10_0000, 0x10_0000 + LARGE);
        assert_eq!(race.access(1, touched, 8, 0, 11), None);
        assert_eq!(race.access(2, block, 2 * LARGE, free, 12), Some(11));
        assert_eq!(race.access(3, touched, 8, 0, 13), Some(12));
        assert_eq!(race.access(1, block, 8, 0, 14), None);
        assert_eq!(race.access(2, block, LARGE, free, 15), Some(14));
        assert_eq!(
            race.access(1, block + 8, 8, 0, 16),
            Some(15),
            "a smaller one is freed whole"
        );
    }

    #[test]
    fn forgotten_memory_does_not_race() {
        let mut race = race();
        assert_eq!(race.access(1, 0x5000, 64, access::WRITE, 11), None);
        race.shadow.forget(0x5000, 64);
        assert_eq!(race.access(2, 0x5000, 64, access::WRITE, 12), None);
    }
}
