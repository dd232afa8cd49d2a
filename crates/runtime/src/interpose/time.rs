//! Clocks and sleeping, in virtual time.

use crate::arch::nr;
use crate::clock;
use crate::scheduler;
use crate::syscalls::as_errno;
use crate::thread::Wait;
use crate::world::{live, take_at_site, world};
use raddle_abi::site::Operation;

const CLOCK_REALTIME: i32 = 0;
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

fn sleep(deadline: u64) -> isize {
    let site = take_at_site();
    scheduler::block(Wait {
        operation: Operation::Sleep,
        object: 0,
        bits: !0,
        deadline,
        site,
        ..Wait::NONE
    });
    0
}

/// `nanosleep`.
pub fn sleep_for(request: usize) -> isize {
    sleep(deadline_of(request))
}

/// `clock_nanosleep`.
pub fn sleep_until(clock: i32, flags: usize, request: usize) -> isize {
    let [seconds, nanoseconds] = timespec(request);
    sleep(if flags & ABSOLUTE != 0 {
        clock::absolute(clock, seconds, nanoseconds)
    } else {
        clock::relative(seconds, nanoseconds)
    })
}

/// `clock_gettime`.
pub fn read_into(clock: i32, result: usize) -> isize {
    let (seconds, nanoseconds) = clock::read(clock);
    // SAFETY: the program's timespec.
    unsafe { *(result as *mut [i64; 2]) = [seconds, nanoseconds] };
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

/// libc's `clock_gettime`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn clock_gettime(clock: i32, result: usize) -> i32 {
    if world().live {
        return read_into(clock, result) as i32;
    }
    as_errno(real(
        nr::CLOCK_GETTIME,
        [clock as usize, result, 0, 0, 0, 0],
    )) as i32
}

/// libc's `gettimeofday`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn gettimeofday(result: usize, zone: usize) -> i32 {
    if world().live {
        return read_day_into(result) as i32;
    }
    as_errno(real(nr::GETTIMEOFDAY, [result, zone, 0, 0, 0, 0])) as i32
}

/// libc's `time`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn time(result: usize) -> i64 {
    if world().live {
        return seconds_into(result) as i64;
    }
    real(nr::TIME, [result, 0, 0, 0, 0, 0]) as i64
}

/// libc's `nanosleep`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn nanosleep(request: usize, remaining: usize) -> i32 {
    if live() {
        return sleep_for(request) as i32;
    }
    as_errno(real(nr::NANOSLEEP, [request, remaining, 0, 0, 0, 0])) as i32
}

/// libc's `clock_nanosleep`, which returns the error number.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn clock_nanosleep(
    clock: i32,
    flags: i32,
    request: usize,
    remaining: usize,
) -> i32 {
    if live() {
        return sleep_until(clock, flags as usize, request) as i32;
    }
    -(real(
        nr::CLOCK_NANOSLEEP,
        [clock as usize, flags as usize, request, remaining, 0, 0],
    ) as i32)
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
