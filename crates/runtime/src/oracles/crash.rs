//! Fatal signals and `abort`.

use crate::arch::Interrupted;
use crate::arch::signal::SIGSEGV;
use crate::donor;
use crate::findings::Record;
use crate::global::Global;
use crate::hooks::call;
use crate::host::{self, End};
use crate::stack::{self, Frames};
use crate::unwind;
use crate::world::world;
use raddle_abi::finding::{Kind, STACK_OVERFLOW, Step};
use raddle_abi::site::Operation;

/// The last crash: signal, address, interrupted code.
static FIRST: Global<Option<(u64, u64, Interrupted)>> = Global::new(None);

fn write(signal: u64, address: u64, frames: &Frames) {
    let execution = &world().execution;
    let thread = execution.current;
    // The last operation tells where a thread was only if its stack is not known.
    let site = match (execution.threads.get(thread), frames.as_slice()) {
        (Some(thread), []) => thread.site,
        _ => 0,
    };
    let place = frames
        .as_slice()
        .first()
        .copied()
        .unwrap_or(u64::from(site));
    let place = if signal & STACK_OVERFLOW == 0 {
        place
    } else {
        0
    };
    let early = u64::from(execution.expired_early) << 32;
    let key = super::key(Kind::Crash, place, signal | early);
    let Some(mut record) = Record::begin(Kind::Crash, key, [signal, address]) else {
        return;
    };
    record.step(
        Step {
            site,
            operation: Operation::Unknown as u16,
            thread: thread as u16,
            address,
            len: 0,
            frames: 0,
        },
        frames.as_slice(),
    );
    // An abort often follows a panic (in a destructor, or one that may not unwind).
    super::panic::add_panics(&mut record);
    record.commit();
}

/// A fatal signal interrupted the program during an execution.
pub fn by_signal(signal: u64, address: u64, context: Interrupted) -> ! {
    // Where the unwinder itself met a fault, the crash is still the first one.
    let (signal, address, context) = match FIRST.get() {
        Some(first) if unwind::walks() => *first,
        first => *first.insert((signal, address, context)),
    };
    // Where the runtime looked at what a call of libc is about to read, the call is at fault.
    let frames = match call::is_faulty() {
        true => stack::of_interrupted_hook(&context),
        false => stack::of_interrupted(&context),
    };
    if signal == SIGSEGV as u64 && donor::is_guard(address as usize) {
        // Which instruction of a recursion hits the end depends on how much of the stack the
        // hooks use, so it does not name the crash.
        let execution = &mut world().execution;
        execution.threads[execution.current].site = 0;
        write(signal | STACK_OVERFLOW, address, &frames);
    } else {
        write(signal, address, &frames);
    }
    host::end(End::Crashed)
}

/// The program called `abort`.
pub fn by_abort() -> ! {
    *FIRST.get() = None;
    let frames = stack::of_running_in_library();
    write(crate::arch::signal::SIGABRT as u64, 0, &frames);
    host::end(End::Crashed)
}

/// The program sent itself a signal that ends it.
pub fn by_own_signal(signal: u64) -> ! {
    *FIRST.get() = None;
    let frames = stack::of_running_in_library();
    write(signal, 0, &frames);
    host::end(End::Crashed)
}

/// A forked execution died without a word. Where it was is not known: this process was not there.
pub fn report_death(signal: u32) {
    let signal = u64::from(signal);
    let key = super::key(Kind::Crash, 0, signal);
    if let Some(record) = Record::begin(Kind::Crash, key, [signal, 0]) {
        record.commit();
    }
}
