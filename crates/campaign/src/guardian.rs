//! The guardian: a process between the tool and each worker that ends what they leave behind.
//!
//! A program under test may start processes that leave its process group (`setsid`) or whose
//! parents have ended (double `fork`). The kernel gives orphans to the nearest ancestor that
//! asked for them, which is the guardian. It ends them when the worker has ended, and
//! everything when the tool has, however that happened. Then it ends as the worker did.
//!
//! It is a fork of the tool that has made no `exec`: only system calls are made here.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{c_int, pid_t};

/// Milliseconds after which processes that keep appearing are left to the system.
const PATIENCE: i64 = 3_000;
/// Bytes of the list of children that are read at once.
const LIST: usize = 4096;

/// A number in memory that the tool shares with the guardian, and with no program under test.
#[derive(Clone, Copy)]
pub(crate) struct SharedNumber(NonNull<AtomicU32>);

// SAFETY: the memory stays mapped until `release`, and is accessed as an atomic only.
unsafe impl Send for SharedNumber {}
// SAFETY: as above.
unsafe impl Sync for SharedNumber {}

impl SharedNumber {
    /// Maps one.
    pub fn create() -> io::Result<Self> {
        // SAFETY: a new mapping at an address that the kernel chooses.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size_of::<AtomicU32>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(address.cast())
            .map(Self)
            .ok_or_else(|| io::Error::other("the kernel mapped memory at address 0"))
    }

    /// Writes the number, in the guardian.
    fn set(self, number: u32) {
        // SAFETY: mapped, zeroed at first, and never accessed otherwise.
        unsafe { self.0.as_ref() }.store(number, Ordering::Release);
    }

    /// The number; the memory is not used any more.
    pub fn release(self) -> u32 {
        // SAFETY: as in `set`; nobody uses the mapping after this.
        unsafe {
            let number = self.0.as_ref().load(Ordering::Acquire);
            libc::munmap(self.0.as_ptr().cast(), size_of::<AtomicU32>());
            number
        }
    }
}

/// Puts a guardian above the calling process, which must be a fork of the process `tool` that
/// is about to become the worker. Returns in the worker, whose process id is written to `place`.
pub(crate) fn put_above(tool: pid_t, place: SharedNumber) -> io::Result<()> {
    // SAFETY: system calls about this process alone, with places that are valid.
    unsafe {
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM))?;
        if libc::getppid() != tool {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        check(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1))?;
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigemptyset(&raw mut none);
        check(libc::sigprocmask(
            libc::SIG_SETMASK,
            &raw const all,
            std::ptr::null_mut(),
        ))?;
        let guardian = libc::getpid();
        // The C library's own function would run handlers that this fork must not run.
        let worker = libc::syscall(libc::SYS_fork);
        if worker < 0 {
            return Err(io::Error::last_os_error());
        }
        if worker > 0 {
            let worker = worker as pid_t;
            place.set(worker.cast_unsigned());
            // Whoever waits for the end of the worker's streams must not wait for this process.
            libc::syscall(libc::SYS_close_range, 0, u32::MAX, 0);
            guard(worker);
        }
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
        if libc::getppid() != guardian {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        check(libc::setpgid(0, 0))?;
        check(libc::sigprocmask(
            libc::SIG_SETMASK,
            &raw const none,
            std::ptr::null_mut(),
        ))
    }
}

fn check(result: c_int) -> io::Result<()> {
    match result {
        0.. => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Waits until the worker or the tool has ended, ends everything else, and then itself.
fn guard(worker: pid_t) -> ! {
    // SAFETY: waits for signals that are blocked; `set` and `information` are valid.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::sigaddset(&raw mut set, libc::SIGTERM);
        let pause = libc::timespec {
            tv_sec: 1,
            tv_nsec: 0,
        };
        while !has_ended(worker) {
            let got = libc::sigtimedwait(&raw const set, std::ptr::null_mut(), &raw const pause);
            if got == libc::SIGTERM {
                break;
            }
            reap_others(worker);
        }
        end_all_but(worker);
        libc::kill(worker, libc::SIGKILL);
        let mut status = 0;
        libc::waitpid(worker, &raw mut status, 0);
        end_as(status)
    }
}

/// Whether the worker has ended. Its number stays its own meanwhile.
fn has_ended(worker: pid_t) -> bool {
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: all-zero bytes are valid, and the kernel fills them in.
    unsafe {
        let mut information: libc::siginfo_t = std::mem::zeroed();
        let place = &raw mut information;
        libc::waitid(libc::P_PID, worker.cast_unsigned(), place, options) < 0
            || information.si_pid() != 0
    }
}

/// Takes note of orphans that have ended by themselves.
fn reap_others(worker: pid_t) {
    for_each_child(|child| {
        if child != worker {
            // SAFETY: does not wait; what the kernel would say is not wanted.
            unsafe { libc::waitpid(child, std::ptr::null_mut(), libc::WNOHANG) };
        }
    });
}

/// Ends all descendants: orphans, and what becomes an orphan by that, until none is left. The
/// worker itself goes last, so that its number stays its own.
fn end_all_but(worker: pid_t) {
    let start = milliseconds();
    // SAFETY: ends processes that are children of this one, and waits for them.
    unsafe {
        libc::kill(-worker, libc::SIGKILL);
        while !has_ended(worker) && milliseconds() - start < PATIENCE {
            libc::usleep(200);
        }
        loop {
            let mut any = false;
            for_each_child(|child| {
                if child != worker {
                    any = true;
                    libc::kill(child, libc::SIGKILL);
                    libc::waitpid(child, std::ptr::null_mut(), 0);
                }
            });
            if !any || milliseconds() - start > PATIENCE {
                return;
            }
        }
    }
}

/// Calls `visit` with some of the children of this process, and with all of them if repeated
/// while `visit` makes them fewer.
fn for_each_child(mut visit: impl FnMut(pid_t)) {
    let mut list = [0u8; LIST];
    // SAFETY: reads a file of the kernel into a buffer of that size.
    let length = unsafe {
        let path = c"/proc/thread-self/children".as_ptr();
        let file = libc::open(path, libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return;
        }
        let length = libc::read(file, list.as_mut_ptr().cast(), LIST);
        libc::close(file);
        usize::try_from(length).unwrap_or(0)
    };
    let mut number: pid_t = 0;
    for byte in &list[..length] {
        match byte {
            b'0'..=b'9' => number = number * 10 + pid_t::from(byte - b'0'),
            _ if number > 0 => visit(std::mem::take(&mut number)),
            _ => {}
        }
    }
}

fn milliseconds() -> i64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: fills in a valid place.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec * 1000 + time.tv_nsec / 1_000_000
}

/// Ends this process as another one has ended.
fn end_as(status: c_int) -> ! {
    // SAFETY: the signal is this process's own, and neither blocked nor handled any more.
    unsafe {
        if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, signal);
            libc::signal(signal, libc::SIG_DFL);
            libc::kill(libc::getpid(), signal);
            libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
        }
        libc::_exit(libc::WEXITSTATUS(status))
    }
}
