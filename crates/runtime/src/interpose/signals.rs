//! Signals: fatal ones are findings; those that the program sends to itself are virtual (see
//! [`crate::delivery`]).

use super::object::{self, interpose};
use super::threads::find;
use super::{cancel, real, time};
use crate::arch::errno::{EAGAIN, EINTR, EINVAL, EPERM, ESRCH};
use crate::arch::{self, Interrupted, KernelSigaction, nr, signal};
use crate::delivery::{self, Action, COUNT, INFORMATION_WORDS, bit};
use crate::global::Global;
use crate::ids;
use crate::native;
use crate::oracles::crash;
use crate::own;
use crate::record;
use crate::scheduler;
use crate::shared::shared;
use crate::snapshot;
use crate::syscalls::{self, as_errno, error};
use crate::thread::{State, Wait};
use crate::timers;
use crate::world::{is_controlled, live, take_at_site, world};
use core::ffi::c_void;
use core::sync::atomic::Ordering;
use raddle_abi::control::stage;
use raddle_abi::site::Operation;

const FATAL: [usize; 6] = [
    signal::SIGILL,
    signal::SIGTRAP,
    signal::SIGABRT,
    signal::SIGBUS,
    signal::SIGFPE,
    signal::SIGSEGV,
];
/// Signals of a stack that overflows. Where somebody else handles them when a program starts,
/// std keeps no books about the stack of every thread, which cost more than starting it.
const OVERFLOWS: [usize; 2] = [signal::SIGSEGV, signal::SIGBUS];
const ALTERNATE_STACK: usize = 1 << 16;
/// What a wait for any signal waits for. No object of the program stands there.
pub const SIGNALS: usize = 24;

/// Gives the calling OS thread a stack for handlers.
pub fn use_alternate_stack() {
    let stack = [own::map(ALTERNATE_STACK), 0, ALTERNATE_STACK];
    // SAFETY: a valid structure.
    unsafe { arch::syscall(nr::SIGALTSTACK, [stack.as_ptr() as usize, 0, 0, 0, 0, 0]) };
}

/// Blocks all signals in the calling OS thread but those that its own instructions cause, so
/// that the others go to the first OS thread.
pub fn leave_to_main_thread() {
    let caused = FATAL.iter().chain(&[signal::SIGSYS]);
    let mask = caused.fold(u64::MAX, |mask, number| mask & !(1 << (number - 1)));
    // SAFETY: a valid mask.
    unsafe {
        arch::syscall(
            nr::RT_SIGPROCMASK,
            [2, &raw const mask as usize, 0, 8, 0, 0],
        )
    };
}

/// Installs the handlers for fatal signals, on a stack of their own.
pub fn install() {
    use_alternate_stack();
    let action = KernelSigaction {
        handler: on_fatal as *const () as usize,
        flags: signal::SA_SIGINFO | signal::SA_RESTORER | signal::SA_ONSTACK,
        restorer: arch::signal_return as *const () as usize,
        mask: 0,
    };
    // SAFETY: valid structures.
    unsafe {
        for number in FATAL {
            arch::syscall(
                nr::RT_SIGACTION,
                [number, &raw const action as usize, 0, 8, 0, 0],
            );
        }
    }
    // The kernel sends it for what a call of the program did.
    install_for(signal::SIGPIPE);
}

/// Lets a handler of a fatal signal be interrupted by another one.
pub fn unblock_fatal() {
    let mask = FATAL
        .iter()
        .fold(0u64, |mask, number| mask | 1 << (number - 1));
    // SAFETY: the kernel reads one mask.
    unsafe {
        arch::syscall(
            nr::RT_SIGPROCMASK,
            [1, &raw const mask as usize, 0, 8, 0, 0],
        )
    };
}

extern "C" fn on_fatal(number: i32, info: *mut c_void, context: *mut c_void) {
    // SAFETY: the kernel's context and information of this signal.
    let (context, address) = unsafe { (Interrupted::new(context), *info.cast::<u64>().add(2)) };
    if number as usize == signal::SIGSEGV && snapshot::heat(address as usize) {
        return;
    }
    if native::is_stranger() {
        // The whole process dies of it, and whoever waits for that says so.
        return die_of(number as usize);
    }
    record::forget();
    if world().running && handled_by_program(number as usize, info) {
        return;
    }
    if world().running {
        crash::by_signal(number as u64, address, context);
    }
    own::say(format_args!(
        "raddle runtime: signal {number} at {:#x} (address {address:#x}) outside of an execution\n",
        context.instruction()
    ));
    arch::exit_group(128 + number as usize)
}

/// Lets the kernel do what it does by default.
fn die_of(number: usize) {
    let default = KernelSigaction {
        handler: 0,
        flags: 0,
        restorer: 0,
        mask: 0,
    };
    // SAFETY: a valid structure; the signal is sent to this very thread.
    unsafe {
        let action = &raw const default as usize;
        arch::syscall(nr::RT_SIGACTION, [number, action, 0, 8, 0, 0]);
        let process = arch::syscall(nr::GETPID, [0; 6]) as usize;
        let thread = arch::syscall(nr::GETTID, [0; 6]) as usize;
        arch::syscall(nr::TGKILL, [process, thread, number, 0, 0, 0]);
    }
}

/// Lets the program handle a fault, if it has asked for that during this execution.
fn handled_by_program(number: usize, info: *mut c_void) -> bool {
    let signals = &mut world().execution.signals;
    let action = signals.actions[number];
    if signals.set & bit(number) == 0 || action.handler <= 1 || world().off != 0 {
        return false;
    }
    // A handler that faults itself is a crash.
    signals.set &= !bit(number);
    let unblock = bit(number);
    let mut context = [0u64; 128];
    // SAFETY: a handler that jumps out leaves the signal unblocked, as if it had returned; the
    // program's handler, of which one of one argument ignores the others.
    unsafe {
        let mask = &raw const unblock as usize;
        arch::syscall(nr::RT_SIGPROCMASK, [1, mask, 0, 8, 0, 0]);
        let handler: extern "C" fn(i32, *mut c_void, *mut u64) =
            core::mem::transmute(action.handler);
        handler(number as i32, info, context.as_mut_ptr());
    }
    world().execution.signals.set |= bit(number);
    true
}

/// A signal from outside of the process, or of a timer that runs in real time.
extern "C" fn on_signal(number: i32, info: *mut c_void, context: *mut c_void) {
    if world().live {
        return delivery::came(number as usize);
    }
    // A child that the program has forked.
    let action = world().execution.signals.actions[number as usize];
    if action.handler > 1 {
        // SAFETY: the program's handler.
        unsafe {
            let handler: extern "C" fn(i32, *mut c_void, *mut c_void) =
                core::mem::transmute(action.handler);
            handler(number, info, context);
        }
    } else if action.handler == 0 {
        die_of(number as usize);
    }
}

/// libc's `struct sigaction`: handler, mask, flags, restorer.
#[repr(C)]
#[derive(Clone, Copy)]
struct LibcAction {
    handler: usize,
    mask: [u64; 16],
    flags: i32,
    restorer: usize,
}

/// The kernel's handlers that were installed for the program; they stay for good.
static INSTALLED: Global<u64> = Global::new(0);

/// Signals for which the kernel calls us from now on.
fn install_for(number: usize) {
    let installed = INSTALLED.get();
    if FATAL.contains(&number) || number == signal::SIGSYS || *installed & bit(number) != 0 {
        return;
    }
    *installed |= bit(number);
    let action = KernelSigaction {
        handler: on_signal as *const () as usize,
        flags: signal::SA_SIGINFO | signal::SA_RESTORER | signal::SA_NODEFER,
        restorer: arch::signal_return as *const () as usize,
        mask: 0,
    };
    // SAFETY: a valid structure.
    unsafe {
        arch::syscall(
            nr::RT_SIGACTION,
            [number, &raw const action as usize, 0, 8, 0, 0],
        )
    };
}

/// Whether std prepares a Rust program: executions have not begun.
fn is_starting() -> bool {
    shared().control().stage.load(Ordering::Relaxed) == stage::STARTING
}

/// Sets what happens at a signal, and returns what did.
fn set_action(number: i32, new: Option<Action>) -> Result<Action, isize> {
    const SIGKILL: i32 = 9;
    const SIGSTOP: i32 = 19;
    if !(1..COUNT as i32).contains(&number) {
        return Err(error(EINVAL));
    }
    let signals = &mut world().execution.signals;
    let mut old = signals.actions[number as usize];
    if new.is_none() && OVERFLOWS.contains(&(number as usize)) && is_starting() {
        old.handler = on_fatal as *const () as usize;
    }
    if let Some(new) = new {
        if number == SIGKILL || number == SIGSTOP {
            return Err(error(EINVAL));
        }
        signals.actions[number as usize] = new;
        signals.set |= bit(number as usize);
        install_for(number as usize);
    }
    Ok(old)
}

fn libc_sigaction(number: i32, new: *const LibcAction, old: *mut LibcAction) -> i32 {
    // SAFETY: the program's structures.
    let action = unsafe { new.as_ref() }.map(|new| Action {
        handler: new.handler,
        flags: new.flags as u32 as usize,
        mask: new.mask[0],
    });
    match set_action(number, action) {
        Err(number) => as_errno(number) as i32,
        Ok(previous) => {
            if !old.is_null() {
                let mut mask = [0; 16];
                mask[0] = previous.mask;
                // SAFETY: the program's structure.
                unsafe {
                    *old = LibcAction {
                        handler: previous.handler,
                        mask,
                        flags: previous.flags as i32,
                        restorer: 0,
                    };
                }
            }
            0
        }
    }
}

/// `rt_sigaction`, as the kernel takes it.
pub fn kernel_sigaction(number: usize, new: usize, old: usize) -> isize {
    // SAFETY: the program's structures.
    let action = unsafe { (new as *const KernelSigaction).as_ref() }.map(|new| Action {
        handler: new.handler,
        flags: new.flags,
        mask: new.mask,
    });
    match set_action(number as i32, action) {
        Err(number) => number,
        Ok(previous) => {
            if old != 0 {
                // SAFETY: the program's structure.
                unsafe {
                    *(old as *mut KernelSigaction) = KernelSigaction {
                        handler: previous.handler,
                        flags: previous.flags,
                        restorer: 0,
                        mask: previous.mask,
                    };
                }
            }
            0
        }
    }
}

/// `rt_sigprocmask`: the running logical thread's mask.
pub fn change_mask(how: i32, set: usize, old: usize) -> isize {
    // SAFETY: the program's set, of which the first word counts.
    let set = unsafe { (set as *const u64).as_ref() }.copied();
    let Some(previous) = delivery::change_mask(how, set) else {
        return error(EINVAL);
    };
    if old != 0 {
        // SAFETY: the program's set.
        unsafe { *(old as *mut u64) = previous };
    }
    0
}

/// Sends a signal to a logical thread.
fn send_to(number: i32, thread: Option<usize>) -> isize {
    if !(0..COUNT as i32).contains(&number) {
        return error(EINVAL);
    }
    let site = take_at_site();
    if live() {
        scheduler::point(Operation::FutexWake, true, 0, site);
    }
    if number != 0 {
        delivery::send(number as usize, thread);
    }
    0
}

fn send_to_pthread(pthread: usize, number: i32) -> i32 {
    match find(pthread) {
        None => ESRCH as i32,
        Some(thread) if world().execution.threads[thread].state == State::Done => 0,
        Some(thread) => -send_to(number, Some(thread)) as i32,
    }
}

/// `kill`: this process's own signals are virtual.
pub fn kill_process(process: i32, number: i32) -> isize {
    const OWN: i32 = ids::PROCESS as i32;
    const PARENT: i32 = ids::PARENT as i32;
    match process {
        // The process leads its group, and is alone in it but for its children.
        OWN | 0 => return send_to(number, None),
        _ if process == -OWN => return send_to(number, None),
        // There is one, but it is none of the program's business.
        PARENT if number == 0 => return 0,
        PARENT => return error(EPERM),
        _ => {}
    }
    syscalls::changes_kernel(nr::KILL);
    syscalls::perform(nr::KILL, [process as usize, number as usize, 0, 0, 0, 0])
}

/// `tgkill` and `tkill`: threads have the numbers that `gettid` gives them.
pub fn kill_thread(thread: usize, number: usize) -> isize {
    match ids::index_of(thread) {
        Some(thread) => send_to(number as i32, Some(thread)),
        None => error(ESRCH),
    }
}

/// Waits until a handler has run. Always ends with an error.
fn wait_for_handler(mask: u64) -> isize {
    let site = take_at_site();
    cancel::point();
    let current = world().execution.current;
    let old = world().execution.threads[current].mask;
    let thread = &mut world().execution.threads[current];
    thread.mask = mask;
    let signals = &world().execution.signals;
    let thread = &world().execution.threads[current];
    let ready = (thread.pending_signals | signals.pending) & !mask != 0;
    if ready {
        delivery::run_pending();
    } else {
        loop {
            let woken = cancel::block_interruptibly(Wait {
                operation: Operation::Sleep,
                object: SIGNALS,
                site,
                ..Wait::NONE
            });
            match woken {
                cancel::Woken::Cancelled => cancel::act(),
                cancel::Woken::Interrupted => break,
                _ => {}
            }
        }
    }
    world().execution.threads[current].mask = old;
    delivery::run_pending();
    object::acquire(SIGNALS);
    error(EINTR)
}

/// `rt_sigsuspend`.
pub fn suspend(set: usize) -> isize {
    // SAFETY: the program's set.
    wait_for_handler(unsafe { *(set as *const u64) })
}

/// `pause`.
pub fn wait_for_any_handler() -> isize {
    let execution = &world().execution;
    wait_for_handler(execution.threads[execution.current].mask)
}

/// `rt_sigtimedwait`: takes a signal of a set instead of handling it.
pub fn wait_for_signal(set: usize, information: usize, timeout: usize) -> isize {
    // SAFETY: the program's set.
    let set = unsafe { *(set as *const u64) };
    let deadline = time::deadline_of(timeout);
    let site = take_at_site();
    cancel::point();
    let current = world().execution.current;
    loop {
        if let Some((number, known)) = delivery::take(set) {
            if information != 0 {
                // SAFETY: the program's `siginfo_t`.
                unsafe { *(information as *mut [i32; INFORMATION_WORDS]) = known };
            }
            return number as isize;
        }
        if world().execution.now >= deadline {
            return error(EAGAIN);
        }
        world().execution.threads[current].awaits = set;
        let woken = cancel::block_interruptibly(Wait {
            operation: Operation::Sleep,
            object: SIGNALS,
            deadline,
            site,
            ..Wait::NONE
        });
        world().execution.threads[current].awaits = 0;
        match woken {
            cancel::Woken::Cancelled => cancel::act(),
            cancel::Woken::Interrupted => return error(EINTR),
            _ => {}
        }
    }
}

fn wait_for_number(set: usize, result: *mut i32) -> i32 {
    match wait_for_signal(set, 0, 0) {
        number if number > 0 => {
            // SAFETY: the program's variable.
            unsafe { *result = number as i32 };
            0
        }
        number => -number as i32,
    }
}

/// `rt_sigpending`.
pub fn pending(set: usize) -> isize {
    let execution = &world().execution;
    let thread = &execution.threads[execution.current];
    let pending = (thread.pending_signals | execution.signals.pending) & thread.mask;
    // SAFETY: the program's set.
    unsafe { *(set as *mut u64) = pending };
    0
}

interpose! {
    /// libc's `pthread_sigmask`, which returns the error number.
    pthread_sigmask(how: i32, set: usize, old: usize) -> i32 => -change_mask(how, set, old) as i32;
    /// libc's `sigprocmask`.
    sigprocmask(how: i32, set: usize, old: usize) -> i32 => as_errno(change_mask(how, set, old)) as i32;
    /// libc's `pthread_kill`.
    pthread_kill(pthread: usize, number: i32) -> i32 => send_to_pthread(pthread, number);
    /// libc's `raise`.
    raise(number: i32) -> i32 => {
        let current = world().execution.current;
        as_errno(send_to(number, Some(current))) as i32
    };
    /// libc's `pause`.
    pause() -> i32 => as_errno(wait_for_any_handler()) as i32;
    /// libc's `sigsuspend`.
    sigsuspend(set: usize) -> i32 => as_errno(suspend(set)) as i32;
    /// libc's `sigwait`, which returns the error number.
    sigwait(set: usize, result: *mut i32) -> i32 => wait_for_number(set, result);
    /// libc's `sigwaitinfo`.
    sigwaitinfo(set: usize, information: usize) -> i32 => as_errno(wait_for_signal(set, information, 0)) as i32;
    /// libc's `sigtimedwait`.
    sigtimedwait(set: usize, information: usize, timeout: usize) -> i32 =>
        as_errno(wait_for_signal(set, information, timeout)) as i32;
    /// libc's `alarm`.
    alarm(seconds: u32) -> u32 => timers::alarm(seconds);
}

/// libc's `sigaction`. Fatal signals stay ours once the program is under control.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn sigaction(number: i32, action: *const c_void, old: *mut c_void) -> i32 {
    if !world().live {
        // SAFETY: libc's contract.
        return unsafe { (real::functions().sigaction)(number, action, old) };
    }
    libc_sigaction(number, action.cast(), old.cast())
}

/// Tells the program that it has an alternate stack, so that std makes none per thread.
pub fn alternate_stack(old: usize) -> isize {
    if old != 0 {
        // SAFETY: the program's stack_t: address, flags, size.
        unsafe { *(old as *mut [usize; 3]) = [0x1000, 0, 8192] };
    }
    0
}

/// libc's `sigaltstack`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn sigaltstack(new: usize, old: usize) -> i32 {
    if is_controlled() {
        return alternate_stack(old) as i32;
    }
    // SAFETY: the program asked for it.
    crate::syscalls::as_errno(unsafe { arch::syscall(nr::SIGALTSTACK, [new, old, 0, 0, 0, 0]) })
        as i32
}
