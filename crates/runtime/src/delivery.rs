//! Signals that the program sends to itself, and the state of all signals.
//!
//! Actions, masks and pending signals are those of logical threads, so they are the same in
//! every execution and cost the kernel nothing. A handler runs on the thread that the signal
//! is for: at once if it runs, else before it goes on. It runs with hooks off, as one step. A
//! thread that was blocked waits on afterwards, unless its call is one that signals interrupt.
//! Signals from outside of the process come through the kernel and are sent on at the next
//! scheduling point.

use crate::arch;
use crate::interpose::object;
use crate::interpose::signals::SIGNALS;
use crate::oracles::crash;
use crate::posix_timers::{self, Cause};
use crate::scheduler;
use crate::shared::shared;
use crate::thread::{State, Thread};
use crate::world::{without_hooks, world};
use core::sync::atomic::{AtomicU64, Ordering};
use raddle_abi::control::conditions;

/// Signals that there are, and one more.
pub const COUNT: usize = 65;

const DEFAULT: usize = 0;
const IGNORE: usize = 1;
const SA_RESTART: usize = 0x1000_0000;
const SA_NODEFER: usize = 0x4000_0000;
const SA_RESETHAND: usize = 0x8000_0000;
/// Signals that do nothing by default: SIGCHLD, SIGCONT, SIGURG and SIGWINCH; and those that
/// stop a process, which makes no difference to an execution.
const HARMLESS: [usize; 8] = [17, 18, 23, 28, 19, 20, 21, 22];
/// Signals that cannot be blocked: SIGKILL and SIGSTOP.
const UNBLOCKABLE: u64 = bit(9) | bit(19);
/// Parts of a `siginfo_t`: its words, and the codes for a signal sent by a thread or a timer.
pub const INFORMATION_WORDS: usize = 32;
const SENT_BY_THREAD: i32 = -6;
const SENT_BY_TIMER: i32 = -2;

/// What the program wants to happen at a signal.
#[derive(Clone, Copy, Debug)]
pub struct Action {
    /// Its handler, or 0 for the default, or 1 for nothing.
    pub handler: usize,
    /// Flags of `sigaction`.
    pub flags: usize,
    /// Signals blocked while the handler runs.
    pub mask: u64,
}

/// Signals of a process.
#[derive(Clone, Copy, Debug)]
pub struct Signals {
    /// What happens at each.
    pub actions: [Action; COUNT],
    /// Sent to the process and not handled yet.
    pub pending: u64,
    /// Actions that were set during this execution.
    pub set: u64,
}

impl Signals {
    /// Everything by default.
    pub const NONE: Self = Self {
        actions: [Action {
            handler: DEFAULT,
            flags: 0,
            mask: 0,
        }; COUNT],
        pending: 0,
        set: 0,
    };
}

/// The bit of a signal in a set.
pub const fn bit(number: usize) -> u64 {
    1 << (number - 1)
}

fn state() -> &'static mut Signals {
    &mut world().execution.signals
}

/// Signals that came from outside of the process, and wait for the next scheduling point.
static OUTSIDE: AtomicU64 = AtomicU64::new(0);

/// A signal has come from outside, wherever the runtime may be.
pub fn came(number: usize) {
    OUTSIDE.fetch_or(bit(number), Ordering::Relaxed);
}

/// Whether [`came`] has something for [`collect`].
#[inline(always)]
pub fn has_come() -> bool {
    OUTSIDE.load(Ordering::Relaxed) != 0
}

/// Sends to the running thread a signal that the kernel has sent for its last call.
pub fn caused(number: usize) {
    if OUTSIDE.fetch_and(!bit(number), Ordering::Relaxed) & bit(number) != 0 {
        send(number, Some(world().execution.current));
    }
}

/// Sends to the process what has come from outside.
#[cold]
pub fn collect() {
    let mut set = OUTSIDE.swap(0, Ordering::Relaxed);
    while set != 0 {
        send(set.trailing_zeros() as usize + 1, None);
        set &= set - 1;
    }
}

/// Sends a signal to a thread, or with `None` to the process.
pub fn send(number: usize, thread: Option<usize>) {
    object::release_too(SIGNALS);
    let execution = &mut world().execution;
    let current = execution.current;
    execution.changed();
    // Who waits for this very signal gets it, blocked or not.
    let waits = |candidate: &usize| {
        let waiting = &execution.threads[*candidate];
        waiting.state == State::Blocked && waiting.awaits & bit(number) != 0
    };
    let everybody = 0..execution.threads.len();
    let waiting = match thread {
        Some(target) => Some(target).filter(waits),
        None => everybody.clone().find(waits),
    };
    if let Some(target) = waiting {
        execution.threads[target].pending_signals |= bit(number);
        scheduler::wake(target);
        return;
    }
    let takes = |candidate: &usize| {
        let taker = &world().execution.threads[*candidate];
        taker.state != State::Done && taker.mask & bit(number) == 0
    };
    let target = match thread {
        Some(target) => target,
        None => match Some(current)
            .filter(takes)
            .or_else(|| everybody.clone().find(takes))
        {
            Some(target) => target,
            None => {
                execution.signals.pending |= bit(number);
                return;
            }
        },
    };
    execution.threads[target].pending_signals |= bit(number);
    if !takes(&target) {
        return;
    }
    if target == current && execution.threads[current].state == State::Blocked {
        // It is the thread that found out that nobody can run.
        let restarts = run_pending();
        end_wait(current, restarts);
    } else if target == current {
        run_pending();
    } else {
        interrupt(target);
    }
}

/// Makes a thread that does not run handle its signals before it goes on.
fn interrupt(number: usize) {
    let execution = &mut world().execution;
    let thread = &mut execution.threads[number];
    if thread.delivers {
        return;
    }
    thread.delivers = true;
    let blocked = thread.state == State::Blocked;
    // SAFETY: the thread is switched out.
    thread.sp = unsafe { arch::inject(thread.sp, deliver, usize::from(blocked)) };
    if blocked {
        // It keeps its place in the queue: a wake-up during the handler is not lost.
        execution.enable_in_queue(number);
    }
}

extern "C" fn deliver(was_blocked: usize) {
    let execution = &mut world().execution;
    let number = execution.current;
    execution.threads[number].delivers = false;
    let wait = execution.threads[number].wait;
    let restarts = run_pending();
    let execution = &mut world().execution;
    if was_blocked == 0 || !execution.is_queued(number) {
        return;
    }
    execution.threads[number].wait = wait;
    if !end_wait(number, restarts) {
        let execution = &mut world().execution;
        execution.threads[number].state = State::Blocked;
        execution.disable(number);
        scheduler::run_others();
    }
}

/// Ends the wait of a thread that has handled a signal, if its call is one that signals
/// interrupt. False if it has to wait on.
fn end_wait(number: usize, restarts: bool) -> bool {
    let execution = &mut world().execution;
    let thread = &mut execution.threads[number];
    if !thread.interruptible {
        return false;
    }
    thread.interrupted = true;
    thread.restarts = restarts;
    execution.enable(number);
    true
}

/// Runs handlers of all signals that the running thread has and does not block. True if every
/// one of them lets interrupted calls go on.
pub fn run_pending() -> bool {
    let mut restarts = true;
    loop {
        let execution = &mut world().execution;
        let thread = &mut execution.threads[execution.current];
        let mine = thread.pending_signals & !thread.mask;
        let shared = execution.signals.pending & !thread.mask;
        let set = mine | shared;
        if set == 0 {
            return restarts;
        }
        let number = set.trailing_zeros() as usize + 1;
        thread.pending_signals &= !bit(number);
        execution.signals.pending &= !bit(number);
        restarts &= handle(number);
    }
}

/// Whether a signal ends the program, by what is set for it now: one that all threads block, or that
/// one of them waits for, does not.
pub fn ends_program(number: usize) -> bool {
    if state().actions[number].handler != DEFAULT || HARMLESS.contains(&number) {
        return false;
    }
    let threads = || {
        let threads = world().execution.threads.iter();
        threads.filter(|thread| thread.state != State::Done)
    };
    let waits =
        |thread: &Thread| thread.state == State::Blocked && thread.awaits & bit(number) != 0;
    threads().any(|thread| thread.mask & bit(number) == 0) && !threads().any(waits)
}

/// Handles one signal in the running thread. True if interrupted calls may go on.
fn handle(number: usize) -> bool {
    let cause = posix_timers::accepted(number);
    let action = state().actions[number];
    match action.handler {
        IGNORE => return true,
        DEFAULT if HARMLESS.contains(&number) => return true,
        DEFAULT => crash::by_own_signal(number as u64),
        _ => {}
    }
    if action.flags & SA_RESETHAND != 0 {
        state().actions[number].handler = DEFAULT;
    }
    let execution = &mut world().execution;
    let thread = &mut execution.threads[execution.current];
    let old = thread.mask;
    thread.mask |= action.mask & !UNBLOCKABLE;
    if action.flags & SA_NODEFER == 0 {
        thread.mask |= bit(number);
    }
    shared().note_condition(conditions::SIGNAL);
    let mut information = information(number, cause);
    let mut context = [0u64; 128];
    without_hooks(|| {
        // SAFETY: the program's handler; one of one argument ignores the others.
        unsafe {
            let handler: extern "C" fn(i32, *mut i32, *mut u64) =
                core::mem::transmute(action.handler);
            handler(
                number as i32,
                information.as_mut_ptr(),
                context.as_mut_ptr(),
            );
        }
    });
    let execution = &mut world().execution;
    execution.threads[execution.current].mask = old;
    action.flags & SA_RESTART != 0
}

/// The `siginfo_t` of a signal.
fn information(number: usize, cause: Option<Cause>) -> [i32; INFORMATION_WORDS] {
    let mut information = [0i32; INFORMATION_WORDS];
    (information[0], information[2]) = (number as i32, SENT_BY_THREAD);
    if let Some(cause) = cause {
        information[2] = SENT_BY_TIMER;
        information[4] = cause.timer as i32;
        information[5] = cause.overrun as i32;
        information[6] = cause.value as i32;
        information[7] = (cause.value >> 32) as i32;
    }
    information
}

/// Changes the running thread's mask, as `sigprocmask` does, and returns the old one.
pub fn change_mask(how: i32, set: Option<u64>) -> Option<u64> {
    const BLOCK: i32 = 0;
    const UNBLOCK: i32 = 1;
    const REPLACE: i32 = 2;
    let execution = &mut world().execution;
    let thread = &mut execution.threads[execution.current];
    let old = thread.mask;
    if let Some(set) = set {
        let set = set & !UNBLOCKABLE;
        thread.mask = match how {
            BLOCK => old | set,
            UNBLOCK => old & !set,
            REPLACE => set,
            _ => return None,
        };
        run_pending();
    }
    Some(old)
}

/// Takes a signal of `set` that is pending for the running thread, with its `siginfo_t`.
pub fn take(set: u64) -> Option<(usize, [i32; INFORMATION_WORDS])> {
    let execution = &mut world().execution;
    let thread = &mut execution.threads[execution.current];
    let found = (thread.pending_signals | execution.signals.pending) & set;
    if found == 0 {
        return None;
    }
    let number = found.trailing_zeros() as usize + 1;
    thread.pending_signals &= !bit(number);
    execution.signals.pending &= !bit(number);
    object::acquire(SIGNALS);
    Some((number, information(number, posix_timers::accepted(number))))
}
