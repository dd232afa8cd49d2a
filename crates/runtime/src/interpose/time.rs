//! Clocks and sleeping, in virtual time.

use super::cancel;
use super::object::interpose;
use super::threads;
use crate::arch::errno::{EINTR, EINVAL, ESRCH};
use crate::arch::nr;
use crate::clock::{self, CLOCK_MONOTONIC};
use crate::ids;
use crate::scheduler;
use crate::syscalls::{as_errno, error};
use crate::thread::Wait;
use crate::world::{live, take_at_site, world};
use raddle_abi::site::Operation;

const CLOCK_REALTIME: i32 = 0;
const CLOCK_PROCESS: i32 = 2;
const CLOCK_THREAD: i32 = 3;
const SECOND: u64 = 1_000_000_000;
const TIMES_PER_SECOND: i64 = 100;
const CLOCK_PER_SECOND: i64 = 1_000_000;
const ABSOLUTE: usize = 1;

fn timespec(address: usize) -> [i64; 2] {
    // SAFETY: the program's timespec.
    unsafe { *(address as *const [i64; 2]) }
}

/// Deadline of a relative timespec; none for a null pointer.
pub fn deadline_of(address: usize) -> u64 {
    if address == 0 {
        return u64::MAX;
    }
    let [seconds, nanoseconds] = timespec(address);
    clock::relative(seconds, nanoseconds)
}

/// Deadline of a relative timeval; none for a null pointer.
pub fn day_deadline_of(address: usize) -> u64 {
    if address == 0 {
        return u64::MAX;
    }
    let [seconds, microseconds] = timespec(address);
    clock::relative(seconds, microseconds.saturating_mul(1000))
}

/// Sleeps until a virtual time; after a signal, says how much was left if asked to.
fn wait_until(deadline: u64, remaining: usize) -> isize {
    let site = take_at_site();
    cancel::point();
    let woken = cancel::block_interruptibly(Wait {
        operation: Operation::Sleep,
        deadline,
        site,
        ..Wait::NONE
    });
    match woken {
        cancel::Woken::Cancelled => cancel::act(),
        cancel::Woken::Interrupted => {
            let left = deadline.saturating_sub(world().execution.now);
            if remaining != 0 {
                let left = [(left / SECOND) as i64, (left % SECOND) as i64];
                // SAFETY: the program's timespec.
                unsafe { *(remaining as *mut [i64; 2]) = left };
            }
            error(EINTR)
        }
        _ => 0,
    }
}

fn is_time([seconds, nanoseconds]: [i64; 2]) -> bool {
    seconds >= 0 && (0..SECOND as i64).contains(&nanoseconds)
}

/// `nanosleep`.
pub fn sleep_for(request: usize, remaining: usize) -> isize {
    if !is_time(timespec(request)) {
        return error(EINVAL);
    }
    wait_until(deadline_of(request), remaining)
}

/// `clock_nanosleep`.
pub fn sleep_until(clock: i32, flags: usize, request: usize, remaining: usize) -> isize {
    let time = timespec(request);
    if !is_time(time) || !clock::exists(clock) {
        return error(EINVAL);
    }
    if flags & ABSOLUTE != 0 {
        wait_until(clock::absolute(clock, time[0], time[1]), 0)
    } else {
        wait_until(clock::relative(time[0], time[1]), remaining)
    }
}

/// `clock_gettime`.
pub fn read_into(clock: i32, result: usize) -> isize {
    if !clock::exists(clock) {
        return error(EINVAL);
    }
    let (seconds, nanoseconds) = clock::read(clock);
    // SAFETY: the program's timespec.
    unsafe { *(result as *mut [i64; 2]) = [seconds, nanoseconds] };
    0
}

/// `clock_getres` of the clock of a process or thread.
pub fn resolution_into(result: usize) -> isize {
    if result != 0 {
        // SAFETY: the program's timespec.
        unsafe { *(result as *mut [i64; 2]) = [0, 1] };
    }
    0
}

/// The clock of the time that a process or thread has spent, as the kernel counts such clocks.
fn spent_clock(number: usize, of_thread: bool) -> i32 {
    const SCHEDULED: i32 = 2;
    const THREAD: i32 = 4;
    let kind = if of_thread { THREAD } else { 0 };
    !(number as i32) << 3 | SCHEDULED | kind
}

/// `clock_getcpuclockid`, which returns the error number.
fn process_clock(process: i32, result: *mut i32) -> i32 {
    let number = process as usize;
    let clock = spent_clock(number, false);
    let is_own = process == 0 || ids::is_own(number);
    if !is_own && real(nr::CLOCK_GETRES, [clock as usize, 0, 0, 0, 0, 0]) < 0 {
        return ESRCH as i32;
    }
    // SAFETY: the program's variable.
    unsafe { *result = clock };
    0
}

/// `pthread_getcpuclockid`, which returns the error number.
fn thread_clock(pthread: usize, result: *mut i32) -> i32 {
    let Some(thread) = threads::find(pthread) else {
        return ESRCH as i32;
    };
    // SAFETY: the program's variable.
    unsafe { *result = spent_clock(ids::PROCESS + thread, true) };
    0
}

/// `gettimeofday`.
pub fn read_day_into(result: usize) -> isize {
    let (seconds, nanoseconds) = clock::read(CLOCK_REALTIME);
    if result != 0 {
        // SAFETY: the program's timeval.
        unsafe { *(result as *mut [i64; 2]) = [seconds, nanoseconds / 1000] };
    }
    0
}

/// `time`.
pub fn seconds_into(result: usize) -> isize {
    let (seconds, _) = clock::read(CLOCK_REALTIME);
    if result != 0 {
        // SAFETY: the program's time_t.
        unsafe { *(result as *mut i64) = seconds };
    }
    seconds as isize
}

fn real(number: usize, arguments: [usize; 6]) -> isize {
    // SAFETY: the program asked for it.
    unsafe { crate::arch::syscall(number, arguments) }
}

/// Ticks of `times` and of `clock`.
fn ticks(clock: i32, per_second: i64) -> i64 {
    let (seconds, nanoseconds) = clock::read(clock);
    seconds * per_second + nanoseconds / (SECOND as i64 / per_second)
}

/// `times`: all of the time was spent by the process itself.
pub fn times_into(result: usize) -> isize {
    let own = ticks(CLOCK_PROCESS, TIMES_PER_SECOND);
    if result != 0 {
        // SAFETY: the program's `struct tms`.
        unsafe { *(result as *mut [i64; 4]) = [own, 0, 0, 0] };
    }
    ticks(CLOCK_MONOTONIC, TIMES_PER_SECOND) as isize
}

/// `getrusage`: the process itself has spent all of the time, in a fixed amount of memory.
pub fn usage_into(result: usize) -> isize {
    const WORDS: usize = 18;
    const LARGEST_KIB: i64 = 16_384;
    let (seconds, nanoseconds) = clock::read(CLOCK_PROCESS);
    let mut usage = [0i64; WORDS];
    (usage[0], usage[1], usage[4]) = (seconds, nanoseconds / 1000, LARGEST_KIB);
    // SAFETY: the program's `struct rusage`.
    unsafe { *(result as *mut [i64; WORDS]) = usage };
    0
}

/// Takes out of the result of `sysinfo` what changes from run to run: half of the memory is free, and nothing
/// else runs.
pub fn system_into(information: usize, result: isize) -> isize {
    /// `struct sysinfo` begins with the uptime, three loads, and sizes: total, free, shared, buffered, and total and
    /// free swap space.
    const WORDS: usize = 10;
    const PROCESSES: usize = 80;
    if result == 0 {
        let (seconds, _) = clock::read(CLOCK_MONOTONIC);
        // SAFETY: the kernel has just filled the structure in.
        unsafe {
            let words = information as *mut [u64; WORDS];
            let (total, swap) = ((*words)[4], (*words)[8]);
            *words = [seconds as u64, 0, 0, 0, total, total / 2, 0, 0, swap, swap];
            *((information + PROCESSES) as *mut u16) = 1;
        }
    }
    result
}

/// `timespec_get`: returns the base, or 0.
fn timespec_from(result: usize, base: i32) -> i32 {
    let clock = match base {
        1 => CLOCK_REALTIME,
        2 => CLOCK_MONOTONIC,
        3 => CLOCK_PROCESS,
        4 => CLOCK_THREAD,
        _ => return 0,
    };
    read_into(clock, result);
    base
}

/// Sleeps for a while, and returns the whole seconds that were left after a signal.
fn sleep_seconds(seconds: u32) -> u32 {
    let deadline = clock::relative(i64::from(seconds), 0);
    let mut left = [0i64; 2];
    if wait_until(deadline, left.as_mut_ptr() as usize) < 0 {
        left[0] as u32 + u32::from(left[1] > 0)
    } else {
        0
    }
}

interpose! {
    /// libc's `clock_gettime`.
    clock_gettime(clock: i32, result: usize) -> i32 => as_errno(read_into(clock, result)) as i32;
    /// libc's `gettimeofday`.
    gettimeofday(result: usize, _zone: usize) -> i32 => read_day_into(result) as i32;
    /// libc's `time`.
    time(result: usize) -> i64 => seconds_into(result) as i64;
    /// libc's `clock_getcpuclockid`.
    clock_getcpuclockid(process: i32, result: usize) -> i32 => process_clock(process, result as *mut i32);
    /// libc's `pthread_getcpuclockid`.
    pthread_getcpuclockid(pthread: usize, result: usize) -> i32 => thread_clock(pthread, result as *mut i32);
    /// libc's `clock`.
    clock() -> i64 => ticks(CLOCK_PROCESS, CLOCK_PER_SECOND);
    /// libc's `times`.
    times(result: usize) -> i64 => times_into(result) as i64;
    /// libc's `timespec_get`.
    timespec_get(result: usize, base: i32) -> i32 => timespec_from(result, base);
    /// libc's `sleep`.
    sleep(seconds: u32) -> u32 => sleep_seconds(seconds);
    /// libc's `usleep`.
    usleep(microseconds: u32) -> i32 =>
        as_errno(wait_until(clock::relative(0, i64::from(microseconds) * 1000), 0)) as i32;
    /// libc's `nanosleep`.
    nanosleep(request: usize, remaining: usize) -> i32 => as_errno(sleep_for(request, remaining)) as i32;
    /// libc's `clock_nanosleep`, which returns the error number.
    clock_nanosleep(clock: i32, flags: i32, request: usize, remaining: usize) -> i32 =>
        -(sleep_until(clock, flags as usize, request, remaining) as i32);
}

/// libc's `sched_yield`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn sched_yield() -> i32 {
    if live() {
        scheduler::yield_now(take_at_site());
        return 0;
    }
    real(nr::SCHED_YIELD, [0; 6]) as i32
}
