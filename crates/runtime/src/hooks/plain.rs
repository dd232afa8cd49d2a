//! Plain and volatile accesses, which hooks announce before they happen.

use super::{id, is_point, is_watched, note_site, watch};
use crate::execution;
use crate::global::Global;
use crate::native;
use crate::oracles::shadow::access;
use crate::record;
use crate::scheduler::{self, site_key};
use crate::shared::shared;
use crate::weak;
use crate::world::{GATE, world};
use alloc::vec::Vec;
use core::sync::atomic::Ordering;
use raddle_abi::control::conditions;
use raddle_abi::plan::Granularity;
use raddle_abi::site::{Operation, Site, SiteId};
use raddle_schedule::partial_order::OBJECT_BITS;

static RACY: Global<Vec<u64>> = Global::new(Vec::new());

/// Sets the keys of the plain accesses that are scheduling points.
pub fn set_racy(mut keys: Vec<u64>) {
    keys.sort_unstable();
    *RACY.get() = keys;
}

#[inline(always)]
pub(super) fn operation(write: bool, kind: u8) -> Operation {
    match (write, kind & access::VOLATILE != 0) {
        (false, false) => Operation::Read,
        (true, false) => Operation::Write,
        (false, true) => Operation::VolatileRead,
        (true, true) => Operation::VolatileWrite,
    }
}

#[inline(always)]
fn plain(address: usize, len: usize, write: bool, site: *const Site) {
    if native::is_stranger() {
        return;
    }
    let kind = if write { access::WRITE } else { 0 };
    if !world().orders.only_watched {
        return fully(address, len, write, kind, site);
    }
    note_site(site);
    count(address, len, write, kind, site);
    if is_watched() && !is_private(address, len) {
        watch(operation(write, kind), address, len, kind, site);
    }
}

/// Counts an access that is no scheduling point: a loop of nothing else lets others run. Accesses
/// to the thread's own stack have a higher limit: other threads rarely have its address.
#[inline(always)]
pub(super) fn count(address: usize, len: usize, write: bool, kind: u8, site: *const Site) {
    let execution = &mut world().execution;
    let are_many = match execution.running().owns(address) {
        true => {
            let is_counted = kind & access::VOLATILE == 0 && is_behind_gate(address, len);
            count_own(is_counted)
        }
        false => execution.accesses.add(write),
    };
    if !are_many {
        return;
    }
    match is_point(site) {
        true => {
            execution.computing += 1;
            scheduler::point_of_spinning(Operation::Yield, false, 0, id(site));
        }
        false => execution::renew_own_accesses(),
    }
}

/// Whether hooks let these bytes pass without calling, and count them themselves.
#[inline(always)]
fn is_behind_gate(address: usize, len: usize) -> bool {
    let place = address.wrapping_sub(GATE.low.load(Ordering::Relaxed));
    place.wrapping_add(len) <= GATE.len.load(Ordering::Relaxed)
}

/// Counts an access to the thread's own stack, unless the hook has. True if there are too many.
#[inline(always)]
fn count_own(is_counted: bool) -> bool {
    let mut left = GATE.accesses_left.load(Ordering::Relaxed);
    if !is_counted {
        left = left.wrapping_sub(1);
        GATE.accesses_left.store(left, Ordering::Relaxed);
    }
    left == 0
}

/// Also where plain accesses are scheduling points, or recorded, and for volatile ones.
#[inline(never)]
fn fully(address: usize, len: usize, write: bool, kind: u8, site: *const Site) {
    note_site(site);
    let operation = operation(write, kind);
    if wants_point(address, kind, site) && is_point(site) {
        let thread = world().execution.running();
        match thread.spin.spins(id(site), address) {
            true => scheduler::point_of_spinning(operation, write, address, id(site)),
            false => scheduler::point(operation, write, address, id(site)),
        }
        passed_point(address, len, write, site);
    } else {
        count(address, len, write, kind, site);
    }
    weak::forget(address, len);
    if is_watched() && !is_private(address, len) {
        watch(operation, address, len, kind, site);
    }
    record::access(operation, address, len, id(site));
}

/// An access of a call, whose scheduling point is behind it.
pub(super) fn touch(address: usize, len: usize, write: bool, site: *const Site) {
    note_site(site);
    let kind = if write { access::WRITE } else { 0 };
    let is_recorded = !world().orders.only_watched;
    if is_recorded {
        weak::forget(address, len);
    }
    if is_watched() && !is_private(address, len) {
        watch(operation(write, kind), address, len, kind, site);
    }
    if is_recorded {
        record::access(operation(write, kind), address, len, id(site));
    }
}

/// Whether the plan makes scheduling points of plain accesses at a site.
pub fn is_racy(site: SiteId) -> bool {
    let racy = RACY.get();
    !racy.is_empty() && racy.binary_search(&site_key(site)).is_ok()
}

/// Whether an access is a scheduling point, as far as its place is concerned.
pub(super) fn wants_point(address: usize, kind: u8, site: *const Site) -> bool {
    let is_racy = || is_racy(id(site));
    match world().orders.granularity {
        _ if kind & access::VOLATILE != 0 => !on_own_stack(address) || is_racy(),
        Granularity::Sync => false,
        Granularity::Racy => is_racy(),
        Granularity::Access => !on_own_stack(address) || is_racy(),
    }
}

/// An access is about to happen for which the running thread was picked. What it reads is not looked
/// at: who reads the same place again and again waits for others.
pub(super) fn passed_point(address: usize, len: usize, write: bool, site: *const Site) {
    if address >> OBJECT_BITS != (address + len.max(1) - 1) >> OBJECT_BITS {
        shared().note_condition(conditions::WIDE_RACE);
    }
    let execution = &mut world().execution;
    if write {
        execution.running().spin.progressed();
        execution.changed();
    } else {
        execution.running().spin.saw(id(site), address, 0);
    }
}

/// Whether only the running thread can touch these bytes.
#[inline(always)]
pub(super) fn is_private(address: usize, len: usize) -> bool {
    let (low, part) = world().execution.running().private;
    // What begins below a stack and reaches into it has no page to begin in.
    address.wrapping_sub(low).wrapping_add(len) <= part
}

pub(super) fn on_own_stack(address: usize) -> bool {
    let execution = &world().execution;
    let (low, high) = execution.threads[execution.current].stack;
    (low..high).contains(&address)
}

/// A plain load is about to happen.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub extern "C" fn __raddle_slow_read(address: usize, len: usize, site: *const Site) {
    plain(address, len, false, site);
}

/// A plain store is about to happen.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub extern "C" fn __raddle_slow_write(address: usize, len: usize, site: *const Site) {
    plain(address, len, true, site);
}

/// A volatile access is about to happen.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub extern "C" fn __raddle_slow_volatile(
    address: usize,
    len: usize,
    write: u32,
    site: *const Site,
) {
    if native::is_stranger() {
        return;
    }
    let kind = access::VOLATILE | if write != 0 { access::WRITE } else { 0 };
    fully(address, len, write != 0, kind, site);
}
