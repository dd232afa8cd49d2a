//! Waiting for the end of a thread.

use super::cancel;
use super::object::{self, Deadline, interpose};
use super::real;
use super::threads::find;
use crate::arch::errno::{EBUSY, EDEADLK, EINVAL, ESRCH, ETIMEDOUT};
use crate::donor;
use crate::io::{self, Probe, Source};
use crate::native;
use crate::oracles::race;
use crate::record;
use crate::thread::{State, Wait};
use crate::weak;
use crate::world::{take_at_site, world};
use core::sync::atomic::AtomicUsize;
use raddle_abi::site::Operation;

const CLOCK_REALTIME: i32 = 0;

/// Whether `number` waits for the end of `other`.
fn waits_for(number: usize, other: usize) -> bool {
    let thread = &world().execution.threads[number];
    let wait = &thread.wait;
    thread.state == State::Blocked && wait.operation == Operation::Join && wait.object == other
}

fn joinable(pthread: usize) -> Result<usize, i32> {
    let Some(number) = find(pthread) else {
        return Err(ESRCH as i32);
    };
    if world().execution.threads[number].detached {
        return Err(EINVAL as i32);
    }
    Ok(number)
}

/// Waits for the end of a thread that is native, and libc's to know.
fn join_native(pthread: usize, result: *mut usize, deadline: Deadline) -> i32 {
    static TRY: AtomicUsize = AtomicUsize::new(0);
    let real = real::resolve(&TRY, "pthread_tryjoin_np\0");
    let time = match deadline.time() {
        Err(error) => return error,
        Ok(time) => time,
    };
    let by = (Source::Inside, Probe::Try);
    let ended = io::until(time, by, take_at_site(), || {
        // SAFETY: libc's function of this name has this signature.
        let error = unsafe {
            let real: unsafe extern "C" fn(usize, *mut usize) -> i32 = core::mem::transmute(real);
            real(pthread, result)
        };
        (error != EBUSY as i32).then_some(error as isize)
    });
    ended.map_or(ETIMEDOUT as i32, |error| error as i32)
}

/// Waits for the end of a thread, until `deadline` at most.
pub fn join(pthread: usize, result: *mut usize, deadline: Deadline) -> i32 {
    let number = match joinable(pthread) {
        Ok(number) => number,
        Err(_) if native::seen() && find(pthread).is_none() => {
            return join_native(pthread, result, deadline);
        }
        Err(error) => return error,
    };
    let current = world().execution.current;
    let site = object::begin(Operation::Join, number);
    cancel::point();
    while world().execution.threads[number].state != State::Done {
        if number == current || waits_for(number, current) {
            return EDEADLK as i32;
        }
        let time = match deadline.time() {
            Err(error) => return error,
            Ok(time) if Deadline::is_past(time) => return ETIMEDOUT as i32,
            Ok(time) => time,
        };
        let woken = cancel::block(Wait {
            operation: Operation::Join,
            object: number,
            deadline: time,
            site,
            ..Wait::NONE
        });
        if woken == cancel::Woken::Cancelled {
            cancel::act();
        }
    }
    take(number, result, site)
}

fn try_join(pthread: usize, result: *mut usize) -> i32 {
    let number = match joinable(pthread) {
        Ok(number) => number,
        Err(error) => return error,
    };
    let site = object::begin(Operation::Join, number);
    if world().execution.threads[number].state != State::Done {
        return EBUSY as i32;
    }
    take(number, result, site)
}

/// Takes the result of a thread that has ended.
fn take(number: usize, result: *mut usize, site: u32) -> i32 {
    let thread = &mut world().execution.threads[number];
    if core::mem::replace(&mut thread.joined, true) {
        return EINVAL as i32;
    }
    let (value, donor) = (thread.result, thread.donor);
    if !result.is_null() {
        // SAFETY: the program's variable.
        unsafe { *result = value };
    }
    let mut clock = alloc::vec::Vec::new();
    if world().running {
        clock = race::clock_of(number);
        race::joined(number);
        weak::joined(number);
        record::event(Operation::Join, number as u64, 1, 0, 0, site);
    }
    donor::give_back(donor, clock);
    0
}

/// Nobody will wait for the thread.
pub fn detach(pthread: usize) -> i32 {
    let number = match joinable(pthread) {
        Ok(number) => number,
        Err(error) => return error,
    };
    world().execution.threads[number].detached = true;
    0
}

interpose! {
    /// libc's `pthread_join`.
    pthread_join(pthread: usize, result: *mut usize) -> i32 => join(pthread, result, Deadline::NEVER);
    /// libc's `pthread_tryjoin_np`.
    pthread_tryjoin_np(pthread: usize, result: *mut usize) -> i32 => try_join(pthread, result);
    /// libc's `pthread_timedjoin_np`.
    pthread_timedjoin_np(pthread: usize, result: *mut usize, time: usize) -> i32 =>
        join(pthread, result, Deadline::at(CLOCK_REALTIME, time));
    /// libc's `pthread_clockjoin_np`.
    pthread_clockjoin_np(pthread: usize, result: *mut usize, clock: i32, time: usize) -> i32 =>
        join(pthread, result, Deadline::at(clock, time));
    /// libc's `pthread_detach`.
    pthread_detach(pthread: usize) -> i32 => detach(pthread);
}
