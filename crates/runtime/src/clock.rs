//! Virtual time. It moves a little with every look at the clock, and jumps to the earliest
//! deadline when nothing else can run.

use crate::execution::Execution;
use crate::host::{self, End};
use crate::native;
use crate::thread::State;
use crate::timers;
use crate::world::{live, world};

/// Monotonic time at the start of the program, in seconds.
pub const MONOTONIC_START: i64 = 1_000_000;
/// Wall-clock time at the start of the program, in seconds.
pub const REALTIME_START: i64 = 1_750_000_000;

/// Times that timers go off, one after the other, before somebody goes on for whom all the
/// others wait. An execution in which they are more never ends.
const MOST_IDLE_JUMPS: u32 = 100_000;

const CLOCK_REALTIME: i32 = 0;
const CLOCK_REALTIME_COARSE: i32 = 5;
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

/// Reads a clock as (seconds, nanoseconds).
pub fn read(clock: i32) -> (i64, i64) {
    let execution = &mut world().execution;
    execution.clock_reads += 1;
    // Whoever looks at the clock waits for nothing but time, and time passes.
    execution.progress = execution.point;
    if native::follow_time() {
        execution.now += 1;
    } else {
        execution.now += tick(execution.clock_reads);
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

/// Jumps to the earliest deadline and wakes who waits for it, or lets a timer go off. False if
/// nobody waits for a time.
pub fn jump(execution: &mut Execution) -> bool {
    let earliest = execution
        .threads
        .iter()
        .enumerate()
        .filter(|(_, thread)| thread.state == State::Blocked && thread.wait.deadline != u64::MAX)
        .min_by_key(|(number, thread)| (thread.wait.deadline, *number))
        .map(|(number, thread)| (number, thread.wait.deadline));
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
