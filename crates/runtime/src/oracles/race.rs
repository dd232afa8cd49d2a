//! Data races, by happens-before.
//!
//! Known imprecision, always on the side of silence: four accesses per cell, slots of joined
//! threads are used again, threads between std's start routine and the user's closure are
//! not looked at (std's own locks there would order threads by accident).

use super::clocks::Clocks;
use super::shadow::{Now, Shadow, access};
use super::stacks;
use crate::findings::Record;
use crate::global::Global;
use crate::scheduler::site_key;
use crate::stack;
use crate::world::world;
use alloc::vec::Vec;
use raddle_abi::finding::{Kind, Step};
use raddle_abi::site::{Operation, SiteId};

struct Detector {
    clocks: Clocks,
    shadow: Shadow,
    /// Of the running thread.
    now: Now,
    ready: bool,
    /// For each clock slot the threads that used it, with the time from which on.
    owners: Vec<Vec<(u32, u16)>>,
}

static DETECTOR: Global<Detector> = Global::new(Detector {
    clocks: Clocks::new(),
    shadow: Shadow::new(),
    now: Now::NEVER,
    ready: false,
    owners: Vec::new(),
});

/// Maps memory.
pub fn set_up() {
    let detector = DETECTOR.get();
    detector.clocks.set_up();
    detector.shadow.set_up();
    detector.ready = true;
}

/// Starts an execution with this many threads.
pub fn begin(threads: usize) {
    if !world().orders.race {
        return;
    }
    let detector = DETECTOR.get();
    detector.clocks.begin(threads);
    for owners in &mut detector.owners {
        owners.clear();
    }
    for slot in 0..threads {
        world().execution.threads[slot].clock = slot as u16;
        own_slot(slot, slot);
    }
}

fn own_slot(slot: usize, thread: usize) {
    let detector = DETECTOR.get();
    if detector.owners.len() <= slot {
        detector.owners.resize(slot + 1, Vec::new());
    }
    let time = detector.clocks.time(slot);
    detector.owners[slot].push((time, thread as u16));
}

fn owner(slot: usize, time: u32) -> u16 {
    let owners = &DETECTOR.get().owners;
    let Some(owners) = owners.get(slot) else {
        return 0;
    };
    owners
        .iter()
        .rev()
        .find(|(from, _)| *from <= time)
        .map_or(0, |(_, thread)| *thread)
}

#[inline(always)]
fn running_slot() -> usize {
    usize::from(world().execution.running().clock)
}

/// Another thread runs now, or the running one has come to another time.
#[inline(always)]
pub fn look_at_clock() {
    let detector = DETECTOR.get();
    detector.now = Now::of(&detector.clocks, running_slot());
}

/// The running thread has started `thread`, on a stack whose last owner ended at `last_clock`.
pub fn spawned(thread: usize, last_clock: &[u32]) {
    if !world().orders.race {
        return;
    }
    let clocks = &mut DETECTOR.get().clocks;
    let slot = clocks.spawn(running_slot());
    clocks.merge(slot, last_clock);
    world().execution.threads[thread].clock = slot as u16;
    own_slot(slot, thread);
    look_at_clock();
}

/// The running thread has waited for the end of `thread`.
pub fn joined(thread: usize) {
    if !world().orders.race {
        return;
    }
    let ended = usize::from(world().execution.threads[thread].clock);
    DETECTOR.get().clocks.join(running_slot(), ended);
}

/// Whether a race may have gone unseen in any execution so far.
pub fn may_have_missed() -> bool {
    let detector = DETECTOR.get();
    detector.shadow.has_forgotten || detector.clocks.exhausted
}

/// Vector clock of a thread; empty if nobody keeps any.
pub fn clock_of(thread: usize) -> Vec<u32> {
    if !world().orders.race {
        return Vec::new();
    }
    let slot = usize::from(world().execution.threads[thread].clock);
    DETECTOR.get().clocks.row(slot)
}

/// An atomic load.
#[inline(always)]
pub fn load(address: usize, order: u32) {
    DETECTOR.get().clocks.load(running_slot(), address, order);
}

/// An atomic load of a store that is not the newest one, and has released this.
pub fn load_released(released: &[u32], order: u32) {
    DETECTOR
        .get()
        .clocks
        .load_released(running_slot(), released, order);
}

/// What the last release sequence of an object carries.
pub fn released(address: usize) -> &'static [u32] {
    DETECTOR.get().clocks.released(address)
}

/// An atomic store.
#[inline(always)]
pub fn store(address: usize, order: u32) {
    DETECTOR.get().clocks.store(running_slot(), address, order);
    look_at_clock();
}

/// An atomic read-modify-write.
#[inline(always)]
pub fn modify(address: usize, order: u32) {
    DETECTOR.get().clocks.modify(running_slot(), address, order);
    look_at_clock();
}

/// A fence.
pub fn fence(order: u32) {
    DETECTOR.get().clocks.fence(running_slot(), order);
    look_at_clock();
}

/// Memory changes its owner: what was done to it before does not count.
pub fn forget(address: usize, len: usize) {
    let detector = DETECTOR.get();
    if detector.ready && world().orders.race {
        detector.shadow.forget(address, len);
    }
}

/// An access by the running thread.
#[inline(always)]
pub fn access(address: usize, len: usize, kind: u8, site: SiteId) {
    if stacks::contains(address) {
        return access_fully(address, len, kind, site);
    }
    let detector = DETECTOR.get();
    let (clocks, now) = (&detector.clocks, detector.now);
    match detector.shadow.note(clocks, now, address, len, kind, site) {
        Some(false) => {}
        Some(true) => report(address, len, kind, site),
        None => access_fully(address, len, kind, site),
    }
}

#[inline(never)]
fn access_fully(address: usize, len: usize, kind: u8, site: SiteId) {
    if len == 0 {
        return;
    }
    if stacks::contains(address) && world().orders.private_stacks {
        stacks::touched(address);
    }
    let detector = DETECTOR.get();
    let (clocks, now) = (&detector.clocks, detector.now);
    if detector
        .shadow
        .access(clocks, now, address, len, kind, site)
    {
        report(address, len, kind, site);
    }
}

fn operation(kind: u8) -> Operation {
    let write = kind & access::WRITE != 0;
    if kind & access::FREE != 0 {
        Operation::Free
    } else if kind & access::VOLATILE != 0 {
        if write {
            Operation::VolatileWrite
        } else {
            Operation::VolatileRead
        }
    } else if kind & access::ATOMIC != 0 {
        if write {
            Operation::AtomicStore
        } else {
            Operation::AtomicLoad
        }
    } else if write {
        Operation::Write
    } else {
        Operation::Read
    }
}

#[cold]
#[inline(never)]
fn report(address: usize, len: usize, kind: u8, site: SiteId) {
    let Some(earlier) = DETECTOR.get().shadow.take_found() else {
        return;
    };
    let world = world();
    let volatile = (kind | earlier.kind) & access::VOLATILE != 0;
    if !world.orders.report_races
        || DETECTOR.get().clocks.exhausted
        || world.execution.unseen_synchronisation
        || (volatile && !world.orders.volatile_race)
    {
        return;
    }
    let key = super::key(Kind::DataRace, site_key(site), site_key(earlier.site));
    let Some(mut record) = Record::begin(Kind::DataRace, key, [address as u64, len as u64]) else {
        return;
    };
    let frames = stack::of_running();
    record.step(
        Step {
            site,
            operation: operation(kind) as u16,
            thread: world.execution.current as u16,
            address: address as u64,
            len: len as u32,
            frames: 0,
        },
        frames.as_slice(),
    );
    record.step(
        Step {
            site: earlier.site,
            operation: operation(earlier.kind) as u16,
            thread: owner(earlier.slot, earlier.time),
            address: earlier.address as u64,
            len: 0,
            frames: 0,
        },
        &[],
    );
    record.commit();
}
