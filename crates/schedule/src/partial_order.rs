//! A hash over the partial order of the conflicting operations of an execution so far.
//!
//! Two beginnings of executions that order conflicting operations in the same way have the
//! same hash, in whatever order the others stand. Addresses do not take part: what a thread
//! does next follows from its past.
//!
//! Steps can be taken back: a search that repeats the beginning of an execution need not work it
//! out again.

use crate::last_writes::LastWrites;
use crate::rng::mix;
use crate::strategy::{Expiry, Pending};
use alloc::vec::Vec;
use raddle_abi::site::Operation;

/// Addresses that differ only in these low bits are one object.
pub const OBJECT_BITS: u32 = 4;
/// Stands for all that is not in memory.
const WORLD: usize = usize::MAX;
/// The address that a look at the clock reads, and a deadline that passes writes. No object stands there.
pub const CLOCK: usize = usize::MAX << OBJECT_BITS;

/// See the module's description.
#[derive(Default)]
pub struct PartialOrder {
    /// By [`place`].
    threads: Vec<Past>,
    objects: LastWrites<Object>,
    /// Combines the threads' pasts; their order does not matter.
    sum: u64,
    /// What each step has replaced.
    steps: Vec<Step>,
}

/// What was there before a step.
struct Step {
    thread: usize,
    past: Past,
    sum: u64,
    about: Option<(usize, Object)>,
    clock: Option<Object>,
}

/// The past of a thread.
#[derive(Clone, Copy)]
struct Past {
    /// Of its last operation, mixed with its number; that of a new thread if there was none.
    own: u64,
    /// What it adds to the sum.
    share: u64,
}

impl Past {
    fn of_new(thread: usize) -> Self {
        Self {
            own: mix(salt(thread)),
            share: 0,
        }
    }

    fn behind(event: u64, thread: usize) -> Self {
        Self {
            own: mix(event ^ salt(thread)),
            share: mix(event ^ !salt(thread)),
        }
    }
}

/// Tells threads apart; what it goes into is mixed.
const fn salt(thread: usize) -> u64 {
    (thread as u64)
        .wrapping_add(1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Where the past of a thread stands; that of [`PartialOrder::TIME`] is the first.
const fn place(thread: usize) -> usize {
    thread.wrapping_add(1)
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
    /// Stands for time among the threads.
    pub const TIME: usize = usize::MAX;

    /// A deadline passes: who waits for it goes on after that, and who would have woken it comes
    /// before or after.
    pub const fn expiry(expiry: &Expiry) -> Pending {
        Pending {
            operation: Operation::Sleep,
            write: true,
            address: expiry.object,
            ..Pending::UNKNOWN
        }
    }

    /// Forgets all steps, and with which addresses they were made.
    pub fn clear(&mut self) {
        self.threads.clear();
        self.objects.clear();
        self.steps.clear();
        self.sum = 0;
    }

    /// Whether there are no steps.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Steps so far.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Takes back all steps but the first `count`.
    pub fn back_to(&mut self, count: usize) {
        while self.steps.len() > count
            && let Some(step) = self.steps.pop()
        {
            self.threads[place(step.thread)] = step.past;
            self.sum = step.sum;
            if let Some(clock) = step.clock {
                self.objects.set(CLOCK >> OBJECT_BITS, clock);
            }
            if let Some((place, object)) = step.about {
                self.objects.set(place, object);
            }
        }
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

    /// Whether an operation may turn out to change nothing: to exchange a value for itself, or to find a
    /// lock taken.
    pub fn is_attempt(pending: &Pending) -> bool {
        use Operation::{AtomicCas, AtomicRmw, LockWant};
        matches!(pending.operation, AtomicCas | AtomicRmw | LockWant)
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

    fn past(&self, thread: usize) -> Past {
        let past = self.threads.get(place(thread)).copied();
        past.unwrap_or_else(|| Past::of_new(thread))
    }

    fn about(&self, object: Option<usize>) -> Object {
        object.map_or_else(Object::default, |object| self.objects.get(object))
    }

    /// What was read from the clock, if it is time that goes on.
    fn clock(&self, thread: usize) -> Option<Object> {
        (thread == Self::TIME).then(|| self.objects.get(CLOCK >> OBJECT_BITS))
    }

    /// The hash of an operation with all that comes before it.
    fn event(past: Past, object: Object, is_write: bool, clock: Option<Object>) -> u64 {
        let looks = clock.map_or(0, |clock| clock.read);
        let seen = match is_write {
            true => object.written ^ mix(object.read),
            false => object.written,
        };
        mix(past.own.wrapping_add(seen.rotate_left(17)) ^ looks) | 1
    }

    /// The hash after `thread` has done what it stands before.
    pub fn after(&self, thread: usize, pending: &Pending) -> u64 {
        let past = self.past(thread);
        let object = self.about(Self::object(pending));
        let event = Self::event(past, object, Self::is_write(pending), self.clock(thread));
        self.sum
            .wrapping_sub(past.share)
            .wrapping_add(Past::behind(event, thread).share)
    }

    /// `thread` does what it stands before.
    pub fn step(&mut self, thread: usize, pending: &Pending) {
        let past = self.past(thread);
        let about = Self::object(pending);
        let mut object = self.about(about);
        let is_write = Self::is_write(pending);
        let clock = self.clock(thread);
        let event = Self::event(past, object, is_write, clock);
        let next = Past::behind(event, thread);
        self.steps.push(Step {
            thread,
            past,
            sum: self.sum,
            about: about.map(|about| (about, object)),
            clock,
        });
        self.sum = self.sum.wrapping_sub(past.share).wrapping_add(next.share);
        while self.threads.len() <= place(thread) {
            let number = self.threads.len().wrapping_sub(1);
            self.threads.push(Past::of_new(number));
        }
        self.threads[place(thread)] = next;
        if clock.is_some() {
            let passed = Object {
                written: event,
                read: 0,
            };
            self.objects.set(CLOCK >> OBJECT_BITS, passed);
        }
        let Some(about) = about else {
            return;
        };
        match is_write {
            true => {
                object = Object {
                    written: event,
                    read: 0,
                };
            }
            false => object.read = object.read.wrapping_add(mix(event)),
        }
        self.objects.set(about, object);
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
        let sum = order.sum;
        // Taken back and made again, steps come to the same.
        for count in 0..steps.len() {
            order.back_to(count);
            assert_eq!(order.len(), count);
            for &(thread, write, address) in &steps[count..] {
                order.step(thread, &operation(write, address));
            }
            assert_eq!(order.sum, sum);
        }
        sum
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

    #[test]
    fn looks_at_the_clock_come_before_or_after_deadlines() {
        let (first, second) = ((0, false, CLOCK), (1, false, CLOCK));
        let passes = (PartialOrder::TIME, true, 64);
        assert_eq!(hash(&[first, second]), hash(&[second, first]));
        assert_ne!(hash(&[first, passes]), hash(&[passes, first]));
        assert_ne!(
            hash(&[first, passes, second]),
            hash(&[first, second, passes])
        );
        assert_ne!(
            hash(&[passes, first, passes]),
            hash(&[passes, passes, first])
        );
    }
}
