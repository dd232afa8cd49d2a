//! Ctrl-C and SIGTERM: the first one asks to stop and keeps what was found, the second one
//! ends the tool at once. What does not stop in time is ended too: everything that was
//! confirmed is stored by then, and workers end with the tool.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use signal_hook::consts::{SIGALRM, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

use crate::exit::{Exit, Failure, OrExit};

/// How long a wish to stop may go unnoticed.
const PAUSE: Duration = Duration::from_millis(20);

/// How long stopping may take, in microseconds beyond a second. Users are promised two seconds.
const LIMIT: libc::suseconds_t = 850_000;
/// How long a child process may take to stop before it is killed.
const CHILD_LIMIT: Duration = Duration::from_millis(800);

/// Set when the user wants the tool to stop.
#[derive(Clone)]
pub(crate) struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Registers the signal handlers.
    pub(crate) fn install() -> Result<Self, Failure> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // The order matters: the first signal only sets the flag, the second finds it set.
            flag::register_conditional_shutdown(signal, Exit::Interrupted as i32, flag.clone())
                .and_then(|_| flag::register(signal, flag.clone()))
                // SAFETY: the action only makes a system call.
                .and_then(|_| unsafe { low_level::register(signal, set_limit) })
                .context("cannot handle signals")
                .or_exit(Exit::Unsupported)?;
        }
        // SAFETY: the action only makes system calls.
        unsafe { low_level::register(SIGALRM, end_at_once) }
            .context("cannot handle signals")
            .or_exit(Exit::Unsupported)?;
        Ok(Self(flag))
    }

    /// Asks to stop.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Does `work` while the child process `id` runs; a wish to stop ends the child, and what it has
    /// started. Ctrl-C in a terminal reaches them anyway, but SIGTERM comes to us alone.
    pub(crate) fn ending<T>(&self, id: u32, work: impl FnOnce() -> T) -> T {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    if self.0.load(Ordering::Relaxed) {
                        for process in with_descendants(id) {
                            // SAFETY: sends a signal to a child that nobody has waited for yet, or
                            // to one of its descendants that ran a moment ago.
                            unsafe { libc::kill(process.cast_signed(), libc::SIGTERM) };
                        }
                        let asked = Instant::now();
                        while !done.load(Ordering::Relaxed) {
                            if asked.elapsed() > CHILD_LIMIT {
                                // SAFETY: as above.
                                unsafe { libc::kill(id.cast_signed(), libc::SIGKILL) };
                                break;
                            }
                            thread::sleep(PAUSE);
                        }
                        break;
                    }
                    thread::sleep(PAUSE);
                }
            });
            let result = work();
            done.store(true, Ordering::Relaxed);
            result
        })
    }

    /// The flag itself, for those who watch it.
    pub(crate) fn as_atomic(&self) -> &AtomicBool {
        &self.0
    }

    /// Fails if the user wants to stop.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.0.load(Ordering::Relaxed) {
            return Err(Failure::explained(Exit::Interrupted));
        }
        Ok(())
    }
}

/// A process and all that descend from it, as the kernel lists them now: cargo leaves its compilers
/// and build scripts running when it is ended.
fn with_descendants(id: u32) -> Vec<u32> {
    let mut all = vec![id];
    let mut next = 0;
    while let Some(process) = all.get(next).copied() {
        next += 1;
        let threads = fs::read_dir(format!("/proc/{process}/task"));
        for thread in threads.into_iter().flatten().flatten() {
            let children = fs::read_to_string(thread.path().join("children"));
            let children = children.unwrap_or_default();
            let children = children.split_whitespace().flat_map(str::parse::<u32>);
            all.extend(children);
        }
    }
    all
}

/// Has [`end_at_once`] called when stopping takes too long.
fn set_limit() {
    let limit = libc::itimerval {
        it_interval: libc::timeval {
            tv_sec: 0,
            tv_usec: 0,
        },
        it_value: libc::timeval {
            tv_sec: 1,
            tv_usec: LIMIT,
        },
    };
    // SAFETY: `limit` is valid, and the old value is not asked for.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const limit, std::ptr::null_mut()) };
}

/// Ends the tool from a signal handler.
fn end_at_once() {
    const WORDS: &str = "error: interrupted; what was confirmed is stored\n";
    // SAFETY: writes bytes that are there, and ends the process.
    unsafe {
        libc::write(2, WORDS.as_ptr().cast(), WORDS.len());
        libc::_exit(Exit::Interrupted as i32)
    }
}
