//! Executions that do not end.
//!
//! A long execution is not a livelock, and neither is an unfair one. When nothing has changed
//! for a while, or at the plan's limit, the strategy is set aside and the threads take turns.
//! If even then nothing changes for very long (no atomic changes its value, no thread starts,
//! ends, blocks or wakes, nobody frees memory or looks at the clock), the execution is a
//! livelock. An execution that keeps changing things is cut at ten times the limit.

use super::deadlock;
use crate::findings::Record;
use crate::host::{self, End};
use crate::stack;
use crate::thread::State;
use crate::world::world;
use alloc::vec::Vec;
use raddle_abi::finding::{Kind, Step};
use raddle_abi::site::Operation;

/// Times the plan's limit after which an execution is cut.
const PATIENCE: u64 = 10;
/// Points without a change after which threads take turns.
const UNFAIR: u64 = 50_000;
/// Points without a change after which threads that take turns are livelocked.
const LIVELOCK: u64 = 500_000;

/// Looks at an execution now and then.
#[cold]
#[inline(never)]
pub fn check() {
    let world = world();
    let execution = &mut world.execution;
    let limit = world.orders.max_points;
    let longest = limit.saturating_mul(PATIENCE);
    let still = execution.point - execution.progress;
    let is_long = execution.point >= limit;
    if execution.point < longest && !(execution.fair && still >= LIVELOCK) {
        execution.fair = is_long || still >= UNFAIR;
        let next = execution.progress + if execution.fair { LIVELOCK } else { UNFAIR };
        let next = next.min(if is_long { longest } else { limit });
        execution.check_at = next.max(execution.point + 1);
        return;
    }
    if deadlock::report_cycles(execution.point - still / 2) {
        host::end(End::Abandoned);
    }
    if deadlock::has_ended() {
        host::end(End::Passed);
    }
    let waits_outside = execution
        .threads
        .iter()
        .any(|thread| thread.state == State::Ready && thread.wait.operation == Operation::Io);
    if waits_outside || still < LIVELOCK {
        host::end(End::Cut);
    }
    let running: Vec<usize> = execution
        .enabled
        .iter()
        .map(|number| usize::from(*number))
        .collect();
    let key = running.iter().fold(0, |key: u64, number| {
        key ^ u64::from(world.execution.threads[*number].site).wrapping_mul(0x9e37_79b9)
    });
    if let Some(mut record) = Record::begin(
        Kind::Livelock,
        super::key(Kind::Livelock, key, 0),
        [limit, 0],
    ) {
        for number in running {
            let frames = stack::of_thread(number);
            record.step(
                Step {
                    site: world.execution.threads[number].site,
                    operation: Operation::Yield as u16,
                    thread: number as u16,
                    address: 0,
                    len: 0,
                    frames: 0,
                },
                frames.as_slice(),
            );
        }
        record.commit();
    }
    host::end(End::Abandoned);
}
