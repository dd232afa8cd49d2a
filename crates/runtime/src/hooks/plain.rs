//! Plain and volatile accesses, which hooks announce before they happen.

use super::{id, is_point, is_watched, note_site, watch};
use crate::global::Global;
use crate::native;
use crate::oracles::shadow::access;
use crate::record;
use crate::scheduler::{self, site_key};
use crate::weak;
use crate::world::world;
use alloc::vec::Vec;
use raddle_abi::plan::Granularity;
use raddle_abi::site::{Operation, Site};

static RACY: Global<Vec<u64>> = Global::new(Vec::new());

/// Sets the keys of the plain accesses that are scheduling points.
pub fn set_racy(mut keys: Vec<u64>) {
    keys.sort_unstable();
    *RACY.get() = keys;
}

#[inline(always)]
fn operation(write: bool, kind: u8) -> Operation {
    match (write, kind & access::VOLATILE != 0) {
        (false, false) => Operation::Read,
        (true, false) => Operation::Write,
        (false, true) => Operation::VolatileRead,
        (true, true) => Operation::VolatileWrite,
    }
}

#[inline(always)]
fn plain(address: usize, len: usize, write: bool, kind: u8, site: *const Site) {
    if native::is_stranger() {
        return;
    }
    if !world().orders.only_watched {
        return plain_fully(address, len, write, kind, site);
    }
    note_site(site);
    if is_watched() && !is_private(address, len) {
        watch(operation(write, kind), address, len, kind, site);
    }
}

/// Also where plain accesses are scheduling points, or recorded.
#[inline(never)]
fn plain_fully(address: usize, len: usize, write: bool, kind: u8, site: *const Site) {
    note_site(site);
    let operation = operation(write, kind);
    let wanted = match world().orders.granularity {
        Granularity::Sync => false,
        Granularity::Racy => {
            !RACY.get().is_empty() && RACY.get().binary_search(&site_key(id(site))).is_ok()
        }
        Granularity::Access => !on_own_stack(address),
    };
    if wanted && is_point(site) {
        scheduler::point(operation, write, address, id(site));
    }
    weak::forget(address, len);
    if is_watched() && !is_private(address, len) {
        watch(operation, address, len, kind, site);
    }
    record::access(operation, address, len, id(site));
}

/// Whether only the running thread can touch these bytes.
#[inline(always)]
fn is_private(address: usize, len: usize) -> bool {
    let (low, part) = world().execution.running().private;
    // What begins below a stack and reaches into it has no page to begin in.
    address.wrapping_sub(low).wrapping_add(len) <= part
}

fn on_own_stack(address: usize) -> bool {
    let execution = &world().execution;
    let (low, high) = execution.threads[execution.current].stack;
    (low..high).contains(&address)
}

/// A plain load is about to happen.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub extern "C" fn __raddle_slow_read(address: usize, len: usize, site: *const Site) {
    plain(address, len, false, 0, site);
}

/// A plain store is about to happen.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub extern "C" fn __raddle_slow_write(address: usize, len: usize, site: *const Site) {
    plain(address, len, true, access::WRITE, site);
}

/// A volatile access is about to happen.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub extern "C" fn __raddle_slow_volatile(
    address: usize,
    len: usize,
    write: u32,
    site: *const Site,
) {
    let kind = access::VOLATILE | if write != 0 { access::WRITE } else { 0 };
    plain(address, len, write != 0, kind, site);
}
