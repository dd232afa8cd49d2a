//! Processes that the program starts, waiting for them, and ending those that outlive their
//! execution: the worker process gets them as orphans.

use crate::arch::{nr, signal};
use crate::global::Global;
use crate::io::{Probe, Source, poll, until};
use crate::native::SHARES_MEMORY;
use crate::syscalls::perform;
use crate::world::{arm, world};
use alloc::vec::Vec;
use raddle_abi::site::SiteId;

const WNOHANG: usize = 1;
/// `__WALL`: children of every kind.
const WAIT_ALL: usize = 0x4000_0000;
/// Words of a `siginfo_t`, and the one that names a child.
const INFORMATION_WORDS: usize = 32;
const CHILD_WORD: usize = 4;

/// Whether a call that starts a process can be made in the handler that caught it: it needs no
/// stack of its own, and the memory is not shared.
pub fn can_start_here(number: usize, arguments: [usize; 6]) -> bool {
    /// Where `struct clone_args` has the stack.
    const STACK_WORD: usize = 5;
    match number {
        nr::FORK | nr::VFORK | nr::EXECVE => true,
        nr::CLONE => arguments[0] & SHARES_MEMORY == 0 && arguments[1] == 0,
        nr::CLONE3 => {
            let fields = arguments[0] as *const usize;
            // SAFETY: the program's structure.
            unsafe { *fields & SHARES_MEMORY == 0 && *fields.add(STACK_WORD) == 0 }
        }
        _ => false,
    }
}

/// Makes such a call. The child runs on natively and unwatched.
pub fn start(number: usize, arguments: [usize; 6]) -> isize {
    let number = match number {
        // A child that shared the memory would share the scheduler too.
        nr::VFORK => nr::FORK,
        number => number,
    };
    let result = perform(number, arguments);
    if result == 0 && number != nr::EXECVE {
        let world = world();
        world.live = false;
        world.running = false;
        arm();
    }
    result
}

/// Whether a wait for such a child would return, which it still will afterwards.
pub fn has_ended(kind: usize, number: usize) -> bool {
    const WEXITED: usize = 4;
    const WNOWAIT: usize = 0x0100_0000;
    let mut information = [0i32; INFORMATION_WORDS];
    let place = information.as_mut_ptr() as usize;
    let options = WEXITED | WNOHANG | WNOWAIT;
    let result = perform(nr::WAITID, [kind, number, place, options, 0, 0]);
    result < 0 || information[CHILD_WORD] != 0
}

/// `wait4`.
pub fn wait_for_child(arguments: [usize; 6], site: SiteId) -> isize {
    const ALL: usize = 0;
    const PROCESS: usize = 1;
    const GROUP: usize = 2;
    let [child, status, options, usage, ..] = arguments;
    let probe = match child as i32 {
        -1 => Probe::Child(ALL, 0),
        0 => Probe::Child(GROUP, 0),
        child if child < 0 => Probe::Child(GROUP, child.unsigned_abs() as usize),
        child => Probe::Child(PROCESS, child as usize),
    };
    let deadline = if options & WNOHANG != 0 { 0 } else { u64::MAX };
    poll(deadline, (Source::Child, probe), site, || {
        perform(nr::WAIT4, [child, status, options | WNOHANG, usage, 0, 0])
    })
}

/// `waitid`, which says who has ended in what it writes.
pub fn wait_for_id(arguments: [usize; 6], site: SiteId) -> isize {
    let [kind, number, result, options, usage, _] = arguments;
    let deadline = if options & WNOHANG != 0 { 0 } else { u64::MAX };
    let mut information = [0i32; INFORMATION_WORDS];
    let place = information.as_mut_ptr();
    let by = (Source::Child, Probe::Child(kind, number));
    let done = until(deadline, by, site, || {
        let arguments = [kind, number, place as usize, options | WNOHANG, usage, 0];
        let result = perform(nr::WAITID, arguments);
        // SAFETY: what the kernel wrote.
        (result < 0 || unsafe { *place.add(CHILD_WORD) } != 0).then_some(result)
    });
    if result != 0 {
        // SAFETY: the program's `siginfo_t` is that large.
        unsafe { core::ptr::copy_nonoverlapping(place, result as *mut i32, INFORMATION_WORDS) };
    }
    done.unwrap_or(0)
}

/// Children of the worker process that were there before executions start.
static EARLY: Global<Vec<usize>> = Global::new(Vec::new());

/// Notes down which children are there before executions start.
pub fn note_early() {
    let early = EARLY.get();
    early.clear();
    if has_any() {
        for_each(|child| early.push(child));
    }
}

/// Ends the processes that an execution has left running: those that it started and did not
/// wait for, and what becomes an orphan by that.
pub fn end_left() {
    /// Rounds after which processes that keep appearing are left to the tool.
    const ROUNDS: usize = 10_000;
    for _ in 0..ROUNDS {
        if !has_any() {
            return;
        }
        let mut ended = false;
        for_each(|child| {
            if !EARLY.get().contains(&child) {
                ended = true;
                perform(nr::KILL, [child, signal::SIGKILL, 0, 0, 0, 0]);
                perform(nr::WAIT4, [child, 0, WAIT_ALL, 0, 0, 0]);
            }
        });
        if !ended {
            return;
        }
    }
}

/// Whether this process has a child, be it one that has ended.
fn has_any() -> bool {
    const P_ALL: usize = 0;
    const WEXITED: usize = 4;
    const WNOWAIT: usize = 0x0100_0000;
    let options = WEXITED | WNOHANG | WNOWAIT | WAIT_ALL;
    perform(nr::WAITID, [P_ALL, 0, 0, options, 0, 0]) >= 0
}

/// Calls `visit` with some of the children of this process, and with all of them if repeated
/// while `visit` makes them fewer.
fn for_each(mut visit: impl FnMut(usize)) {
    const LIST: &[u8] = b"/proc/thread-self/children\0";
    let mut text = [0u8; 4096];
    let file = perform(nr::OPEN, [LIST.as_ptr() as usize, 0, 0, 0, 0, 0]);
    if file < 0 {
        return;
    }
    let place = text.as_mut_ptr() as usize;
    let length = perform(nr::READ, [file as usize, place, text.len(), 0, 0, 0]);
    perform(nr::CLOSE, [file as usize, 0, 0, 0, 0, 0]);
    let mut number = 0;
    for byte in text.iter().take(length.max(0) as usize) {
        match byte {
            b'0'..=b'9' => number = number * 10 + usize::from(byte - b'0'),
            _ if number > 0 => visit(core::mem::take(&mut number)),
            _ => {}
        }
    }
}
