//! Mutexes: normal, recursive, error-checking and adaptive ones, robust or not, with any
//! priority protocol.
//!
//! Priorities have no meaning under a scheduler that picks freely: the protocols are accepted
//! and change nothing. A mutex shared between processes is taken for a private one, and this
//! is said. Whoever waits competes again when the mutex becomes free.

use super::object::{self, Deadline, interpose, word};
use crate::arch::errno::{
    EAGAIN, EBUSY, EDEADLK, EINVAL, ENOTRECOVERABLE, EOWNERDEAD, EPERM, ETIMEDOUT,
};
use crate::locks::{self, Mode};
use crate::native;
use crate::shared::shared;
use crate::thread::Wait;
use crate::world::world;
use core::sync::atomic::Ordering;
use raddle_abi::control::conditions;
use raddle_abi::site::{Operation, SiteId};

/// Offsets in libc's `pthread_mutex_t`.
const LOCK: usize = 0;
const COUNT: usize = 4;
const OWNER: usize = 8;
const USERS: usize = 12;
const KIND: usize = 16;

/// What libc's destroy leaves as the kind.
const DESTROYED: u32 = u32::MAX;
const TYPE: u32 = 3;
const RECURSIVE: u32 = 1;
const ERROR_CHECKING: u32 = 2;
const ROBUST: u32 = 16;
const PRIORITY_PROTECT: u32 = 64;
const PROCESS_SHARED: u32 = 128;
/// Part of the lock word of a priority-protected mutex that holds its ceiling.
const CEILING: u32 = 0xfff8_0000;
/// Bit of a robust mutex's lock word: its owner ended while it had it.
const OWNER_DIED: u32 = 0x4000_0000;
/// As owner: its owner died, and nobody has made it consistent yet.
const INCONSISTENT: u32 = i32::MAX as u32;
/// As owner: it was unlocked without having been made consistent.
const NOT_RECOVERABLE: u32 = i32::MAX as u32 - 1;
const CLOCK_REALTIME: i32 = 0;

fn kind(mutex: usize) -> u32 {
    *word(mutex, KIND)
}

fn is_robust(mutex: usize) -> bool {
    kind(mutex) & ROBUST != 0
}

/// The part of the lock word that is not 0 while the mutex is locked.
fn locked_bits(mutex: usize) -> u32 {
    let value = *word(mutex, LOCK);
    if kind(mutex) & PRIORITY_PROTECT != 0 {
        value & !CEILING
    } else if is_robust(mutex) {
        value & !OWNER_DIED
    } else {
        value
    }
}

fn set_locked(mutex: usize, locked: bool) {
    let value = word(mutex, LOCK);
    let ceiling = if kind(mutex) & PRIORITY_PROTECT != 0 {
        *value & CEILING
    } else {
        0
    };
    *value = ceiling | u32::from(locked);
}

/// Whether the running thread has the mutex.
fn is_mine(mutex: usize) -> bool {
    let owner = *word(mutex, OWNER);
    if owner == INCONSISTENT {
        let execution = &world().execution;
        return execution.threads[execution.current].robust.contains(&mutex);
    }
    owner == object::me() && locked_bits(mutex) != 0
}

/// What locking comes to without waiting, if the running thread already has the mutex, or
/// nobody ever can again.
fn settled(mutex: usize, may_block: bool) -> Option<i32> {
    if kind(mutex) == DESTROYED || kind(mutex) & !0x3ff != 0 {
        return Some(EINVAL as i32);
    }
    // libc marks robust mutexes as shared in any case.
    if kind(mutex) & PROCESS_SHARED != 0 && !is_robust(mutex) {
        shared().note_condition(conditions::SHARED_OBJECT);
    }
    if is_robust(mutex) && *word(mutex, OWNER) == NOT_RECOVERABLE {
        return Some(ENOTRECOVERABLE as i32);
    }
    if !is_mine(mutex) {
        return None;
    }
    match kind(mutex) & TYPE {
        RECURSIVE => {
            let count = word(mutex, COUNT);
            let Some(more) = count.checked_add(1) else {
                return Some(EAGAIN as i32);
            };
            *count = more;
            Some(0)
        }
        ERROR_CHECKING if may_block => Some(EDEADLK as i32),
        _ => None,
    }
}

/// Whether the mutex is free for the running thread. Where native threads may want it too, it
/// is locked with that.
fn claim(mutex: usize) -> bool {
    if locked_bits(mutex) != 0 {
        return false;
    }
    if !native::seen() {
        return true;
    }
    let value = *word(mutex, LOCK);
    let lock = object::atomic_word(mutex, LOCK);
    lock.compare_exchange(value, value | 1, Ordering::SeqCst, Ordering::SeqCst)
        .is_ok()
}

/// Takes a mutex that is free, or [claimed](claim).
fn take(mutex: usize, site: SiteId) -> i32 {
    let died = is_robust(mutex) && *word(mutex, LOCK) & OWNER_DIED != 0;
    set_locked(mutex, true);
    *word(mutex, COUNT) = 1;
    *word(mutex, OWNER) = if died { INCONSISTENT } else { object::me() };
    pin(mutex);
    if is_robust(mutex) {
        let execution = &mut world().execution;
        execution.threads[execution.current].robust.push(mutex);
    }
    world().execution.changed();
    object::touch(mutex, site);
    object::acquire(mutex);
    locks::acquired(mutex, Mode::Exclusive, site);
    if died { EOWNERDEAD as i32 } else { 0 }
}

/// Locks a mutex, waiting until `deadline` at most.
pub fn lock(mutex: usize, deadline: Deadline) -> i32 {
    let site = object::begin(Operation::LockWant, mutex);
    lock_at(mutex, deadline, site)
}

/// As [`lock`], after the scheduling point.
pub fn lock_at(mutex: usize, deadline: Deadline, site: SiteId) -> i32 {
    locks::wanted(mutex, Mode::Exclusive, site);
    loop {
        if let Some(result) = settled(mutex, true) {
            locks::failed();
            return result;
        }
        let found = *word(mutex, LOCK);
        if claim(mutex) {
            return take(mutex, site);
        }
        let result = match deadline.time() {
            Err(error) => error,
            Ok(time) if Deadline::is_past(time) => ETIMEDOUT as i32,
            Ok(time) => {
                let wait = Wait {
                    operation: Operation::LockWant,
                    object: mutex,
                    deadline: time,
                    site,
                    expects: Some(found),
                    ..Wait::NONE
                };
                object::block(wait);
                // A timeout is seen in the next round, unless the mutex has become free.
                continue;
            }
        };
        locks::failed();
        return result;
    }
}

/// Locks a mutex if nobody has it.
pub fn try_lock(mutex: usize) -> i32 {
    let site = object::begin(Operation::LockWant, mutex);
    if let Some(result) = settled(mutex, false) {
        return result;
    }
    if claim(mutex) {
        take(mutex, site)
    } else {
        EBUSY as i32
    }
}

/// Unlocks a mutex.
pub fn unlock(mutex: usize) -> i32 {
    let site = object::begin(Operation::LockRelease, mutex);
    unlock_at(mutex, site)
}

/// Who waits for a condition uses the mutex without having it: it may not be destroyed.
pub fn pin(mutex: usize) {
    let users = word(mutex, USERS);
    *users = users.wrapping_add(1);
}

/// Ends a [`pin`].
pub fn unpin(mutex: usize) {
    let users = word(mutex, USERS);
    *users = users.saturating_sub(1);
}

/// As [`unlock`], after the scheduling point.
pub fn unlock_at(mutex: usize, site: SiteId) -> i32 {
    if kind(mutex) == DESTROYED {
        return EINVAL as i32;
    }
    let checks = kind(mutex) & TYPE == RECURSIVE || kind(mutex) & TYPE == ERROR_CHECKING;
    if (checks || is_robust(mutex)) && !is_mine(mutex) {
        return EPERM as i32;
    }
    if kind(mutex) & TYPE == RECURSIVE {
        let count = word(mutex, COUNT);
        if *count > 1 {
            *count -= 1;
            return 0;
        }
    }
    let abandoned = *word(mutex, OWNER) == INCONSISTENT;
    object::touch(mutex, site);
    object::release(mutex);
    locks::released(mutex, Mode::Exclusive, site);
    if is_robust(mutex) {
        let execution = &mut world().execution;
        let robust = &mut execution.threads[execution.current].robust;
        robust.retain(|held| *held != mutex);
    }
    unpin(mutex);
    set_free(mutex, if abandoned { NOT_RECOVERABLE } else { 0 });
    0
}

fn set_free(mutex: usize, owner: u32) {
    // In this order: a native thread may lock it at once.
    *word(mutex, COUNT) = 0;
    *word(mutex, OWNER) = owner;
    set_locked(mutex, false);
    object::wake_all(Operation::LockWant, mutex);
}

/// A thread ends: whoever gets its robust mutexes next is told so.
pub fn owner_ends(number: usize) {
    while let Some(mutex) = world().execution.threads[number].robust.pop() {
        object::release(mutex);
        locks::released(mutex, Mode::Exclusive, 0);
        set_free(mutex, 0);
        *word(mutex, LOCK) |= OWNER_DIED;
    }
}

fn make_consistent(mutex: usize) -> i32 {
    if !is_robust(mutex) || *word(mutex, OWNER) != INCONSISTENT || !is_mine(mutex) {
        return EINVAL as i32;
    }
    *word(mutex, OWNER) = object::me();
    0
}

/// Makes a mutex unusable, if nobody has it.
pub fn destroy(mutex: usize) -> i32 {
    let site = object::begin(Operation::LockRelease, mutex);
    if kind(mutex) == DESTROYED {
        return EINVAL as i32;
    }
    // A robust mutex may be destroyed with a dead owner.
    if locked_bits(mutex) != 0 || (!is_robust(mutex) && *word(mutex, USERS) != 0) {
        return EBUSY as i32;
    }
    object::touch(mutex, site);
    *word(mutex, KIND) = DESTROYED;
    0
}

interpose! {
    /// libc's `pthread_mutex_lock`.
    pthread_mutex_lock(mutex: usize) -> i32 => lock(mutex, Deadline::NEVER);
    /// libc's `pthread_mutex_trylock`.
    pthread_mutex_trylock(mutex: usize) -> i32 => try_lock(mutex);
    /// libc's `pthread_mutex_timedlock`.
    pthread_mutex_timedlock(mutex: usize, time: usize) -> i32 => lock(mutex, Deadline::at(CLOCK_REALTIME, time));
    /// libc's `pthread_mutex_clocklock`.
    pthread_mutex_clocklock(mutex: usize, clock: i32, time: usize) -> i32 => lock(mutex, Deadline::at(clock, time));
    /// libc's `pthread_mutex_unlock`.
    pthread_mutex_unlock(mutex: usize) -> i32 => unlock(mutex);
    /// libc's `pthread_mutex_consistent`.
    pthread_mutex_consistent(mutex: usize) -> i32 => make_consistent(mutex);
    /// libc's `pthread_mutex_destroy`.
    pthread_mutex_destroy(mutex: usize) -> i32 => destroy(mutex);
}
