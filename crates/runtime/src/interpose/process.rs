//! The end of the program, and its children.

use super::{real, signals, threads};
use crate::arch::{self, nr};
use crate::execution::Exit;
use crate::host::{self, End};
use crate::ids;
use crate::oracles::{crash, deadlock};
use crate::scheduler;
use crate::shared::shared;
use crate::stack;
use crate::syscalls::as_errno;
use crate::world::{arm, is_controlled, is_executing, live, take_at_site, world};
use core::sync::atomic::AtomicUsize;
use raddle_abi::control::conditions;
use raddle_abi::site::Operation;

/// The program ends itself: that is the end of the execution.
pub fn ends(code: i32) -> ! {
    if !is_controlled() {
        arch::exit_group(code as usize);
    }
    let current = world().execution.current;
    if world().running && current != host::first_thread() && !host::is_harness(current) {
        shared().note_condition(conditions::EXIT_IN_THREAD);
    }
    if world().running && code as u32 & 0xff == shared().control().success {
        deadlock::settle();
    }
    host::end(End::Exit(code as u32 & 0xff))
}

/// Notes where the program calls `exit`; the harness does so after each test.
fn note_caller() {
    let execution = &mut world().execution;
    let current = execution.current;
    if execution.exit.is_none() && !host::is_harness(current) {
        execution.exit = Some(Exit {
            thread: current as u16,
            frames: stack::of_running_in_library().as_slice().to_vec(),
        });
    }
}

/// Leaves the program by libc's `exit`: destructors, handlers and buffers first. Its last
/// system call comes back to [`ends`].
pub fn leave(code: i32) -> ! {
    let current = world().execution.current;
    threads::run_local_destructors(current);
    if crate::syscalls::is_dispatched() {
        // SAFETY: libc's contract.
        unsafe { (real::functions().exit)(code) };
    } else {
        // SAFETY: flushes all of libc's buffers.
        unsafe { real::fflush(core::ptr::null_mut()) };
    }
    ends(code)
}

/// The program's main function has returned.
pub fn exit_from_main(code: i32) -> ! {
    scheduler::point_of_end(Operation::Exit, 0, 0);
    leave(code)
}

/// libc's `exit`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn exit(code: i32) -> ! {
    if live() {
        scheduler::point_of_end(Operation::Exit, 0, take_at_site());
        note_caller();
        leave(code);
    }
    if is_controlled() {
        ends(code);
    }
    // SAFETY: libc's contract.
    unsafe { (real::functions().exit)(code) };
    arch::exit_group(code as usize)
}

/// libc's `_exit`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn _exit(code: i32) -> ! {
    if live() {
        scheduler::point_of_end(Operation::Exit, 0, take_at_site());
        note_caller();
    }
    ends(code)
}

/// libc's `abort`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn abort() -> ! {
    if is_executing() {
        crash::by_abort();
    }
    // SAFETY: libc's contract.
    unsafe { (real::functions().abort)() };
    arch::exit_group(134)
}

/// libc's `fork`: the child runs on natively and unwatched.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn fork() -> i32 {
    // SAFETY: libc's contract.
    let child = unsafe { (real::functions().fork)() };
    if child == 0 {
        let world = world();
        world.live = false;
        world.running = false;
        arm();
    } else if is_controlled() {
        crate::syscalls::watch(true);
    }
    child
}

/// libc's `vfork`, as `fork`: a child that shared the memory would share the scheduler too.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn vfork() -> i32 {
    // SAFETY: libc's contract.
    unsafe { fork() }
}

/// Empties the running thread's virtual mask and returns it. libc reads the mask before it
/// starts a process and gives it back to the kernel afterwards: there nothing must be blocked.
fn unmask() -> Option<u64> {
    let world = world();
    let current = world.execution.current;
    is_controlled().then(|| core::mem::take(&mut world.execution.threads[current].mask))
}

/// Declares functions that start a process by libc's own, during which system calls are not
/// dispatched, and are again afterwards.
macro_rules! starting {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $ty:ty),*) -> $result:ty;)*) => {
        $($(#[$doc])*
        #[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
        pub unsafe extern "C" fn $name($($argument: $ty),*) -> $result {
            static REAL: AtomicUsize = AtomicUsize::new(0);
            let real = real::resolve(&REAL, concat!(stringify!($name), "\0"));
            let mask = unmask();
            // SAFETY: libc's function of this name has this signature.
            let result = unsafe {
                let real: unsafe extern "C" fn($($ty),*) -> $result = core::mem::transmute(real);
                real($($argument),*)
            };
            if let Some(mask) = mask {
                crate::syscalls::watch(true);
                let execution = &mut world().execution;
                execution.threads[execution.current].mask = mask;
            }
            result
        })*
    };
}

starting! {
    /// libc's `posix_spawn`.
    posix_spawn(child: usize, path: usize, actions: usize, attributes: usize, argv: usize, envp: usize) -> i32;
    /// libc's `posix_spawnp`.
    posix_spawnp(child: usize, file: usize, actions: usize, attributes: usize, argv: usize, envp: usize) -> i32;
    /// libc's `system`. Nobody else runs until the command has ended.
    system(command: usize) -> i32;
    /// libc's `popen`.
    popen(command: usize, mode: usize) -> usize;
}

/// libc's `gettid`: each fiber has a number of its own.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn gettid() -> i32 {
    if is_controlled() {
        return ids::thread() as i32;
    }
    let thread = arch::thread_number() as usize;
    let is_first = thread == ids::real();
    if is_first {
        ids::PROCESS as i32
    } else {
        thread as i32
    }
}

/// libc's `getpid`: the same in every process that runs the program.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn getpid() -> i32 {
    ids::process() as i32
}

/// libc's `getppid`: a child that the program has forked finds it so.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn getppid() -> i32 {
    ids::parent() as i32
}

/// libc's `kill`: a child that the program has forked finds it too.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn kill(process: i32, number: i32) -> i32 {
    if is_controlled() {
        return as_errno(signals::kill_process(process, number)) as i32;
    }
    let process = ids::to_kernel(process as usize);
    // SAFETY: a signal that the program sends.
    let result = unsafe { arch::syscall(nr::KILL, [process, number as usize, 0, 0, 0, 0]) };
    as_errno(result) as i32
}
