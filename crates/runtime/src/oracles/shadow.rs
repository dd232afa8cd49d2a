//! Shadow memory: for each eight bytes of the program the last few accesses.
//!
//! Every slot carries the number of its execution, so that clearing costs nothing. Accesses for which the
//! four slots of a cell have no room go to a list of their own (`overflow`). Only if there is no room left, an access is
//! forgotten, which can hide a race but never invents one.

use super::clocks::Clocks;
use super::conflicts::{self, Conflict};
use super::overflow::Overflow;
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
pub(super) struct Slot {
    pub(super) stamp: u64,
    pub(super) what: u64,
}

impl Slot {
    /// Of no execution.
    pub(super) const FREE: Self = Self { stamp: 0, what: 0 };

    /// The execution that it belongs to.
    #[inline(always)]
    pub(super) fn run(&self) -> u32 {
        self.stamp as u32
    }

    /// Whether it belongs to no execution.
    pub(super) fn is_removed(&self) -> bool {
        self.stamp == 0
    }

    /// Makes it belong to no execution.
    pub(super) fn remove(&mut self) {
        self.stamp = 0;
    }

    /// An access to the bytes of a mask.
    #[cfg(test)]
    pub(super) fn of(run: u64, time: u64, thread: u64, mask: u64, kind: u8) -> Self {
        Self {
            stamp: run | time << 32,
            what: thread << THREAD | mask << MASK | u64::from(kind) << KIND,
        }
    }
}

#[repr(C, align(64))]
struct Cell([Slot; SLOTS]);

const THREAD: u32 = 32;
const MASK: u32 = 44;
const KIND: u32 = 52;

/// Who runs, and when.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    stamp: u64,
    thread: u64,
}

impl Now {
    /// Before anything runs.
    pub const NEVER: Self = Self {
        stamp: 0,
        thread: 0,
    };

    /// The thread with a clock slot, at its present time.
    #[inline(always)]
    pub fn of(clocks: &Clocks, slot: usize) -> Self {
        Self {
            stamp: u64::from(clocks.run()) | u64::from(clocks.time(slot)) << 32,
            thread: (slot as u64) << THREAD,
        }
    }

    /// All that is known of an access but the bytes.
    #[inline(always)]
    fn describe(self, kind: u8, site: SiteId) -> u64 {
        u64::from(site) | self.thread | u64::from(kind) << KIND
    }
}

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

impl Earlier {
    fn of(slot: &Slot, address: usize) -> Self {
        Self {
            site: slot.what as u32,
            slot: thread(slot.what),
            time: (slot.stamp >> 32) as u32,
            kind: (slot.what >> KIND) as u8,
            address,
        }
    }
}

/// The shadow memory.
pub struct Shadow {
    base: usize,
    turn: usize,
    /// The first race of the access under way.
    found: Option<Earlier>,
    /// An access was forgotten for lack of room, so that a race with it would go unseen.
    pub has_forgotten: bool,
    overflow: Overflow,
}

impl Shadow {
    /// Without memory yet.
    pub const fn new() -> Self {
        Self {
            base: 0,
            turn: 0,
            found: None,
            has_forgotten: false,
            overflow: Overflow::new(),
        }
    }

    /// Maps memory.
    pub fn set_up(&mut self) {
        self.base = own::map((ADDRESS_MASK + 1) * 8);
        conflicts::set_up();
    }

    #[inline(always)]
    fn cell(&self, address: usize) -> *mut Cell {
        (self.base + (address & ADDRESS_MASK & !7) * 8) as *mut Cell
    }

    /// Notes an access that stays within one cell. `None` if it does not, true if it races with
    /// an earlier one, which [`Shadow::take_found`] then tells.
    #[inline(always)]
    pub fn note(
        &mut self,
        clocks: &Clocks,
        now: Now,
        address: usize,
        len: usize,
        kind: u8,
        site: SiteId,
    ) -> Option<bool> {
        let offset = address & 7;
        // Also if there are no bytes.
        if len.wrapping_sub(1) >= 8 - offset {
            return None;
        }
        let mask = (0xffu64 >> (8 - len)) << offset;
        let stamp = now.stamp;
        let what = now.describe(kind, site) | mask << MASK;
        Some(if kind & access::ATOMIC != 0 {
            self.check_atomic(clocks, address & !7, stamp, what)
        } else {
            self.check(clocks, address & !7, stamp, what)
        })
    }

    /// What the last access that races does so with.
    pub fn take_found(&mut self) -> Option<Earlier> {
        self.found.take()
    }

    /// Notes an access of any length, as [`Shadow::note`].
    pub fn access(
        &mut self,
        clocks: &Clocks,
        now: Now,
        address: usize,
        len: usize,
        kind: u8,
        site: SiteId,
    ) -> bool {
        let stamp = now.stamp;
        let what = now.describe(kind, site);
        if kind & access::FREE != 0 && len > LARGE {
            return self.free_large(clocks, address, len, stamp, what);
        }
        let mut races = false;
        let end = address + len;
        let mut cell = address & !7;
        while cell < end {
            let low = address.saturating_sub(cell);
            let high = (end - cell).min(8);
            let mask = (0xffu64 << low) & (0xff >> (8 - high));
            races |= self.check(clocks, cell, stamp, what | mask << MASK);
            cell += 8;
        }
        races
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
    ) -> bool {
        let what = what | 0xff << MASK;
        let mut races = false;
        self.each_in_memory(address, len, |shadow, cell| {
            // SAFETY: the shadow covers every address.
            let first = unsafe { (*shadow.cell(cell)).0[0] };
            if first.stamp as u32 == stamp as u32 {
                races |= shadow.check(clocks, cell, stamp, what);
            }
        });
        races
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

    /// Notes an access to one cell. True if it races with an earlier one, which is then in
    /// [`Shadow::found`] unless that holds another already.
    #[inline(always)]
    fn check(&mut self, clocks: &Clocks, address: usize, stamp: u64, what: u64) -> bool {
        let cell = self.cell(address);
        // SAFETY: the shadow covers every address.
        let first = unsafe { &mut (*cell).0[0] };
        // The same thread did the same to the same bytes since its last release, or nobody did
        // anything: slots fill up in order.
        let same = first.stamp == stamp && first.what >> 32 == what >> 32;
        if same || first.stamp as u32 != stamp as u32 {
            // Of several equal ones the latest is the one to show.
            *first = Slot { stamp, what };
            return false;
        }
        if (what >> KIND) as u8 == 0 {
            self.check_read(clocks, address, stamp, what)
        } else {
            self.check_write(clocks, address, stamp, what)
        }
    }

    /// As [`Shadow::check`], for a plain read of a cell with one entry, as most have.
    #[inline(never)]
    fn check_read(&mut self, clocks: &Clocks, address: usize, stamp: u64, what: u64) -> bool {
        let cell = self.cell(address);
        // SAFETY: the shadow covers every address.
        let slots = unsafe { &mut (*cell).0 };
        let earlier = &slots[0];
        let is_own = earlier.what >> THREAD & 0xfff == what >> THREAD & 0xfff;
        if slots[1].stamp as u32 == stamp as u32 || !(is_own || is_seen(clocks, what, earlier)) {
            return self.check_slots(clocks, cell, address, stamp, what);
        }
        if !is_own {
            note_conflict(what, earlier.what, Conflict::Ordered);
        }
        // A write by the same thread since its last release says more than the read.
        if earlier.stamp != stamp || !is_own || !replaces(earlier.what, what) {
            slots[usize::from(!replaces(what, earlier.what))] = Slot { stamp, what };
        } else {
            conflicts::note_not_kept(earlier.what as SiteId, what as SiteId);
        }
        false
    }

    /// As [`Shadow::check`], for a write that comes after all that the cell holds and covers it.
    #[inline(never)]
    fn check_write(&mut self, clocks: &Clocks, address: usize, stamp: u64, what: u64) -> bool {
        let cell = self.cell(address);
        // SAFETY: the shadow covers every address.
        let slots = unsafe { &mut (*cell).0 };
        let mut used = 0;
        for earlier in slots.iter() {
            if earlier.stamp as u32 != stamp as u32 {
                break;
            }
            let is_own = earlier.what >> THREAD & 0xfff == what >> THREAD & 0xfff;
            if !replaces(what, earlier.what) || !(is_own || is_seen(clocks, what, earlier)) {
                return self.check_slots(clocks, cell, address, stamp, what);
            }
            if !is_own {
                note_conflict(what, earlier.what, Conflict::Ordered);
            }
            used += 1;
        }
        if used == SLOTS && !self.overflow.is_empty(stamp) {
            return self.check_slots(clocks, cell, address, stamp, what);
        }
        slots[0] = Slot { stamp, what };
        for earlier in &mut slots[1..used.max(1)] {
            earlier.stamp = 0;
        }
        false
    }

    /// As [`Shadow::check`], for an atomic access: atomic ones are never in conflict, and each
    /// thread's last one of a kind takes the place of the one before.
    #[inline(never)]
    fn check_atomic(&mut self, clocks: &Clocks, address: usize, stamp: u64, what: u64) -> bool {
        let cell = self.cell(address);
        // SAFETY: the shadow covers every address.
        let slots = unsafe { &mut (*cell).0 };
        let mut place = SLOTS;
        for (index, earlier) in slots.iter().enumerate() {
            if earlier.stamp as u32 != stamp as u32 {
                place = place.min(index);
                break;
            }
            if earlier.what >> 32 == what >> 32 {
                place = index;
            } else if earlier.what >> KIND & u64::from(access::ATOMIC) == 0 {
                if !is_seen(clocks, what, earlier) {
                    return self.check_slots(clocks, cell, address, stamp, what);
                }
                if earlier.what >> THREAD & 0xfff != what >> THREAD & 0xfff {
                    note_conflict(what, earlier.what, Conflict::Ordered);
                }
            }
        }
        let is_full = slots[SLOTS - 1].stamp as u32 == stamp as u32;
        if is_full && self.overflow.concerns_atomic(address, stamp, what) {
            return self.check_slots(clocks, cell, address, stamp, what);
        }
        if place == SLOTS {
            self.turn = self.turn.wrapping_add(1);
            place = self.turn % SLOTS;
            let earlier = &slots[place];
            if !replaces(what, earlier.what) || !is_seen(clocks, what, earlier) {
                // The looks at entries above were all that it takes.
                self.has_forgotten |= !self.overflow.insert(address, Slot { stamp, what });
                return false;
            }
        }
        slots[place] = Slot { stamp, what };
        false
    }

    #[inline(never)]
    fn check_slots(
        &mut self,
        clocks: &Clocks,
        cell: *mut Cell,
        address: usize,
        stamp: u64,
        what: u64,
    ) -> bool {
        // SAFETY: the shadow covers every address.
        let slots = unsafe { &mut (*cell).0 };
        let mask = (what >> MASK) as u8;
        let kind = (what >> KIND) as u8;
        let mut place = SLOTS;
        let mut races = false;
        // Entries of this execution, and how many of them the new one stands for.
        let (mut used, mut replaced) = (0, 0);
        for (index, earlier) in slots.iter_mut().enumerate() {
            if earlier.stamp as u32 != stamp as u32 {
                // Slots fill up in order within an execution.
                place = place.min(index);
                break;
            }
            used += 1;
            let other_mask = (earlier.what >> MASK) as u8;
            if other_mask & mask == 0 {
                continue;
            }
            let other_kind = (earlier.what >> KIND) as u8;
            let is_own = earlier.what >> THREAD & 0xfff == what >> THREAD & 0xfff;
            if is_own
                && earlier.stamp == stamp
                && other_mask & mask == mask
                && stronger(other_kind, kind)
            {
                if earlier.what >> 32 == what >> 32 {
                    // Of several equal ones the latest is the one to show.
                    earlier.what = what;
                } else if kind & access::ATOMIC == 0 {
                    conflicts::note_not_kept(earlier.what as SiteId, what as SiteId);
                }
                return races;
            }
            if is_own || is_seen(clocks, what, earlier) {
                if !is_own {
                    note_conflict(what, earlier.what, Conflict::Ordered);
                }
                if replaces(what, earlier.what) {
                    place = index;
                    replaced += 1;
                }
                continue;
            }
            if note_conflict(what, earlier.what, Conflict::Race) {
                races = true;
                self.found.get_or_insert(Earlier::of(earlier, address));
            }
        }
        if used == SLOTS && !self.overflow.is_empty(stamp) {
            races |= self.check_overflow(clocks, address, what);
        }
        if replaced == used {
            // All that went before is covered: few entries make for a short look next time.
            for earlier in &mut slots[1..used.max(1)] {
                earlier.stamp = 0;
            }
            if used == SLOTS && !self.overflow.is_empty(stamp) {
                self.take_back(slots, address);
            }
            place = 0;
        } else if place == SLOTS {
            if self.overflow.insert(address, Slot { stamp, what }) {
                return races;
            }
            self.has_forgotten = true;
            self.turn = self.turn.wrapping_add(1);
            place = self.turn % SLOTS;
        }
        slots[place] = Slot { stamp, what };
        races
    }

    /// As [`Shadow::check_slots`], for the entries of a full cell that have no place in it.
    #[inline(never)]
    fn check_overflow(&mut self, clocks: &Clocks, address: usize, what: u64) -> bool {
        let (mut races, found) = (false, &mut self.found);
        self.overflow.retain_conflicting(address, what, |earlier| {
            let is_own = thread(earlier.what) == thread(what);
            if is_own || is_seen(clocks, what, earlier) {
                if !is_own {
                    note_conflict(what, earlier.what, Conflict::Ordered);
                }
                return !replaces(what, earlier.what);
            }
            if note_conflict(what, earlier.what, Conflict::Race) {
                races = true;
                found.get_or_insert(Earlier::of(earlier, address));
            }
            true
        });
        races
    }

    /// Entries of a cell go back to its free slots, of which the first is not to be used.
    #[cold]
    #[inline(never)]
    fn take_back(&mut self, slots: &mut [Slot; SLOTS], address: usize) {
        let mut free = slots[1..].iter_mut();
        self.overflow.retain(address, |entry| {
            let slot = free.next();
            let is_left = slot.is_none();
            if let Some(slot) = slot {
                *slot = *entry;
            }
            is_left
        });
    }

    /// Forgets all accesses to a range.
    pub fn forget(&mut self, address: usize, len: usize) {
        let forget = |shadow: &mut Self, cell: usize| {
            // SAFETY: the shadow covers every address.
            unsafe { (*shadow.cell(cell)).0 = [Slot::FREE; SLOTS] };
            shadow.overflow.retain(cell, |_| false);
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

/// Clock slot of an access.
#[inline(always)]
pub(super) fn thread(what: u64) -> usize {
    (what >> THREAD) as usize & 0xfff
}

/// Thread, bytes and kind of an access.
#[inline(always)]
pub(super) fn covered_bits(what: u64) -> u64 {
    what >> THREAD
}

/// Bytes of its cell that an access touches.
#[inline(always)]
pub(super) fn mask(what: u64) -> u8 {
    (what >> MASK) as u8
}

pub(super) fn is_atomic(what: u64) -> bool {
    what >> KIND & u64::from(access::ATOMIC) != 0
}

pub(super) fn is_write(what: u64) -> bool {
    what >> KIND & u64::from(access::WRITE) != 0
}

/// Whether the thread of an access has seen an earlier one.
#[inline(always)]
fn is_seen(clocks: &Clocks, what: u64, earlier: &Slot) -> bool {
    clocks.has_seen(
        thread(what),
        thread(earlier.what),
        (earlier.stamp >> 32) as u32,
    )
}

/// Two accesses of different threads: notes their sites if they conflict, and returns whether they do.
#[inline(always)]
fn note_conflict(what: u64, earlier: u64, conflict: Conflict) -> bool {
    let (kind, other) = ((what >> KIND) as u8, (earlier >> KIND) as u8);
    let touches = (what >> MASK) as u8 & (earlier >> MASK) as u8 != 0;
    let conflicts =
        touches && (kind | other) & access::WRITE != 0 && kind & other & access::ATOMIC == 0;
    if conflicts {
        for (kind, site) in [(kind, what as SiteId), (other, earlier as SiteId)] {
            if kind & access::ATOMIC == 0 {
                conflicts::note(site, conflict);
            }
        }
    }
    conflicts
}

/// Whether a later access may take an ordered earlier one's place: it conflicts with at least as
/// much.
#[inline(always)]
fn replaces(what: u64, earlier: u64) -> bool {
    let (mask, other_mask) = ((what >> MASK) as u8, (earlier >> MASK) as u8);
    other_mask & mask == other_mask && stronger((what >> KIND) as u8, (earlier >> KIND) as u8)
}

/// Whether everything that conflicts with an access of kind `other` conflicts with `kind` too.
fn stronger(kind: u8, other: u8) -> bool {
    let writes = kind & access::WRITE != 0 || other & access::WRITE == 0;
    let plain = kind & access::ATOMIC == 0 || other & access::ATOMIC != 0;
    let volatile = kind & access::VOLATILE == 0 || other & access::VOLATILE != 0;
    writes && plain && volatile
}

#[cfg(test)]
#[path = "shadow_tests.rs"]
mod tests;
