//! Timers of POSIX (`timer_create` and its family), in virtual time.
//!
//! A timer is known by a number, as the kernel does it, to libc's functions and to system calls
//! alike. What it tells, it tells at a scheduling point: by a signal, which goes the way of all
//! signals (see [`crate::delivery`]), or by a new logical thread. A signal that has not been
//! handled yet is not sent twice; that is what overrun counts are for.

use crate::arch::errno::EINVAL;
use crate::arch::signal::SIGALRM;
use crate::clock;
use crate::delivery::COUNT;
use crate::ids;
use crate::interpose::object::{self, interpose};
use crate::interpose::{signals, threads};
use crate::syscalls::{as_errno, error};
use crate::timers::{self, ABSOLUTE, Event, SECOND};
use crate::world::world;

/// What a timer's thread starts after. No object of the program stands there.
const ARMED: usize = 40;

/// How a timer tells that its time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Not at all: it is asked.
    None,
    /// By a signal with a value, to the process or to a thread of it.
    Signal {
        /// The signal.
        number: usize,
        /// What its handler gets.
        value: u64,
        /// Whom it is for.
        thread: Option<usize>,
    },
    /// By a function that runs in a thread of its own.
    Thread {
        /// The function.
        function: usize,
        /// What it gets.
        value: u64,
    },
}

/// A timer that was created.
#[derive(Clone, Copy, Debug)]
pub struct PosixTimer {
    clock: i32,
    notice: Notice,
    /// Its signal was sent and not handled yet.
    is_pending: bool,
    /// How often its time has come since its signal was sent.
    missed: u32,
    /// The same for the signal that was handled last.
    overrun: u32,
    is_deleted: bool,
}

/// What a handler learns about a signal of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The timer.
    pub timer: usize,
    /// Times that came and got no signal of their own.
    pub overrun: u32,
    /// The timer's value.
    pub value: u64,
}

/// `struct sigevent`: value, signal, how, and to which thread or by which function.
#[repr(C)]
#[derive(Clone, Copy)]
struct SignalEvent {
    value: u64,
    number: i32,
    how: i32,
    target: usize,
}

fn find(timer: usize) -> Result<&'static mut PosixTimer, isize> {
    let timers = &mut world().execution.posix_timers;
    let found = timers.get_mut(timer).filter(|timer| !timer.is_deleted);
    found.ok_or(error(EINVAL))
}

fn notice_of(event: SignalEvent) -> Option<Notice> {
    const SIGNAL: i32 = 0;
    const NONE: i32 = 1;
    const THREAD: i32 = 2;
    const TO_THREAD: i32 = 4;
    let to = |thread| {
        let is_signal = (1..COUNT as i32).contains(&event.number);
        is_signal.then_some(Notice::Signal {
            number: event.number as usize,
            value: event.value,
            thread,
        })
    };
    match event.how {
        SIGNAL => to(None),
        NONE => Some(Notice::None),
        THREAD => Some(Notice::Thread {
            function: event.target,
            value: event.value,
        }),
        TO_THREAD => {
            let thread = ids::index_of(event.target as u32 as usize)?;
            to(Some(thread))
        }
        _ => None,
    }
}

/// Makes a timer, and returns its number.
pub fn create(clock: i32, event: usize) -> isize {
    let timers = &world().execution.posix_timers;
    let number = timers.len();
    // SAFETY: the program's `struct sigevent`, if there is one.
    let event = unsafe { (event as *const SignalEvent).as_ref() };
    let default = SignalEvent {
        value: number as u64,
        number: SIGALRM as i32,
        how: 0,
        target: 0,
    };
    let Some(notice) = notice_of(event.copied().unwrap_or(default)) else {
        return error(EINVAL);
    };
    if !clock::exists(clock) {
        return error(EINVAL);
    }
    world().execution.posix_timers.push(PosixTimer {
        clock,
        notice,
        is_pending: false,
        missed: 0,
        overrun: 0,
        is_deleted: false,
    });
    number as isize
}

/// As [`create`]; writes the number where libc has a pointer, and the kernel an `int`.
fn create_into(clock: i32, event: usize, result: usize) -> isize {
    let number = create(clock, event);
    if number >= 0 {
        // SAFETY: the program's variable.
        unsafe { *(result as *mut usize) = number as usize };
    }
    number.min(0)
}

/// `timer_create`, as the kernel takes it.
pub fn kernel_create(clock: i32, event: usize, result: usize) -> isize {
    let number = create(clock, event);
    if number >= 0 {
        // SAFETY: the program's variable.
        unsafe { *(result as *mut i32) = number as i32 };
    }
    number.min(0)
}

/// `timer_settime`.
pub fn set(timer: usize, flags: usize, new: usize, old: usize) -> isize {
    let (clock, notice) = match find(timer) {
        Ok(timer) => (timer.clock, timer.notice),
        Err(error) => return error,
    };
    if new == 0 {
        return error(EINVAL);
    }
    // SAFETY: the program's `struct itimerspec`.
    let [interval, interval_nano, first, first_nano] = unsafe { *(new as *const [i64; 4]) };
    let is_time = |seconds: i64, nano: i64| seconds >= 0 && (0..SECOND as i64).contains(&nano);
    if !is_time(interval, interval_nano) || !is_time(first, first_nano) {
        return error(EINVAL);
    }
    let deadline = if first == 0 && first_nano == 0 {
        0
    } else if flags & ABSOLUTE != 0 {
        clock::absolute(clock, first, first_nano).max(1)
    } else {
        clock::relative(first, first_nano)
    };
    let interval = interval as u64 * SECOND + interval_nano as u64;
    if let Ok(timer) = find(timer) {
        (timer.is_pending, timer.missed, timer.overrun) = (false, 0, 0);
    }
    object::release_too(ARMED);
    object::release_too(signals::SIGNALS);
    let event = match notice {
        Notice::None => Event::Nothing(timer),
        _ => Event::Posix(timer),
    };
    let left = timers::set(event, deadline, interval);
    timers::write(left, old);
    0
}

/// `timer_gettime`.
pub fn left(timer: usize, result: usize) -> isize {
    if let Err(error) = find(timer) {
        return error;
    }
    let is_it = |event: Event| event == Event::Posix(timer) || event == Event::Nothing(timer);
    timers::write(timers::left(is_it), result);
    0
}

/// `timer_getoverrun`.
pub fn overrun(timer: usize) -> isize {
    find(timer).map_or_else(|error| error, |timer| timer.overrun as isize)
}

/// `timer_delete`.
pub fn delete(timer: usize) -> isize {
    match find(timer) {
        Ok(found) => found.is_deleted = true,
        Err(error) => return error,
    }
    timers::set(Event::Posix(timer), 0, 0);
    timers::set(Event::Nothing(timer), 0, 0);
    0
}

/// A timer's time has come, so many times.
pub fn go_off(timer: usize, times: u32) {
    let Ok(found) = find(timer) else { return };
    match found.notice {
        Notice::None => {}
        Notice::Signal { .. } if found.is_pending => {
            found.missed = found.missed.saturating_add(times);
        }
        Notice::Signal { number, thread, .. } => {
            found.is_pending = true;
            found.missed = times - 1;
            crate::delivery::send(number, thread);
        }
        Notice::Thread { .. } => threads::add_detached(run as *const () as usize, timer),
    }
}

/// The thread of a timer.
extern "C" fn run(timer: usize) -> usize {
    object::acquire(ARMED);
    let timer = world().execution.posix_timers[timer];
    if let Notice::Thread { function, value } = timer.notice {
        // SAFETY: the program's function.
        unsafe {
            let function: extern "C" fn(u64) = core::mem::transmute(function);
            function(value);
        }
    }
    0
}

/// A signal is handled, or taken by who waits for it: the timer that it is from, if it is.
pub fn accepted(signal: usize) -> Option<Cause> {
    let timers = world().execution.posix_timers.iter_mut().enumerate();
    let mut pending = timers.filter(|(_, timer)| timer.is_pending);
    pending.find_map(|(timer, found)| match found.notice {
        Notice::Signal { number, value, .. } if number == signal => {
            found.is_pending = false;
            found.overrun = found.missed;
            Some(Cause {
                timer,
                overrun: found.overrun,
                value,
            })
        }
        _ => None,
    })
}

interpose! {
    /// libc's `timer_create`.
    timer_create(clock: i32, event: usize, result: usize) -> i32 =>
        as_errno(create_into(clock, event, result)) as i32;
    /// libc's `timer_settime`.
    timer_settime(timer: usize, flags: i32, new: usize, old: usize) -> i32 =>
        as_errno(set(timer, flags as usize, new, old)) as i32;
    /// libc's `timer_gettime`.
    timer_gettime(timer: usize, result: usize) -> i32 => as_errno(left(timer, result)) as i32;
    /// libc's `timer_getoverrun`.
    timer_getoverrun(timer: usize) -> i32 => as_errno(overrun(timer)) as i32;
    /// libc's `timer_delete`.
    timer_delete(timer: usize) -> i32 => as_errno(delete(timer)) as i32;
}
