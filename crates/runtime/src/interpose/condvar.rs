//! Condition variables: first come, first woken, and nobody wakes without a reason.
//!
//! Only the clock of a condition stands in libc's object. Who waits is known to the scheduler.

use super::cancel;
use super::mutex;
use super::object::{self, Deadline, interpose, word};
use super::real;
use crate::arch::errno::ETIMEDOUT;
use crate::native;
use crate::scheduler;
use crate::thread::Wait;
use crate::world::{is_controlled, live, world};
use core::ffi::c_void;
use core::sync::atomic::{AtomicUsize, Ordering};
use raddle_abi::record::wake;
use raddle_abi::site::Operation;

const CONDITION_WORDS: usize = 12;
const ATTRIBUTE_WORDS: usize = 4;
const CLOCK_REALTIME: i32 = 0;
const CLOCK_MONOTONIC: i32 = 1;

/// Word of a condition by which libc tells its clock, + 1; 0 before it was looked for.
static CLOCK_WORD: AtomicUsize = AtomicUsize::new(0);

/// Words that libc makes of a new condition with this clock.
fn initialised_with(clock: i32) -> [u32; CONDITION_WORDS] {
    let mut condition = [0u32; CONDITION_WORDS];
    let mut attributes = [0u32; ATTRIBUTE_WORDS];
    let attributes = attributes.as_mut_ptr().cast::<c_void>();
    // SAFETY: both are as large as libc's types, or larger.
    unsafe {
        real::pthread_condattr_init(attributes);
        real::pthread_condattr_setclock(attributes, clock);
        real::pthread_cond_init(condition.as_mut_ptr().cast(), attributes);
    }
    condition
}

/// Where libc keeps the clock differs between its versions, so it is asked.
fn clock_of(condition: usize) -> i32 {
    if CLOCK_WORD.load(Ordering::Relaxed) == 0 {
        let realtime = initialised_with(CLOCK_REALTIME);
        let monotonic = initialised_with(CLOCK_MONOTONIC);
        let index = (0..CONDITION_WORDS).find(|index| realtime[*index] != monotonic[*index]);
        CLOCK_WORD.store(
            index.map_or(CONDITION_WORDS, |index| index) + 1,
            Ordering::Relaxed,
        );
    }
    let index = CLOCK_WORD.load(Ordering::Relaxed) - 1;
    // A condition is otherwise left as it was initialised.
    if index < CONDITION_WORDS && *word(condition, index * 4) & !1 != 0 {
        CLOCK_MONOTONIC
    } else {
        CLOCK_REALTIME
    }
}

/// Waits for a condition. The mutex is unlocked and the wait begun in one step.
pub fn wait(condition: usize, mutex: usize, deadline: Deadline) -> i32 {
    let time = match deadline.time() {
        Ok(time) => time,
        Err(error) => return error,
    };
    let site = object::begin(Operation::FutexWait, condition);
    cancel::point();
    let error = mutex::unlock_at(mutex, site);
    if error != 0 {
        return error;
    }
    mutex::pin(mutex);
    let mut woken = cancel::Woken::TimedOut;
    if Deadline::is_past(time) {
        if live() {
            scheduler::point(Operation::FutexWait, true, condition, site);
        }
    } else {
        woken = cancel::block(Wait {
            operation: Operation::FutexWait,
            object: condition,
            deadline: time,
            site,
            then_takes: mutex,
            kind: wake::CONDITION,
            ..Wait::NONE
        });
    }
    mutex::unpin(mutex);
    if woken == cancel::Woken::Normally {
        object::acquire(condition);
    }
    let error = mutex::lock_at(mutex, Deadline::NEVER, site);
    match woken {
        // The mutex is locked again before the handlers run.
        cancel::Woken::Cancelled => cancel::act(),
        cancel::Woken::TimedOut if error == 0 => ETIMEDOUT as i32,
        _ => error,
    }
}

/// Wakes up to `count` of those who wait.
pub fn signal(condition: usize, count: u32) -> i32 {
    let site = object::begin(Operation::FutexWake, condition);
    object::touch(condition, site);
    object::release_too(condition);
    object::notify(condition, count, !0, wake::CONDITION, site);
    if native::seen() {
        // Native threads wait by libc's own functions.
        signal_really(condition, count > 1);
    }
    world().execution.changed();
    0
}

/// libc's own `pthread_cond_signal` or `pthread_cond_broadcast`.
fn signal_really(condition: usize, broadcast: bool) -> i32 {
    static SIGNAL: AtomicUsize = AtomicUsize::new(0);
    static BROADCAST: AtomicUsize = AtomicUsize::new(0);
    let real = match broadcast {
        false => real::resolve(&SIGNAL, "pthread_cond_signal\0"),
        true => real::resolve(&BROADCAST, "pthread_cond_broadcast\0"),
    };
    // SAFETY: libc's functions of these names have this signature.
    unsafe {
        let real: unsafe extern "C" fn(usize) -> i32 = core::mem::transmute(real);
        real(condition)
    }
}

fn notify(condition: usize, broadcast: bool) -> i32 {
    if is_controlled() {
        return signal(condition, if broadcast { u32::MAX } else { 1 });
    }
    if native::is_stranger() {
        native::signalled(condition, broadcast);
    }
    signal_really(condition, broadcast)
}

/// libc's `pthread_cond_signal`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_cond_signal(condition: usize) -> i32 {
    notify(condition, false)
}

/// libc's `pthread_cond_broadcast`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_cond_broadcast(condition: usize) -> i32 {
    notify(condition, true)
}

interpose! {
    /// libc's `pthread_cond_wait`.
    pthread_cond_wait(condition: usize, mutex: usize) -> i32 => wait(condition, mutex, Deadline::NEVER);
    /// libc's `pthread_cond_timedwait`.
    pthread_cond_timedwait(condition: usize, mutex: usize, time: usize) -> i32 =>
        wait(condition, mutex, Deadline::at(clock_of(condition), time));
    /// libc's `pthread_cond_clockwait`.
    pthread_cond_clockwait(condition: usize, mutex: usize, clock: i32, time: usize) -> i32 =>
        wait(condition, mutex, Deadline::at(clock, time));
    /// libc's `pthread_cond_destroy`. Whoever was woken needs the condition no more.
    pthread_cond_destroy(condition: usize) -> i32 => {
        let site = object::begin(Operation::FutexWake, condition);
        object::touch(condition, site);
        0
    };
}
