//! What can be wrong with an execution, one file each.
//!
//! An oracle looks at an execution while it runs or when it ends, and writes a finding
//! through [`crate::findings::Record`]. A new oracle is a file here and a call in the place
//! that it watches: [`crate::hooks`] for operations, [`crate::host`] for ends.

pub mod clocks;
pub mod conflicts;
pub mod crash;
pub mod deadlock;
pub mod heap;
pub mod livelock;
mod overflow;
pub mod panic;
pub mod places;
pub mod race;
pub mod shadow;
pub mod stacks;

/// A key for a finding within one campaign: kind and sites.
pub fn key(kind: raddle_abi::finding::Kind, a: u64, b: u64) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325 ^ (kind as u64 + 1);
    for value in [a.min(b), a.max(b)] {
        hash = (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^= hash >> 29;
    }
    hash
}
