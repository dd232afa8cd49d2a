//! `pthread_once`. A routine that leaves by an exception or by cancellation has not run.

use super::object::{self, interpose, word};
use crate::locks::{self, Mode};
use crate::thread::Wait;
use crate::unwind;
use crate::world::world;
use raddle_abi::record::wake;
use raddle_abi::site::Operation;

/// Bits of libc's `pthread_once_t`.
const RUNS: u32 = 1;
const DONE: u32 = 2;

/// Runs a routine once.
pub fn once(control: usize, routine: usize) -> i32 {
    let site = object::begin(Operation::LockWant, control);
    locks::wanted(control, Mode::Exclusive, site);
    loop {
        let state = *word(control, 0);
        if state & DONE != 0 {
            locks::failed();
            object::acquire(control);
            return 0;
        }
        if state & RUNS == 0 {
            break;
        }
        object::block(Wait {
            operation: Operation::LockWant,
            object: control,
            site,
            kind: wake::ONCE,
            ..Wait::NONE
        });
    }
    *word(control, 0) = RUNS;
    locks::acquired(control, Mode::Exclusive, site);
    object::acquire(control);
    let execution = &mut world().execution;
    execution.threads[execution.current].onces.push(control);
    unwind::call_once(routine);
    end(DONE);
    0
}

/// The routine that the running thread is in was left: with `state` 0 by unwinding.
pub fn end(state: u32) {
    let execution = &mut world().execution;
    let Some(control) = execution.threads[execution.current].onces.pop() else {
        return;
    };
    let site = object::begin(Operation::LockRelease, control);
    object::release(control);
    locks::released(control, Mode::Exclusive, site);
    *word(control, 0) = state;
    object::wake_all(Operation::LockWant, control);
}

interpose! {
    /// libc's `pthread_once`.
    pthread_once(control: usize, routine: usize) -> i32 => once(control, routine);
}
