//! Litmus tests on the history alone. A thread is its slot; the newest value is kept here.

use super::*;
use std::collections::HashMap;

const X: usize = 0x1000;
const Y: usize = 0x1008;

use raddle_abi::hooks::order::{ACQ_REL, ACQUIRE, RELAXED, RELEASE, SEQ_CST};

struct Machine {
    history: History,
    memory: HashMap<usize, u64>,
}

/// Four threads, and memory that is zero.
fn machine() -> Machine {
    let mut history = History::new();
    history.set_up();
    history.begin(4);
    Machine {
        history,
        memory: HashMap::new(),
    }
}

impl Machine {
    fn access(&self, slot: usize, address: usize, order: u32) -> Access {
        Access {
            slot,
            address,
            size: 8,
            current: self.memory.get(&address).copied().unwrap_or(0),
            order,
        }
    }

    fn store(&mut self, slot: usize, address: usize, value: u64, order: u32) {
        let access = self.access(slot, address, order);
        self.history.store(&access, value, |_| Vec::new());
        self.memory.insert(address, value);
    }

    fn add(&mut self, slot: usize, address: usize, order: u32) {
        let access = self.access(slot, address, order);
        let value = access.current + 1;
        self.history.modify(&access, value, |_| Vec::new());
        self.memory.insert(address, value);
    }

    /// How many values a load may read.
    fn choices(&mut self, slot: usize, address: usize, order: u32) -> usize {
        let access = self.access(slot, address, order);
        self.history.choices(&access, |_| Vec::new())
    }

    /// Loads the oldest value that may be read.
    fn load(&mut self, slot: usize, address: usize, order: u32) -> u64 {
        let oldest = self.choices(slot, address, order) - 1;
        self.load_aged(slot, address, order, oldest)
    }

    fn load_aged(&mut self, slot: usize, address: usize, order: u32, age: usize) -> u64 {
        let access = self.access(slot, address, order);
        assert!(age < self.choices(slot, address, order));
        self.history.read(&access, age).0
    }

    fn newest(&mut self, slot: usize, address: usize, order: u32) -> u64 {
        self.load_aged(slot, address, order, 0)
    }

    fn fence(&mut self, slot: usize, order: u32) {
        self.history.fence(slot, order);
    }
}

#[test]
fn store_buffering_shows_unless_it_is_ordered() {
    for (order, is_seen) in [(RELAXED, 0), (ACQ_REL, 0), (SEQ_CST, 1)] {
        let (store, load) = match order {
            ACQ_REL => (RELEASE, ACQUIRE),
            order => (order, order),
        };
        let mut machine = machine();
        machine.store(0, X, 1, store);
        machine.store(1, Y, 1, store);
        assert_eq!(machine.load(0, Y, load), is_seen);
        assert_eq!(machine.load(1, X, load), is_seen);
    }
}

#[test]
fn an_ordered_store_alone_does_not_prevent_store_buffering() {
    let mut machine = machine();
    machine.store(0, X, 1, SEQ_CST);
    machine.store(1, Y, 1, SEQ_CST);
    assert_eq!(machine.load(0, Y, ACQUIRE), 0);
    assert_eq!(machine.load(1, X, ACQUIRE), 0);
}

#[test]
fn fences_between_store_and_load_prevent_store_buffering() {
    let mut both = machine();
    both.store(0, X, 1, RELAXED);
    both.store(1, Y, 1, RELAXED);
    both.fence(0, SEQ_CST);
    both.fence(1, SEQ_CST);
    // The first fence comes before the second store's fence.
    assert_eq!(both.load(0, Y, RELAXED), 0);
    assert_eq!(both.load(1, X, RELAXED), 1);
    let mut one = machine();
    one.store(0, X, 1, RELAXED);
    one.store(1, Y, 1, RELAXED);
    one.fence(1, SEQ_CST);
    assert_eq!(one.load(0, Y, RELAXED), 0);
    assert_eq!(one.load(1, X, RELAXED), 0);
    let mut weaker = machine();
    weaker.store(0, X, 1, RELAXED);
    weaker.store(1, Y, 1, RELAXED);
    weaker.fence(0, ACQ_REL);
    weaker.fence(1, ACQ_REL);
    assert_eq!(weaker.load(1, X, RELAXED), 0);
}

#[test]
fn ordered_updates_are_fences() {
    let mut machine = machine();
    machine.store(0, X, 1, RELAXED);
    machine.add(0, 0x2000, SEQ_CST);
    machine.store(1, Y, 1, RELAXED);
    machine.add(1, 0x2008, SEQ_CST);
    assert_eq!(machine.load(1, X, RELAXED), 1);
}

#[test]
fn messages_need_release_and_acquire() {
    for (store, load, data) in [
        (RELAXED, ACQUIRE, 0),
        (RELEASE, RELAXED, 0),
        (RELEASE, ACQUIRE, 1),
    ] {
        let mut machine = machine();
        machine.store(0, X, 1, RELAXED);
        machine.store(0, Y, 1, store);
        assert_eq!(machine.newest(1, Y, load), 1);
        assert_eq!(machine.load(1, X, RELAXED), data);
    }
    let mut machine = machine();
    machine.store(0, X, 1, RELAXED);
    machine.fence(0, RELEASE);
    machine.store(0, Y, 1, RELAXED);
    assert_eq!(machine.newest(1, Y, RELAXED), 1);
    machine.fence(1, ACQUIRE);
    assert_eq!(machine.load(1, X, RELAXED), 1);
}

#[test]
fn an_old_value_carries_what_its_own_store_released() {
    let mut machine = machine();
    machine.store(0, X, 1, RELAXED);
    machine.store(0, Y, 1, RELEASE);
    machine.store(0, X, 2, RELAXED);
    machine.store(0, Y, 2, RELEASE);
    assert_eq!(machine.load_aged(1, Y, ACQUIRE, 1), 1);
    assert_eq!(machine.load(1, X, RELAXED), 1);
}

#[test]
fn release_sequences_go_on_through_updates() {
    let mut machine = machine();
    machine.store(0, X, 1, RELAXED);
    machine.store(0, Y, 1, RELEASE);
    machine.add(2, Y, RELAXED);
    assert_eq!(machine.newest(1, Y, ACQUIRE), 2);
    assert_eq!(machine.load(1, X, RELAXED), 1);
    machine.store(2, Y, 9, RELAXED);
    assert_eq!(machine.newest(3, Y, ACQUIRE), 9);
    assert_eq!(machine.load(3, X, RELAXED), 0);
}

#[test]
fn reads_of_one_object_never_go_back() {
    let mut machine = machine();
    machine.store(0, X, 1, RELAXED);
    machine.store(0, X, 2, RELAXED);
    assert_eq!(machine.choices(1, X, RELAXED), 3);
    assert_eq!(machine.load_aged(1, X, RELAXED, 1), 1);
    assert_eq!(machine.choices(1, X, RELAXED), 2);
    // Nor those of a thread that the reader has told.
    machine.store(1, Y, 1, RELEASE);
    assert_eq!(machine.newest(2, Y, ACQUIRE), 1);
    assert_eq!(machine.load(2, X, RELAXED), 1);
    assert_eq!(machine.load(3, X, RELAXED), 0);
    assert_eq!(machine.load(0, X, RELAXED), 2);
}

#[test]
fn independent_reads_agree_if_they_are_ordered() {
    for (load, last) in [(ACQUIRE, 0), (SEQ_CST, 1)] {
        let mut machine = machine();
        machine.store(0, X, 1, RELEASE);
        machine.store(1, Y, 1, RELEASE);
        assert_eq!(machine.newest(2, X, load), 1);
        assert_eq!(machine.load(2, Y, load), 0);
        assert_eq!(machine.newest(3, Y, load), 1);
        assert_eq!(machine.load(3, X, load), last);
    }
}

#[test]
fn a_fence_sees_ordered_stores_before_it() {
    let mut machine = machine();
    machine.store(0, X, 1, SEQ_CST);
    assert_eq!(machine.choices(1, X, RELAXED), 2);
    machine.fence(1, SEQ_CST);
    assert_eq!(machine.choices(1, X, RELAXED), 1);
    // An ordered load sees what comes before a fence.
    machine.store(2, Y, 1, RELAXED);
    machine.fence(2, SEQ_CST);
    assert_eq!(machine.choices(3, Y, RELAXED), 2);
    assert_eq!(machine.choices(3, Y, SEQ_CST), 1);
}

#[test]
fn threads_know_what_their_parents_and_children_did() {
    let mut machine = machine();
    machine.store(0, X, 1, RELAXED);
    let child = machine.history.spawn(0);
    assert_eq!(machine.choices(child, X, RELAXED), 1);
    machine.store(child, X, 2, RELAXED);
    assert_eq!(machine.choices(0, X, RELAXED), 2);
    machine.history.join(0, child);
    assert_eq!(machine.choices(0, X, RELAXED), 1);
    assert_eq!(machine.choices(1, X, RELAXED), 3);
}

#[test]
fn who_waited_reads_the_newest_value() {
    let mut machine = machine();
    machine.store(0, X, 1, RELAXED);
    machine.history.refresh(1);
    assert_eq!(machine.choices(1, X, RELAXED), 1);
    machine.store(0, X, 2, RELAXED);
    assert_eq!(machine.load(1, X, RELAXED), 1);
}

#[test]
fn what_is_touched_in_another_way_has_no_old_values() {
    let mut machine = machine();
    machine.store(0, X, 1, RELAXED);
    machine.history.forget(X + 4, 1);
    assert_eq!(machine.choices(1, X, RELAXED), 1);
    machine.store(0, X, 2, RELAXED);
    machine.store(0, Y, 2, RELAXED);
    // Unseen, by a system call perhaps.
    machine.memory.insert(X, 7);
    assert_eq!(machine.load(1, X, RELAXED), 7);
    assert_eq!(machine.choices(1, Y, RELAXED), 1);
    machine.store(0, X, 3, RELAXED);
    let half = Access {
        size: 4,
        ..machine.access(1, X, RELAXED)
    };
    assert_eq!(machine.history.choices(&half, |_| Vec::new()), 1);
}

#[test]
fn a_few_stores_are_remembered() {
    let mut machine = machine();
    for value in 1..100 {
        machine.store(0, X, value, RELAXED);
    }
    assert_eq!(machine.choices(1, X, RELAXED), DEPTH);
    assert_eq!(machine.load(1, X, RELAXED), 100 - DEPTH as u64);
}

#[test]
fn releases_are_not_lost_with_the_stores_that_made_them() {
    let mut machine = machine();
    machine.store(0, Y, 1, RELAXED);
    machine.store(0, X, 1, RELEASE);
    machine.history.forget(X, 8);
    machine.store(2, X, 2, RELAXED);
    assert_eq!(machine.load(1, X, ACQUIRE), 1);
    assert_eq!(machine.load(1, Y, RELAXED), 1);
}
