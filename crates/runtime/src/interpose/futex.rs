//! `syscall` and the futex, on which all of std's synchronisation rests.

use super::cancel;
use super::object::{self, notify, word};
use crate::arch::errno::{EAGAIN, EDEADLK, EINTR, EINVAL, ENOSYS, EPERM, ETIMEDOUT};
use crate::arch::nr;
use crate::clock;
use crate::ids;
use crate::scheduler;
use crate::syscalls::{as_errno, error};
use crate::thread::Wait;
use crate::weak;
use crate::world::{live, take_at_site, world};
use alloc::vec::Vec;
use raddle_abi::site::{Operation, SiteId};

const WAIT: usize = 0;
const WAKE: usize = 1;
const REQUEUE: usize = 3;
const CMP_REQUEUE: usize = 4;
const WAKE_OP: usize = 5;
const LOCK_PI: usize = 6;
const UNLOCK_PI: usize = 7;
const TRYLOCK_PI: usize = 8;
const WAIT_BITSET: usize = 9;
const WAKE_BITSET: usize = 10;
const WAIT_REQUEUE_PI: usize = 11;
const CMP_REQUEUE_PI: usize = 12;
const LOCK_PI2: usize = 13;
/// Flags for private futexes and for the wall clock.
const COMMAND: usize = !(128 | 256);
const REALTIME_FLAG: usize = 256;
const REALTIME: i32 = 0;
const MONOTONIC: i32 = 1;
/// Bits of a priority-inheriting futex's word: its owner, and that somebody waits.
const OWNER: u32 = 0x3fff_ffff;
const WAITERS: u32 = 0x8000_0000;
/// Most futexes of one `futex_waitv`.
const MOST_WAITED: usize = 128;

/// libc's `syscall`. The program may pass fewer arguments; the rest is not looked at.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn syscall(
    number: usize,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> isize {
    let arguments = [a, b, c, d, e, f];
    let result = if live() {
        crate::syscalls::call(number, arguments)
    } else {
        // SAFETY: the program asked for it.
        unsafe { crate::arch::syscall(number, arguments) }
    };
    as_errno(result)
}

/// The futex system call. Returns the kernel's result.
pub fn futex(arguments: [usize; 6]) -> isize {
    let [address, operation, value, timeout, second, last] = arguments;
    if !live() {
        // SAFETY: the program asked for it.
        return unsafe { crate::arch::syscall(nr::FUTEX, arguments) };
    }
    let site = take_at_site();
    let command = operation & COMMAND;
    let clock = if operation & REALTIME_FLAG != 0 || command == LOCK_PI {
        REALTIME
    } else {
        MONOTONIC
    };
    let (count, expected) = (value as u32, value as u32);
    match command {
        WAIT => wait(address, expected, relative(timeout), !0, site),
        WAIT_BITSET if last as u32 == 0 => error(EINVAL),
        WAIT_BITSET => wait(
            address,
            expected,
            absolute(clock, timeout),
            last as u32,
            site,
        ),
        WAKE => wake(address, count, !0, site),
        WAKE_BITSET => wake(address, count, last as u32, site),
        REQUEUE => requeue(address, count, second, timeout as u32, site),
        CMP_REQUEUE | CMP_REQUEUE_PI if *word(address, 0) != last as u32 => error(EAGAIN),
        CMP_REQUEUE => requeue(address, count, second, timeout as u32, site),
        WAKE_OP => wake_op(arguments, site),
        LOCK_PI | LOCK_PI2 => lock_inheriting(address, absolute(clock, timeout), site),
        TRYLOCK_PI => lock_inheriting(address, 0, site),
        UNLOCK_PI => unlock_inheriting(address, site),
        // Whoever was moved to the second futex gets it when it is unlocked: it waits for it
        // as if it had come there by itself.
        WAIT_REQUEUE_PI => {
            let time = absolute(clock, timeout);
            let result = wait(address, expected, time, !0, site);
            if result < 0 {
                return result;
            }
            lock_inheriting(second, time, site)
        }
        CMP_REQUEUE_PI => wake(address, count.saturating_add(timeout as u32), !0, site),
        _ => error(ENOSYS),
    }
}

fn timespec(address: usize) -> [i64; 2] {
    // SAFETY: the program's timespec.
    unsafe { *(address as *const [i64; 2]) }
}

fn relative(timeout: usize) -> u64 {
    if timeout == 0 {
        return u64::MAX;
    }
    let [seconds, nanoseconds] = timespec(timeout);
    clock::relative(seconds, nanoseconds)
}

fn absolute(clock: i32, timeout: usize) -> u64 {
    if timeout == 0 {
        return u64::MAX;
    }
    let [seconds, nanoseconds] = timespec(timeout);
    clock::absolute(clock, seconds, nanoseconds)
}

/// What a futex wait returns.
fn outcome(woken: cancel::Woken) -> isize {
    match woken {
        cancel::Woken::TimedOut => error(ETIMEDOUT),
        cancel::Woken::Interrupted => error(EINTR),
        _ => 0,
    }
}

fn wait(address: usize, expected: u32, deadline: u64, bits: u32, site: SiteId) -> isize {
    scheduler::point(Operation::FutexWait, false, address, site);
    object::look_at(address, Operation::AtomicLoad, site);
    if *word(address, 0) != expected {
        // The kernel has told that there is a newer value.
        weak::refresh();
        return error(EAGAIN);
    }
    outcome(cancel::block_regardless(Wait {
        operation: Operation::FutexWait,
        object: address,
        bits,
        deadline,
        site,
        ends_quietly: true,
        expects: Some(expected),
        ..Wait::NONE
    }))
}

fn wake(address: usize, count: u32, bits: u32, site: SiteId) -> isize {
    let woken = notify(address, count, bits, 0, site);
    let execution = &mut world().execution;
    let point = execution.point;
    let last = core::mem::replace(&mut execution.running().idle_wake, point);
    // Where nobody was woken nobody has anything more to do than before; but a loop of nothing
    // else lets others run.
    if woken > 0 || last == point {
        scheduler::point_behind(Operation::FutexWake, address, site);
    }
    woken as isize
}

fn requeue(from: usize, wakes: u32, to: usize, moves: u32, site: SiteId) -> isize {
    let woken = notify(from, wakes, !0, 0, site);
    let execution = &mut world().execution;
    let moved: Vec<usize> = execution.queue(from).take(moves as usize).collect();
    for number in &moved {
        execution.dequeue(*number);
        execution.enqueue(*number, to);
    }
    scheduler::point_behind(Operation::FutexWake, from, site);
    woken as isize + moved.len() as isize
}

/// Changes the second word, wakes on the first, and on the second if its old value compares.
fn wake_op(arguments: [usize; 6], site: SiteId) -> isize {
    let [first, _, count, second_count, second, encoded] = arguments;
    let encoded = encoded as u32;
    let sign = |value: u32| ((value << 20) as i32) >> 20;
    let mut operand = sign(encoded >> 12 & 0xfff);
    let operation = encoded >> 28 & 0xf;
    if operation & 8 != 0 {
        operand = 1i32.wrapping_shl(operand as u32);
    }
    let old = *word(second, 0) as i32;
    let new = match operation & 7 {
        0 => operand,
        1 => old.wrapping_add(operand),
        2 => old | operand,
        3 => old & !operand,
        4 => old ^ operand,
        _ => return error(ENOSYS),
    };
    let compared = sign(encoded & 0xfff);
    let holds = match encoded >> 24 & 0xf {
        0 => old == compared,
        1 => old != compared,
        2 => old < compared,
        3 => old <= compared,
        4 => old > compared,
        5 => old >= compared,
        _ => return error(ENOSYS),
    };
    *word(second, 0) = new as u32;
    let mut woken = notify(first, count as u32, !0, 0, site);
    if holds {
        woken += notify(second, second_count as u32, !0, 0, site);
    }
    scheduler::point_behind(Operation::FutexWake, first, site);
    woken as isize
}

/// Takes a futex whose word names its owner, as it is done after the fast path has failed. A
/// deadline of 0 tries only.
fn lock_inheriting(address: usize, deadline: u64, site: SiteId) -> isize {
    scheduler::point(Operation::LockWant, true, address, site);
    let me = ids::thread() as u32;
    loop {
        let value = *word(address, 0);
        if value & OWNER == 0 {
            *word(address, 0) = value & !OWNER | me;
            object::acquire(address);
            world().execution.changed();
            return 0;
        }
        if value & OWNER == me {
            return error(EDEADLK);
        }
        if deadline == 0 {
            return error(EAGAIN);
        }
        *word(address, 0) = value | WAITERS;
        let timed_out = object::block(Wait {
            operation: Operation::LockWant,
            object: address,
            deadline,
            site,
            ..Wait::NONE
        });
        if timed_out {
            return error(ETIMEDOUT);
        }
    }
}

fn unlock_inheriting(address: usize, site: SiteId) -> isize {
    if *word(address, 0) & OWNER != ids::thread() as u32 {
        return error(EPERM);
    }
    object::release(address);
    let woken = scheduler::wake_waiters(Operation::LockWant, address, u32::MAX, !0);
    *word(address, 0) = if woken.count > 1 { WAITERS } else { 0 };
    world().execution.changed();
    scheduler::point_behind(Operation::LockRelease, address, site);
    0
}

/// `futex_waitv`: waits for any of several futexes and returns which one was woken.
pub fn wait_for_any(arguments: [usize; 6]) -> isize {
    #[repr(C)]
    struct Waited {
        value: u64,
        address: u64,
        flags: u32,
        reserved: u32,
    }
    let [waiters, count, _, timeout, clock, _] = arguments;
    let site = take_at_site();
    if count == 0 || count > MOST_WAITED {
        return error(EINVAL);
    }
    // SAFETY: the program's array.
    let waiters = unsafe { core::slice::from_raw_parts(waiters as *const Waited, count) };
    let first = waiters[0].address as usize;
    scheduler::point(Operation::FutexWait, false, first, site);
    let changed = |waited: &Waited| *word(waited.address as usize, 0) != waited.value as u32;
    if waiters.iter().any(changed) {
        return error(EAGAIN);
    }
    let current = world().execution.current;
    let others = waiters[1..].iter().map(|waited| waited.address as usize);
    world().execution.threads[current].also_waits_for = others.collect();
    let woken = cancel::block_regardless(Wait {
        operation: Operation::FutexWait,
        object: first,
        deadline: absolute(clock as i32, timeout),
        site,
        ends_quietly: true,
        ..Wait::NONE
    });
    match outcome(woken) {
        0 => {
            let by = world().execution.threads[current].woken_by;
            let place = waiters
                .iter()
                .position(|waited| waited.address as usize == by);
            place.unwrap_or(0) as isize
        }
        error => error,
    }
}
