//! A hash over the partial order of the conflicting operations of an execution so far.
//!
//! Two beginnings of executions that order conflicting operations in the same way have the
//! same hash, in whatever order the others stand. Addresses do not take part: what a thread
//! does next follows from its past.

use crate::rng::mix;
use crate::strategy::Pending;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use raddle_abi::site::Operation;

/// Addresses that differ only in these low bits are one object.
const OBJECT_BITS: u32 = 4;
/// Stands for all that is not in memory.
const WORLD: usize = usize::MAX;

/// See the module's description.
#[derive(Default)]
pub struct PartialOrder {
    /// The past of each thread.
    threads: Vec<u64>,
    objects: BTreeMap<usize, Object>,
    /// Combines the threads' pasts; their order does not matter.
    sum: u64,
}

/// The past of what threads conflict about.
#[derive(Clone, Copy, Default)]
struct Object {
    /// Of the last write.
    written: u64,
    /// Of the reads since then, in any order.
    read: u64,
}

impl PartialOrder {
    /// An execution begins.
    pub fn clear(&mut self) {
        self.threads.clear();
        self.objects.clear();
        self.sum = 0;
    }

    /// Whether an operation may change what others see.
    pub fn is_write(pending: &Pending) -> bool {
        use Operation::{AtomicLoad, Fence, Read, Start, Unknown, VolatileRead, Yield};
        match pending.operation {
            Unknown | Start | Fence | Yield => false,
            // Even one that changes nothing may have a place in a queue.
            Read | AtomicLoad | VolatileRead => pending.write,
            _ => true,
        }
    }

    /// The object that an operation is about; none for what concerns its thread alone.
    fn object(pending: &Pending) -> Option<usize> {
        use Operation::{Fence, Spawn, Start, Unknown, Yield};
        match (pending.operation, pending.address) {
            (Spawn, _) => Some(WORLD),
            (Unknown | Start | Fence | Yield, 0) => None,
            (_, 0) => Some(WORLD),
            (_, address) => Some(address >> OBJECT_BITS),
        }
    }

    fn past(&self, thread: usize) -> u64 {
        self.threads.get(thread).copied().unwrap_or(0)
    }

    fn share(thread: usize, past: u64) -> u64 {
        match past {
            0 => 0,
            past => mix(past ^ mix(thread as u64 + 1)),
        }
    }

    /// The hash of an operation with all that comes before it.
    fn event(&self, thread: usize, pending: &Pending) -> u64 {
        let object = Self::object(pending).and_then(|object| self.objects.get(&object));
        let object = object.copied().unwrap_or_default();
        let seen = match Self::is_write(pending) {
            true => object.written ^ mix(object.read),
            false => object.written,
        };
        let own = mix(self.past(thread) ^ mix(thread as u64));
        mix(own.wrapping_add(seen.rotate_left(17))) | 1
    }

    /// The hash after `thread` has done what it stands before.
    pub fn after(&self, thread: usize, pending: &Pending) -> u64 {
        self.sum
            .wrapping_sub(Self::share(thread, self.past(thread)))
            .wrapping_add(Self::share(thread, self.event(thread, pending)))
    }

    /// `thread` does what it stands before.
    pub fn step(&mut self, thread: usize, pending: &Pending) {
        let event = self.event(thread, pending);
        self.sum = self.after(thread, pending);
        if self.threads.len() <= thread {
            self.threads.resize(thread + 1, 0);
        }
        self.threads[thread] = event;
        if let Some(object) = Self::object(pending) {
            let object = self.objects.entry(object).or_default();
            match Self::is_write(pending) {
                true => {
                    *object = Object {
                        written: event,
                        read: 0,
                    };
                }
                false => object.read = object.read.wrapping_add(mix(event)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(write: bool, address: usize) -> Pending {
        Pending {
            operation: if write {
                Operation::AtomicStore
            } else {
                Operation::AtomicLoad
            },
            write,
            address,
            ..Pending::UNKNOWN
        }
    }

    fn hash(steps: &[(usize, bool, usize)]) -> u64 {
        let mut order = PartialOrder::default();
        for &(thread, write, address) in steps {
            let pending = operation(write, address);
            let after = order.after(thread, &pending);
            order.step(thread, &pending);
            assert_eq!(after, order.sum);
        }
        order.sum
    }

    #[test]
    fn only_the_order_of_conflicts_matters() {
        let (write, read, other) = ((0, true, 64), (1, false, 64), (2, true, 128));
        assert_eq!(hash(&[write, read, other]), hash(&[other, write, read]));
        assert_ne!(hash(&[write, read]), hash(&[read, write]));
        let second = (2, false, 64);
        assert_eq!(hash(&[write, read, second]), hash(&[write, second, read]));
        assert_ne!(
            hash(&[read, second, (3, true, 64)]),
            hash(&[read, (3, true, 64), second])
        );
        assert_ne!(hash(&[write]), hash(&[write, write]));
    }
}
