//! System calls that no interposed function caught, raw ones included.
//!
//! Syscall user dispatch sends every system call made outside of this library to `on_call`,
//! for the carrier thread only and not for programs that it executes. What belongs to the
//! runtime is emulated; what a snapshot can undo is done and noted; what changes the kernel's
//! state otherwise means that executions have to be forked; what would block lets other
//! threads run first.

use crate::arch::errno::EFAULT;
use crate::arch::{self, Interrupted, KernelSigaction, nr, signal};
use crate::global::Global;
use crate::host::{self, End};
use crate::interpose::{futex, output, random, time};
use crate::scheduler;
use crate::shared::shared;
use crate::snapshot;
use crate::thread::State;
use crate::world::{take_at_site, world};
use alloc::vec::Vec;
use core::ffi::c_void;
use core::sync::atomic::{AtomicU8, Ordering};
use raddle_abi::control::conditions;
use raddle_abi::site::Operation;

/// 1 while system calls are dispatched.
static SELECTOR: AtomicU8 = AtomicU8::new(0);

struct Kernel {
    /// Opened by the execution under way, to be closed after it.
    opened: Vec<usize>,
    /// Where this library's code stands.
    code: (usize, usize),
    /// Number of this process, once it was asked for.
    process: isize,
}

static KERNEL: Global<Kernel> = Global::new(Kernel {
    opened: Vec::new(),
    code: (0, 0),
    process: 0,
});

/// Turns dispatch on for this OS thread. False if the kernel has none.
pub fn set_up() -> bool {
    let kernel = KERNEL.get();
    if kernel.code.1 == 0 {
        kernel.code = snapshot::code_around(set_up as *const () as usize);
    }
    let (low, high) = kernel.code;
    let action = KernelSigaction {
        handler: on_call as *const () as usize,
        flags: signal::SA_SIGINFO | signal::SA_RESTORER | signal::SA_NODEFER,
        restorer: arch::signal_return as *const () as usize,
        mask: 0,
    };
    // SAFETY: installs our handler, then turns dispatch on for everything but our own code.
    let result = unsafe {
        arch::syscall(
            nr::RT_SIGACTION,
            [signal::SIGSYS, &raw const action as usize, 0, 8, 0, 0],
        );
        let selector = SELECTOR.as_ptr() as usize;
        arch::syscall(
            nr::PRCTL,
            [
                arch::PR_SET_SYSCALL_USER_DISPATCH,
                1,
                low,
                high - low,
                selector,
                0,
            ],
        )
    };
    result == 0
}

/// Whether system calls of the program come to this library.
pub fn is_dispatched() -> bool {
    SELECTOR.load(Ordering::Relaxed) != 0
        && shared().control().conditions.load(Ordering::Relaxed) & conditions::NO_DISPATCH == 0
}

/// Wakes other processes that wait for a word that this one shares with them.
pub fn wake_other_processes(word: usize) {
    const WAKE: usize = 1;
    perform(nr::FUTEX, [word, WAKE, i32::MAX as usize, 0, 0, 0]);
}

/// Starts or stops dispatching.
#[inline(always)]
pub fn watch(on: bool) {
    SELECTOR.store(u8::from(on), Ordering::Relaxed);
}

/// Undoes what the execution did to the kernel's state.
pub fn undo() {
    for descriptor in KERNEL.get().opened.drain(..) {
        perform(nr::CLOSE, [descriptor, 0, 0, 0, 0, 0]);
    }
    for (address, bytes) in core::mem::take(&mut world().execution.mappings) {
        perform(nr::MUNMAP, [address, bytes, 0, 0, 0, 0]);
    }
}

fn perform(number: usize, arguments: [usize; 6]) -> isize {
    // SAFETY: the program asked for it.
    let result = unsafe { arch::syscall(number, arguments) };
    if result == error(EFAULT) && snapshot::heat_all() {
        // The kernel was refused a page that only the snapshot had protected.
        // SAFETY: the program asked for it.
        return unsafe { arch::syscall(number, arguments) };
    }
    result
}

extern "C" fn on_call(_signal: i32, _info: *mut c_void, context: *mut c_void) {
    // SAFETY: the kernel's context of this signal.
    let context = unsafe { Interrupted::new(context) };
    let (number, arguments) = (context.syscall_number(), context.syscall_arguments());
    if runs_natively(number) {
        if number != nr::RT_SIGRETURN {
            let thread = matches!(number, nr::CLONE if arguments[0] & 0x1_0000 != 0);
            shared().note_condition(if thread {
                conditions::FOREIGN_THREAD
            } else {
                conditions::FORKED
            });
            changes_kernel(number);
        }
        // Dispatch is off until the next scheduling point.
        watch(false);
        context.retry_syscall(number);
        return;
    }
    context.set_result(call(number, arguments));
}

/// Calls that only work from where they were made.
fn runs_natively(number: usize) -> bool {
    matches!(
        number,
        nr::RT_SIGRETURN | nr::CLONE | nr::CLONE3 | nr::FORK | nr::VFORK | nr::EXECVE
    )
}

/// Notes that an execution changed something that a snapshot does not hold.
fn changes_kernel(number: usize) {
    if !world().running {
        return;
    }
    let control = shared().control();
    if let Some(word) = control.syscalls.get(number / 64) {
        word.fetch_or(1 << (number % 64), Ordering::Relaxed);
    }
    shared().family().needs_fork = true;
    if !host::is_child() {
        host::end(End::NeedsFork);
    }
}

/// Does a system call for the program.
pub fn call(number: usize, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, ..] = arguments;
    match number {
        nr::FUTEX => futex::futex(arguments),
        nr::SCHED_YIELD => {
            scheduler::yield_now(take_at_site());
            0
        }
        nr::FUTEX_WAITV => futex::wait_for_any(arguments),
        nr::NANOSLEEP => time::sleep_for(a, b),
        nr::CLOCK_NANOSLEEP => time::sleep_until(a as i32, b, c, d),
        nr::TIMES => time::times_into(a),
        nr::CLOCK_GETTIME => time::read_into(a as i32, b),
        nr::GETTIMEOFDAY => time::read_day_into(a),
        nr::TIME => time::seconds_into(a),
        nr::GETRANDOM => random::fill(a, b),
        nr::GETTID => thread_id(),
        nr::WRITE if output::is_captured(a) => output::capture(b, c),
        nr::WRITEV if output::is_captured(a) => output::capture_vector(b, c),
        nr::EXIT | nr::EXIT_GROUP => crate::interpose::process::ends(a as i32),
        nr::SIGALTSTACK => crate::interpose::signals::alternate_stack(b),
        _ if !world().running => perform(number, arguments),
        nr::MMAP => map(arguments),
        nr::MUNMAP => unmap(a, b),
        nr::MPROTECT | nr::MADVISE => {
            if !is_own_mapping(a, b) {
                changes_kernel(number);
            }
            perform(number, arguments)
        }
        nr::BRK => 0,
        nr::OPEN | nr::OPENAT => open(number, arguments),
        nr::CLOSE => close(a),
        nr::READ | nr::PREAD64 | nr::READV | nr::LSEEK | nr::FCNTL
            if KERNEL.get().opened.contains(&a) =>
        {
            perform(number, arguments)
        }
        number if is_harmless(number) => perform(number, arguments),
        // Asks for a limit and sets none.
        nr::PRLIMIT64 if c == 0 => perform(number, arguments),
        nr::READ | nr::READV | nr::RECVFROM | nr::RECVMSG | nr::ACCEPT | nr::ACCEPT4 => {
            changes_kernel(number);
            wait_readable(a);
            perform(number, arguments)
        }
        nr::POLL => {
            changes_kernel(number);
            let deadline = timeout(c as i32 as i64, 1_000_000);
            retry(deadline, || perform(number, [a, b, 0, 0, 0, 0]))
        }
        nr::PPOLL => {
            changes_kernel(number);
            let zero = [0i64; 2];
            let deadline = time::deadline_of(c);
            retry(deadline, || {
                perform(number, [a, b, zero.as_ptr() as usize, d, arguments[4], 0])
            })
        }
        nr::EPOLL_WAIT | nr::EPOLL_PWAIT => {
            changes_kernel(number);
            let deadline = timeout(d as i32 as i64, 1_000_000);
            retry(deadline, || {
                perform(number, [a, b, c, 0, arguments[4], arguments[5]])
            })
        }
        nr::WAIT4 => {
            const WNOHANG: usize = 1;
            changes_kernel(number);
            let deadline = if c & WNOHANG != 0 { 0 } else { u64::MAX };
            retry(deadline, || perform(number, [a, b, c | WNOHANG, d, 0, 0]))
        }
        _ => {
            changes_kernel(number);
            perform(number, arguments)
        }
    }
}

fn is_harmless(number: usize) -> bool {
    matches!(
        number,
        nr::GETPID
            | nr::GETPPID
            | nr::GETUID
            | nr::GETEUID
            | nr::GETGID
            | nr::GETEGID
            | nr::UNAME
            | nr::SYSINFO
            | nr::SCHED_GETAFFINITY
            | nr::GETRLIMIT
            | nr::GETCWD
            | nr::ACCESS
            | nr::STAT
            | nr::LSTAT
            | nr::FSTAT
            | nr::NEWFSTATAT
            | nr::STATX
            | nr::READLINK
            | nr::GETDENTS64
            | nr::RT_SIGPROCMASK
            | nr::CLOCK_GETRES
            | nr::GETCPU
            | nr::MEMBARRIER
            | nr::PRCTL
    )
}

/// The number that the running thread has for the kernel: the first one's is the process's.
pub fn thread_id() -> isize {
    let current = world().execution.current;
    let kernel = KERNEL.get();
    if kernel.process == 0 {
        kernel.process = perform(nr::GETPID, [0; 6]);
    }
    let process = kernel.process;
    if current == 0 {
        process
    } else {
        process + current as isize
    }
}

fn map(arguments: [usize; 6]) -> isize {
    let [_, bytes, _, flags, ..] = arguments;
    if flags & arch::MAP_SHARED != 0 && flags & arch::MAP_ANONYMOUS == 0 {
        changes_kernel(nr::MMAP);
    }
    let address = perform(nr::MMAP, arguments);
    if address > 0 {
        world().execution.mappings.push((address as usize, bytes));
    }
    address
}

fn is_own_mapping(address: usize, bytes: usize) -> bool {
    let mappings = &world().execution.mappings;
    mappings.iter().any(|(start, size)| {
        *start <= address && address + bytes <= start + ((size + 4095) & !4095)
    })
}

/// What was mapped before the start of executions stays mapped: the next one needs it.
fn unmap(address: usize, bytes: usize) -> isize {
    let mappings = &mut world().execution.mappings;
    if let Some(place) = mappings
        .iter()
        .position(|mapping| *mapping == (address, bytes))
    {
        mappings.swap_remove(place);
        return perform(nr::MUNMAP, [address, bytes, 0, 0, 0, 0]);
    }
    if is_own_mapping(address, bytes) {
        return perform(nr::MUNMAP, [address, bytes, 0, 0, 0, 0]);
    }
    if host::is_child() {
        return perform(nr::MUNMAP, [address, bytes, 0, 0, 0, 0]);
    }
    0
}

fn open(number: usize, arguments: [usize; 6]) -> isize {
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
    let descriptor = perform(number, arguments);
    if descriptor >= 0 {
        KERNEL.get().opened.push(descriptor as usize);
    }
    descriptor
}

fn close(descriptor: usize) -> isize {
    let opened = &mut KERNEL.get().opened;
    if let Some(place) = opened.iter().position(|open| *open == descriptor) {
        opened.swap_remove(place);
    } else {
        changes_kernel(nr::CLOSE);
    }
    perform(nr::CLOSE, [descriptor, 0, 0, 0, 0, 0])
}

fn timeout(amount: i64, unit: i64) -> u64 {
    if amount < 0 {
        u64::MAX
    } else {
        crate::clock::relative(0, amount.saturating_mul(unit))
    }
}

/// Repeats a call that would block until it has something, its virtual time is over, or there
/// is really nobody else: then it waits for the world outside, under the tool's watchdog.
pub fn retry(deadline: u64, mut attempt: impl FnMut() -> isize) -> isize {
    let site = take_at_site();
    let current = world().execution.current;
    loop {
        let result = attempt();
        if result != 0 || world().execution.now >= deadline {
            world().execution.threads[current].wait.operation = Operation::Unknown;
            return result;
        }
        let execution = &mut world().execution;
        execution.threads[current].wait.operation = Operation::Io;
        if execution.enabled.len() > 1 {
            scheduler::yield_now(site);
        } else if deadline != u64::MAX {
            let woken = execution
                .threads
                .iter()
                .any(|thread| thread.state == State::Blocked && thread.wait.deadline < deadline);
            if woken {
                scheduler::yield_now(site);
            } else {
                execution.now = deadline;
            }
        } else {
            let waits = execution
                .threads
                .iter()
                .any(|thread| thread.state == State::Blocked && thread.wait.deadline != u64::MAX);
            if waits {
                scheduler::yield_now(site);
            } else {
                shared().note_condition(conditions::BLOCKED_OUTSIDE);
                // Nothing to watch for in particular: look again in a millisecond.
                perform(nr::POLL, [0, 0, 1, 0, 0, 0]);
            }
        }
    }
}

fn wait_readable(descriptor: usize) {
    const POLLIN: i16 = 1;
    #[repr(C)]
    struct Poll {
        descriptor: i32,
        events: i16,
        happened: i16,
    }
    let mut poll = Poll {
        descriptor: descriptor as i32,
        events: POLLIN,
        happened: 0,
    };
    retry(u64::MAX, || {
        perform(nr::POLL, [&raw mut poll as usize, 1, 0, 0, 0, 0])
    });
}

/// The errno form of a kernel result.
pub fn as_errno(result: isize) -> isize {
    if (-4095..0).contains(&result) {
        // SAFETY: libc's location of the running thread's errno.
        unsafe { *crate::interpose::real::__errno_location() = -result as i32 };
        return -1;
    }
    result
}

/// A kernel result for an error number.
pub const fn error(number: isize) -> isize {
    -number
}
