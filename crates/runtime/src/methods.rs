//! Marks when threads enter and leave functions that the plan asks about
//! ([`raddle_abi::plan::MethodAnchor`]), so that the tool knows without a recording which of them
//! ran at the same time.
//!
//! A function that was unwound says so only in part. What is over is marked before another thread
//! can run, so that nobody is seen to run beside it ([`crate::activations`]).

use crate::activations;
use crate::marks;
use crate::scheduler::site_key;
use crate::world::world;
use alloc::vec::Vec;
use core::ffi::CStr;
use raddle_abi::key;
use raddle_abi::mark::kind;
use raddle_abi::plan::MethodAnchor;
use raddle_abi::site::{FunctionSite, SiteId, flags};

/// The functions that the plan asks about.
#[derive(Debug, Default)]
pub struct Methods {
    /// By ascending key.
    anchors: Vec<MethodAnchor>,
    /// A bit for each key.
    filter: u64,
}

impl Methods {
    /// None.
    pub const fn new() -> Self {
        Self {
            anchors: Vec::new(),
            filter: 0,
        }
    }

    /// These, which stand in order.
    pub fn of(anchors: Vec<MethodAnchor>) -> Self {
        Self {
            filter: anchors.iter().fold(0, |bits, one| bits | bit(one.site_key)),
            anchors,
        }
    }

    /// A bit for each of them, by which hooks leave out nearly all others.
    pub const fn filter(&self) -> u64 {
        self.filter
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.anchors.is_empty()
    }

    /// What the plan calls the function whose entry has this key, on what has the type of this
    /// key, which is asked for only if it matters.
    fn number(&self, site_key: u64, receiver: impl Fn() -> u64) -> Option<u32> {
        if self.filter & bit(site_key) == 0 {
            return None;
        }
        let first = self.anchors.partition_point(|one| one.site_key < site_key);
        let mut same = self.anchors[first..]
            .iter()
            .take_while(|one| one.site_key == site_key);
        same.find(|one| one.receiver == 0 || one.receiver == receiver())
            .map(|one| one.number)
    }
}

fn bit(site_key: u64) -> u64 {
    1 << (site_key & 63)
}

/// What the plan calls the function with this entry.
#[inline(always)]
fn number_of(site: SiteId) -> Option<u32> {
    let methods = &world().orders.methods;
    if methods.is_empty() || site == 0 {
        return None;
    }
    methods.number(site_key(site), || receiver(site))
}

/// The key of the type that a method is called on; 0 if its entry does not tell.
fn receiver(site: SiteId) -> u64 {
    let site = site as usize as *const FunctionSite;
    // SAFETY: hooks of entries and exits pass records of the program's image that have types.
    let (bits, types) = unsafe { ((*site).site.flags, (*site).types) };
    if bits & flags::METHOD == 0 {
        return 0;
    }
    // SAFETY: instrumentation ends it with a NUL.
    let types = unsafe { CStr::from_ptr(types) }.to_bytes();
    let first = types.split(|byte| *byte == b'\n').next();
    key::of(first.unwrap_or_default())
}

/// An execution begins.
pub fn begin() {
    if !world().orders.methods.is_empty() {
        activations::clear();
    }
}

/// The running thread enters a function.
pub fn enter(site: SiteId) {
    if let Some(number) = number_of(site) {
        settle();
        if marks::has_room() && activations::enter(site) {
            marks::put(kind::ENTER, number, &[]);
        }
    }
}

/// The running thread leaves a function.
pub fn leave(site: SiteId) {
    if number_of(site).is_some() && is_in(site) {
        left(site);
        activations::leave();
    }
}

/// The running thread goes on in a function, after something that it called has unwound.
pub fn landed(site: SiteId) {
    if number_of(site).is_some() {
        is_in(site);
    }
}

/// Whether the running thread is in a function that it was seen to enter; what that called is over.
fn is_in(site: SiteId) -> bool {
    settle();
    activations::resume(site, left)
}

/// Marks the ends of what is over in the running thread.
#[inline(always)]
pub fn settle() {
    if !world().orders.methods.is_empty() {
        activations::settle(left);
    }
}

/// The running thread ends, wherever it is.
pub fn leave_all() {
    if !world().orders.methods.is_empty() {
        activations::leave_all(left);
    }
}

fn left(site: SiteId) {
    if let Some(number) = number_of(site) {
        marks::put(kind::LEAVE, number, &[]);
    }
}

#[cfg(test)]
mod tests {
    use super::{MethodAnchor, Methods};
    use alloc::vec;

    #[test]
    fn functions_of_one_path_are_told_apart_by_their_receivers() {
        let anchor = |site_key, receiver, number| MethodAnchor {
            site_key,
            receiver,
            number,
            reserved: 0,
        };
        let anchors = vec![anchor(3, 0, 30), anchor(64, 7, 40), anchor(64, 8, 50)];
        let methods = Methods::of(anchors);
        assert_eq!(methods.number(3, || 9), Some(30));
        assert_eq!(methods.number(64, || 7), Some(40));
        assert_eq!(methods.number(64, || 8), Some(50));
        assert_eq!(methods.number(64, || 9), None);
        // Another key with the same bit.
        assert_eq!(methods.number(0, || 7), None);
        assert_eq!(methods.number(67, || 9), None);
        assert_eq!(Methods::new().number(3, || 9), None);
    }
}
