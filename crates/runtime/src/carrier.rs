//! Carriers: which OS thread runs a logical thread.
//!
//! Usually one OS thread carries everybody: a switch changes stack and FS base, and costs no
//! system call. With the `os` carrier every logical thread runs on the OS thread that its
//! thread-local storage belongs to, and a switch hands over by futex. Exactly one of them runs
//! at a time either way, so the same schedule gives the same trace. It is for machines that
//! cannot set the FS base from user code, for programs that start threads behind the runtime's
//! back (see [`crate::native`]), and a check of the fibers.
//!
//! Each OS thread has a *seat*: a loop on a stack of its own, in which it waits for its turn.
//! Between turns nothing of it stands on a stack of the program, so snapshots may restore
//! those, and an execution that ends needs no help of the threads that it leaves behind.

use crate::arch::{self, nr};
use crate::donor;
use crate::global::Global;
use crate::host;
use crate::interpose::signals;
use crate::own;
use crate::syscalls;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, Ordering};
use raddle_abi::plan::Carrier;

/// The seat of the process's first OS thread, which also runs the host.
pub const MAIN: usize = 0;

const STACK_BYTES: usize = 1 << 14;
const FUTEX_WAIT: usize = 128;
const FUTEX_WAKE: usize = 129;

struct Seat {
    /// The loop's stack, from lowest address to highest.
    stack: (usize, usize),
    /// Saved stack pointer of the loop while a logical thread runs.
    idle: usize,
    /// Stack pointer with which to go on at the next turn.
    resume: usize,
    /// FS base of its OS thread.
    fs: usize,
    /// The kernel's number of its OS thread.
    thread: isize,
    /// 1 when it is this thread's turn; a futex.
    turn: AtomicU32,
}

struct Carriers {
    os: bool,
    /// Nobody has asked for fibers in particular.
    may_change: bool,
    /// The kernel's number of the process's first OS thread.
    main: isize,
    seats: Vec<&'static mut Seat>,
    /// Whose turn it is.
    running: usize,
}

static CARRIERS: Global<Carriers> = Global::new(Carriers {
    os: false,
    may_change: false,
    main: 0,
    seats: Vec::new(),
    running: MAIN,
});

/// Decides for a carrier, before any thread exists.
pub fn choose(asked: Carrier) -> Carrier {
    let chosen = match asked {
        Carrier::Auto if arch::can_set_fs_base() => Carrier::Fiber,
        Carrier::Auto => Carrier::Os,
        asked => asked,
    };
    let carriers = CARRIERS.get();
    carriers.os = chosen == Carrier::Os;
    carriers.may_change = asked == Carrier::Auto && chosen == Carrier::Fiber;
    if carriers.os {
        add_seat();
        let main = &mut carriers.seats[MAIN];
        main.fs = arch::fs_base();
        // SAFETY: a fresh stack.
        main.idle = unsafe { arch::prepare_stack(main.stack.1, leave_main, MAIN) };
    }
    chosen
}

/// Makes the seat of one more OS thread; seats are numbered in order.
pub fn add_seat() {
    let low = own::map(STACK_BYTES);
    // Never freed: the thread that sits on it never ends.
    CARRIERS.get().seats.push(Box::leak(Box::new(Seat {
        stack: (low, low + STACK_BYTES),
        idle: 0,
        resume: 0,
        fs: 0,
        thread: 0,
        turn: AtomicU32::new(0),
    })));
}

/// Whether logical threads run on OS threads of their own.
#[inline(always)]
pub fn is_os() -> bool {
    CARRIERS.get().os
}

/// Whether logical threads run on fibers only because nothing speaks against it yet.
pub fn may_change() -> bool {
    CARRIERS.get().may_change
}

/// OS threads of this process that belong to the runtime.
pub fn os_threads() -> usize {
    match (host::is_child(), is_os()) {
        (false, _) => 1 + donor::count(),
        (true, true) => CARRIERS.get().seats.len(),
        (true, false) => 1,
    }
}

/// Whether the calling OS thread is the one whose turn it is.
pub fn is_running_thread() -> bool {
    let carriers = CARRIERS.get();
    let running = match carriers.running {
        MAIN => carriers.main,
        seat => carriers.seats[seat].thread,
    };
    arch::thread_number() == running
}

/// Switches to a logical thread or to the host, which sits on `seat`.
///
/// # Safety
/// `to_sp` was saved by this function or made by [`arch::prepare_stack`], and `to_fs` is the FS
/// base of that seat's OS thread.
#[inline(always)]
pub unsafe fn switch(save: *mut usize, to_sp: usize, to_fs: usize, seat: usize) {
    if is_os() {
        // SAFETY: the caller's promise.
        unsafe { hand_over(save, to_sp, seat) }
    } else {
        // SAFETY: the caller's promise.
        unsafe { arch::switch_fiber(save, to_sp, to_fs) }
    }
}

#[cold]
unsafe fn hand_over(save: *mut usize, to_sp: usize, seat: usize) {
    let carriers = CARRIERS.get();
    let own = carriers.running;
    if seat == own {
        // SAFETY: the caller's promise.
        return unsafe { arch::switch_stack(save, to_sp) };
    }
    carriers.seats[seat].resume = to_sp;
    carriers.running = seat;
    let idle = carriers.seats[own].idle;
    // SAFETY: this OS thread's loop, which wakes the other one once everything is saved.
    unsafe { arch::switch_stack(save, idle) };
}

/// Wakes the thread whose turn it is.
fn pass_turn() {
    let carriers = CARRIERS.get();
    let turn = &carriers.seats[carriers.running].turn;
    turn.store(1, Ordering::Release);
    // SAFETY: a word that is never freed.
    unsafe { arch::syscall(nr::FUTEX, [turn.as_ptr() as usize, FUTEX_WAKE, 1, 0, 0, 0]) };
}

extern "C" fn leave_main(seat: usize) -> ! {
    pass_turn();
    take_turns(seat)
}

extern "C" fn take_turns(number: usize) -> ! {
    let seat: *mut Seat = &mut *CARRIERS.get().seats[number];
    // SAFETY: seats are never freed, and this thread alone uses this one during its turn.
    let seat = unsafe { &mut *seat };
    loop {
        let word = seat.turn.as_ptr() as usize;
        while seat.turn.swap(0, Ordering::Acquire) == 0 {
            // SAFETY: a word that is never freed.
            unsafe { arch::syscall(nr::FUTEX, [word, FUTEX_WAIT, 0, 0, 0, 0]) };
        }
        // SAFETY: saved by who passed the turn.
        unsafe { arch::switch_stack(&mut seat.idle, seat.resume) };
        pass_turn();
    }
}

/// Prepares the calling OS thread for carrying logical threads.
fn sit_down(number: usize) {
    let seat = &mut CARRIERS.get().seats[number];
    seat.fs = arch::fs_base();
    seat.thread = arch::thread_number();
    signals::use_alternate_stack();
    syscalls::set_up();
}

/// Makes the calling OS thread take turns for ever, after `born` was told.
///
/// # Safety
/// The thread has this seat and nothing that has to be run at its end.
pub unsafe fn serve(number: usize, born: impl FnOnce()) -> ! {
    sit_down(number);
    let (_, high) = CARRIERS.get().seats[number].stack;
    born();
    let mut abandoned = 0;
    // SAFETY: a fresh stack.
    unsafe {
        let sp = arch::prepare_stack(high, take_turns, number);
        arch::switch_stack(&mut abandoned, sp);
    }
    unreachable!("an abandoned stack was resumed")
}

extern "C" fn serve_in_child(number: usize) -> ! {
    sit_down(number);
    take_turns(number)
}

/// After a fork the child has one OS thread: gives it the others, with the same storage.
pub fn revive() {
    let carriers = CARRIERS.get();
    carriers.main = arch::thread_number();
    if !carriers.os {
        return;
    }
    for (number, seat) in carriers.seats.iter().enumerate().skip(1) {
        // SAFETY: the stack and the storage of a thread that does not exist in this process.
        let thread = unsafe { arch::start_thread(seat.stack.1, seat.fs, serve_in_child, number) };
        if thread < 0 {
            panic!("cannot start a thread in a child (error {})", -thread);
        }
    }
}
