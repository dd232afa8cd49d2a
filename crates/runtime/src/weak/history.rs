//! Which stores an atomic load may read from, by the memory model of C++20.
//!
//! Executions run in one order, which is the modification order of every object and the order S
//! of sequentially consistent operations. A load may read a store that is not the newest one if
//! nothing tells its thread of a later one: no store that happens before the load, or was read by
//! what happens before it (coherence), no later store that S puts before it ([atomics.order] 4).
//! What a thread knows is its row of vector clocks, in which a sequentially consistent fence also
//! learns what all such fences before it knew. These clocks are apart from those of the race
//! oracle, for which a fence by itself orders nothing.
//!
//! After Lidbury and Donaldson, Dynamic race detection for C++11 (POPL 2017), with the order S of
//! C++20. Known imprecision, always on the side of fewer old values:
//!
//! 1. Stores become part of the modification order when they are executed, loads read what is
//!    there: the weak outcomes of 2+2W and load buffering do not show.
//! 2. S is the order of execution.
//! 3. Read-modify-writes, failed ones too, read the newest store. Those that are sequentially
//!    consistent are fences, as they are on the processor: crates rely on it there.
//! 4. A few stores per object are remembered, and all is forgotten where an object is touched in
//!    another way.

use crate::oracles::clocks::Clocks;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use raddle_abi::hooks::order;

/// Stores of an object that are remembered.
const DEPTH: usize = 8;
/// Threads whose reads of one store are remembered.
const READERS: usize = 64;
/// Fences that are remembered.
const FENCES: usize = 64;
/// Most bytes of an atomic object.
const WIDEST: usize = 8;
/// As [`Store::ordered`]: no sequentially consistent operation has written or read it.
const NEVER: u64 = u64::MAX;

/// A moment of a thread.
#[derive(Clone, Copy)]
struct Moment {
    slot: usize,
    time: u32,
}

/// One store to an object.
struct Store {
    value: u64,
    /// When it was made.
    sequence: u64,
    writer: Moment,
    /// When a sequentially consistent operation first wrote or read it.
    ordered: u64,
    /// The first read of each thread that has read it.
    readers: Vec<Moment>,
    /// What somebody who reads and acquires it learns.
    released: Vec<u32>,
    /// The same for the race oracle.
    released_to_oracle: Vec<u32>,
}

/// The last stores to an object, oldest first. Never empty.
struct Object {
    size: u32,
    stores: Vec<Store>,
}

/// A sequentially consistent fence.
struct Fence {
    sequence: u64,
    moment: Moment,
}

/// What was stored, and who knows of it.
pub struct History {
    views: Clocks,
    objects: BTreeMap<usize, Object>,
    /// Counts what S orders, and stores.
    sequence: u64,
    /// Of each slot, up to when it knows of every store.
    fresh: Vec<u64>,
    /// What sequentially consistent fences knew.
    fenced: Vec<u32>,
    fences: Vec<Fence>,
    /// The last fence that is not remembered any more.
    forgotten: u64,
}

/// An object, and who looks at it.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// Clock slot of the thread.
    pub slot: usize,
    /// Where the object is.
    pub address: usize,
    /// Its bytes.
    pub size: u32,
    /// What it holds before the access.
    pub current: u64,
    /// Memory order.
    pub order: u32,
}

impl Access {
    const fn is_ordered(&self) -> bool {
        self.order == order::SEQ_CST
    }
}

impl History {
    /// Without memory yet.
    pub const fn new() -> Self {
        Self {
            views: Clocks::new(),
            objects: BTreeMap::new(),
            sequence: 0,
            fresh: Vec::new(),
            fenced: Vec::new(),
            fences: Vec::new(),
            forgotten: 0,
        }
    }

    /// Maps memory.
    pub fn set_up(&mut self) {
        self.views.set_up();
    }

    /// Starts an execution with `threads` threads that are not ordered with each other.
    pub fn begin(&mut self, threads: usize) {
        self.views.begin(threads);
        self.objects.clear();
        self.sequence = 0;
        self.fresh.clear();
        self.fenced.clear();
        self.fences.clear();
        self.forgotten = 0;
    }

    /// A thread starts another one; returns the new one's slot.
    pub fn spawn(&mut self, parent: usize) -> usize {
        let slot = self.views.spawn(parent);
        // Who had the slot before may have known more.
        if let Some(fresh) = self.fresh.get_mut(slot) {
            *fresh = 0;
        }
        slot
    }

    /// A thread has waited for the end of another one.
    pub fn join(&mut self, waiter: usize, ended: usize) {
        self.views.join(waiter, ended);
    }

    /// The thread comes after whoever has released an object that is no atomic one.
    pub fn acquire(&mut self, slot: usize, object: usize) {
        self.views.load(slot, object, order::ACQUIRE);
    }

    /// The thread comes before whoever acquires an object that is no atomic one.
    pub fn release(&mut self, slot: usize, object: usize, too: bool) {
        if too {
            self.views.modify(slot, object, order::RELEASE);
        } else {
            self.views.store(slot, object, order::RELEASE);
        }
    }

    /// From now on the thread reads no store that is older than the newest one as of now.
    pub fn refresh(&mut self, slot: usize) {
        if self.fresh.len() <= slot {
            self.fresh.resize(slot + 1, 0);
        }
        self.fresh[slot] = self.sequence;
    }

    /// These bytes are touched in another way than by atomic operations.
    pub fn forget(&mut self, address: usize, len: usize) {
        let end = address.saturating_add(len);
        let from = address.saturating_sub(WIDEST - 1);
        while let Some(found) = self
            .objects
            .range(from..end)
            .find(|(start, object)| **start + object.size as usize > address)
            .map(|(start, _)| *start)
        {
            self.objects.remove(&found);
        }
    }

    /// Nothing is known of any store.
    pub fn forget_all(&mut self) {
        self.objects.clear();
    }

    /// Makes sure that an object is there and holds what memory does.
    fn meet(&mut self, access: &Access, oracle: impl Fn(usize) -> Vec<u32>) {
        let Access { slot, address, .. } = *access;
        let known = self.objects.get(&address);
        let newest = known
            .filter(|object| object.size == access.size)
            .and_then(|object| object.stores.last());
        if newest.is_some_and(|store| store.value == access.current) {
            return;
        }
        if newest.is_some() {
            // Somebody has stored unseen, and may have told the thread more by that.
            self.refresh(slot);
        }
        self.forget(address, access.size as usize);
        let first = Store {
            value: access.current,
            sequence: 0,
            writer: Moment { slot: 0, time: 0 },
            ordered: NEVER,
            readers: Vec::new(),
            released: self.views.released(address).to_vec(),
            released_to_oracle: oracle(address),
        };
        let object = Object {
            size: access.size,
            stores: Vec::from([first]),
        };
        self.objects.insert(address, object);
    }

    /// How many of the last stores a load may read from. `oracle` tells what the race oracle
    /// thinks that an object has released.
    pub fn choices(&mut self, access: &Access, oracle: impl Fn(usize) -> Vec<u32>) -> usize {
        self.meet(access, oracle);
        let Some(object) = self.objects.get(&access.address) else {
            return 1;
        };
        let older = object.stores.iter().rev();
        let known = older.take_while(|store| !self.knows_of(access, store));
        (known.count() + 1).min(object.stores.len())
    }

    /// Whether who loads may read no store that is older than this one.
    fn knows_of(&self, access: &Access, store: &Store) -> bool {
        let fresh = self.fresh.get(access.slot).copied().unwrap_or(0);
        let knows = |moment: &Moment| {
            self.has_seen(access.slot, moment) || access.is_ordered() && self.is_fenced(moment)
        };
        self.views.exhausted
            || store.sequence <= fresh
            || knows(&store.writer)
            || store.readers.iter().any(knows)
            || store.ordered != NEVER
                && (access.is_ordered() || self.is_behind_fence(access.slot, store.ordered))
    }

    fn has_seen(&self, slot: usize, moment: &Moment) -> bool {
        self.views.has_seen(slot, moment.slot, moment.time)
    }

    /// Whether a moment happens before a sequentially consistent fence that was executed.
    fn is_fenced(&self, moment: &Moment) -> bool {
        let time = self.fenced.get(moment.slot);
        time.is_some_and(|time| *time >= moment.time)
    }

    /// Whether the thread comes after a sequentially consistent fence that was executed later
    /// than `sequence`.
    fn is_behind_fence(&self, slot: usize, sequence: u64) -> bool {
        let later = |fence: &&Fence| fence.sequence > sequence;
        self.forgotten > sequence
            || (self.fences.iter().rev().take_while(later))
                .any(|fence| self.has_seen(slot, &fence.moment))
    }

    /// A load reads the store that lies `age` before the newest one. Returns its value, and what
    /// the race oracle has to learn unless the store is the newest.
    pub fn read(&mut self, access: &Access, age: usize) -> (u64, &[u32]) {
        self.sequence += 1;
        let moment = Moment {
            slot: access.slot,
            time: self.views.time(access.slot),
        };
        let stores = match self.objects.get_mut(&access.address) {
            Some(object) => &mut object.stores,
            None => return (access.current, &[]),
        };
        let Some(mut index) = stores.len().checked_sub(age + 1) else {
            return (access.current, &[]);
        };
        if stores[index].readers.len() >= READERS {
            // Too many to remember: all count as knowing of it.
            stores.drain(..index);
            index = 0;
        }
        let store = &mut stores[index];
        let reader = |known: &Moment| known.slot == moment.slot;
        if store.readers.len() < READERS && !store.readers.iter().any(reader) {
            store.readers.push(moment);
        }
        if access.is_ordered() {
            store.ordered = store.ordered.min(self.sequence);
        }
        if age == 0 {
            self.views.load(access.slot, access.address, access.order);
        } else {
            self.views
                .load_released(access.slot, &store.released, access.order);
        }
        (store.value, &store.released_to_oracle)
    }

    /// A store of `value`.
    pub fn store(&mut self, access: &Access, value: u64, oracle: impl Fn(usize) -> Vec<u32>) {
        self.meet(access, oracle);
        let time = self.views.time(access.slot);
        self.views.store(access.slot, access.address, access.order);
        self.append(access, value, time);
    }

    /// A read-modify-write that writes `value`.
    pub fn modify(&mut self, access: &Access, value: u64, oracle: impl Fn(usize) -> Vec<u32>) {
        self.meet(access, oracle);
        let time = self.views.time(access.slot);
        self.views.modify(access.slot, access.address, access.order);
        self.append(access, value, time);
        if access.is_ordered() {
            self.fence(access.slot, order::SEQ_CST);
        }
    }

    fn append(&mut self, access: &Access, value: u64, time: u32) {
        self.sequence += 1;
        let released = self.views.released(access.address).to_vec();
        let Some(object) = self.objects.get_mut(&access.address) else {
            return;
        };
        if object.stores.len() == DEPTH {
            object.stores.remove(0);
        }
        object.stores.push(Store {
            value,
            sequence: self.sequence,
            writer: Moment {
                slot: access.slot,
                time,
            },
            ordered: if access.is_ordered() {
                self.sequence
            } else {
                NEVER
            },
            readers: Vec::new(),
            released,
            released_to_oracle: Vec::new(),
        });
    }

    /// What the race oracle thinks that the newest store has released.
    pub fn released_to_oracle(&mut self, address: usize, released: &[u32]) {
        let object = self.objects.get_mut(&address);
        if let Some(store) = object.and_then(|object| object.stores.last_mut()) {
            store.released_to_oracle = released.to_vec();
        }
    }

    /// A fence.
    pub fn fence(&mut self, slot: usize, memory_order: u32) {
        if memory_order != order::SEQ_CST {
            return self.views.fence(slot, memory_order);
        }
        self.views.fence(slot, order::ACQUIRE);
        self.views.merge(slot, &self.fenced);
        self.fenced = self.views.row(slot);
        self.sequence += 1;
        if self.fences.len() == FENCES {
            self.forgotten = self.fences.remove(0).sequence;
        }
        self.fences.push(Fence {
            sequence: self.sequence,
            moment: Moment {
                slot,
                time: self.views.time(slot),
            },
        });
        self.views.fence(slot, order::RELEASE);
    }
}

impl Default for History {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
