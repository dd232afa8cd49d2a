//! Timers in virtual time: `alarm`, `setitimer`, timer descriptors, and those of
//! [`crate::posix_timers`].
//!
//! All time that passes counts as spent by the process, so that the interval timers of spent
//! time run as the one of real time does. A timer descriptor is an event counter of the
//! kernel's, which counts what a timer would: whoever reads it, or waits for it, sees no
//! difference.

use crate::arch::errno::EINVAL;
use crate::arch::nr;
use crate::arch::signal::{SIGALRM, SIGPROF, SIGVTALRM};
use crate::clock;
use crate::delivery;
use crate::descriptors;
use crate::io;
use crate::posix_timers;
use crate::shared::shared;
use crate::syscalls::{changes_kernel, error, perform};
use crate::world::world;
use raddle_abi::control::conditions;

/// Nanoseconds of a second.
pub const SECOND: u64 = 1_000_000_000;
/// Flag of a time that is not from now.
pub const ABSOLUTE: usize = 1;
/// The interval timers: of real time, of the program's own, and of all of the process's.
const INTERVALS: [usize; 3] = [SIGALRM, SIGVTALRM, SIGPROF];

/// What happens when a timer's time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The process gets this signal of an interval timer.
    Interval(usize),
    /// A descriptor becomes readable.
    Descriptor(usize),
    /// A timer of POSIX tells what it was made for.
    Posix(usize),
    /// Nothing: a timer of POSIX is asked.
    Nothing(usize),
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

impl Timer {
    /// How often its time has come, and when it comes next.
    fn times(&self, now: u64) -> (u64, u64) {
        match (now.checked_sub(self.deadline), self.interval) {
            (None, _) => (0, self.deadline),
            (Some(_), 0) => (1, self.deadline),
            (Some(late), interval) => {
                let times = late / interval + 1;
                (times, self.deadline + times * interval)
            }
        }
    }
}

/// What is left of a timer, and its interval; nothing for one that does not run.
pub fn left(is_it: impl Fn(Event) -> bool) -> (u64, u64) {
    let execution = &world().execution;
    let timer = execution.timers.iter().find(|timer| is_it(timer.event));
    timer.map_or((0, 0), |timer| {
        let (_, next) = timer.times(execution.now);
        match timer.event {
            // It has gone off without anybody's doing.
            Event::Nothing(_) => (next.saturating_sub(execution.now), timer.interval),
            _ => (next.saturating_sub(execution.now).max(1), timer.interval),
        }
    })
}

/// Sets a timer, or stops it with a deadline of 0. Returns what was left of it, and its interval.
pub fn set(event: Event, deadline: u64, interval: u64) -> (u64, u64) {
    let left = left(|other| other == event);
    let timers = &mut world().execution.timers;
    timers.retain(|timer| timer.event != event);
    if deadline != 0 {
        shared().note_condition(conditions::DEADLINE);
        let timers = &mut world().execution.timers;
        timers.push(Timer {
            event,
            deadline,
            interval,
        });
    }
    left
}

/// The virtual time of the next timer that does anything.
pub fn next() -> Option<u64> {
    let timers = world().execution.timers.iter();
    timers
        .filter(|timer| !matches!(timer.event, Event::Nothing(_)))
        .map(|timer| timer.deadline)
        .min()
}

/// Whether a timer of this deadline ends the program.
pub fn next_ends_program(deadline: u64) -> bool {
    let mut timers = world().execution.timers.iter();
    timers.any(|timer| match timer.event {
        Event::Interval(signal) => timer.deadline == deadline && delivery::ends_program(signal),
        _ => false,
    })
}

/// Lets the timers go off whose time has come.
pub fn go_off() {
    let now = world().execution.now;
    let is_due = |timer: &Timer| timer.deadline <= now && !matches!(timer.event, Event::Nothing(_));
    while let Some(place) = world().execution.timers.iter().position(is_due) {
        let timers = &mut world().execution.timers;
        let timer = timers[place];
        let (times, next) = timer.times(now);
        if timer.interval == 0 {
            timers.remove(place);
        } else {
            timers[place].deadline = next;
        }
        match timer.event {
            Event::Interval(signal) => delivery::send(signal, None),
            Event::Posix(number) => posix_timers::go_off(number, times as u32),
            Event::Nothing(_) => {}
            Event::Descriptor(descriptor) => {
                let place = &raw const times as usize;
                perform(nr::WRITE, [descriptor, place, 8, 0, 0, 0]);
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
    let event = Event::Interval(SIGALRM);
    let (left, _) = set(event, after(u64::from(seconds) * SECOND), 0);
    left.div_ceil(SECOND) as u32
}

fn write_interval((left, interval): (u64, u64), place: usize) {
    if place != 0 {
        let split = |time: u64| [(time / SECOND) as i64, (time % SECOND / 1000) as i64];
        let ([a, b], [c, d]) = (split(interval), split(left));
        // SAFETY: the program's `struct itimerval`.
        unsafe { *(place as *mut [i64; 4]) = [a, b, c, d] };
    }
}

/// Writes what is left of a timer, and its interval, to the program's `struct itimerspec`.
pub fn write((left, interval): (u64, u64), place: usize) {
    if place != 0 {
        let split = |time: u64| [(time / SECOND) as i64, (time % SECOND) as i64];
        let ([a, b], [c, d]) = (split(interval), split(left));
        // SAFETY: the program's structure.
        unsafe { *(place as *mut [i64; 4]) = [a, b, c, d] };
    }
}

/// `setitimer`.
pub fn set_interval(which: usize, new: usize, old: usize) -> isize {
    let Some(signal) = INTERVALS.get(which) else {
        return error(EINVAL);
    };
    let event = Event::Interval(*signal);
    let nanoseconds = |seconds: i64, micro: i64| seconds as u64 * SECOND + micro as u64 * 1000;
    let mut left = left(|other| other == event);
    if new != 0 {
        // SAFETY: the program's `struct itimerval`.
        let [seconds, micro, first_seconds, first_micro] = unsafe { *(new as *const [i64; 4]) };
        let first = after(nanoseconds(first_seconds, first_micro));
        left = set(event, first, nanoseconds(seconds, micro));
    }
    write_interval(left, old);
    0
}

/// `getitimer`.
pub fn interval_left(which: usize, result: usize) -> isize {
    match INTERVALS.get(which) {
        None => error(EINVAL),
        Some(signal) => {
            write_interval(left(|event| event == Event::Interval(*signal)), result);
            0
        }
    }
}

/// `timerfd_create`.
pub fn create_descriptor(clock: i32, flags: usize) -> isize {
    const FLAGS: usize = 0o4000 | 0o2_000_000;
    if !clock::exists(clock) || flags & !FLAGS != 0 {
        return error(EINVAL);
    }
    descriptors::open_timer(clock, flags)
}

/// `timerfd_settime`.
pub fn set_descriptor(arguments: [usize; 6]) -> isize {
    let [descriptor, flags, new, old, ..] = arguments;
    let Some(clock) = descriptors::timer_clock(descriptor) else {
        changes_kernel(nr::TIMERFD_SETTIME);
        return perform(nr::TIMERFD_SETTIME, arguments);
    };
    // SAFETY: the program's `struct itimerspec`.
    let [interval, interval_nano, first, first_nano] = unsafe { *(new as *const [i64; 4]) };
    // What has gone off and was not read is forgotten.
    descriptors::drain(descriptor);
    let deadline = if first == 0 && first_nano == 0 {
        0
    } else if flags & ABSOLUTE != 0 {
        clock::absolute(clock, first, first_nano).max(1)
    } else {
        clock::relative(first, first_nano)
    };
    let interval = interval as u64 * SECOND + interval_nano as u64;
    let event = Event::Descriptor(descriptors::timer_of(descriptor));
    let left = set(event, deadline, interval);
    write(left, old);
    io::did_something();
    0
}

/// `timerfd_gettime`.
pub fn descriptor_left(arguments: [usize; 6]) -> isize {
    let [descriptor, result, ..] = arguments;
    if descriptors::timer_clock(descriptor).is_none() {
        return perform(nr::TIMERFD_GETTIME, arguments);
    }
    let timer = Event::Descriptor(descriptors::timer_of(descriptor));
    write(left(|event| event == timer), result);
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_were_missed_are_counted_and_the_beat_is_kept() {
        let timer = Timer {
            event: Event::Posix(0),
            deadline: 100,
            interval: 30,
        };
        assert_eq!(timer.times(99), (0, 100));
        assert_eq!(timer.times(100), (1, 130));
        assert_eq!(timer.times(129), (1, 130));
        assert_eq!(timer.times(190), (4, 220));
        let once = Timer {
            interval: 0,
            ..timer
        };
        assert_eq!(once.times(500), (1, 100));
    }
}
