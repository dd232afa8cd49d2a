//! The slow halves of the hooks: what instrumented code calls while an execution is under way.

pub mod atomic;
pub mod call;
pub mod control;
pub mod plain;
pub mod processor;

use crate::oracles::{heap, race};
use crate::thread::Thread;
use crate::world::world;
use raddle_abi::site::{Operation, Site, SiteId, flags};

/// A site's name: its address. A library that the loader could not put where it was linked for
/// stands above 4 GiB, and its sites are unknown.
fn id(site: *const Site) -> SiteId {
    SiteId::try_from(site as usize).unwrap_or(0)
}

/// Whether a synchronisation at this site is a scheduling point.
#[inline(always)]
fn is_point(site: *const Site) -> bool {
    may_be_point(world().execution.running(), site)
}

/// As [`is_point`], for the running thread.
#[inline(always)]
fn may_be_point(thread: &Thread, site: *const Site) -> bool {
    thread.user_depth > 0 && !has_flag(site, flags::QUIET)
}

/// Whether a site has one of these flags.
#[inline(always)]
fn has_flag(site: *const Site, flag: u16) -> bool {
    // SAFETY: hooks pass records of the program's image.
    !site.is_null() && unsafe { (*site).flags } & flag != 0
}

/// Whether the oracles look at the running thread.
#[inline(always)]
fn is_watched() -> bool {
    world().orders.watch && world().execution.running().entered
}

/// Lets the oracles look at an access of a thread that is watched. True if the clocks of the
/// race oracle want to know of it too.
#[inline(always)]
fn watch(operation: Operation, address: usize, len: usize, kind: u8, site: *const Site) -> bool {
    let orders = &world().orders;
    if orders.heap && !heap::may_touch(address, len) {
        heap::touched(operation, address, len, id(site));
    }
    if orders.race {
        race::access(address, len, kind, id(site));
    }
    orders.race
}

#[inline(always)]
fn note_site(site: *const Site) {
    world().execution.running().site = id(site);
}
