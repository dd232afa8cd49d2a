//! System calls that no interposed function caught, raw ones included.
//!
//! Syscall user dispatch sends every system call made outside of this library to `on_call`,
//! for the carrier thread only and not for programs that it executes. What belongs to the
//! runtime is emulated; what a snapshot can undo is done and noted; what changes the kernel's
//! state otherwise means that executions have to be forked; what would block lets other
//! threads run first.

use crate::arch::errno::EFAULT;
use crate::arch::{self, Interrupted, KernelSigaction, nr, signal};
use crate::children;
use crate::descriptors;
use crate::file_status;
use crate::files;
use crate::global::Global;
use crate::host::{self, End};
use crate::ids;
use crate::interpose::{futex, output, random, signals, time};
use crate::io::{self, Probe, Source};
use crate::native;
use crate::posix_timers;
use crate::proc_files;
use crate::record;
use crate::scheduler;
use crate::select::select;
use crate::shared::shared;
use crate::snapshot;
use crate::timers;
use crate::weak;
use crate::world::{take_at_site, world};
use core::ffi::c_void;
use core::sync::atomic::{AtomicU8, Ordering};
use raddle_abi::control::conditions;

/// 1 while system calls are dispatched.
static SELECTOR: AtomicU8 = AtomicU8::new(0);

struct Kernel {
    /// Where this library's code stands.
    code: (usize, usize),
    /// Number of this process, once it was asked for.
    process: isize,
}

static KERNEL: Global<Kernel> = Global::new(Kernel {
    code: (0, 0),
    process: 0,
});

/// Turns dispatch on for this OS thread. False if the kernel has none.
pub fn set_up() -> bool {
    file_status::begin();
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
    descriptors::undo();
    file_status::forget();
    for (address, bytes) in core::mem::take(&mut world().execution.mappings) {
        perform(nr::MUNMAP, [address, bytes, 0, 0, 0, 0]);
    }
}

/// Makes a system call for the program.
pub fn perform(number: usize, arguments: [usize; 6]) -> isize {
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
        if native::starts_thread(number, arguments) {
            native::starts(number);
        } else if number != nr::RT_SIGRETURN {
            starts_process(number);
            if children::can_start_here(number, arguments) {
                return context.set_result(children::start(number, arguments));
            }
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

/// The program is about to start a process by this system call.
fn starts_process(number: usize) {
    shared().note_condition(conditions::FORKED);
    descriptors::note_child();
    changes_kernel(number);
    // It may change files.
    files::want_view();
}

/// Notes that an execution changed something that a snapshot does not hold.
pub fn changes_kernel(number: usize) {
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
    record::look_before_call();
    if number != nr::FUTEX {
        // The kernel may tell what others have done.
        weak::refresh();
    }
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
        nr::READ if descriptors::is_random(a) => random::fill(b, c),
        nr::READV if descriptors::is_random(a) => random::fill_vector(b, c),
        nr::GETRUSAGE => time::usage_into(b),
        nr::CLOCK_GETRES if (a as i32) < 0 => time::resolution_into(b),
        nr::GETCPU => first_processor(a, b),
        nr::GETTID => ids::thread() as isize,
        nr::GETPID | nr::GETPGRP => ids::PROCESS as isize,
        nr::GETPPID => ids::PARENT as isize,
        nr::WRITE if output::is_captured(a) => output::capture(b, c),
        nr::WRITEV if output::is_captured(a) => output::capture_vector(b, c),
        nr::EXIT | nr::EXIT_GROUP => crate::interpose::process::ends(a as i32),
        nr::RT_SIGACTION => signals::kernel_sigaction(a, b, c),
        nr::RT_SIGPROCMASK => signals::change_mask(a as i32, b, c),
        nr::RT_SIGPENDING => signals::pending(a),
        nr::RT_SIGSUSPEND => signals::suspend(a),
        nr::RT_SIGTIMEDWAIT => signals::wait_for_signal(a, b, c),
        nr::PAUSE => signals::wait_for_any_handler(),
        nr::KILL => signals::kill_process(a as i32, b as i32),
        nr::TKILL => signals::kill_thread(a, b),
        nr::TGKILL => signals::kill_thread(b, c),
        nr::ALARM => timers::alarm(a as u32) as isize,
        nr::SETITIMER => timers::set_interval(a, b, c),
        nr::GETITIMER => timers::interval_left(a, b),
        nr::TIMERFD_SETTIME => timers::set_descriptor(arguments),
        nr::TIMERFD_GETTIME => timers::descriptor_left(arguments),
        nr::TIMER_CREATE => posix_timers::kernel_create(a as i32, b, c),
        nr::TIMER_SETTIME => posix_timers::set(a, b, c, d),
        nr::TIMER_GETTIME => posix_timers::left(a, b),
        nr::TIMER_GETOVERRUN => posix_timers::overrun(a),
        nr::TIMER_DELETE => posix_timers::delete(a),
        nr::SIGALTSTACK => crate::interpose::signals::alternate_stack(b),
        number if children::can_start_here(number, arguments) => {
            starts_process(number);
            children::start(number, arguments)
        }
        _ => {
            if let Some(opened) = proc_files::open(number, arguments) {
                return opened;
            }
            let mut substitute = ids::Substitute::default();
            let known = ids::translate(number, arguments, &mut substitute);
            let result = if world().running {
                files::before(number, known);
                files::after(number, known, kernel_call(number, known))
            } else {
                files::note_early(number, known);
                perform(number, known)
            };
            ids::result(number, arguments, result)
        }
    }
}

/// Does a system call of an execution that the kernel has to do.
fn kernel_call(number: usize, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, _] = arguments;
    match number {
        nr::MMAP => map(arguments),
        nr::MUNMAP => unmap(a, b),
        nr::MPROTECT | nr::MADVISE => {
            if !is_own_mapping(a, b) {
                changes_kernel(number);
            }
            perform(number, arguments)
        }
        nr::BRK => 0,
        nr::OPEN | nr::OPENAT => descriptors::open_file(number, arguments),
        nr::CLOSE => {
            let result = descriptors::close(a);
            io::did_something();
            result
        }
        nr::TIMERFD_CREATE => timers::create_descriptor(a as i32, b),
        nr::EVENTFD | nr::EVENTFD2 | nr::EPOLL_CREATE | nr::EPOLL_CREATE1 | nr::MEMFD_CREATE => {
            descriptors::open_inside(number, arguments)
        }
        nr::PIPE | nr::PIPE2 => descriptors::open_pair(number, arguments, a),
        nr::SOCKETPAIR => descriptors::open_pair(number, arguments, d),
        nr::SOCKET => {
            changes_kernel(number);
            descriptors::note_opened(perform(number, arguments), true)
        }
        nr::DUP | nr::DUP2 | nr::DUP3 => descriptors::duplicate(number, arguments),
        nr::FCNTL if is_lock_that_waits(b) => {
            changes_kernel(number);
            // The command before it is the same without waiting.
            io::try_until_done(take_at_site(), || perform(number, [a, b - 1, c, 0, 0, 0]))
        }
        nr::FCNTL => descriptors::control(arguments),
        nr::FLOCK => {
            const LOCK_NB: usize = 4;
            changes_kernel(number);
            io::try_until_done(take_at_site(), || {
                perform(number, [a, b | LOCK_NB, 0, 0, 0, 0])
            })
        }
        nr::EPOLL_CTL | nr::IOCTL | nr::SHUTDOWN | nr::SETSOCKOPT | nr::FTRUNCATE => {
            let result = descriptors::on_own(number, arguments);
            io::did_something();
            result
        }
        nr::PREAD64 | nr::LSEEK => descriptors::on_own(number, arguments),
        nr::GETDENTS64 => {
            proc_files::list_threads(a, b, c).unwrap_or_else(|| perform(number, arguments))
        }
        nr::SYSINFO => time::system_into(a, perform(number, arguments)),
        nr::STAT | nr::LSTAT | nr::FSTAT | nr::NEWFSTATAT | nr::STATX => {
            file_status::show(number, arguments, perform(number, arguments))
        }
        number if is_harmless(number) => perform(number, arguments),
        // Asks for a limit and sets none.
        nr::PRLIMIT64 if c == 0 => perform(number, arguments),
        nr::READ | nr::READV | nr::RECVFROM | nr::RECVMSG | nr::RECVMMSG => {
            if !descriptors::is_own(a) {
                changes_kernel(number);
            }
            io::take(number, arguments, take_at_site())
        }
        nr::ACCEPT | nr::ACCEPT4 => {
            let result = io::take(number, arguments, take_at_site());
            descriptors::note_opened(result, true)
        }
        nr::WRITE | nr::WRITEV | nr::SENDTO | nr::SENDMSG | nr::SENDMMSG => {
            if !descriptors::is_own(a) {
                changes_kernel(number);
            }
            io::give(number, arguments, take_at_site())
        }
        nr::CONNECT => {
            changes_kernel(number);
            io::connect(arguments, take_at_site())
        }
        nr::POLL | nr::PPOLL => {
            let deadline = if number == nr::POLL {
                milliseconds(c)
            } else {
                time::deadline_of(c)
            };
            let by = (Source::of_any(polls_outside(a, b)), Probe::Any(a, b));
            io::poll(deadline, by, take_at_site(), || {
                perform(nr::POLL, [a, b, 0, 0, 0, 0])
            })
        }
        nr::SELECT => select(arguments, time::day_deadline_of(e), take_at_site()),
        nr::PSELECT6 => select(arguments, time::deadline_of(e), take_at_site()),
        nr::EPOLL_WAIT | nr::EPOLL_PWAIT | nr::EPOLL_PWAIT2 => {
            let deadline = if number == nr::EPOLL_PWAIT2 {
                time::deadline_of(d)
            } else {
                milliseconds(d)
            };
            // An epoll set may hold anything.
            let outside = descriptors::any_outside() || !descriptors::is_own(a);
            let by = (Source::of_any(outside), Probe::Ready(a, io::POLLIN));
            io::poll(deadline, by, take_at_site(), || {
                perform(nr::EPOLL_WAIT, [a, b, c, 0, 0, 0])
            })
        }
        nr::WAIT4 | nr::WAITID => {
            changes_kernel(number);
            if number == nr::WAIT4 {
                children::wait_for_child(arguments, take_at_site())
            } else {
                children::wait_for_id(arguments, take_at_site())
            }
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
        nr::GETPGID
            | nr::GETSID
            | nr::GETUID
            | nr::GETEUID
            | nr::GETGID
            | nr::GETEGID
            | nr::UNAME
            | nr::SCHED_GETAFFINITY
            | nr::GETRLIMIT
            | nr::GETCWD
            | nr::ACCESS
            | nr::READLINK
            | nr::READLINKAT
            | nr::CLOCK_GETRES
            | nr::MEMBARRIER
            | nr::PRCTL
            | nr::GETSOCKOPT
            | nr::GETSOCKNAME
            | nr::GETPEERNAME
    )
}

/// `getcpu`: all threads run on the first processor.
fn first_processor(processor: usize, node: usize) -> isize {
    for place in [processor, node] {
        if place != 0 {
            // SAFETY: the program's variable.
            unsafe { *(place as *mut u32) = 0 };
        }
    }
    0
}

/// Whether a command of `fcntl` waits for a lock on a file.
fn is_lock_that_waits(command: usize) -> bool {
    const F_SETLKW: usize = 7;
    const F_OFD_SETLKW: usize = 38;
    command == F_SETLKW || command == F_OFD_SETLKW
}

/// Whether any of the descriptors of a `poll` has somebody outside at its other end.
fn polls_outside(polls: usize, count: usize) -> bool {
    if count == 0 {
        return false;
    }
    // SAFETY: the program's array of descriptor and events.
    let polls = unsafe { core::slice::from_raw_parts(polls as *const [i32; 2], count) };
    polls
        .iter()
        .any(|[descriptor, _]| *descriptor >= 0 && descriptors::is_outside(*descriptor as usize))
}

/// The number by which libc's objects know the running thread: where the program was not yet
/// under control, libc has written the kernel's number into them.
pub fn owner_id() -> isize {
    let kernel = KERNEL.get();
    if kernel.process == 0 {
        kernel.process = perform(nr::GETPID, [0; 6]);
    }
    kernel.process + world().execution.current as isize
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

fn milliseconds(amount: usize) -> u64 {
    let amount = amount as i32;
    if amount < 0 {
        u64::MAX
    } else {
        crate::clock::relative(0, i64::from(amount) * 1_000_000)
    }
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
