//! Which plain accesses conflict with one of another thread: the tool makes scheduling points of
//! those that race, and now and then of those that only some synchronisation keeps apart.
//!
//! A byte per possible site remembers what the tool was told, in memory that forked children share.

use crate::global::Global;
use crate::hooks::plain;
use crate::own;
use crate::scheduler::site_key;
use crate::shared::shared;
use core::sync::atomic::Ordering;
use raddle_abi::control::{ConflictingSite, SITES_CAPACITY, SITES_OFFSET, conditions};
use raddle_abi::site::SiteId;

/// How an access conflicts with another one.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// Something orders the two.
    Ordered = 1,
    /// Nothing does.
    Race = 2,
}

/// Site records stand at multiples of this.
const ALIGNMENT: usize = 8;

static TOLD: Global<usize> = Global::new(0);

/// Maps memory.
pub fn set_up() {
    *TOLD.get() = own::map_shared((1 << SiteId::BITS) / ALIGNMENT);
}

/// The access at `site` conflicts with one of another thread.
#[inline(always)]
pub fn note(site: SiteId, conflict: Conflict) {
    let told = (*TOLD.get() + site as usize / ALIGNMENT) as *mut u8;
    // SAFETY: the map has a byte for every site id.
    if unsafe { *told } & conflict as u8 == 0 {
        tell(told, site, conflict);
    }
}

/// The access at `site` is not kept, because an earlier one of its thread says more: what races with that one
/// races with it, though it is no scheduling point.
#[inline(always)]
pub fn note_not_kept(earlier: SiteId, site: SiteId) {
    if plain::is_racy(earlier) && !plain::is_racy(site) {
        shared().note_condition(conditions::READ_NOT_KEPT);
    }
}

#[cold]
#[inline(never)]
fn tell(told: *mut u8, site: SiteId, conflict: Conflict) {
    // SAFETY: as above.
    unsafe { *told |= conflict as u8 };
    if !shared().is_attached() {
        return;
    }
    let (key, used) = (site_key(site), &shared().control().sites);
    let count = used.load(Ordering::Relaxed) as usize;
    if key == 0 || count >= SITES_CAPACITY {
        return;
    }
    let place = shared().at(SITES_OFFSET) as *mut ConflictingSite;
    let is_race = u64::from(conflict == Conflict::Race);
    // SAFETY: inside the sites area, which nobody reads beyond what the counter says.
    unsafe { place.add(count).write(ConflictingSite { key, is_race }) };
    used.store(count as u32 + 1, Ordering::Release);
}
