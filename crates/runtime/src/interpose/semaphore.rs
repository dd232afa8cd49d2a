//! Semaphores. Named ones and others shared between processes are waited for inside this
//! process as long as anybody in it can run, and really after that.

use super::cancel;
use super::object::{self, Deadline, interpose, word};
use crate::arch::errno::{EAGAIN, EINTR, EOVERFLOW, ETIMEDOUT};
use crate::io::{self, Probe, Source};
use crate::syscalls::{self, as_errno, error};
use crate::thread::Wait;
use crate::world::world;
use core::sync::atomic::Ordering;
use raddle_abi::record::wake;
use raddle_abi::site::{Operation, SiteId};

/// Offsets in libc's `sem_t`.
const VALUE: usize = 0;
const SHARED: usize = 8;

const MOST: u32 = i32::MAX as u32;
const CLOCK_REALTIME: i32 = 0;

fn take(semaphore: usize, site: SiteId) -> bool {
    let one_less = |value: u32| value.checked_sub(1);
    let value = object::atomic_word(semaphore, VALUE);
    if value
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less)
        .is_err()
    {
        return false;
    }
    world().execution.changed();
    object::touch(semaphore, site);
    object::acquire(semaphore);
    true
}

fn wait(semaphore: usize, deadline: Deadline) -> i32 {
    let site = object::begin(Operation::FutexWait, semaphore);
    cancel::point();
    while !take(semaphore, site) {
        let time = match deadline.time() {
            Err(number) => return as_errno(error(number as isize)) as i32,
            Ok(time) if Deadline::is_past(time) => return as_errno(error(ETIMEDOUT)) as i32,
            Ok(time) => time,
        };
        if *word(semaphore, SHARED) != 0 {
            // Another process may post it.
            let by = (Source::of_any(true), Probe::Try);
            io::poll(time, by, site, || isize::from(*word(semaphore, VALUE) != 0));
            continue;
        }
        let woken = cancel::block_interruptibly(Wait {
            operation: Operation::FutexWait,
            object: semaphore,
            deadline: time,
            site,
            expects: Some(0),
            kind: wake::SEMAPHORE,
            ..Wait::NONE
        });
        match woken {
            cancel::Woken::Cancelled => cancel::act(),
            cancel::Woken::Interrupted => return as_errno(error(EINTR)) as i32,
            _ => {}
        }
    }
    0
}

fn try_wait(semaphore: usize) -> i32 {
    let site = object::begin(Operation::FutexWait, semaphore);
    if take(semaphore, site) {
        return 0;
    }
    as_errno(error(EAGAIN)) as i32
}

fn post(semaphore: usize) -> i32 {
    let site = object::begin(Operation::FutexWake, semaphore);
    let value = word(semaphore, VALUE);
    if *value >= MOST {
        return as_errno(error(EOVERFLOW)) as i32;
    }
    object::touch(semaphore, site);
    object::release_too(semaphore);
    object::atomic_word(semaphore, VALUE).fetch_add(1, Ordering::SeqCst);
    if *word(semaphore, SHARED) != 0 {
        syscalls::wake_other_processes(semaphore);
        io::did_something();
    }
    let woken = object::wake_all(Operation::FutexWait, semaphore);
    object::record_wake(semaphore, woken, wake::KEPT | wake::SEMAPHORE, site);
    0
}

fn value(semaphore: usize, result: *mut i32) -> i32 {
    object::begin(Operation::FutexWait, semaphore);
    // SAFETY: the program's variable.
    unsafe { *result = *word(semaphore, VALUE) as i32 };
    0
}

interpose! {
    /// libc's `sem_wait`.
    sem_wait(semaphore: usize) -> i32 => wait(semaphore, Deadline::NEVER);
    /// libc's `sem_trywait`.
    sem_trywait(semaphore: usize) -> i32 => try_wait(semaphore);
    /// libc's `sem_timedwait`.
    sem_timedwait(semaphore: usize, time: usize) -> i32 => wait(semaphore, Deadline::at(CLOCK_REALTIME, time));
    /// libc's `sem_clockwait`.
    sem_clockwait(semaphore: usize, clock: i32, time: usize) -> i32 => wait(semaphore, Deadline::at(clock, time));
    /// libc's `sem_post`.
    sem_post(semaphore: usize) -> i32 => post(semaphore);
    /// libc's `sem_getvalue`.
    sem_getvalue(semaphore: usize, result: *mut i32) -> i32 => value(semaphore, result);
}
