//! Read-write locks of all kinds.
//!
//! Readers are let in while nobody writes; a lock of the kind that prefers writers and allows
//! no recursion lets no new reader in while a writer waits. Otherwise any order is possible.

use super::object::{self, Deadline, interpose, word};
use crate::arch::errno::{EAGAIN, EBUSY, EDEADLK, EPERM, ETIMEDOUT};
use crate::locks::{self, Mode};
use crate::thread::Wait;
use crate::world::world;
use raddle_abi::site::{Operation, SiteId};

/// Offsets in libc's `pthread_rwlock_t`.
const READERS: usize = 0;
const WRITER: usize = 24;
const KIND: usize = 48;

/// How libc counts readers and marks a writer in the first word.
const ONE_READER: u32 = 8;
const WRITTEN: u32 = 3;
/// The kind that prefers writers and allows no recursion of readers.
const PREFERS_WRITERS: u32 = 2;
/// What readers and writers wait with, as the bits of a [`Wait`].
const READS: u32 = 1;
const WRITES: u32 = 2;
const CLOCK_REALTIME: i32 = 0;

/// What readers release is apart from what writers do: readers are not ordered by each other.
fn readers_clock(lock: usize) -> usize {
    lock + 1
}

fn is_written(lock: usize) -> bool {
    *word(lock, READERS) & WRITTEN == WRITTEN
}

fn has_readers(lock: usize) -> bool {
    *word(lock, READERS) >= ONE_READER
}

fn a_writer_waits(lock: usize) -> bool {
    let execution = &world().execution;
    execution
        .queue(lock)
        .any(|number| execution.threads[number].wait.bits == WRITES)
}

fn is_free(lock: usize, mode: Mode) -> bool {
    match mode {
        Mode::Exclusive => !is_written(lock) && !has_readers(lock),
        Mode::Shared => {
            let gives_way = *word(lock, KIND) == PREFERS_WRITERS && a_writer_waits(lock);
            !is_written(lock) && !gives_way
        }
    }
}

fn take(lock: usize, mode: Mode, site: SiteId) -> i32 {
    match mode {
        Mode::Exclusive => {
            *word(lock, READERS) |= WRITTEN;
            *word(lock, WRITER) = object::me();
            object::acquire(readers_clock(lock));
        }
        Mode::Shared => {
            let readers = word(lock, READERS);
            let Some(more) = readers.checked_add(ONE_READER) else {
                locks::failed();
                return EAGAIN as i32;
            };
            *readers = more;
        }
    }
    world().execution.changed();
    object::touch(lock, site);
    object::acquire(lock);
    locks::acquired(lock, mode, site);
    0
}

fn lock(lock: usize, mode: Mode, deadline: Deadline) -> i32 {
    let site = object::begin(Operation::LockWant, lock);
    if is_written(lock) && *word(lock, WRITER) == object::me() {
        return EDEADLK as i32;
    }
    locks::wanted(lock, mode, site);
    let bits = if mode == Mode::Shared { READS } else { WRITES };
    while !is_free(lock, mode) {
        let result = match deadline.time() {
            Err(error) => error,
            Ok(time) if Deadline::is_past(time) => ETIMEDOUT as i32,
            Ok(time) => {
                let wait = Wait {
                    operation: Operation::LockWant,
                    object: lock,
                    bits,
                    deadline: time,
                    site,
                    ..Wait::NONE
                };
                let timed_out = object::block(wait);
                if timed_out && mode == Mode::Exclusive {
                    // Readers that gave way to this writer need not any more.
                    object::wake_all(Operation::LockWant, lock);
                }
                continue;
            }
        };
        locks::failed();
        return result;
    }
    take(lock, mode, site)
}

fn try_lock(lock: usize, mode: Mode) -> i32 {
    let site = object::begin(Operation::LockWant, lock);
    if is_free(lock, mode) {
        take(lock, mode, site)
    } else {
        EBUSY as i32
    }
}

fn unlock(lock: usize) -> i32 {
    let site = object::begin(Operation::LockRelease, lock);
    object::touch(lock, site);
    if is_written(lock) {
        object::release(lock);
        locks::released(lock, Mode::Exclusive, site);
        *word(lock, READERS) &= !WRITTEN;
        *word(lock, WRITER) = 0;
    } else if has_readers(lock) {
        object::release_too(readers_clock(lock));
        locks::released(lock, Mode::Shared, site);
        *word(lock, READERS) -= ONE_READER;
    } else {
        return EPERM as i32;
    }
    object::wake_all(Operation::LockWant, lock);
    0
}

interpose! {
    /// libc's `pthread_rwlock_rdlock`.
    pthread_rwlock_rdlock(rwlock: usize) -> i32 => lock(rwlock, Mode::Shared, Deadline::NEVER);
    /// libc's `pthread_rwlock_wrlock`.
    pthread_rwlock_wrlock(rwlock: usize) -> i32 => lock(rwlock, Mode::Exclusive, Deadline::NEVER);
    /// libc's `pthread_rwlock_tryrdlock`.
    pthread_rwlock_tryrdlock(rwlock: usize) -> i32 => try_lock(rwlock, Mode::Shared);
    /// libc's `pthread_rwlock_trywrlock`.
    pthread_rwlock_trywrlock(rwlock: usize) -> i32 => try_lock(rwlock, Mode::Exclusive);
    /// libc's `pthread_rwlock_timedrdlock`.
    pthread_rwlock_timedrdlock(rwlock: usize, time: usize) -> i32 =>
        lock(rwlock, Mode::Shared, Deadline::at(CLOCK_REALTIME, time));
    /// libc's `pthread_rwlock_timedwrlock`.
    pthread_rwlock_timedwrlock(rwlock: usize, time: usize) -> i32 =>
        lock(rwlock, Mode::Exclusive, Deadline::at(CLOCK_REALTIME, time));
    /// libc's `pthread_rwlock_clockrdlock`.
    pthread_rwlock_clockrdlock(rwlock: usize, clock: i32, time: usize) -> i32 =>
        lock(rwlock, Mode::Shared, Deadline::at(clock, time));
    /// libc's `pthread_rwlock_clockwrlock`.
    pthread_rwlock_clockwrlock(rwlock: usize, clock: i32, time: usize) -> i32 =>
        lock(rwlock, Mode::Exclusive, Deadline::at(clock, time));
    /// libc's `pthread_rwlock_unlock`.
    pthread_rwlock_unlock(rwlock: usize) -> i32 => unlock(rwlock);
}
