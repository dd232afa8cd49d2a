//! Read-write locks of all kinds.
//!
//! Readers are let in while nobody writes; a lock of the kind that prefers writers and allows
//! no recursion lets no new reader in while a writer waits. Otherwise any order is possible.
//!
//! Where native threads may want a lock too, it is taken and given up by libc's own functions,
//! which keep more in it than the state that is looked at here.

use super::object::{self, Deadline, interpose, word};
use super::real;
use crate::arch::errno::{EAGAIN, EBUSY, EDEADLK, EPERM, ETIMEDOUT};
use crate::locks::{self, Mode};
use crate::native;
use crate::thread::Wait;
use crate::world::world;
use raddle_abi::site::{Operation, SiteId};

/// Offsets in libc's `pthread_rwlock_t`.
const READERS: usize = 0;
const READERS_WAIT: usize = 8;
const WRITERS_WAIT: usize = 12;
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

/// The number by which libc's read-write locks know the running thread: that of who writes.
fn number_in_libc() -> u32 {
    const BYTES: usize = 56;
    #[repr(align(8))]
    struct Lock([u8; BYTES]);
    let scratch = Lock([0; BYTES]);
    let lock = scratch.0.as_ptr() as usize;
    // SAFETY: a lock that is free, as its static initialiser says, and nobody else's.
    unsafe { (real::functions().pthread_rwlock_trywrlock)(lock) };
    *word(lock, WRITER)
}

/// Whether the running thread writes.
fn is_mine(lock: usize) -> bool {
    is_written(lock) && *word(lock, WRITER) == number_in_libc()
}

/// Marks the lock as written or not, as libc does.
fn set_written(lock: usize, written: bool) {
    let readers = word(lock, READERS);
    *readers = *readers & !WRITTEN | if written { WRITTEN } else { 0 };
    *word(lock, WRITER) = if written { number_in_libc() } else { 0 };
    // Native threads that come later wait as long as these words are not 0.
    *word(lock, READERS_WAIT) = u32::from(written);
    *word(lock, WRITERS_WAIT) = u32::from(written);
}

/// Takes the lock if it is free.
fn claim(lock: usize, mode: Mode) -> Result<(), i32> {
    if !is_free(lock, mode) {
        return Err(EBUSY as i32);
    }
    if native::seen() {
        let functions = real::functions();
        let function = match mode {
            Mode::Exclusive => functions.pthread_rwlock_trywrlock,
            Mode::Shared => functions.pthread_rwlock_tryrdlock,
        };
        // SAFETY: the program's lock; neither function waits.
        let result = unsafe { function(lock) };
        return if result == 0 { Ok(()) } else { Err(result) };
    }
    match mode {
        Mode::Exclusive => set_written(lock, true),
        Mode::Shared => {
            let readers = word(lock, READERS);
            *readers = readers.checked_add(ONE_READER).ok_or(EAGAIN as i32)?;
        }
    }
    Ok(())
}

/// The running thread has [claimed](claim) the lock.
fn taken(lock: usize, mode: Mode, site: SiteId) {
    if mode == Mode::Exclusive {
        object::acquire(readers_clock(lock));
    }
    world().execution.changed();
    object::touch(lock, site);
    object::acquire(lock);
    locks::acquired(lock, mode, site);
}

/// Gives up what the running thread has of the lock.
fn leave(lock: usize, mode: Mode) {
    if native::seen() {
        // SAFETY: the program's lock, which the running thread has.
        unsafe { (real::functions().pthread_rwlock_unlock)(lock) };
        return;
    }
    match mode {
        Mode::Exclusive => set_written(lock, false),
        Mode::Shared => *word(lock, READERS) -= ONE_READER,
    }
}

fn lock(lock: usize, mode: Mode, deadline: Deadline) -> i32 {
    let site = object::begin(Operation::LockWant, lock);
    if is_mine(lock) {
        return EDEADLK as i32;
    }
    locks::wanted(lock, mode, site);
    let bits = if mode == Mode::Shared { READS } else { WRITES };
    loop {
        let found = *word(lock, READERS);
        let result = match (claim(lock, mode), deadline.time()) {
            (Ok(()), _) => {
                taken(lock, mode, site);
                return 0;
            }
            (Err(error), _) if error != EBUSY as i32 => error,
            (_, Err(error)) => error,
            (_, Ok(time)) if Deadline::is_past(time) => ETIMEDOUT as i32,
            (_, Ok(time)) => {
                let wait = Wait {
                    operation: Operation::LockWant,
                    object: lock,
                    bits,
                    deadline: time,
                    site,
                    expects: Some(found),
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
}

fn try_lock(lock: usize, mode: Mode) -> i32 {
    let site = object::begin(Operation::LockWant, lock);
    match claim(lock, mode) {
        Ok(()) => {
            taken(lock, mode, site);
            0
        }
        Err(error) => error,
    }
}

fn unlock(lock: usize) -> i32 {
    let site = object::begin(Operation::LockRelease, lock);
    object::touch(lock, site);
    if is_written(lock) {
        object::release(lock);
        locks::released(lock, Mode::Exclusive, site);
        leave(lock, Mode::Exclusive);
    } else if has_readers(lock) {
        object::release_too(readers_clock(lock));
        locks::released(lock, Mode::Shared, site);
        leave(lock, Mode::Shared);
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
