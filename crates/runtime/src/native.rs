//! Native threads: those that the program, or a library that was not instrumented, starts
//! behind the runtime's back.
//!
//! Nobody schedules them: they run for real, beside the one logical thread that runs. So as
//! soon as there is one in an execution,
//!
//! - the execution is a process of its own, in which the thread ends with it, and logical
//!   threads have OS threads of their own (see [`crate::carrier`]);
//! - time is real as long as one is alive: it must not run out for a logical thread before the
//!   native thread had the time that it would have had;
//! - a logical thread that waits for a word of memory is woken once that word has changed, and
//!   a wake-up of a logical thread goes to the kernel too;
//! - while one is alive nobody is deadlocked or livelocked: it is really waited for, under the
//!   tool's watchdog;
//! - what it does unseen may order threads, so races are not reported.
//!
//! A native thread may come into the runtime, by a hook or an interposed function. There it is
//! a stranger: it gets libc's own function, its atomic operations are the processor's, and
//! nothing of the runtime's state is touched.
//!
//! One that was started before executions start is in none of them, since a forked child has
//! only the thread that forked. Whoever waits for it waits in vain, and so nobody is said to be
//! deadlocked there, either.

use crate::arch::{self, nr};
use crate::carrier;
use crate::host::{self, End};
use crate::scheduler;
use crate::shared::shared;
use crate::syscalls::{changes_kernel, perform};
use crate::thread::State;
use crate::timers;
use crate::world::world;
use alloc::vec::Vec;
use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use raddle_abi::control::conditions;
use raddle_abi::site::Operation;

/// `CLONE_VM`.
pub const SHARES_MEMORY: usize = 0x100;
/// `CLONE_VFORK`, which tells a child that borrows the memory for a while from a thread.
const SUSPENDS_PARENT: usize = 0x4000;
const MILLISECOND: u64 = 1_000_000;
/// Scheduling points after which what native threads did is looked at.
const GLANCE: u64 = 64;
/// Yields without a change after which spinning threads wait for a while in real time.
const EAGER_YIELDS: u32 = 16;
/// Real nanoseconds that an execution spends so before it is cut, and for which threads look
/// again and again for what only looking tells.
const SPUN_LIMIT: u64 = 10_000 * MILLISECOND;
/// Most words of one `futex_waitv`.
const MOST_WORDS: usize = 128;

/// A native thread was started in this execution.
static SEEN: AtomicBool = AtomicBool::new(false);
/// There was one before executions start.
static EARLY: AtomicBool = AtomicBool::new(false);
/// This very process has some from before the program came under control.
static BESIDE: AtomicBool = AtomicBool::new(false);
/// Real time that is virtual time 0.
static EPOCH: AtomicU64 = AtomicU64::new(0);
/// Real nanoseconds spent with threads that spin, since anything changed.
static SPUN: AtomicU64 = AtomicU64::new(0);
/// The scheduling point at which anything changed last, and real nanoseconds waited since.
static STILL: AtomicU64 = AtomicU64::new(0);
static WAITED: AtomicU64 = AtomicU64::new(0);

/// Conditions that native threads have signalled, and a bit that tells a broadcast.
static SIGNALLED: [AtomicUsize; 64] = [const { AtomicUsize::new(0) }; 64];
const BROADCAST: usize = 1;

/// Whether this execution has, or had, native threads.
#[inline(always)]
pub fn seen() -> bool {
    SEEN.load(Ordering::Relaxed)
}

/// Whether the calling OS thread is a native one.
#[inline(always)]
pub fn is_stranger() -> bool {
    (seen() || BESIDE.load(Ordering::Relaxed)) && !carrier::is_running_thread()
}

/// Whether a `clone` or `clone3` with these arguments starts a thread.
pub fn starts_thread(number: usize, arguments: [usize; 6]) -> bool {
    let flags = match number {
        nr::CLONE => arguments[0],
        // SAFETY: the program's `struct clone_args`, which begins with the flags.
        nr::CLONE3 => unsafe { *(arguments[0] as *const usize) },
        _ => 0,
    };
    flags & (SHARES_MEMORY | SUSPENDS_PARENT) == SHARES_MEMORY
}

/// The running thread is about to start a native thread by this system call. Ends the execution
/// if it cannot go on as it was begun.
pub fn starts(number: usize) {
    shared().note_condition(conditions::FOREIGN_THREAD);
    if !world().running {
        return;
    }
    if carrier::may_change() {
        host::end(End::NeedsCarrier);
    }
    changes_kernel(number);
    let execution = &mut world().execution;
    execution.unseen_synchronisation = true;
    execution.check_at = execution.point + GLANCE;
    if !SEEN.swap(true, Ordering::Relaxed) {
        let epoch = real_time().saturating_sub(execution.now);
        EPOCH.store(epoch, Ordering::Relaxed);
    }
}

fn real_time() -> u64 {
    const CLOCK_MONOTONIC: usize = 1;
    let mut time = [0u64; 2];
    let place = time.as_mut_ptr() as usize;
    perform(nr::CLOCK_GETTIME, [CLOCK_MONOTONIC, place, 0, 0, 0, 0]);
    time[0] * 1000 * MILLISECOND + time[1]
}

/// Nobody can run: looks for native threads whose start nobody saw, as where the machine offers
/// no system call dispatch. True if there are any.
pub fn discover() -> bool {
    if seen() || !world().running || !strangers() {
        return false;
    }
    starts(nr::CLONE);
    true
}

/// The program is about to come under control: threads that constructors have started are not.
pub fn look_before_control() {
    BESIDE.store(strangers(), Ordering::Relaxed);
}

/// This process is a fork of the one that came under control, and has one thread.
pub fn is_alone() {
    BESIDE.store(false, Ordering::Relaxed);
}

/// Executions are about to start: looks whether there is a native thread already.
pub fn look_before_start() {
    if strangers() {
        shared().note_condition(conditions::EARLY_THREAD);
        shared().family().needs_fork = true;
        EARLY.store(true, Ordering::Relaxed);
    }
}

/// Whether somebody is missing who was there before executions start.
pub fn is_early() -> bool {
    EARLY.load(Ordering::Relaxed)
}

/// Whether a native thread is alive now.
pub fn alive() -> bool {
    seen() && strangers()
}

/// Whether the process has threads that are not the runtime's: the kernel counts them as links
/// of a directory.
fn strangers() -> bool {
    const TASKS: &CStr = c"/proc/self/task";
    const LINKS: usize = 2;
    /// Links that a directory has in any case.
    const OWN_LINKS: u64 = 2;
    let mut status = [0u64; 18];
    let (path, place) = (TASKS.as_ptr() as usize, status.as_mut_ptr() as usize);
    if perform(nr::STAT, [path, place, 0, 0, 0, 0]) < 0 {
        return true;
    }
    status[LINKS] > OWN_LINKS + carrier::os_threads() as u64
}

/// Lets virtual time come to real time if a native thread is alive. False if none is.
pub fn follow_time() -> bool {
    if !alive() {
        return false;
    }
    let now = real_time().saturating_sub(EPOCH.load(Ordering::Relaxed));
    let execution = &mut world().execution;
    execution.now = execution.now.max(now);
    true
}

/// Wakes who waits for something that a native thread has done. True if there was anybody.
pub fn look() -> bool {
    if !seen() {
        return false;
    }
    let mut any = false;
    for slot in &SIGNALLED {
        let posted = slot.swap(0, Ordering::AcqRel);
        if posted != 0 {
            let count = if posted & BROADCAST != 0 { u32::MAX } else { 1 };
            let condition = posted & !BROADCAST;
            any |= scheduler::wake_waiters(Operation::FutexWait, condition, count, !0).count > 0;
        }
    }
    for number in 0..world().execution.threads.len() {
        let thread = &world().execution.threads[number];
        let has_changed = thread.wait.expects.is_some_and(|expected| {
            // SAFETY: the thread waits for a word at this address.
            expected != unsafe { (thread.wait.object as *const u32).read_volatile() }
        });
        if thread.state == State::Blocked && has_changed {
            let object = thread.wait.object;
            scheduler::wake(number);
            world().execution.threads[number].woken_by = object;
            any = true;
        }
    }
    any
}

/// Nobody can run: waits a moment for native threads. False if that is of no use: none is
/// alive, or somebody's time has come.
pub fn wait() -> bool {
    let is_alive = follow_time();
    // After that, because one that has ended since may have done something first.
    if look() {
        return true;
    }
    let execution = &world().execution;
    let blocked = execution.threads.iter();
    let blocked = blocked.filter(|thread| thread.state == State::Blocked);
    let deadline = blocked.map(|thread| thread.wait.deadline).min();
    let deadline = deadline.unwrap_or(u64::MAX);
    let deadline = deadline.min(timers::next().unwrap_or(u64::MAX));
    if !is_alive || deadline <= execution.now {
        return false;
    }
    let pause = (deadline - execution.now).min(MILLISECOND);
    sleep_on_words(pause);
    let execution = &mut world().execution;
    if STILL.swap(execution.progress, Ordering::Relaxed) != execution.progress {
        WAITED.store(0, Ordering::Relaxed);
    }
    if WAITED.fetch_add(pause, Ordering::Relaxed) < SPUN_LIMIT {
        // Who waits for a descriptor may find something there. Not for ever: looking in vain
        // would seem to the watchdog as if it led to something.
        execution.looked = false;
    }
    true
}

/// Sleeps for so many real nanoseconds at most, or until a word is woken for which a logical
/// thread waits.
fn sleep_on_words(nanoseconds: u64) {
    #[repr(C)]
    struct Waited {
        value: u64,
        address: u64,
        flags: u32,
        reserved: u32,
    }
    const CLOCK_MONOTONIC: usize = 1;
    /// Words of 32 bits, of this process only.
    const FLAGS: u32 = 2 | 128;
    let threads = world().execution.threads.iter().enumerate();
    let waiting = threads.filter(|(_, thread)| thread.state == State::Blocked);
    let (numbers, words): (Vec<usize>, Vec<Waited>) = waiting
        .filter_map(|(number, thread)| {
            let waited = Waited {
                value: u64::from(thread.wait.expects?),
                address: thread.wait.object as u64,
                flags: FLAGS,
                reserved: 0,
            };
            Some((number, waited))
        })
        .take(MOST_WORDS)
        .unzip();
    if words.is_empty() {
        return sleep(nanoseconds);
    }
    let until = real_time() + nanoseconds;
    let until = [until / (1000 * MILLISECOND), until % (1000 * MILLISECOND)];
    let woken = perform(
        nr::FUTEX_WAITV,
        [
            words.as_ptr() as usize,
            words.len(),
            0,
            until.as_ptr() as usize,
            CLOCK_MONOTONIC,
            0,
        ],
    );
    match usize::try_from(woken)
        .ok()
        .and_then(|index| numbers.get(index))
    {
        Some(number) => scheduler::wake(*number),
        None if woken == -arch::errno::ENOSYS => sleep(nanoseconds),
        None => {}
    }
}

fn sleep(nanoseconds: u64) {
    let time = [0, nanoseconds];
    perform(nr::NANOSLEEP, [time.as_ptr() as usize, 0, 0, 0, 0, 0]);
}

/// Everybody who can run has yielded so often without any change: gives native threads time.
/// False if there are none.
pub fn spin(yields: u32) -> bool {
    if !seen() {
        return false;
    }
    if yields <= EAGER_YIELDS {
        SPUN.store(0, Ordering::Relaxed);
        return true;
    }
    if !follow_time() {
        return false;
    }
    let pause = if yields < 100 {
        MILLISECOND / 10
    } else {
        MILLISECOND
    };
    sleep(pause);
    look();
    if SPUN.fetch_add(pause, Ordering::Relaxed) > SPUN_LIMIT {
        host::end(End::Cut);
    }
    true
}

/// Looks at native threads after some scheduling points. True if one is alive, so that the
/// execution cannot be said to stand still.
pub fn glance() -> bool {
    look();
    let is_alive = alive();
    if is_alive {
        let execution = &mut world().execution;
        execution.progress = execution.point;
        execution.check_at = execution.point + GLANCE;
    }
    is_alive
}

/// A logical thread wakes who waits for a word: native threads wait in the kernel.
pub fn wake_strangers(word: usize) {
    const WAKE: usize = 1;
    const WAKE_PRIVATE: usize = 129;
    if seen() && word.is_multiple_of(4) {
        // All of them: a wake-up too many does no harm, and one that a logical thread got in
        // place of a native one would.
        for operation in [WAKE, WAKE_PRIVATE] {
            perform(nr::FUTEX, [word, operation, i32::MAX as usize, 0, 0, 0]);
        }
    }
}

/// A native thread has signalled a condition.
pub fn signalled(condition: usize, broadcast: bool) {
    let posted = condition | if broadcast { BROADCAST } else { 0 };
    let put = |slot: &AtomicUsize| {
        let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
        slot.compare_exchange(0, posted, success, failure).is_ok()
    };
    while !SIGNALLED.iter().any(put) {
        // SAFETY: lets the logical threads take some out.
        unsafe { arch::syscall(nr::SCHED_YIELD, [0; 6]) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_told_from_processes_by_the_flags_of_a_clone() {
        /// As libc starts a thread, a process, and one for `posix_spawn`.
        const THREAD: usize = 0x3d_0f00;
        const PROCESS: usize = 0x120_0011;
        const SPAWNED: usize = 0x4111;
        let clone = |flags: usize| starts_thread(nr::CLONE, [flags, 0, 0, 0, 0, 0]);
        assert!(clone(THREAD));
        assert!(!clone(PROCESS));
        assert!(!clone(SPAWNED));
        let clone3 = |flags: usize| {
            let fields = [flags, 0, 0, 0, 0, 0, 0, 0];
            starts_thread(nr::CLONE3, [fields.as_ptr() as usize, 64, 0, 0, 0, 0])
        };
        assert!(clone3(THREAD));
        assert!(!clone3(PROCESS));
        assert!(!starts_thread(nr::FORK, [THREAD, 0, 0, 0, 0, 0]));
    }
}
