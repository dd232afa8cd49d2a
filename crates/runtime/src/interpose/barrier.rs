//! Barriers.

use super::object::{self, interpose, word};
use crate::arch::errno::EBUSY;
use crate::thread::Wait;
use crate::world::world;
use raddle_abi::site::Operation;

/// Offsets in libc's `pthread_barrier_t`.
const ARRIVED: usize = 0;
const COUNT: usize = 8;

/// What one thread of each round gets, here the one that came last.
const SERIAL_THREAD: i32 = -1;

fn wait(barrier: usize) -> i32 {
    let site = object::begin(Operation::FutexWait, barrier);
    object::touch(barrier, site);
    object::release_too(barrier);
    let arrived = word(barrier, ARRIVED);
    *arrived += 1;
    if *arrived >= *word(barrier, COUNT) {
        *arrived = 0;
        object::acquire(barrier);
        object::wake_all(Operation::FutexWait, barrier);
        return SERIAL_THREAD;
    }
    world().execution.changed();
    // Whoever was woken needs the barrier no more: it may be destroyed by then.
    object::block(Wait {
        operation: Operation::FutexWait,
        object: barrier,
        site,
        ..Wait::NONE
    });
    object::acquire(barrier);
    0
}

fn destroy(barrier: usize) -> i32 {
    let site = object::begin(Operation::FutexWake, barrier);
    if *word(barrier, ARRIVED) != 0 {
        return EBUSY as i32;
    }
    object::touch(barrier, site);
    0
}

interpose! {
    /// libc's `pthread_barrier_wait`.
    pthread_barrier_wait(barrier: usize) -> i32 => wait(barrier);
    /// libc's `pthread_barrier_destroy`.
    pthread_barrier_destroy(barrier: usize) -> i32 => destroy(barrier);
}
