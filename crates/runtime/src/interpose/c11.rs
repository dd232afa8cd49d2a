//! C11 threads: other names, and other numbers for results, of the same objects.

use super::object::{Deadline, interpose};
use super::{condvar, join, keys, mutex, once, threads, time};
use crate::arch::errno::{EBUSY, EINTR, ENOMEM, ETIMEDOUT};
use crate::syscalls::error;
use crate::unwind;

const SUCCESS: i32 = 0;
const BUSY: i32 = 1;
const ERROR: i32 = 2;
const NO_MEMORY: i32 = 3;
const TIMED_OUT: i32 = 4;
const CLOCK_REALTIME: i32 = 0;

/// C11's number for an error number.
fn result(number: i32) -> i32 {
    match number as isize {
        0 => SUCCESS,
        EBUSY => BUSY,
        ENOMEM => NO_MEMORY,
        ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

fn thread_result(thread: usize, value: *mut i32) -> i32 {
    let mut whole = 0usize;
    let error = join::join(thread, &mut whole, Deadline::NEVER);
    if error == 0 && !value.is_null() {
        // SAFETY: the program's variable.
        unsafe { *value = whole as i32 };
    }
    result(error)
}

fn sleep(request: usize, remaining: usize) -> i32 {
    match time::sleep_for(request, remaining) {
        0 => 0,
        interrupted if interrupted == error(EINTR) => -1,
        _ => -2,
    }
}

interpose! {
    /// C11's `thrd_create`.
    thrd_create(thread: *mut usize, start: usize, argument: usize) -> i32 =>
        // SAFETY: the result of a C11 thread is the lower half of a register.
        result(unsafe { threads::pthread_create(thread, core::ptr::null(), start, argument as *mut _) });
    /// C11's `thrd_join`.
    thrd_join(thread: usize, value: *mut i32) -> i32 => thread_result(thread, value);
    /// C11's `thrd_detach`.
    thrd_detach(thread: usize) -> i32 => result(join::detach(thread));
    /// C11's `thrd_exit`.
    thrd_exit(value: i32) -> i32 => unwind::exit(value as usize);
    /// C11's `thrd_yield`.
    thrd_yield() -> () => {
        // SAFETY: the same without a result.
        unsafe { time::sched_yield() };
    };
    /// C11's `thrd_sleep`.
    thrd_sleep(request: usize, remaining: usize) -> i32 => sleep(request, remaining);
    /// C11's `mtx_lock`.
    mtx_lock(mutex: usize) -> i32 => result(mutex::lock(mutex, Deadline::NEVER));
    /// C11's `mtx_trylock`.
    mtx_trylock(mutex: usize) -> i32 => result(mutex::try_lock(mutex));
    /// C11's `mtx_timedlock`.
    mtx_timedlock(mutex: usize, time: usize) -> i32 =>
        result(mutex::lock(mutex, Deadline::at(CLOCK_REALTIME, time)));
    /// C11's `mtx_unlock`.
    mtx_unlock(mutex: usize) -> i32 => result(mutex::unlock(mutex));
    /// C11's `mtx_destroy`.
    mtx_destroy(mutex: usize) -> () => {
        mutex::destroy(mutex);
    };
    /// C11's `cnd_wait`.
    cnd_wait(condition: usize, mutex: usize) -> i32 => result(condvar::wait(condition, mutex, Deadline::NEVER));
    /// C11's `cnd_timedwait`.
    cnd_timedwait(condition: usize, mutex: usize, time: usize) -> i32 =>
        result(condvar::wait(condition, mutex, Deadline::at(CLOCK_REALTIME, time)));
    /// C11's `cnd_signal`.
    cnd_signal(condition: usize) -> i32 => result(condvar::signal(condition, 1));
    /// C11's `cnd_broadcast`.
    cnd_broadcast(condition: usize) -> i32 => result(condvar::signal(condition, u32::MAX));
    /// C11's `call_once`.
    call_once(control: usize, routine: usize) -> () => {
        once::once(control, routine);
    };
    /// C11's `tss_create`.
    tss_create(key: *mut u32, destructor: usize) -> i32 =>
        // SAFETY: the same function.
        result(unsafe { keys::pthread_key_create(key, destructor) });
    /// C11's `tss_delete`.
    tss_delete(key: u32) -> () => {
        // SAFETY: the same function.
        unsafe { keys::pthread_key_delete(key) };
    };
}
