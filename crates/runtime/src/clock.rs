//! Virtual time. It moves a little with every look at the clock, and jumps to the earliest
//! deadline when nothing else can run, or when the strategy decides so (see
//! [`crate::scheduler`]).

use crate::execution::Execution;
use crate::host::{self, End};
use crate::io;
use crate::native;
use crate::scheduler;
use crate::thread::State;
use crate::timers;
use crate::world::{live, take_at_site, world};
use raddle_abi::plan::TIME_SLACK;
use raddle_abi::site::Operation;
use raddle_schedule::partial_order::CLOCK;
use raddle_schedule::rng::mix;
use raddle_schedule::strategy::Expiry;

/// Monotonic time at the start of the program, in seconds.
pub const MONOTONIC_START: i64 = 1_000_000;
/// Wall-clock time at the start of the program, in seconds.
pub const REALTIME_START: i64 = 1_750_000_000;

/// Times that timers go off, one after the other, before somebody goes on for whom all the
/// others wait. An execution in which they are more never ends.
const MOST_IDLE_JUMPS: u32 = 100_000;

/// `CLOCK_MONOTONIC`.
pub const CLOCK_MONOTONIC: i32 = 1;
const CLOCK_REALTIME: i32 = 0;
/// `CLOCK_REALTIME_COARSE`, by which the kernel stamps files.
pub const CLOCK_REALTIME_COARSE: i32 = 5;
const CLOCK_TAI: i32 = 11;

/// Nanoseconds that one look at the clock takes; more if nothing happens but looking.
fn tick(reads: u32) -> u64 {
    const TICK: u64 = 1_000;
    const PATIENCE: u32 = 256;
    TICK << (reads / PATIENCE).min(12)
}

/// Whether a clock counts the time that a process or thread has used.
fn is_spent(clock: i32) -> bool {
    const CLOCK_PROCESS: i32 = 2;
    const CLOCK_THREAD: i32 = 3;
    clock < 0 || clock == CLOCK_PROCESS || clock == CLOCK_THREAD
}

/// Whether there is such a clock. Negative ones are those of processes and threads.
pub fn exists(clock: i32) -> bool {
    const MOST: i32 = 11;
    clock <= MOST
}

fn base(clock: i32) -> i64 {
    match clock {
        CLOCK_REALTIME | CLOCK_REALTIME_COARSE | CLOCK_TAI => REALTIME_START,
        // Time that was spent begins with the program.
        clock if is_spent(clock) => 0,
        _ => MONOTONIC_START,
    }
}

/// Reads a clock as (seconds, nanoseconds). Others may run before that, begin to wait for a time, and deadlines
/// may pass.
pub fn read(clock: i32) -> (i64, i64) {
    if world().running && live() {
        scheduler::point(Operation::Read, false, CLOCK, take_at_site());
    }
    let execution = &mut world().execution;
    execution.clock_reads += 1;
    // Whoever looks at the clock waits for nothing but time, and time passes.
    execution.progress = execution.point;
    if native::follow_time() {
        execution.now += 1;
    } else {
        execution.now += tick(execution.clock_reads) + u64::from(execution.slow_clock);
    }
    let now = execution.now;
    if timers::next().is_some_and(|time| time <= now) && live() {
        timers::go_off();
    }
    (
        base(clock) + (now / 1_000_000_000) as i64,
        (now % 1_000_000_000) as i64,
    )
}

/// Whether objects of pthreads can be waited for by this clock.
pub fn is_waitable(clock: i32) -> bool {
    const CLOCK_MONOTONIC: i32 = 1;
    clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC
}

/// Virtual time of an absolute time on a clock.
pub fn absolute(clock: i32, seconds: i64, nanoseconds: i64) -> u64 {
    let seconds = seconds.saturating_sub(base(clock)).max(0) as u64;
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(nanoseconds.max(0) as u64)
}

/// Virtual time a while from now.
pub fn relative(seconds: i64, nanoseconds: i64) -> u64 {
    let wait = (seconds.max(0) as u64)
        .saturating_mul(1_000_000_000)
        .saturating_add(nanoseconds.max(0) as u64);
    world().execution.now.saturating_add(wait)
}

/// Whether something may wait for a time.
#[inline(always)]
pub fn is_awaited(execution: &Execution) -> bool {
    !execution.timed.is_empty() || !execution.timers.is_empty()
}

/// The thread whose deadline is the earliest, and that deadline; of several the one with the
/// lowest number.
fn earliest(execution: &Execution) -> Option<(usize, u64)> {
    let waiting = execution.timed.iter().map(|&number| usize::from(number));
    waiting
        .filter_map(|number| {
            let thread = &execution.threads[number];
            let waits = thread.state == State::Blocked && thread.wait.deadline != u64::MAX;
            waits.then_some((number, thread.wait.deadline))
        })
        .min_by_key(|&(number, deadline)| (deadline, number))
}

/// The deadline that passes next, if it may do so although a thread can run. It may not where real
/// time decides: native threads are about, or the thread waits for another process. Only
/// `with_times` it tells all times.
pub fn expiry(execution: &Execution, with_times: bool) -> Option<Expiry> {
    if native::seen() || !live() {
        return None;
    }
    let timer = timers::next().unwrap_or(u64::MAX);
    let (thread, deadline, object) = match earliest(execution) {
        Some((number, deadline)) if deadline < timer => {
            let wait = &execution.threads[number].wait;
            if io::waits_for_outside(wait) {
                return None;
            }
            (Some(number), deadline, wait.object)
        }
        // A watchdog tells nothing but that it has gone off.
        _ if timer == u64::MAX || timers::next_ends_program(timer) => return None,
        _ => (None, timer, 0),
    };
    Some(Expiry {
        thread,
        object,
        is_early: deadline > execution.now + TIME_SLACK,
        times: if with_times { times(execution) } else { 0 },
    })
}

/// The deadline that passes next; `u64::MAX` for none.
pub fn next_deadline(execution: &Execution) -> u64 {
    let timer = timers::next().unwrap_or(u64::MAX);
    earliest(execution).map_or(timer, |(_, deadline)| deadline.min(timer))
}

/// Names how long all who wait for a time still have to wait.
fn times(execution: &Execution) -> u64 {
    // In whatever order threads stand in the list.
    let threads = execution.timed.iter().fold(0u64, |sum, &number| {
        let thread = &execution.threads[usize::from(number)];
        let deadline = match thread.state {
            State::Blocked => thread.wait.deadline,
            _ => u64::MAX,
        };
        let left = deadline.wrapping_sub(execution.now);
        match deadline {
            u64::MAX => sum,
            _ => sum.wrapping_add(mix(mix(left) ^ u64::from(number))),
        }
    });
    let timers = execution.timers.iter().fold(0, |sum: u64, timer| {
        sum.wrapping_add(mix(timer.deadline.wrapping_sub(execution.now)))
    });
    mix(threads ^ timers.rotate_left(1))
}

/// Jumps to the earliest deadline and wakes who waits for it, or lets a timer go off. False if
/// nobody waits for a time.
pub fn jump(execution: &mut Execution) -> bool {
    let earliest = earliest(execution);
    let timer = timers::next().unwrap_or(u64::MAX);
    if timer != u64::MAX && earliest.is_none_or(|(_, deadline)| timer <= deadline) {
        execution.now = execution.now.max(timer);
        execution.changed();
        execution.idle_jumps += 1;
        if execution.idle_jumps > MOST_IDLE_JUMPS {
            host::end(End::Cut);
        }
        timers::go_off();
        return true;
    }
    let Some((number, deadline)) = earliest else {
        return false;
    };
    execution.now = execution.now.max(deadline);
    execution.threads[number].timed_out = true;
    execution.changed();
    execution.enable(number);
    true
}
