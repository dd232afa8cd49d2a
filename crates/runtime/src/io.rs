//! System calls that wait for descriptors, children or file locks.
//!
//! A call is tried without blocking. If it would block, its thread blocks logically, and tries
//! again when another thread of the program has done something to a descriptor. When nobody
//! can run, everybody who waits looks once more. Then time passes, if somebody waits for it;
//! or the wait is for the world outside of the process, and really happens, under the tool's
//! watchdog; or it is a deadlock.
//!
//! Whether a peer in another process has answered by the time a thread reads is decided by real
//! time. One that answers soon is waited for, so that it makes no difference.
//!
//! Input and output order threads: what was written comes before what was read after it,
//! whichever descriptors took part. That can hide a race but never invents one.

use crate::arch::errno::{EAGAIN, EINPROGRESS, EINTR, ENXIO};
use crate::arch::nr;
use crate::arch::signal::SIGPIPE;
use crate::children;
use crate::delivery;
use crate::descriptors::{self, Kind};
use crate::interpose::{cancel, object};
use crate::native;
use crate::scheduler;
use crate::shared::shared;
use crate::syscalls::{error, perform};
use crate::thread::{State, Wait};
use crate::view;
use crate::world::{live, world};
use alloc::vec::Vec;
use raddle_abi::control::conditions;
use raddle_abi::site::{Operation, SiteId};

/// What all waits for input and output wait for. No object of the program stands there.
const ANYTHING: usize = 16;

/// Something can be taken.
pub const POLLIN: i16 = 1;
const POLLOUT: i16 = 4;
/// Bytes that a pipe takes at once when it takes any.
const PIPE_STEP: usize = 4096;
const MSG_DONTWAIT: usize = 0x40;
const MSG_WAITALL: usize = 0x100;
const MILLISECOND: u64 = 1_000_000;
/// Real nanoseconds to wait for the outside before virtual time passes instead.
const PATIENCE: u64 = 2_000 * MILLISECOND;

/// Milliseconds for which whoever has waited longest for a child is waited for alone. The
/// child may need what another thread does.
const GRACE: u32 = 50;

#[repr(C)]
struct Poll {
    descriptor: i32,
    events: i16,
    happened: i16,
}

fn is_ready(descriptor: usize, events: i16) -> bool {
    is_ready_within(0, descriptor, events)
}

fn is_ready_within(milliseconds: usize, descriptor: usize, events: i16) -> bool {
    let mut poll = Poll {
        descriptor: descriptor as i32,
        events,
        happened: 0,
    };
    perform(nr::POLL, [&raw mut poll as usize, 1, milliseconds, 0, 0, 0]) != 0
}

/// Whether something can be taken, now or as soon as a prompt peer has answered.
fn can_be_taken(descriptor: usize) -> bool {
    const SOON: usize = 20;
    if is_ready(descriptor, POLLIN) {
        return true;
    }
    if !descriptors::is_peer_prompt(descriptor) {
        return false;
    }
    let is_ready = is_ready_within(SOON, descriptor, POLLIN);
    if !is_ready {
        descriptors::note_vain_wait();
    }
    is_ready
}

/// Who can end a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Threads of this process only.
    Inside = 1,
    /// Other processes too, such as at the other end of a connection.
    Outside = 2,
    /// Processes that the program has started. How far they are depends on real time, so they
    /// are looked at only when nobody else can run: that gives the same trace every time.
    Child = 4,
}

impl Source {
    /// Who is at the other end of a descriptor.
    pub fn of(descriptor: usize) -> Self {
        Self::of_any(descriptors::is_outside(descriptor))
    }

    /// Who can end a wait for descriptors, one of which may have somebody outside.
    pub fn of_any(outside: bool) -> Self {
        if descriptors::has_children() {
            Self::Child
        } else if outside {
            Self::Outside
        } else {
            Self::Inside
        }
    }
}

/// Whether a process outside may end a wait.
pub fn waits_for_outside(wait: &Wait) -> bool {
    wait.operation == Operation::Io && wait.bits != Source::Inside as u32
}

/// How to find out whether a wait may be over without ending it.
#[derive(Clone, Copy, Debug)]
pub enum Probe {
    /// By trying.
    Try,
    /// By these events of a descriptor.
    Ready(usize, i16),
    /// By an array of descriptors and events, and its length.
    Any(usize, usize),
    /// By whether such a child has ended.
    Child(usize, usize),
}

impl Probe {
    fn may_be_over(self) -> bool {
        match self {
            Probe::Try => !world().execution.looked,
            Probe::Ready(descriptor, events) => is_ready(descriptor, events),
            Probe::Any(polls, count) => perform(nr::POLL, [polls, count, 0, 0, 0, 0]) != 0,
            Probe::Child(kind, number) => children::has_ended(kind, number),
        }
    }
}

/// Makes those able to run whose waits may be over and that `looks` tells of. True if any.
fn let_look(looks: impl Fn(u32) -> bool) -> bool {
    let waiting: Vec<usize> = world().execution.queue(ANYTHING).collect();
    let mut any = false;
    for number in waiting {
        let thread = &world().execution.threads[number];
        if looks(thread.wait.bits) && thread.probe.may_be_over() {
            any = true;
            world().execution.enable(number);
        }
    }
    any
}

/// As [`let_look`], for one thread only: who has waited longest, even if others need not wait
/// any more. Which child is faster would decide otherwise.
fn let_one_look(only_first: bool) -> bool {
    let execution = &world().execution;
    let waiting = execution.queue(ANYTHING);
    let mut waiting = waiting.take(if only_first { 1 } else { usize::MAX });
    let ready = waiting.find(|number| execution.threads[*number].probe.may_be_over());
    if let Some(number) = ready {
        world().execution.enable(number);
    }
    ready.is_some()
}

/// Another thread may be able to go on, now that the running one has done something.
pub fn did_something() {
    object::release_too(ANYTHING);
    world().execution.changed();
    // With children about, what can be seen depends on real time.
    if !descriptors::has_children() {
        let_look(|source| source != Source::Child as u32);
    }
}

fn saw_something() {
    object::acquire(ANYTHING);
}

/// Repeats `attempt` until it has a result. `None` if the virtual `deadline` passes first; a
/// result of its own if a signal handler ran.
pub fn until(
    deadline: u64,
    (source, probe): (Source, Probe),
    site: SiteId,
    mut attempt: impl FnMut() -> Option<isize>,
) -> Option<isize> {
    if live() {
        scheduler::point(Operation::Io, true, ANYTHING, site);
        cancel::point();
    }
    // A child is looked at when nobody else can run, and then for the first time.
    let mut first = source == Source::Child && deadline > world().execution.now && live();
    loop {
        if !core::mem::take(&mut first) {
            if let Some(result) = attempt() {
                saw_something();
                return Some(result);
            }
            if world().execution.now >= deadline {
                return None;
            }
        }
        if !live() {
            // In a signal handler nobody else can run.
            wait_really();
            continue;
        }
        let execution = &mut world().execution;
        execution.threads[execution.current].probe = probe;
        let woken = cancel::block_interruptibly(Wait {
            operation: Operation::Io,
            object: ANYTHING,
            bits: source as u32,
            deadline,
            site,
            ..Wait::NONE
        });
        match woken {
            cancel::Woken::Cancelled => cancel::act(),
            cancel::Woken::Interrupted if !goes_on(probe) => return Some(error(EINTR)),
            _ => {}
        }
    }
}

/// Whether a call goes on after a signal handler. Those with time limits never do.
fn goes_on(probe: Probe) -> bool {
    let execution = &world().execution;
    let polls = matches!(probe, Probe::Any(..) | Probe::Try);
    execution.threads[execution.current].restarts && !polls
}

fn wait_really() {
    shared().note_condition(conditions::BLOCKED_OUTSIDE);
    // Nothing to watch for in particular: look again in a millisecond.
    perform(nr::POLL, [0, 0, 1, 0, 0, 0]);
    world().execution.waited += MILLISECOND;
}

/// Nobody can run. True if that may have changed.
pub fn look_again() -> bool {
    let waits = |source: Source| {
        let execution = &world().execution;
        execution
            .queue(ANYTHING)
            .any(|number| execution.threads[number].wait.bits == source as u32)
    };
    let mut rounds = 0;
    loop {
        let any = if descriptors::has_children() {
            let_one_look(rounds < GRACE)
        } else {
            let_look(|_| true)
        };
        if any {
            world().execution.looked = true;
            return true;
        }
        rounds += 1;
        let execution = &mut world().execution;
        let blocked = execution.threads.iter();
        let blocked = blocked.filter(|thread| thread.state == State::Blocked);
        let earliest = blocked.map(|thread| thread.wait.deadline).min();
        let limit = match earliest.unwrap_or(u64::MAX) {
            u64::MAX => u64::MAX,
            deadline => deadline.saturating_sub(execution.now).min(PATIENCE),
        };
        let outside = waits(Source::Outside) || waits(Source::Child);
        if !outside || execution.waited >= limit {
            execution.waited = 0;
            return false;
        }
        wait_really();
        world().execution.looked = false;
        if native::look() {
            return true;
        }
        if delivery::has_come() {
            delivery::collect();
            if !world().execution.enabled.is_empty() {
                return true;
            }
        }
    }
}

/// Whether a call on the descriptor never blocks by itself.
fn never_blocks(descriptor: usize) -> bool {
    descriptors::is_nonblocking(descriptor) || descriptors::kind(descriptor) == Kind::File
}

/// Time after which the kernel would give up reading from, or writing to, a socket.
fn socket_deadline(descriptor: usize, option: usize) -> u64 {
    const SOL_SOCKET: usize = 1;
    if descriptors::kind(descriptor) != Kind::Socket {
        return u64::MAX;
    }
    let mut timeval = [0i64; 2];
    let mut bytes = 16u32;
    let value = timeval.as_mut_ptr() as usize;
    let size = &raw mut bytes as usize;
    let result = perform(
        nr::GETSOCKOPT,
        [descriptor, SOL_SOCKET, option, value, size, 0],
    );
    if result < 0 || timeval == [0, 0] {
        return u64::MAX;
    }
    crate::clock::relative(timeval[0], timeval[1] * 1000)
}

/// A call that takes something from a descriptor.
pub fn take(number: usize, arguments: [usize; 6], site: SiteId) -> isize {
    const SO_RCVTIMEO: usize = 20;
    let descriptor = arguments[0];
    let flags = match number {
        nr::RECVFROM | nr::RECVMMSG => arguments[3],
        nr::RECVMSG => arguments[2],
        _ => 0,
    };
    if flags & MSG_DONTWAIT != 0 || never_blocks(descriptor) {
        if live() {
            scheduler::point(Operation::Io, true, ANYTHING, site);
        }
        let result = perform(number, arguments);
        saw_something();
        if result > 0 {
            did_something();
        }
        return result;
    }
    let deadline = socket_deadline(descriptor, SO_RCVTIMEO);
    let by = (Source::of(descriptor), Probe::Ready(descriptor, POLLIN));
    // A call that wants all of a buffer gets it in parts: between them others run.
    let whole = number == nr::RECVFROM && flags & MSG_WAITALL != 0;
    let mut step = arguments;
    if whole {
        step[3] &= !MSG_WAITALL;
    }
    let mut done = 0;
    loop {
        let result = until(deadline, by, site, || {
            can_be_taken(descriptor).then(|| perform(number, step))
        });
        did_something();
        match result {
            Some(part) if whole && part > 0 && (part as usize) < step[2] => {
                done += part;
                step[1] += part as usize;
                step[2] -= part as usize;
            }
            Some(part) if part >= 0 => return done + part,
            _ if done > 0 => return done,
            other => return other.unwrap_or(error(EAGAIN)),
        }
    }
}

/// How far giving something has come.
enum Step {
    Done(isize),
    More,
    WouldBlock,
}

/// A call that gives something to a descriptor.
pub fn give(number: usize, arguments: [usize; 6], site: SiteId) -> isize {
    const SO_SNDTIMEO: usize = 21;
    let [descriptor, buffer, bytes, flags, ..] = arguments;
    if never_blocks(descriptor) {
        if live() {
            scheduler::point(Operation::Io, true, ANYTHING, site);
        }
        object::release_too(ANYTHING);
        let result = perform(number, arguments);
        delivery::caused(SIGPIPE);
        did_something();
        return result;
    }
    let deadline = socket_deadline(descriptor, SO_SNDTIMEO);
    let by = (Source::of(descriptor), Probe::Ready(descriptor, POLLOUT));
    let is_socket = descriptors::kind(descriptor) == Kind::Socket;
    let mut done = 0;
    // Whole buffers are given in steps that never block; vectors and messages at once.
    let mut step = || {
        object::release_too(ANYTHING);
        let result = match number {
            nr::WRITE if is_socket => perform(
                nr::SENDTO,
                [descriptor, buffer + done, bytes - done, MSG_DONTWAIT, 0, 0],
            ),
            nr::WRITE => {
                let part = (bytes - done).min(PIPE_STEP);
                perform(number, [descriptor, buffer + done, part, 0, 0, 0])
            }
            nr::SENDTO => {
                let mut step = arguments;
                (step[1], step[2], step[3]) = (buffer + done, bytes - done, flags | MSG_DONTWAIT);
                perform(number, step)
            }
            nr::SENDMSG => perform(number, [descriptor, buffer, bytes | MSG_DONTWAIT, 0, 0, 0]),
            _ => perform(number, arguments),
        };
        if result == error(EAGAIN) {
            return Step::WouldBlock;
        }
        if result < 0 {
            return Step::Done(if done > 0 { done as isize } else { result });
        }
        did_something();
        done += result as usize;
        let is_whole = done >= bytes || result == 0 || !matches!(number, nr::WRITE | nr::SENDTO);
        if is_whole {
            Step::Done(done as isize)
        } else {
            Step::More
        }
    };
    let result = until(deadline, by, site, || {
        while is_ready(descriptor, POLLOUT) {
            match step() {
                Step::Done(result) => return Some(result),
                Step::More => {}
                Step::WouldBlock => return None,
            }
        }
        None
    });
    delivery::caused(SIGPIPE);
    did_something();
    match result {
        Some(result) => result,
        None if done > 0 => done as isize,
        None => error(EAGAIN),
    }
}

/// A call with a time limit of its own that returns 0 for nothing: `attempt` waits not at all.
pub fn poll(
    deadline: u64,
    by: (Source, Probe),
    site: SiteId,
    mut attempt: impl FnMut() -> isize,
) -> isize {
    let result = until(deadline, by, site, || match attempt() {
        0 => None,
        result => Some(result),
    });
    result.unwrap_or(0)
}

/// A call that returns an error instead of blocking: `attempt` waits not at all.
pub fn try_until_done(site: SiteId, mut attempt: impl FnMut() -> isize) -> isize {
    let by = (Source::of_any(true), Probe::Try);
    let result = until(u64::MAX, by, site, || {
        let result = attempt();
        (result != error(EAGAIN)).then_some(result)
    });
    did_something();
    result.unwrap_or(0)
}

/// `open` and `openat` of a named pipe, which wait for the other end.
pub fn open_fifo(number: usize, mut arguments: [usize; 6], site: SiteId) -> isize {
    const O_ACCESS_MODE: usize = 3;
    const O_RDONLY: usize = 0;
    const O_NONBLOCK: usize = 0o4000;
    let flags = match number {
        nr::OPEN => &mut arguments[1],
        _ => &mut arguments[2],
    };
    let is_reader = *flags & O_ACCESS_MODE == O_RDONLY;
    *flags |= O_NONBLOCK;
    if live() {
        scheduler::point(Operation::Io, true, ANYTHING, site);
    }
    // No other process sees a named pipe of the private view.
    let by = (Source::of_any(view::layers().is_empty()), Probe::Try);
    let mut opened = match is_reader {
        true => perform(number, arguments),
        false => error(ENXIO),
    };
    did_something();
    let result = until(u64::MAX, by, site, || {
        if !is_reader {
            opened = perform(number, arguments);
            return (opened != error(ENXIO)).then_some(opened);
        }
        (opened < 0 || has_writer(opened as usize)).then_some(opened)
    });
    did_something();
    if opened >= 0 {
        descriptors::set_nonblocking(opened as usize, false);
    }
    result.unwrap_or(opened)
}

/// Whether a named pipe, opened to read without blocking, has or had a writer.
fn has_writer(descriptor: usize) -> bool {
    const SPLICE_F_NONBLOCK: usize = 2;
    if is_ready(descriptor, POLLIN) {
        return true;
    }
    let mut copy = [-1i32; 2];
    if perform(nr::PIPE, [copy.as_mut_ptr() as usize, 0, 0, 0, 0, 0]) < 0 {
        return true;
    }
    // The end of the file if there is no writer; nothing is taken out.
    let arguments = [descriptor, copy[1] as usize, 1, SPLICE_F_NONBLOCK, 0, 0];
    let copied = perform(nr::TEE, arguments);
    for end in copy {
        perform(nr::CLOSE, [end as usize, 0, 0, 0, 0, 0]);
    }
    copied != 0
}

/// `connect`: begun without blocking, and then waited for.
pub fn connect(arguments: [usize; 6], site: SiteId) -> isize {
    const SOL_SOCKET: usize = 1;
    const SO_ERROR: usize = 4;
    let descriptor = arguments[0];
    if live() {
        scheduler::point(Operation::Io, true, ANYTHING, site);
    }
    if descriptors::is_nonblocking(descriptor) {
        let result = perform(nr::CONNECT, arguments);
        did_something();
        return result;
    }
    descriptors::set_nonblocking(descriptor, true);
    let begun = try_until_done(site, || perform(nr::CONNECT, arguments));
    descriptors::set_nonblocking(descriptor, false);
    if begun != error(EINPROGRESS) {
        return begun;
    }
    let by = (Source::of(descriptor), Probe::Ready(descriptor, POLLOUT));
    let done = until(u64::MAX, by, site, || {
        is_ready(descriptor, POLLOUT).then_some(0)
    });
    let (mut value, mut bytes) = (0i32, 4u32);
    let place = &raw mut value as usize;
    let size = &raw mut bytes as usize;
    perform(
        nr::GETSOCKOPT,
        [descriptor, SOL_SOCKET, SO_ERROR, place, size, 0],
    );
    did_something();
    match done {
        Some(interrupted) if interrupted < 0 => interrupted,
        _ => error(value as isize),
    }
}
