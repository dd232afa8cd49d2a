//! Locks, phases of threads, panics, and whatever else tells the runtime where a thread is.

use super::{has_flag, id, is_point, note_site};
use crate::arch;
use crate::clock;
use crate::host;
use crate::locks::{self, Mode};
use crate::methods;
use crate::native;
use crate::oracles::panic;
use crate::record;
use crate::scheduler;
use crate::shared::shared;
use crate::weak;
use crate::world::{arm, is_controlled, is_executing, world};
use raddle_abi::control::{conditions, target};
use raddle_abi::hooks::{channel, leave, lock, phase};
use raddle_abi::site::{Operation, Site, flags};

/// A spin hint.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub extern "C" fn __raddle_slow_spin(site: *const Site) {
    if native::is_stranger() {
        return core::hint::spin_loop();
    }
    note_site(site);
    if is_point(site) && !world().execution.running().spin.is_quiet() {
        scheduler::yield_now(id(site));
    }
}

/// The processor's counter of cycles: virtual time, at one cycle in a nanosecond.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub extern "C" fn __raddle_slow_cycles() -> u64 {
    if native::is_stranger() {
        return arch::cycles();
    }
    let (seconds, nanoseconds) = clock::read(clock::CLOCK_MONOTONIC);
    (seconds * 1_000_000_000 + nanoseconds) as u64
}

/// Inline assembly that may touch memory is about to run.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub extern "C" fn __raddle_slow_asm(site: *const Site) {
    if native::is_stranger() {
        return;
    }
    note_site(site);
    world().execution.unseen_synchronisation = true;
    shared().note_condition(conditions::ASM);
    if is_point(site) {
        scheduler::point(Operation::Asm, true, 0, id(site));
    }
    weak::assembly(!has_flag(site, flags::TELLS_NOTHING));
}

/// A lock function was entered or left.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub extern "C" fn __raddle_slow_lock(event: u32, lock: usize, site: *const Site) {
    if native::is_stranger() {
        return;
    }
    let mode = if event & lock::SHARED != 0 {
        Mode::Shared
    } else {
        Mode::Exclusive
    };
    match event & 0xff {
        lock::WANT => locks::wanted_again(lock, mode, id(site)),
        lock::ACQUIRED => locks::acquired(lock, mode, id(site)),
        lock::RELEASE => locks::releases(lock, mode, id(site)),
        _ => locks::failed(),
    }
}

/// A thread passes between std's code and the user's.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub extern "C" fn __raddle_slow_phase(event: u32, value: u64, frame: usize, site: *const Site) {
    if !is_controlled() {
        return;
    }
    let world = world();
    let started = world.running;
    let current = world.execution.current;
    let thread = &mut world.execution.threads[current];
    match event {
        phase::THREAD_START => {
            thread.entered = false;
            thread.user_depth = 0;
            arm();
        }
        phase::USER_BEGIN => {
            thread.user_depth += 1;
            thread.entered = true;
            arm();
            if !started && shared().control().target == target::MAIN {
                host::start_reached(frame);
            }
        }
        phase::USER_END => {
            if started && thread.user_depth == 1 {
                // What std's code does from here on is one step.
                scheduler::point_of_end(Operation::Exit, current, id(site));
            }
            let thread = &mut world.execution.threads[current];
            thread.user_depth = thread.user_depth.saturating_sub(1);
            // What std's code changes from here on may go unseen.
            world.execution.changed();
            arm();
        }
        phase::DROP_BEGIN => {
            thread.user_depth += 1;
            arm();
        }
        phase::DROP_END => {
            thread.user_depth = thread.user_depth.saturating_sub(1);
            world.execution.changed();
            arm();
        }
        phase::TEST_BEGIN => {
            if !started && shared().control().target == target::TEST {
                host::start_reached(frame);
            }
            record::event(Operation::TestBegin, 0, 0, 0, 0, id(site));
        }
        phase::TEST_END => {
            record::event(Operation::TestEnd, 0, value, 0, 0, id(site));
            if started {
                scheduler::point_of_end(Operation::TestEnd, 0, id(site));
                host::test_returned(frame, value);
            }
        }
        _ => {}
    }
}

/// A panic begins.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub extern "C" fn __raddle_slow_panic(site: *const Site) {
    if is_executing() {
        panic::begins();
        record::event(Operation::Panic, 0, 0, 0, 0, id(site));
    }
}

/// A function is entered.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub extern "C" fn __raddle_slow_enter(
    first: usize,
    second: usize,
    third: usize,
    fourth: usize,
    site: *const Site,
) {
    if native::is_stranger() {
        return;
    }
    record::enter(&[first, second, third, fourth], id(site));
    methods::enter(id(site));
}

/// A function is left, or goes on after unwinding.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub extern "C" fn __raddle_slow_leave(how: u32, site: *const Site) {
    if native::is_stranger() {
        return;
    }
    match how {
        leave::LANDING => {
            record::landed(id(site));
            methods::landed(id(site));
        }
        _ => {
            record::leave(how == leave::UNWIND, id(site));
            methods::leave(id(site));
        }
    }
}

/// An instance was made.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub extern "C" fn __raddle_slow_instance(address: usize, site: *const Site) {
    if native::is_stranger() {
        return;
    }
    record::event(Operation::Argument, address as u64, 0, 0, 0, id(site));
}

/// A message goes through a channel.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn __raddle_slow_channel(
    event: u32,
    object: usize,
    message: *const u64,
    site: *const Site,
) {
    if native::is_stranger() {
        return;
    }
    let operation = match event & 0xff {
        channel::SEND => Operation::Send,
        _ => Operation::Receive,
    };
    let words = event / channel::WORD;
    let message = (0..words as usize).fold(0_u64, |hash, index| {
        // SAFETY: instrumentation says how many words there are.
        let word = unsafe { *message.add(index) };
        // Addresses and small numbers: hardly two pairs of them are the same here.
        hash.wrapping_mul(0x0100_0000_01b3).wrapping_add(word)
    });
    let (object, message) = match object {
        // The word is the object.
        0 => (message, 0),
        _ => (object as u64, message),
    };
    record::event(operation, object, message, words, 0, id(site));
}

/// A branch goes one of its ways.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub extern "C" fn __raddle_slow_branch(way: u32, site: *const Site) {
    if native::is_stranger() {
        return;
    }
    record::event(Operation::Branch, 0, way.into(), 0, 0, id(site));
}
