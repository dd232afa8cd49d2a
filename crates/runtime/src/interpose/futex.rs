//! `syscall` and the futex, on which all of std's synchronisation rests.

use crate::arch::errno::{EAGAIN, ENOSYS, ETIMEDOUT};
use crate::arch::nr;
use crate::clock;
use crate::execution::LostWake;
use crate::record;
use crate::scheduler;
use crate::syscalls::{as_errno, error};
use crate::thread::Wait;
use crate::world::{live, take_at_site, world};
use raddle_abi::site::Operation;

const WAIT: usize = 0;
const WAKE: usize = 1;
const REQUEUE: usize = 3;
const CMP_REQUEUE: usize = 4;
const WAKE_OP: usize = 5;
const WAIT_BITSET: usize = 9;
const WAKE_BITSET: usize = 10;
/// Flags for private futexes and for the wall clock.
const COMMAND: usize = !(128 | 256);
const REALTIME: usize = 256;
/// Lost wake-ups that are remembered.
const REMEMBERED: usize = 64;

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
    let [address, operation, value, timeout, second, bits] = arguments;
    if !live() {
        // SAFETY: the program asked for it.
        return unsafe { crate::arch::syscall(nr::FUTEX, arguments) };
    }
    let site = take_at_site();
    match operation & COMMAND {
        WAIT => {
            let deadline = if timeout == 0 {
                u64::MAX
            } else {
                relative(timeout)
            };
            wait(address, value as u32, deadline, !0, site)
        }
        WAIT_BITSET => {
            let clock = if operation & REALTIME != 0 { 0 } else { 1 };
            let deadline = if timeout == 0 {
                u64::MAX
            } else {
                absolute(clock, timeout)
            };
            wait(address, value as u32, deadline, bits as u32, site)
        }
        WAKE => wake(address, value as u32, !0, site),
        WAKE_BITSET => wake(address, value as u32, bits as u32, site),
        REQUEUE | CMP_REQUEUE => {
            if operation & COMMAND == CMP_REQUEUE && word(address) != bits as u32 {
                return error(EAGAIN);
            }
            let woken = scheduler::wake_waiters(Operation::FutexWait, address, value as u32, !0);
            let moved = requeue(address, second, timeout as u32);
            scheduler::point(Operation::FutexWake, true, address, site);
            (woken + moved) as isize
        }
        WAKE_OP => wake_op(arguments, site),
        _ => error(ENOSYS),
    }
}

fn word(address: usize) -> u32 {
    // SAFETY: the program's futex word.
    unsafe { *(address as *const u32) }
}

fn relative(timeout: usize) -> u64 {
    // SAFETY: the program's timespec.
    let [seconds, nanoseconds] = unsafe { *(timeout as *const [i64; 2]) };
    clock::relative(seconds, nanoseconds)
}

fn absolute(clock: i32, timeout: usize) -> u64 {
    // SAFETY: the program's timespec.
    let [seconds, nanoseconds] = unsafe { *(timeout as *const [i64; 2]) };
    clock::absolute(clock, seconds, nanoseconds)
}

fn wait(address: usize, expected: u32, deadline: u64, bits: u32, site: u32) -> isize {
    scheduler::point(Operation::FutexWait, false, address, site);
    if word(address) != expected {
        return error(EAGAIN);
    }
    let timed_out = scheduler::block(Wait {
        operation: Operation::FutexWait,
        object: address,
        bits,
        deadline,
        site,
        ..Wait::NONE
    });
    if timed_out { error(ETIMEDOUT) } else { 0 }
}

fn wake(address: usize, count: u32, bits: u32, site: u32) -> isize {
    let woken = scheduler::wake_waiters(Operation::FutexWait, address, count, bits);
    let execution = &mut world().execution;
    if woken == 0 {
        if execution.lost_wakes.len() >= REMEMBERED {
            execution.lost_wakes.remove(0);
        }
        execution.lost_wakes.push(LostWake {
            object: address,
            thread: execution.current as u16,
            site,
        });
    }
    record::event(
        Operation::FutexWake,
        address as u64,
        u64::from(woken),
        0,
        0,
        site,
    );
    scheduler::point(Operation::FutexWake, true, address, site);
    woken as isize
}

fn requeue(from: usize, to: usize, count: u32) -> u32 {
    let execution = &mut world().execution;
    let moved: alloc::vec::Vec<usize> = execution.queue(from).take(count as usize).collect();
    for number in &moved {
        execution.dequeue(*number);
        execution.enqueue(*number, to);
    }
    moved.len() as u32
}

/// Changes the second word, wakes on the first, and on the second if its old value compares.
fn wake_op(arguments: [usize; 6], site: u32) -> isize {
    let [first, _, count, second_count, second, encoded] = arguments;
    let encoded = encoded as u32;
    let sign = |value: u32| ((value << 20) as i32) >> 20;
    let mut operand = sign(encoded >> 12 & 0xfff);
    let operation = encoded >> 28 & 0xf;
    if operation & 8 != 0 {
        operand = 1i32.wrapping_shl(operand as u32);
    }
    let old = word(second) as i32;
    let new = match operation & 7 {
        0 => operand,
        1 => old.wrapping_add(operand),
        2 => old | operand,
        3 => old & !operand,
        _ => old ^ operand,
    };
    // SAFETY: the program's futex word.
    unsafe { *(second as *mut i32) = new };
    let compared = sign(encoded & 0xfff);
    let holds = match encoded >> 24 & 0xf {
        0 => old == compared,
        1 => old != compared,
        2 => old < compared,
        3 => old <= compared,
        4 => old > compared,
        _ => old >= compared,
    };
    let mut woken = scheduler::wake_waiters(Operation::FutexWait, first, count as u32, !0);
    if holds {
        woken += scheduler::wake_waiters(Operation::FutexWait, second, second_count as u32, !0);
    }
    scheduler::point(Operation::FutexWake, true, first, site);
    woken as isize
}
