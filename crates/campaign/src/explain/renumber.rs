//! Thread numbers as people see them: the test's own thread is 0.
//!
//! The runtime counts libtest's thread too, which waits for the test and is never part of a
//! finding. Schedules keep the runtime's numbers; only what is shown is renumbered.

use raddle_abi::plan::Choice;
use raddle_abi::record::{NO_THREAD, RawEvent};
use raddle_abi::site::Operation;
use raddle_trace::runner::{RawFinding, RawRecording, RawWait};

/// The finding with `first` as thread 0.
pub(super) fn finding(raw: &RawFinding, first: u16) -> RawFinding {
    let mut raw = raw.clone();
    for decision in &mut raw.decisions {
        decision.from = decision.from.saturating_sub(first);
        if let Choice::Thread(to) = Choice::of(decision.to) {
            decision.to = to.saturating_sub(first);
        }
    }
    for step in &mut raw.steps {
        step.thread = step.thread.saturating_sub(first);
    }
    for wait in &mut raw.waits {
        renumber_wait(wait, first);
    }
    raw
}

fn renumber_wait(wait: &mut RawWait, first: u16) {
    wait.thread = wait.thread.saturating_sub(first);
    if wait.operation == Operation::Join {
        wait.object = wait.object.saturating_sub(u64::from(first));
    }
    for holder in &mut wait.holders {
        *holder = holder.saturating_sub(u32::from(first));
    }
}

/// The recording with `first` as thread 0, without what only tells where threads are: the
/// stacks tell that better.
pub(super) fn recording(recording: &RawRecording, first: u16) -> RawRecording {
    let mut recording = recording.clone();
    recording.events.retain(|event| {
        !Operation::from_number(event.operation).is_some_and(Operation::is_annotation)
    });
    for expiry in &mut recording.expiries {
        if expiry.thread != NO_THREAD {
            expiry.thread = expiry.thread.saturating_sub(first);
        }
    }
    for event in &mut recording.events {
        renumber_event(event, first);
    }
    recording
}

fn renumber_event(event: &mut RawEvent, first: u16) {
    event.thread = event.thread.saturating_sub(first);
    let names_thread = [Operation::Spawn, Operation::Join, Operation::Start];
    if names_thread
        .iter()
        .any(|&operation| operation as u16 == event.operation)
    {
        event.address = event.address.saturating_sub(u64::from(first));
    }
    if event.operation == Operation::FutexWake as u16
        && let Some(woken) = event.order.checked_sub(1)
    {
        event.order = woken.saturating_sub(first) + 1;
    }
}
