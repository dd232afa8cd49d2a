//! Barriers.
//!
//! The state is that of libc's barriers, so that native threads can take part: a count of all
//! who ever came, up to which number rounds are through, and how many have left. As long as
//! there are no native threads it starts afresh with every round, and nobody has to leave:
//! whoever was woken needs the barrier no more, which may be destroyed by then.

use super::object::{self, interpose, word};
use crate::arch::errno::EBUSY;
use crate::native;
use crate::scheduler;
use crate::thread::Wait;
use crate::world::world;
use core::sync::atomic::Ordering;
use raddle_abi::record::wake;
use raddle_abi::site::{Operation, SiteId};

/// Offsets in libc's `pthread_barrier_t`.
const ARRIVED: usize = 0;
const THROUGH: usize = 4;
const COUNT: usize = 8;
const LEFT: usize = 16;

/// What one thread of each round gets, here the one that came last.
const SERIAL_THREAD: i32 = -1;

fn wait(barrier: usize) -> i32 {
    let site = object::begin(Operation::FutexWait, barrier);
    object::touch(barrier, site);
    object::release_too(barrier);
    let ticket = object::atomic_word(barrier, ARRIVED).fetch_add(1, Ordering::SeqCst) + 1;
    let result = if ticket.is_multiple_of(*word(barrier, COUNT)) {
        complete(barrier, ticket);
        SERIAL_THREAD
    } else {
        world().execution.changed();
        wait_for(barrier, ticket, site);
        0
    };
    object::acquire(barrier);
    result
}

/// The round of the last ticket is through: lets all who wait for it go on, and leaves for them.
fn complete(barrier: usize, ticket: u32) {
    let through = barrier + THROUGH;
    let mut leaving = 1;
    while let Some(number) = world().execution.queue(through).next() {
        scheduler::wake(number);
        world().execution.threads[number].woken_by = barrier;
        leaving += 1;
    }
    if native::seen() {
        object::atomic_word(barrier, THROUGH).fetch_max(ticket, Ordering::SeqCst);
        object::atomic_word(barrier, LEFT).fetch_add(leaving, Ordering::SeqCst);
        native::wake_strangers(through);
    } else {
        *word(barrier, ARRIVED) = 0;
    }
    world().execution.changed();
}

/// Waits until the round of a ticket is through.
fn wait_for(barrier: usize, ticket: u32, site: SiteId) {
    let current = world().execution.current;
    loop {
        let through = *word(barrier, THROUGH);
        if through >= ticket {
            // A native thread came last.
            object::atomic_word(barrier, LEFT).fetch_add(1, Ordering::SeqCst);
            return;
        }
        world().execution.threads[current].woken_by = 0;
        object::block(Wait {
            operation: Operation::FutexWait,
            object: barrier + THROUGH,
            site,
            expects: Some(through),
            kind: wake::BARRIER,
            ..Wait::NONE
        });
        if world().execution.threads[current].woken_by == barrier {
            return;
        }
    }
}

fn destroy(barrier: usize) -> i32 {
    let site = object::begin(Operation::FutexWake, barrier);
    if !word(barrier, ARRIVED).is_multiple_of(*word(barrier, COUNT)) {
        return EBUSY as i32;
    }
    // Where native threads take part, those who were through first may not have left yet.
    while native::seen() && *word(barrier, LEFT) < *word(barrier, ARRIVED) {
        scheduler::yield_now(site);
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
