//! Executions that do not end.
//!
//! A long execution is not a livelock. At the plan's limit the strategy is set aside and the
//! threads take turns, so that an unfair schedule gets its chance to end. If at ten times the
//! limit nothing has changed for nine tenths of all points (no atomic changed its value, no
//! thread started, ended, blocked or woke), the execution is a livelock; else it is cut.

use super::deadlock;
use crate::findings::Record;
use crate::host::{self, End};
use crate::stack;
use crate::thread::State;
use crate::world::world;
use alloc::vec::Vec;
use raddle_abi::finding::{Kind, Step};
use raddle_abi::site::Operation;

const PATIENCE: u64 = 10;

/// Called at every point beyond the plan's limit.
#[cold]
#[inline(never)]
pub fn check() {
    let world = world();
    let execution = &mut world.execution;
    let limit = world.orders.max_points;
    if !execution.fair {
        execution.fair = true;
        return;
    }
    if execution.point < limit.saturating_mul(PATIENCE) {
        return;
    }
    let waits_outside = execution
        .threads
        .iter()
        .any(|thread| thread.state == State::Ready && thread.wait.operation == Operation::Io);
    if deadlock::report_cycles(limit) {
        host::end(End::Abandoned);
    }
    if deadlock::has_ended() {
        host::end(End::Passed);
    }
    if waits_outside || execution.progress > limit {
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
