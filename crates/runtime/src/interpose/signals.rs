//! Signals: fatal ones are findings, handlers of the program run with hooks off.

use super::real;
use crate::arch::{self, Interrupted, KernelSigaction, nr, signal};
use crate::global::Global;
use crate::oracles::crash;
use crate::own;
use crate::snapshot;
use crate::world::{without_hooks, world};
use core::ffi::c_void;

const FATAL: [usize; 6] = [
    signal::SIGILL,
    signal::SIGTRAP,
    signal::SIGABRT,
    signal::SIGBUS,
    signal::SIGFPE,
    signal::SIGSEGV,
];
const ALTERNATE_STACK: usize = 1 << 16;
/// libc's `struct sigaction` in words.
const ACTION_WORDS: usize = 19;

/// The program's handlers, by signal.
static HANDLERS: Global<[usize; 65]> = Global::new([0; 65]);

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
}

extern "C" fn on_fatal(number: i32, info: *mut c_void, context: *mut c_void) {
    // SAFETY: the kernel's context and information of this signal.
    let (context, address) = unsafe { (Interrupted::new(context), *info.cast::<u64>().add(2)) };
    if number as usize == signal::SIGSEGV && snapshot::heat(address as usize) {
        return;
    }
    if world().running {
        crash::by_signal(number as u64, address, &context);
    }
    own::say(format_args!(
        "raddle runtime: signal {number} at {:#x} (address {address:#x}) outside of an execution\n",
        context.instruction()
    ));
    arch::exit_group(128 + number as usize)
}

extern "C" fn on_signal(number: i32, info: *mut c_void, context: *mut c_void) {
    let handler = HANDLERS.get()[number as usize];
    without_hooks(|| {
        // SAFETY: the program's handler; a handler of one argument ignores the others.
        unsafe {
            let handler: extern "C" fn(i32, *mut c_void, *mut c_void) =
                core::mem::transmute(handler);
            handler(number, info, context);
        }
    });
}

/// libc's `sigaction`. Fatal signals stay ours once the program is under control.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn sigaction(number: i32, action: *const c_void, old: *mut c_void) -> i32 {
    let real = real::functions().sigaction;
    if !world().live || !(1..65).contains(&number) {
        // SAFETY: libc's contract.
        return unsafe { real(number, action, old) };
    }
    let previous = HANDLERS.get()[number as usize];
    let mut ours = [0usize; ACTION_WORDS];
    // SAFETY: structures of libc's size.
    unsafe {
        let result = if FATAL.contains(&(number as usize)) {
            if !old.is_null() {
                core::ptr::write_bytes(old.cast::<usize>(), 0, ACTION_WORDS);
            }
            if !action.is_null() {
                HANDLERS.get()[number as usize] = *action.cast::<usize>();
            }
            0
        } else if action.is_null() {
            real(number, action, old)
        } else {
            core::ptr::copy_nonoverlapping(action.cast::<usize>(), ours.as_mut_ptr(), ACTION_WORDS);
            if ours[0] > 1 {
                HANDLERS.get()[number as usize] = ours[0];
                ours[0] = on_signal as *const () as usize;
            }
            real(number, ours.as_ptr().cast(), old)
        };
        if !old.is_null() && *old.cast::<usize>() == on_signal as *const () as usize {
            *old.cast::<usize>() = previous;
        }
        result
    }
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
    if world().live {
        return alternate_stack(old) as i32;
    }
    // SAFETY: the program asked for it.
    crate::syscalls::as_errno(unsafe { arch::syscall(nr::SIGALTSTACK, [new, old, 0, 0, 0, 0]) })
        as i32
}
