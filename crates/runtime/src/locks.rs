//! Who wants and who holds which lock: what the deadlock oracle knows about locks, and who need
//! not try for one.
//!
//! Fed by the lock hooks (the table of lock functions in `instrument`) and by the interposed
//! lock functions of libc.

use crate::execution::{Execution, Held};
use crate::record;
use crate::scheduler;
use crate::thread::{State, Wait};
use crate::world::world;
use raddle_abi::site::{Operation, SiteId};

/// How a lock is held or wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Alone.
    Exclusive,
    /// Together with others.
    Shared,
}

impl Mode {
    fn order(self) -> u16 {
        u16::from(self == Mode::Shared)
    }
}

/// The running thread is about to try for a lock and may block.
pub fn wanted(lock: usize, mode: Mode, site: SiteId) {
    let execution = &mut world().execution;
    let current = execution.current;
    execution.threads[current].wants = lock;
    record::event(Operation::LockWant, lock as u64, 0, 0, mode.order(), site);
}

/// The running thread has not got a lock at once, and is about to try for it in earnest.
///
/// As long as somebody else holds the lock that leads to nothing but more points, at which other
/// threads may run as they could have before: it waits here until the lock is released.
///
/// Who waits for readers tells others so: locks keep new readers out then. It goes on, and what it spins
/// before that is one step.
pub fn wanted_again(lock: usize, mode: Mode, site: SiteId) {
    wanted(lock, mode, site);
    let world = world();
    let execution = &mut world.execution;
    let current = execution.current;
    if !world.running || !is_taken(execution, current, lock, mode) {
        return;
    }
    if is_shared(execution, lock) {
        execution.threads[current].spin.is_one_step();
        return;
    }
    execution.hoping += 1;
    execution.threads[current].hopes = true;
    while world.execution.threads[current].hopes && is_taken(&world.execution, current, lock, mode)
    {
        scheduler::block_unrecorded(Wait {
            operation: Operation::LockWant,
            object: lock,
            site,
            ends_quietly: true,
            ..Wait::NONE
        });
        let hopeful = &mut world.execution.hopeful;
        hopeful.retain(|number| usize::from(*number) != current);
    }
    world.execution.threads[current].hopes = false;
    world.execution.hoping -= 1;
}

/// Whether another thread has a lock so that `thread` cannot have it in this mode.
fn is_taken(execution: &Execution, thread: usize, lock: usize, mode: Mode) -> bool {
    execution.held.iter().any(|held| {
        held.lock == lock
            && usize::from(held.thread) != thread
            && !(held.shared && mode == Mode::Shared)
    })
}

/// Whether readers have a lock.
fn is_shared(execution: &Execution, lock: usize) -> bool {
    let mut held = execution.held.iter();
    held.any(|held| held.lock == lock && held.shared)
}

/// A lock can be had: the first who hopes for it may go on, as the first who waits in earnest would
/// be woken.
#[cold]
fn raise_hope(lock: usize) {
    let execution = &mut world().execution;
    let mut hoping = execution.queue(lock);
    if let Some(number) = hoping.find(|number| execution.threads[*number].hopes) {
        scheduler::wake(number);
        world().execution.hopeful.push(number as u16);
    }
}

/// Somebody has got a lock. Who might have gone on, but has not yet, waits again, behind others.
#[cold]
fn dash_hope(lock: usize) {
    let execution = &mut world().execution;
    let mut index = 0;
    while let Some(number) = execution.hopeful.get(index).copied() {
        let thread = &mut execution.threads[usize::from(number)];
        if thread.wants == lock {
            thread.state = State::Blocked;
            execution.enqueue(usize::from(number), lock);
            execution.disable(usize::from(number));
            execution.hopeful.swap_remove(index);
        } else {
            index += 1;
        }
    }
}

/// Nobody can run, so all hope is in vain: who hopes for a lock tries for it in earnest, and
/// blocks as it would without us. True if there was anybody.
pub fn give_up_hope() -> bool {
    if world().execution.hoping == 0 {
        return false;
    }
    let mut any = false;
    world().execution.hopeful.clear();
    for number in 0..world().execution.threads.len() {
        let thread = &mut world().execution.threads[number];
        if core::mem::take(&mut thread.hopes) && thread.state == State::Blocked {
            scheduler::wake(number);
            any = true;
        }
    }
    any
}

/// The running thread has a lock.
pub fn acquired(lock: usize, mode: Mode, site: SiteId) {
    let execution = &mut world().execution;
    let current = execution.current;
    let thread = &mut execution.threads[current];
    thread.wants = 0;
    if thread.leaves == lock {
        // The same step gives the lock up in one mode and takes it in another.
        thread.leaves = 0;
    }
    // Who gets a lock alone proves that nobody else has it any more, and who shares it that
    // nobody has it alone: a release that was not seen is made good here.
    let shared = mode == Mode::Shared;
    execution
        .held
        .retain(|held| held.lock != lock || (shared && held.shared));
    execution.held.push(Held {
        lock,
        thread: current as u16,
        shared,
    });
    if execution.hoping > 0 {
        match mode {
            Mode::Exclusive => dash_hope(lock),
            Mode::Shared => raise_hope(lock),
        }
    }
    record::event(
        Operation::LockAcquire,
        lock as u64,
        0,
        0,
        mode.order(),
        site,
    );
}

/// The running thread gave up, or never got the lock.
pub fn failed() {
    let execution = &mut world().execution;
    let current = execution.current;
    execution.threads[current].wants = 0;
}

/// The running thread is about to release a lock, with its next change of memory.
pub fn releases(lock: usize, mode: Mode, site: SiteId) {
    if world().execution.running().leaves != 0 {
        left();
    }
    world().execution.running().leaves = lock;
    record_release(lock, mode, site);
}

/// The running thread, which was about to release a lock, has changed memory.
pub fn left() {
    let thread = world().execution.running();
    let lock = core::mem::take(&mut thread.leaves);
    forget(lock);
    if world().execution.hoping > 0 {
        raise_hope(lock);
    }
}

/// The running thread has released a lock.
pub fn released(lock: usize, mode: Mode, site: SiteId) {
    forget(lock);
    record_release(lock, mode, site);
}

fn forget(lock: usize) {
    let execution = &mut world().execution;
    let current = execution.current;
    let held = &mut execution.held;
    let mine = held
        .iter()
        .rposition(|held| held.lock == lock && usize::from(held.thread) == current);
    // A guard may be released by another thread than the one that took it.
    let place = mine.or_else(|| held.iter().rposition(|held| held.lock == lock));
    if let Some(place) = place {
        held.swap_remove(place);
    }
}

fn record_release(lock: usize, mode: Mode, site: SiteId) {
    record::event(
        Operation::LockRelease,
        lock as u64,
        0,
        0,
        mode.order(),
        site,
    );
}
