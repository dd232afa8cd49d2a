//! The program's descriptors: which of them an execution has opened, and what they are.
//!
//! What an execution opens is closed after it. As long as an execution touches only what it
//! has opened itself (pipes, event counters, epoll sets, timers, pairs of sockets, files to
//! read), closing them leaves nothing behind, and executions can be repeated from a snapshot.
//! Anything else means that executions have to be forked.

use crate::arch::nr;
use crate::files;
use crate::global::Global;
use crate::io;
use crate::syscalls::{changes_kernel, perform};
use crate::timers::{self, Event};
use crate::world::take_at_site;
use alloc::vec::Vec;

/// What a descriptor is, as far as blocking is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file or directory: never blocks.
    File,
    /// A socket.
    Socket,
    /// A pipe.
    Pipe,
    /// Anything else: event counters, terminals, timers.
    Other,
}

#[derive(Clone, Copy)]
struct Opened {
    descriptor: usize,
    /// Other processes can be at its other end.
    outside: bool,
    /// Of a timer: its clock, and the descriptor that it was opened as.
    timer: Option<(i32, usize)>,
    /// What is read from it is random.
    is_random: bool,
}

struct Table {
    opened: Vec<Opened>,
    /// Whether the execution has started another process.
    children: bool,
    /// How often the execution has really waited for a peer that did not answer.
    vain: u32,
}

static TABLE: Global<Table> = Global::new(Table {
    opened: Vec::new(),
    children: false,
    vain: 0,
});

const GET_FLAGS: usize = 3;
const SET_FLAGS: usize = 4;
const NONBLOCKING: usize = 0o4000;

/// What a descriptor is.
pub fn kind(descriptor: usize) -> Kind {
    const MODE_WORD: usize = 6;
    const FORMAT: u32 = 0o170_000;
    let mut status = [0u32; 36];
    if perform(
        nr::FSTAT,
        [descriptor, status.as_mut_ptr() as usize, 0, 0, 0, 0],
    ) < 0
    {
        // The call itself will say what is wrong with it.
        return Kind::File;
    }
    match status[MODE_WORD] & FORMAT {
        0o100_000 | 0o040_000 | 0o060_000 => Kind::File,
        0o140_000 => Kind::Socket,
        0o010_000 => Kind::Pipe,
        _ => Kind::Other,
    }
}

/// Whether calls on a descriptor return instead of blocking.
pub fn is_nonblocking(descriptor: usize) -> bool {
    let flags = perform(nr::FCNTL, [descriptor, GET_FLAGS, 0, 0, 0, 0]);
    flags < 0 || flags as usize & NONBLOCKING != 0
}

/// Makes calls on a descriptor return instead of blocking, or not.
pub fn set_nonblocking(descriptor: usize, on: bool) {
    let flags = perform(nr::FCNTL, [descriptor, GET_FLAGS, 0, 0, 0, 0]) as usize;
    let flags = if on {
        flags | NONBLOCKING
    } else {
        flags & !NONBLOCKING
    };
    perform(nr::FCNTL, [descriptor, SET_FLAGS, flags, 0, 0, 0]);
}

fn find(descriptor: usize) -> Option<&'static mut Opened> {
    let opened = &mut TABLE.get().opened;
    opened.iter_mut().find(|open| open.descriptor == descriptor)
}

/// Whether the execution has opened this descriptor.
pub fn is_own(descriptor: usize) -> bool {
    find(descriptor).is_some()
}

/// Whether somebody outside of the process may be at the other end of a descriptor.
pub fn is_outside(descriptor: usize) -> bool {
    has_children() || find(descriptor).is_none_or(|open| open.outside)
}

/// Whether any descriptor that the execution has opened has somebody outside at its other end.
pub fn any_outside() -> bool {
    has_children() || TABLE.get().opened.iter().any(|open| open.outside)
}

/// Whether the execution has started another process, which has its descriptors too.
pub fn has_children() -> bool {
    TABLE.get().children
}

/// Whether it is worth while to wait really for the peer at the other end of a connection: it is
/// another process, and those have answered so far.
pub fn is_peer_prompt(descriptor: usize) -> bool {
    const VAIN: u32 = 8;
    let table = TABLE.get();
    if table.vain >= VAIN || find(descriptor).is_none_or(|open| !open.outside) {
        return false;
    }
    let Some(peer) = port(nr::GETPEERNAME, descriptor) else {
        return false;
    };
    let mut own = table.opened.iter();
    !own.any(|open| port(nr::GETSOCKNAME, open.descriptor) == Some(peer))
}

/// A peer has not answered in time.
pub fn note_vain_wait() {
    TABLE.get().vain += 1;
}

/// The port of one end of a connection between machines.
fn port(end: usize, descriptor: usize) -> Option<u16> {
    const INTERNET: [u16; 2] = [2, 10];
    // The family, the port, and the rest of the largest address.
    let mut name = [0u16; 64];
    let mut bytes = size_of_val(&name) as u32;
    let place = name.as_mut_ptr() as usize;
    let size = &raw mut bytes as usize;
    let result = perform(end, [descriptor, place, size, 0, 0, 0]);
    (result == 0 && INTERNET.contains(&name[0])).then_some(name[1])
}

/// The execution has started another process.
pub fn note_child() {
    TABLE.get().children = true;
}

/// Notes the result of a call that opens a descriptor.
pub fn note_opened(result: isize, outside: bool) -> isize {
    if result >= 0 {
        let descriptor = result as usize;
        TABLE.get().opened.push(Opened {
            descriptor,
            outside,
            timer: None,
            is_random: false,
        });
    }
    result
}

/// Notes the result of a call that opens another descriptor for the same thing.
fn note_duplicate(result: isize, old: usize) -> isize {
    let same = find(old).map(|open| (open.timer, open.is_random));
    note_opened(result, is_outside(old));
    if let Some((timer, is_random)) = same
        && let Some(new) = TABLE.get().opened.last_mut().filter(|_| result >= 0)
    {
        (new.timer, new.is_random) = (timer, is_random);
    }
    result
}

/// What is read from a descriptor that was just opened is random.
pub fn mark_random(opened: isize) {
    if let Some(open) = usize::try_from(opened).ok().and_then(find) {
        open.is_random = true;
    }
}

/// Whether what is read from a descriptor is random.
pub fn is_random(descriptor: usize) -> bool {
    find(descriptor).is_some_and(|open| open.is_random)
}

/// Opens a timer's descriptor, which is an event counter with these flags.
pub fn open_timer(clock: i32, flags: usize) -> isize {
    let result = open_inside(nr::EVENTFD2, [0, flags, 0, 0, 0, 0]);
    if let Some(open) = find(result as usize) {
        open.timer = Some((clock, result as usize));
    }
    result
}

/// The clock of a timer's descriptor, if it is one.
pub fn timer_clock(descriptor: usize) -> Option<i32> {
    find(descriptor)?.timer.map(|(clock, _)| clock)
}

/// The descriptor as which a timer was opened.
pub fn timer_of(descriptor: usize) -> usize {
    let timer = find(descriptor).and_then(|open| open.timer);
    timer.map_or(descriptor, |(_, first)| first)
}

/// Takes out what an event counter has counted.
pub fn drain(descriptor: usize) {
    let was_blocking = !is_nonblocking(descriptor);
    let mut count = 0u64;
    let place = &raw mut count as usize;
    if was_blocking {
        set_nonblocking(descriptor, true);
    }
    perform(nr::READ, [descriptor, place, 8, 0, 0, 0]);
    if was_blocking {
        set_nonblocking(descriptor, false);
    }
}

/// A call that opens a descriptor which nobody outside can have.
pub fn open_inside(number: usize, arguments: [usize; 6]) -> isize {
    note_opened(perform(number, arguments), false)
}

/// A call that opens two, whose numbers it writes to `place`.
pub fn open_pair(number: usize, arguments: [usize; 6], place: usize) -> isize {
    let result = perform(number, arguments);
    if result == 0 {
        // SAFETY: the kernel has just written them.
        let pair = unsafe { *(place as *const [i32; 2]) };
        for descriptor in pair {
            note_opened(descriptor as isize, false);
        }
    }
    result
}

/// A call on a descriptor that changes nothing beyond it.
pub fn on_own(number: usize, arguments: [usize; 6]) -> isize {
    if !is_own(arguments[0]) {
        changes_kernel(number);
    }
    perform(number, arguments)
}

/// `fcntl`, which can also open.
pub fn control(arguments: [usize; 6]) -> isize {
    const DUPLICATE: usize = 0;
    const DUPLICATE_CLOEXEC: usize = 1030;
    const ASKS: [usize; 2] = [1, GET_FLAGS];
    let [descriptor, command, ..] = arguments;
    if command == DUPLICATE || command == DUPLICATE_CLOEXEC {
        return note_duplicate(perform(nr::FCNTL, arguments), descriptor);
    }
    if !ASKS.contains(&command) && !is_own(descriptor) {
        changes_kernel(nr::FCNTL);
    }
    perform(nr::FCNTL, arguments)
}

/// `dup`, `dup2` and `dup3`: another descriptor for the same thing.
pub fn duplicate(number: usize, arguments: [usize; 6]) -> isize {
    let [old, new, ..] = arguments;
    if number != nr::DUP {
        if !is_own(new) && perform(nr::FCNTL, [new, GET_FLAGS, 0, 0, 0, 0]) >= 0 {
            // It replaces one that was there before.
            changes_kernel(number);
        }
        TABLE.get().opened.retain(|open| open.descriptor != new);
    }
    note_duplicate(perform(number, arguments), old)
}

/// `open` and `openat`.
pub fn open_file(number: usize, arguments: [usize; 6]) -> isize {
    const O_ACCESS_MODE: usize = 3;
    const O_CREAT_OR_TRUNC: usize = 0o100 | 0o1000;
    let flags = if number == nr::OPEN {
        arguments[1]
    } else {
        arguments[2]
    };
    if flags & (O_ACCESS_MODE | O_CREAT_OR_TRUNC) != 0 {
        changes_kernel(number);
    }
    let result = match files::waits_for_other_end(number, arguments) {
        true => io::open_fifo(number, arguments, take_at_site()),
        false => perform(number, arguments),
    };
    note_opened(result, true)
}

/// `close`.
pub fn close(descriptor: usize) -> isize {
    let opened = &mut TABLE.get().opened;
    if let Some(place) = opened.iter().position(|open| open.descriptor == descriptor) {
        let closed = opened.swap_remove(place);
        if let Some((_, timer)) = closed.timer {
            let others = opened.iter().filter_map(|open| open.timer);
            if !others.into_iter().any(|(_, other)| other == timer) {
                timers::set(Event::Descriptor(timer), 0, 0);
            }
        }
    } else if perform(nr::FCNTL, [descriptor, GET_FLAGS, 0, 0, 0, 0]) >= 0 {
        changes_kernel(nr::CLOSE);
    }
    perform(nr::CLOSE, [descriptor, 0, 0, 0, 0, 0])
}

/// Closes what the execution has left open.
pub fn undo() {
    let table = TABLE.get();
    table.children = false;
    table.vain = 0;
    for open in table.opened.drain(..) {
        perform(nr::CLOSE, [open.descriptor, 0, 0, 0, 0, 0]);
    }
}
