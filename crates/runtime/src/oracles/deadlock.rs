//! Deadlocks: global ones, where nobody can run, and wait cycles among some threads.
//!
//! Who holds which lock is known from the lock functions (the table in `instrument`), who
//! wants one too. A thread that merely waits at the end of the program is no finding: thread
//! pools do that by design.

use crate::findings::Record;
use crate::host::{self, End};
use crate::native;
use crate::scheduler;
use crate::stack;
use crate::thread::{State, Wait};
use crate::world::world;
use alloc::vec::Vec;
use raddle_abi::finding::{Kind, Wait as WaitPart};
use raddle_abi::site::Operation;

/// Threads that hold `lock`.
fn holders(lock: usize) -> Vec<u32> {
    let held = &world().execution.held;
    held.iter()
        .filter(|held| held.lock == lock)
        .map(|held| u32::from(held.thread))
        .collect()
}

/// Threads without which `thread` cannot go on: holders of the lock it wants, or the thread
/// it joins. Empty if it can run or may be woken by anybody.
fn waits_for(number: usize) -> Vec<u32> {
    let thread = &world().execution.threads[number];
    if thread.state != State::Blocked || thread.wait.deadline != u64::MAX {
        return Vec::new();
    }
    if thread.wait.operation == Operation::Join {
        return alloc::vec![thread.wait.object as u32];
    }
    if thread.wants != 0 {
        holders(thread.wants)
    } else {
        Vec::new()
    }
}

/// Threads that are part of a wait cycle. Nobody can say so while there is somebody else who
/// may end a wait.
fn in_cycles() -> Vec<bool> {
    let count = world().execution.threads.len();
    if native::alive() || native::is_early() {
        return alloc::vec![false; count];
    }
    let edges: Vec<Vec<u32>> = (0..count).map(waits_for).collect();
    (0..count)
        .map(|start| {
            let mut seen = alloc::vec![false; count];
            let mut open: Vec<u32> = edges[start].clone();
            while let Some(next) = open.pop() {
                let next = next as usize;
                if next == start {
                    return true;
                }
                if next < count && !seen[next] {
                    seen[next] = true;
                    open.extend_from_slice(&edges[next]);
                }
            }
            false
        })
        .collect()
}

fn write(cycles: &[bool], only_cycles: bool) {
    let execution = &world().execution;
    let involved: Vec<usize> = (0..execution.threads.len())
        .filter(|number| execution.threads[*number].state == State::Blocked)
        .filter(|number| !host::is_harness(*number))
        .filter(|number| !only_cycles || cycles[*number])
        .collect();
    // Two deadlocks are the same if the same calls wait; their order does not matter.
    let frames: Vec<_> = involved
        .iter()
        .map(|number| stack::of_thread(*number))
        .collect();
    let key = frames.iter().fold(0, |key: u64, frames| {
        key ^ frames
            .as_slice()
            .iter()
            .fold(0, |hash: u64, frame| hash.rotate_left(9) ^ frame)
    });
    let panics = execution.panics.len() as u64;
    let early = u64::from(execution.expired_early && panics > 0);
    let key = super::key(Kind::Deadlock, key, early);
    let Some(mut record) = Record::begin(Kind::Deadlock, key, [panics, 0]) else {
        return;
    };
    for (number, frames) in involved.into_iter().zip(&frames) {
        let execution = &world().execution;
        let thread = &execution.threads[number];
        let is_lock = thread.wants != 0;
        let object = if is_lock {
            thread.wants
        } else {
            thread.wait.object
        };
        let holders = if thread.wait.operation == Operation::Join {
            alloc::vec![thread.wait.object as u32]
        } else if is_lock {
            holders(object)
        } else {
            Vec::new()
        };
        record.wait(
            WaitPart {
                thread: number as u16,
                operation: thread.wait.operation as u16,
                site: thread.wait.site,
                object: object as u64,
                is_lock: u32::from(is_lock),
                in_cycle: u32::from(cycles[number]),
                holders: 0,
                frames: 0,
            },
            &holders,
            frames.as_slice(),
        );
    }
    // What a thread that panicked does no more is what others wait for.
    super::panic::add_panics(&mut record);
    record.commit();
}

/// Whether the program has ended and only waits for its threads to come to rest.
pub fn has_ended() -> bool {
    let threads = &world().execution.threads;
    threads
        .iter()
        .any(|thread| thread.wait.operation == Operation::TestEnd)
}

/// Nobody can run, and nobody waits for a time.
pub fn everybody_waits() -> End {
    if has_ended() {
        report_cycles(u64::MAX);
        return End::Passed;
    }
    if native::is_early() {
        return End::Cut;
    }
    write(&in_cycles(), false);
    End::Abandoned
}

/// Reports cycles of threads that all wait since before `point`. True if there were any.
pub fn report_cycles(point: u64) -> bool {
    let cycles: Vec<bool> = in_cycles()
        .into_iter()
        .zip(&world().execution.threads)
        .map(|(cycle, thread)| cycle && thread.wait.since < point)
        .collect();
    // Threads of a cycle that moved lately may still come out of it.
    let found = cycles.iter().filter(|cycle| **cycle).count() >= 1 && cycles == in_cycles();
    if found {
        write(&cycles, true);
    }
    found
}

/// The program is about to end well. If some of its threads seem to wait for each other, its
/// end is put off until nobody can run any more: a thread that merely has not come to its
/// release yet is no deadlock, and thread pools wait by design.
pub fn settle() {
    let execution = &world().execution;
    let suspects = execution
        .threads
        .iter()
        .any(|thread| thread.state == State::Blocked && thread.wants != 0);
    if suspects && in_cycles().contains(&true) {
        scheduler::block(Wait {
            operation: Operation::TestEnd,
            ..Wait::NONE
        });
    }
}
