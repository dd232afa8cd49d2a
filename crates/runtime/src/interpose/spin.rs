//! Spin locks: whoever spins waits.

use super::object::{self, interpose, word};
use super::real;
use crate::arch::errno::EBUSY;
use crate::locks::{self, Mode};
use crate::thread::Wait;
use crate::world::world;
use raddle_abi::site::{Operation, SiteId};

/// What libc makes of a free lock, which differs between processors.
fn free_value() -> u32 {
    let mut fresh = 0;
    // SAFETY: initialises a word of ours.
    unsafe { real::pthread_spin_init(&mut fresh, 0) };
    fresh
}

fn take(spin: usize, site: SiteId) {
    *word(spin, 0) = u32::from(free_value() == 0);
    world().execution.changed();
    object::touch(spin, site);
    object::acquire(spin);
    locks::acquired(spin, Mode::Exclusive, site);
}

fn lock(spin: usize) -> i32 {
    let site = object::begin(Operation::LockWant, spin);
    locks::wanted(spin, Mode::Exclusive, site);
    while *word(spin, 0) != free_value() {
        object::block(Wait {
            operation: Operation::LockWant,
            object: spin,
            site,
            ..Wait::NONE
        });
    }
    take(spin, site);
    0
}

fn try_lock(spin: usize) -> i32 {
    let site = object::begin(Operation::LockWant, spin);
    if *word(spin, 0) != free_value() {
        return EBUSY as i32;
    }
    take(spin, site);
    0
}

fn unlock(spin: usize) -> i32 {
    let site = object::begin(Operation::LockRelease, spin);
    object::touch(spin, site);
    object::release(spin);
    locks::released(spin, Mode::Exclusive, site);
    *word(spin, 0) = free_value();
    object::wake_all(Operation::LockWant, spin);
    0
}

interpose! {
    /// libc's `pthread_spin_lock`.
    pthread_spin_lock(spin: usize) -> i32 => lock(spin);
    /// libc's `pthread_spin_trylock`.
    pthread_spin_trylock(spin: usize) -> i32 => try_lock(spin);
    /// libc's `pthread_spin_unlock`.
    pthread_spin_unlock(spin: usize) -> i32 => unlock(spin);
}
