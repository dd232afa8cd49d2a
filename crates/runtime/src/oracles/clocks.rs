//! Vector clocks of threads and of atomic objects: the happens-before relation of C++20,
//! with fences and release sequences.
//!
//! Relaxed operations make no edge by themselves. A release sequence is continued by
//! read-modify-writes only. Threads use slots; a slot is used again after its thread was
//! joined, and its next owner comes after that one: this can hide a race but never invents one.
//!
//! Who has seen a time of a slot has therefore seen all that the slot had seen by then. That
//! saves most joins and copies, whose cost grows with the number of threads.

use crate::arch;
use crate::own;
use alloc::vec::Vec;
use raddle_abi::hooks::order;

/// Most threads alive, or not joined, at the same time.
pub const SLOTS: usize = 4096;
/// Words from row to row; not a power of two, so that rows do not share cache sets.
const STRIDE: usize = SLOTS + 16;
const CLOCK_ARENA: usize = 1 << 30;
/// Slots up to which a clock is small enough to be joined and copied without further thought.
const NARROW: usize = 16;

/// Clock of an atomic object: what its last release sequence carries.
#[derive(Clone, Copy)]
struct Object {
    address: usize,
    clock: usize,
    run: u32,
    width: u32,
    /// The clock is that of slot `writer` at `time`: who has seen that has seen all of it.
    writer: u32,
    time: u32,
}

/// As [`Object::writer`]: the clock is of several threads.
const MANY: u32 = u32::MAX;

const NO_OBJECT: Object = Object {
    address: 0,
    clock: 0,
    run: 0,
    width: 0,
    writer: MANY,
    time: 0,
};

/// All clocks of an execution.
pub struct Clocks {
    run: u32,
    threads: usize,
    /// What an acquire fence would bring in.
    acquirable: usize,
    /// The clock at the last release fence.
    released: usize,
    has_released: Vec<bool>,
    /// Whether anything stands in a slot's row of `acquirable`.
    has_acquirable: Vec<bool>,
    /// Its own time when a slot last learnt of others.
    learnt: Vec<u32>,
    width: usize,
    /// The largest width so far.
    widest: usize,
    free: Vec<u16>,
    objects: Vec<Object>,
    objects_used: usize,
    arena: usize,
    arena_next: usize,
    /// Memory for clocks ran out: nothing may be concluded in this execution.
    pub exhausted: bool,
}

impl Clocks {
    /// Without memory yet.
    pub const fn new() -> Self {
        Self {
            run: 0,
            threads: 0,
            acquirable: 0,
            released: 0,
            has_released: Vec::new(),
            has_acquirable: Vec::new(),
            learnt: Vec::new(),
            width: 0,
            widest: 0,
            free: Vec::new(),
            objects: Vec::new(),
            objects_used: 0,
            arena: 0,
            arena_next: 0,
            exhausted: false,
        }
    }

    /// Maps memory.
    pub fn set_up(&mut self) {
        let bytes = SLOTS * STRIDE * 4;
        self.threads = own::map(bytes);
        self.acquirable = own::map(bytes);
        self.released = own::map(bytes);
        self.arena = own::map(CLOCK_ARENA);
        self.objects.resize(1 << 12, NO_OBJECT);
        self.has_released.resize(SLOTS, false);
        self.has_acquirable.resize(SLOTS, false);
        self.learnt.resize(SLOTS, 0);
        arch::look_at_processor();
    }

    /// Number of the execution, for tagging.
    #[inline(always)]
    pub fn run(&self) -> u32 {
        self.run
    }

    /// Starts an execution with `threads` threads that are not ordered with each other.
    pub fn begin(&mut self, threads: usize) {
        self.run += 1;
        self.width = 0;
        self.free.clear();
        self.objects_used = 0;
        self.arena_next = self.arena;
        self.exhausted = false;
        for _ in 0..threads {
            self.new_slot();
        }
    }

    #[inline(always)]
    fn word(matrix: usize, row: usize, column: usize) -> *mut u32 {
        (matrix + (row * STRIDE + column) * 4) as *mut u32
    }

    /// The running time of a slot.
    #[inline(always)]
    pub fn time(&self, slot: usize) -> u32 {
        // SAFETY: inside the matrix.
        unsafe { *Self::word(self.threads, slot, slot) }
    }

    /// Whether slot `observer` has seen `time` of slot `other`.
    #[inline(always)]
    pub fn has_seen(&self, observer: usize, other: usize, time: u32) -> bool {
        // SAFETY: inside the matrix.
        unsafe { *Self::word(self.threads, observer, other & (SLOTS - 1)) >= time }
    }

    fn tick(&mut self, slot: usize) {
        // SAFETY: inside the matrix.
        unsafe { *Self::word(self.threads, slot, slot) += 1 }
    }

    fn new_slot(&mut self) -> usize {
        if self.width >= SLOTS {
            self.exhausted = true;
            return SLOTS - 1;
        }
        let slot = self.width;
        self.width += 1;
        self.widest = self.widest.max(self.width);
        // Rows are zero from the number of slots on, so that those of others need no look.
        // SAFETY: a row of the matrix, which is at least that long.
        unsafe { core::ptr::write_bytes(Self::word(self.threads, slot, 0), 0, self.widest) };
        self.has_released[slot] = false;
        self.forget_acquirable(slot);
        self.tick(slot);
        self.learns(slot);
        slot
    }

    /// The slot's clock is about to change, and not only in its own time.
    #[inline(always)]
    fn learns(&mut self, slot: usize) {
        self.learnt[slot] = self.time(slot);
    }

    fn forget_acquirable(&mut self, slot: usize) {
        if core::mem::take(&mut self.has_acquirable[slot]) {
            // SAFETY: a row of the matrix, which is at least that long.
            unsafe { core::ptr::write_bytes(Self::word(self.acquirable, slot, 0), 0, self.widest) };
        }
    }

    /// A thread starts another one; returns the new one's slot.
    pub fn spawn(&mut self, parent: usize) -> usize {
        let slot = match self.free.pop() {
            Some(slot) => usize::from(slot),
            None => self.new_slot(),
        };
        let time = self.time(slot);
        let row = Self::word(self.threads, slot, 0);
        self.merge_row(row, Self::word(self.threads, parent, 0), self.width);
        // SAFETY: inside the matrix.
        unsafe { *row.add(slot) = time + 1 };
        self.has_released[slot] = false;
        self.forget_acquirable(slot);
        self.learns(slot);
        self.tick(parent);
        slot
    }

    /// A copy of a slot's clock.
    pub fn row(&self, slot: usize) -> Vec<u32> {
        // SAFETY: inside the matrix.
        (0..self.width)
            .map(|column| unsafe { *Self::word(self.threads, slot, column) })
            .collect()
    }

    /// Brings a stored clock into a slot's, but for the slot's own time.
    pub fn merge(&mut self, slot: usize, clock: &[u32]) {
        let time = self.time(slot);
        self.learns(slot);
        let row = Self::word(self.threads, slot, 0);
        // SAFETY: rows are at least as long as any clock.
        unsafe { arch::keep_larger(row, clock.as_ptr(), clock.len()) };
        // SAFETY: inside the matrix.
        unsafe { *Self::word(self.threads, slot, slot) = time };
    }

    /// A thread has waited for the end of another one, whose slot is free from now on.
    pub fn join(&mut self, waiter: usize, ended: usize) {
        self.learns(waiter);
        self.merge_row(
            Self::word(self.threads, waiter, 0),
            Self::word(self.threads, ended, 0),
            self.width,
        );
        self.free.push(ended as u16);
    }

    /// Joins one clock with another. Both have room for whole groups of eight words.
    #[inline(always)]
    fn merge_row(&self, into: *mut u32, from: *const u32, width: usize) {
        if width > NARROW {
            // SAFETY: as above; what lies behind the last slot is zero in both.
            return unsafe { arch::keep_larger(into, from, (width + 7) & !7) };
        }
        let (into, from) = (into.cast::<[u32; 4]>(), from.cast::<[u32; 4]>());
        for group in 0..width.div_ceil(4) {
            // SAFETY: as above.
            unsafe {
                for (mine, theirs) in (*into.add(group)).iter_mut().zip(*from.add(group)) {
                    *mine = theirs.max(*mine);
                }
            }
        }
    }

    /// Copies a row into an object's clock.
    #[inline(always)]
    fn copy_row(&self, into: *mut u32, from: *const u32) {
        let (into, from) = (into.cast::<[u32; 4]>(), from.cast::<[u32; 4]>());
        // SAFETY: both have room for whole groups.
        unsafe {
            *into = *from;
            if self.width > 4 {
                core::ptr::copy_nonoverlapping(from.add(1), into.add(1), (self.width - 1) / 4);
            }
        }
    }

    fn place(&self, address: usize) -> usize {
        let mask = self.objects.len() - 1;
        let mut index = (address >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40 & mask;
        loop {
            let object = &self.objects[index];
            if object.run != self.run || object.address == address {
                return index;
            }
            index = (index + 1) & mask;
        }
    }

    fn grow_objects(&mut self) {
        let larger = alloc::vec![NO_OBJECT; self.objects.len() * 2];
        let old = core::mem::replace(&mut self.objects, larger);
        for object in old.into_iter().filter(|object| object.run == self.run) {
            let index = self.place(object.address);
            self.objects[index] = object;
        }
    }

    /// The object at `address`, made if needed with room for all slots.
    fn object(&mut self, address: usize) -> usize {
        if self.objects_used * 2 > self.objects.len() {
            self.grow_objects();
        }
        let index = self.place(address);
        let object = self.objects[index];
        if object.run == self.run && object.width as usize >= self.width {
            return index;
        }
        // Room for threads to come: one clock for each number of threads would cost its square.
        let width = ((self.width + self.width / 2 + 7) & !7).min(SLOTS);
        let clock = self.arena_next;
        if clock + width * 4 > self.arena + CLOCK_ARENA {
            self.exhausted = true;
            return index;
        }
        self.arena_next += width * 4;
        let old_width = if object.run == self.run {
            object.width as usize
        } else {
            0
        };
        if object.run != self.run {
            self.objects_used += 1;
        }
        // SAFETY: inside the arena, and inside the old clock.
        unsafe {
            let (old, new) = (object.clock as *const u32, clock as *mut u32);
            core::ptr::copy_nonoverlapping(old, new, old_width);
            core::ptr::write_bytes(new.add(old_width), 0, width - old_width);
        }
        self.objects[index] = Object {
            address,
            clock,
            run: self.run,
            width: width as u32,
            writer: if old_width == 0 { MANY } else { object.writer },
            time: object.time,
        };
        index
    }

    /// An atomic load by `slot`.
    #[inline(always)]
    pub fn load(&mut self, slot: usize, address: usize, memory_order: u32) {
        self.load_from(slot, self.place(address), memory_order);
    }

    /// Returns whether `slot` has then seen all that the object carries.
    #[inline(always)]
    fn load_from(&mut self, slot: usize, place: usize, memory_order: u32) -> bool {
        let object = self.objects[place];
        if object.run != self.run || self.has_seen_all(self.threads, slot, &object) {
            return true;
        }
        let acquires = order::acquires(memory_order);
        let (clock, width) = (object.clock as *const u32, object.width as usize);
        let width = width.min(self.width);
        if acquires {
            self.learns(slot);
            self.merge_row(Self::word(self.threads, slot, 0), clock, width);
        } else if !self.has_seen_all(self.acquirable, slot, &object) {
            self.has_acquirable[slot] = true;
            self.merge_row(Self::word(self.acquirable, slot, 0), clock, width);
        }
        acquires
    }

    /// Whether all that an object carries stands in a slot's row of a matrix.
    #[inline(always)]
    fn has_seen_all(&self, matrix: usize, slot: usize, object: &Object) -> bool {
        // SAFETY: inside the matrix.
        object.writer != MANY
            && unsafe { *Self::word(matrix, slot, object.writer as usize) } >= object.time
    }

    /// What an object's last release sequence carries; nothing if there was none.
    pub fn released(&self, address: usize) -> &[u32] {
        let object = &self.objects[self.place(address)];
        if object.run != self.run {
            return &[];
        }
        // SAFETY: the object's clock has that many words, and stays until the next execution.
        unsafe { core::slice::from_raw_parts(object.clock as *const u32, object.width as usize) }
    }

    /// An atomic load by `slot` of a store that has released this.
    pub fn load_released(&mut self, slot: usize, released: &[u32], memory_order: u32) {
        let matrix = if order::acquires(memory_order) {
            self.learns(slot);
            self.threads
        } else {
            self.has_acquirable[slot] = true;
            self.acquirable
        };
        let row = Self::word(matrix, slot, 0);
        // SAFETY: rows are at least as long as any clock.
        unsafe { arch::keep_larger(row, released.as_ptr(), released.len()) };
    }

    /// Makes an object's clock that of a slot, and time pass there.
    #[inline(always)]
    fn release(&mut self, index: usize, slot: usize) {
        let object = self.objects[index];
        let (clock, row) = (object.clock as *mut u32, Self::word(self.threads, slot, 0));
        let is_own = object.writer as usize == slot && self.learnt[slot] <= object.time;
        if self.width > NARROW && is_own {
            // Nothing has changed since but the slot's own time.
            // SAFETY: both have that many words.
            unsafe { *clock.add(slot) = *row.add(slot) };
        } else {
            self.copy_row(clock, row);
        }
        self.set_writer(index, slot as u32);
        self.tick(slot);
    }

    /// Says whose clock an object's clock is.
    fn set_writer(&mut self, index: usize, writer: u32) {
        let time = if writer == MANY {
            0
        } else {
            self.time(writer as usize)
        };
        self.objects[index].writer = writer;
        self.objects[index].time = time;
    }

    /// An atomic store, which ends an earlier release sequence.
    #[inline(always)]
    pub fn store(&mut self, slot: usize, address: usize, memory_order: u32) {
        let releases = order::releases(memory_order);
        if !releases
            && !self.has_released[slot]
            && self.objects[self.place(address)].run != self.run
        {
            return;
        }
        let index = self.object(address);
        if self.exhausted {
            return;
        }
        if releases {
            return self.release(index, slot);
        }
        let clock = self.objects[index].clock as *mut u32;
        if self.has_released[slot] {
            self.copy_row(clock, Self::word(self.released, slot, 0));
        } else {
            // SAFETY: the object's clock has that many words.
            unsafe { core::ptr::write_bytes(clock, 0, self.width) };
        }
        self.set_writer(index, MANY);
    }

    /// A read-modify-write, which continues a release sequence.
    #[inline(always)]
    pub fn modify(&mut self, slot: usize, address: usize, memory_order: u32) {
        let place = self.place(address);
        let has_all = self.load_from(slot, place, memory_order);
        let releases = order::releases(memory_order);
        if !releases && !self.has_released[slot] {
            return;
        }
        let object = &self.objects[place];
        let index = if object.run == self.run && object.width as usize >= self.width {
            place
        } else {
            self.object(address)
        };
        if self.exhausted {
            return;
        }
        if releases && has_all {
            return self.release(index, slot);
        }
        let matrix = [self.released, self.threads][usize::from(releases)];
        let clock = self.objects[index].clock as *mut u32;
        self.merge_row(clock, Self::word(matrix, slot, 0), self.width);
        self.set_writer(index, MANY);
        if releases {
            self.tick(slot);
        }
    }

    /// A fence.
    pub fn fence(&mut self, slot: usize, memory_order: u32) {
        let row = Self::word(self.threads, slot, 0);
        if order::acquires(memory_order) && self.has_acquirable[slot] {
            self.learns(slot);
            self.merge_row(row, Self::word(self.acquirable, slot, 0), self.width);
        }
        if order::releases(memory_order) {
            // As far as threads to come may look.
            let width = self.widest;
            // SAFETY: inside the matrices.
            unsafe {
                core::ptr::copy_nonoverlapping(row, Self::word(self.released, slot, 0), width)
            };
            self.has_released[slot] = true;
            self.tick(slot);
        }
    }
}

impl Default for Clocks {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
#[path = "clocks_tests.rs"]
mod tests;
