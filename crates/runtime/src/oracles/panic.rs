//! A test that fails, by libtest's own judgement: what counts is the exit code, so caught
//! panics, `#[should_panic]` and errors returned by a test are all judged as natively.

use crate::execution::Panic;
use crate::findings::Record;
use crate::shared::shared;
use crate::stack;
use crate::thread::State;
use crate::world::{take_at_site, world};
use alloc::vec::Vec;
use core::sync::atomic::Ordering;
use raddle_abi::finding::{Kind, PASSED, Step};
use raddle_abi::site::{Operation, SiteId};

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
    // What shows without an early expiry too is worth more.
    let early = u64::from(execution.expired_early) << 32;
    let exit = execution.exit.as_ref();
    let key = match execution.panics.is_empty() {
        true => {
            let place = exit.map_or(0, |exit| hash_of(&exit.frames));
            super::key(Kind::Panic, u64::from(code) ^ place, early)
        }
        false => key_of_panics(early),
    };
    let Some(mut record) = Record::begin(Kind::Panic, key, [u64::from(code), 0]) else {
        return;
    };
    add_panics(&mut record);
    if let Some(exit) = exit {
        record.step(step(Operation::Exit, exit.thread, 0), &exit.frames);
    }
    record.commit();
}

fn hash_of(frames: &[u64]) -> u64 {
    let frames = frames.iter();
    frames.fold(0, |hash: u64, frame| hash.rotate_left(9) ^ frame)
}

/// A step that touches no memory.
fn step(operation: Operation, thread: u16, site: SiteId) -> Step {
    Step {
        site,
        operation: operation as u16,
        thread,
        address: 0,
        len: 0,
        frames: 0,
    }
}

/// Two executions are the same if the same panics began; their order does not matter.
fn key_of_panics(marker: u64) -> u64 {
    let mut hashes: Vec<u64> = world()
        .execution
        .panics
        .iter()
        .map(|panic| hash_of(&panic.frames))
        .collect();
    hashes.sort_unstable();
    hashes.dedup();
    let all = hashes.iter().fold(0, |all: u64, hash| {
        (all ^ hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    super::key(Kind::Panic, all, marker)
}

/// The program ended well: its panics, if there were any, are expected, and explain no failure.
pub fn test_passed() {
    count_strays();
    if world().execution.panics.is_empty() {
        return;
    }
    let record = Record::begin_uncounted(Kind::Panic, key_of_panics(PASSED), [0, PASSED]);
    if let Some(mut record) = record {
        add_panics(&mut record);
        record.finish();
    }
}

/// Adds the panics of the execution so far to a finding.
pub fn add_panics(record: &mut Record) {
    for panic in &world().execution.panics {
        let step = step(Operation::Panic, panic.thread, panic.site);
        record.step(step, &panic.frames);
    }
}

/// Counts threads that panicked and that nobody joined: worth a warning, not a finding.
fn count_strays() {
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
