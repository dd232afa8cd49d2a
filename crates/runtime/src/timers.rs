//! Timers in virtual time: `alarm`, `setitimer` and timer descriptors.
//!
//! A timer descriptor is the kernel's, but it is set only when its virtual time has come.

use crate::arch::nr;
use crate::arch::signal::SIGALRM;
use crate::clock;
use crate::delivery;
use crate::descriptors;
use crate::io;
use crate::syscalls::{changes_kernel, perform};
use crate::world::world;

const SECOND: u64 = 1_000_000_000;
const ABSOLUTE: usize = 1;
const CLOCK_MONOTONIC: i32 = 1;

/// What happens when a timer's time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The process gets SIGALRM.
    Alarm,
    /// A descriptor becomes readable.
    Descriptor(usize),
}

/// A timer that runs.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    /// What it does.
    pub event: Event,
    /// Its virtual time.
    pub deadline: u64,
    /// Virtual time between repetitions, or 0.
    pub interval: u64,
}

/// Sets a timer, or stops it with a deadline of 0. Returns what was left of it, and its interval.
fn set(event: Event, deadline: u64, interval: u64) -> (u64, u64) {
    let execution = &mut world().execution;
    let old = execution.timers.iter().find(|timer| timer.event == event);
    let left = old.map_or((0, 0), |timer| {
        (
            timer.deadline.saturating_sub(execution.now).max(1),
            timer.interval,
        )
    });
    execution.timers.retain(|timer| timer.event != event);
    if deadline != 0 {
        execution.timers.push(Timer {
            event,
            deadline,
            interval,
        });
    }
    left
}

/// The virtual time of the next timer.
pub fn next() -> Option<u64> {
    let timers = world().execution.timers.iter();
    timers.map(|timer| timer.deadline).min()
}

/// Lets the timers go off whose time has come.
pub fn go_off() {
    let now = world().execution.now;
    while let Some(place) = world()
        .execution
        .timers
        .iter()
        .position(|timer| timer.deadline <= now)
    {
        let timers = &mut world().execution.timers;
        let timer = timers[place];
        if timer.interval == 0 {
            timers.remove(place);
        } else {
            timers[place].deadline = now + timer.interval;
        }
        match timer.event {
            Event::Alarm => delivery::send(SIGALRM, None),
            Event::Descriptor(descriptor) => {
                let soon = [0i64, 0, 0, 1];
                let soon = soon.as_ptr() as usize;
                perform(nr::TIMERFD_SETTIME, [descriptor, 0, soon, 0, 0, 0]);
                // The kernel's clock has to come to that.
                perform(nr::SCHED_YIELD, [0; 6]);
                io::did_something();
            }
        }
    }
}

fn after(nanoseconds: u64) -> u64 {
    if nanoseconds == 0 {
        0
    } else {
        world().execution.now + nanoseconds
    }
}

/// `alarm`: returns the seconds that were left.
pub fn alarm(seconds: u32) -> u32 {
    let (left, _) = set(Event::Alarm, after(u64::from(seconds) * SECOND), 0);
    left.div_ceil(SECOND) as u32
}

/// `setitimer`; only the timer of real time is virtual.
pub fn set_interval(arguments: [usize; 6]) -> isize {
    const REAL: usize = 0;
    let [which, new, old, ..] = arguments;
    if which != REAL {
        crate::shared::shared().note_condition(raddle_abi::control::conditions::REAL_TIMER);
        changes_kernel(nr::SETITIMER);
        return perform(nr::SETITIMER, arguments);
    }
    let nanoseconds = |seconds: i64, micro: i64| seconds as u64 * SECOND + micro as u64 * 1000;
    let mut left = (0, 0);
    if new != 0 {
        // SAFETY: the program's `struct itimerval`.
        let [seconds, micro, first_seconds, first_micro] = unsafe { *(new as *const [i64; 4]) };
        let first = after(nanoseconds(first_seconds, first_micro));
        left = set(Event::Alarm, first, nanoseconds(seconds, micro));
    }
    if old != 0 {
        let split = |time: u64| [(time / SECOND) as i64, (time % SECOND / 1000) as i64];
        let ([a, b], [c, d]) = (split(left.1), split(left.0));
        // SAFETY: the program's `struct itimerval`.
        unsafe { *(old as *mut [i64; 4]) = [a, b, c, d] };
    }
    0
}

/// `timerfd_settime`.
pub fn set_descriptor(arguments: [usize; 6]) -> isize {
    let [descriptor, flags, new, old, ..] = arguments;
    if !descriptors::is_own(descriptor) {
        changes_kernel(nr::TIMERFD_SETTIME);
    }
    // What has gone off and was not read is forgotten.
    let never = [0i64; 4];
    let never = never.as_ptr() as usize;
    let stopped = perform(nr::TIMERFD_SETTIME, [descriptor, 0, never, 0, 0, 0]);
    if stopped < 0 {
        return stopped;
    }
    // SAFETY: the program's `struct itimerspec`.
    let [interval, interval_nano, first, first_nano] = unsafe { *(new as *const [i64; 4]) };
    let deadline = if first == 0 && first_nano == 0 {
        0
    } else if flags & ABSOLUTE != 0 {
        clock::absolute(CLOCK_MONOTONIC, first, first_nano).max(1)
    } else {
        clock::relative(first, first_nano)
    };
    let interval = interval as u64 * SECOND + interval_nano as u64;
    let left = set(Event::Descriptor(descriptor), deadline, interval);
    if old != 0 {
        let split = |time: u64| [(time / SECOND) as i64, (time % SECOND) as i64];
        let ([a, b], [c, d]) = (split(left.1), split(left.0));
        // SAFETY: the program's `struct itimerspec`.
        unsafe { *(old as *mut [i64; 4]) = [a, b, c, d] };
    }
    0
}
