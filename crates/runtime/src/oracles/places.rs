//! Where threads have been since anything changed.
//!
//! A set of hashes as one bit each. Two places may share a bit, so that a new place now and
//! then looks like an old one. A thread that gets on comes to many new places, and one that is
//! seen is enough.

use alloc::vec::Vec;
use raddle_abi::site::SiteId;

/// Where a thread stands.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Which thread.
    pub thread: usize,
    /// What it stands before.
    pub site: SiteId,
    /// Its last atomic operation that changed nothing: site, address, and value read.
    pub read: (SiteId, usize, u64),
}

impl Place {
    fn hash(&self) -> u64 {
        let (site, address, value) = self.read;
        let parts = [
            self.thread as u64,
            u64::from(self.site),
            u64::from(site),
            address as u64,
            value,
        ];
        parts.iter().fold(0, |hash: u64, part| {
            let hash = (hash.rotate_left(5) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            hash ^ hash >> 32
        })
    }
}

/// Places that were visited.
#[derive(Clone, Debug, Default)]
pub struct Places {
    bits: Vec<u64>,
    /// The change since which they were.
    since: u64,
}

impl Places {
    /// Words of the set: at a few hundred thousand places, most bits are still free.
    const WORDS: usize = 1 << 16;

    /// No places.
    pub const fn new() -> Self {
        Self {
            bits: Vec::new(),
            since: 0,
        }
    }

    /// Notes a place down, and returns whether it is new since the change at point `since`.
    pub fn visit(&mut self, place: Place, since: u64) -> bool {
        if self.bits.is_empty() || self.since != since {
            self.forget();
            self.bits.resize(Self::WORDS, 0);
            self.since = since;
        }
        let bit = place.hash() as usize % (Self::WORDS * 64);
        let word = &mut self.bits[bit / 64];
        let was = *word;
        *word |= 1 << (bit % 64);
        *word != was
    }

    /// Forgets all of them.
    pub fn forget(&mut self) {
        self.bits.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(thread: usize, address: usize, value: u64) -> Place {
        Place {
            thread,
            site: 7,
            read: (7, address, value),
        }
    }

    #[test]
    fn who_goes_round_comes_to_no_new_place() {
        let mut places = Places::new();
        let round = || (0..1000).map(|step| at(step % 3, 0x1000 + step % 7 * 8, 1));
        assert!(round().any(|place| places.visit(place, 5)));
        for place in round() {
            places.visit(place, 5);
        }
        assert!(!round().any(|place| places.visit(place, 5)));
    }

    #[test]
    fn who_walks_along_a_list_comes_to_new_places() {
        let mut places = Places::new();
        let walk = |steps: core::ops::Range<usize>| steps.map(|step| at(0, 0x1000 + step * 64, 1));
        for place in walk(0..200_000) {
            places.visit(place, 5);
        }
        let new = walk(200_000..400_000)
            .filter(|place| places.visit(*place, 5))
            .count();
        assert!(new > 150_000, "{new}");
    }

    #[test]
    fn another_value_makes_a_place_new() {
        let mut places = Places::new();
        assert!(places.visit(at(0, 0x1000, 1), 5));
        assert!(!places.visit(at(0, 0x1000, 1), 5));
        assert!(places.visit(at(0, 0x1000, 2), 5));
        assert!(places.visit(at(1, 0x1000, 1), 5));
    }

    #[test]
    fn a_change_makes_all_places_new() {
        let mut places = Places::new();
        assert!(places.visit(at(0, 0x1000, 1), 5));
        assert!(places.visit(at(0, 0x1000, 1), 6));
    }
}
