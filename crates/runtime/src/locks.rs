//! Who wants and who holds which lock: what the deadlock oracle knows about locks.
//!
//! Fed by the lock hooks (the table of lock functions in `instrument`) and by the interposed
//! lock functions of libc.

use crate::execution::Held;
use crate::record;
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

/// The running thread has a lock.
pub fn acquired(lock: usize, mode: Mode, site: SiteId) {
    let execution = &mut world().execution;
    let current = execution.current;
    execution.threads[current].wants = 0;
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

/// The running thread is about to release a lock.
pub fn released(lock: usize, mode: Mode, site: SiteId) {
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
    record::event(
        Operation::LockRelease,
        lock as u64,
        0,
        0,
        mode.order(),
        site,
    );
}
