//! A test that fails, by libtest's own judgement: what counts is the exit code, so caught
//! panics, `#[should_panic]` and errors returned by a test are all judged as natively.

use crate::execution::Panic;
use crate::findings::Record;
use crate::shared::shared;
use crate::stack;
use crate::thread::State;
use crate::world::{take_at_site, world};
use core::sync::atomic::Ordering;
use raddle_abi::finding::{Kind, Step};
use raddle_abi::site::Operation;

/// Panics that are kept per execution.
const KEPT: usize = 32;

/// A panic begins in the running thread.
pub fn begins() {
    let site = take_at_site();
    let frames = stack::of_running().as_slice().to_vec();
    let execution = &mut world().execution;
    let thread = execution.current;
    execution.threads[thread].panics += 1;
    execution.changed();
    if execution.panics.len() < KEPT {
        execution.panics.push(Panic {
            thread: thread as u16,
            site,
            frames,
        });
    }
}

/// The program ended with a code that means failure.
pub fn test_failed(code: u32) {
    let execution = &world().execution;
    let last = execution
        .panics
        .iter()
        .rev()
        .find(|panic| usize::from(panic.thread) == crate::host::first_thread())
        .or(execution.panics.last());
    let innermost = last.map_or(u64::from(code), |panic| {
        panic
            .frames
            .iter()
            .fold(0, |hash: u64, frame| hash.rotate_left(9) ^ frame)
    });
    let key = super::key(Kind::Panic, innermost, 0);
    let Some(mut record) = Record::begin(Kind::Panic, key, [u64::from(code), 0]) else {
        return;
    };
    add_panics(&mut record);
    record.commit();
}

/// Adds the panics of the execution so far to a finding.
pub fn add_panics(record: &mut Record) {
    for panic in &world().execution.panics {
        record.step(
            Step {
                site: panic.site,
                operation: Operation::Panic as u16,
                thread: panic.thread,
                address: 0,
                len: 0,
                frames: 0,
            },
            &panic.frames,
        );
    }
}

/// Counts threads that panicked and that nobody joined: worth a warning, not a finding.
pub fn count_strays() {
    let strays = world()
        .execution
        .threads
        .iter()
        .skip(crate::host::first_thread() + 1)
        .filter(|thread| thread.panics > 0 && thread.state == State::Done && !thread.joined)
        .count();
    shared()
        .control()
        .stray_panics
        .fetch_add(strays as u32, Ordering::Relaxed);
}
