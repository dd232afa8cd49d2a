//! Cancellation, cleanup handlers and `pthread_exit`.
//!
//! A deferred cancellation takes effect at the next cancellation point; a thread that is
//! blocked in one is woken. An asynchronous one takes effect where the thread stands.

use super::object::{self, interpose};
use super::threads::find;
use crate::arch;
use crate::arch::errno::{EINVAL, ESRCH};
use crate::scheduler;
use crate::thread::{State, Wait};
use crate::unwind;
use crate::world::{live, take_at_site, world};
use raddle_abi::site::Operation;

/// Result of a cancelled thread.
const CANCELED: usize = usize::MAX;
/// Where a handler that defers cancellation keeps what to go back to.
const SAVED_TYPE: usize = 88;

/// How a wait at a cancellation point ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// What was waited for has come.
    Normally,
    /// Time ran out.
    TimedOut,
    /// The thread was cancelled: the caller puts things in order and calls [`act`].
    Cancelled,
    /// A signal was handled.
    Interrupted,
}

fn cancel_of(number: usize) -> &'static mut crate::thread::Cancel {
    &mut world().execution.threads[number].cancel
}

fn mine() -> &'static mut crate::thread::Cancel {
    cancel_of(world().execution.current)
}

/// A cancellation point.
pub fn point() {
    let cancel = mine();
    if cancel.pending && !cancel.disabled && live() {
        act();
    }
}

/// Blocks at a cancellation point.
pub fn block(wait: Wait) -> Woken {
    let cancel = mine();
    cancel.waits = !cancel.disabled;
    block_regardless(wait)
}

/// Blocks at a cancellation point in a call that a signal handler ends.
pub fn block_interruptibly(wait: Wait) -> Woken {
    let current = world().execution.current;
    world().execution.threads[current].interruptible = true;
    let woken = block(wait);
    world().execution.threads[current].interruptible = false;
    woken
}

/// Blocks where cancellation has to wait.
pub fn block_regardless(wait: Wait) -> Woken {
    mine().woken = false;
    let current = world().execution.current;
    world().execution.threads[current].interrupted = false;
    let timed_out = object::block(wait);
    let cancel = mine();
    cancel.waits = false;
    if cancel.woken {
        Woken::Cancelled
    } else if timed_out {
        Woken::TimedOut
    } else if world().execution.threads[current].interrupted {
        Woken::Interrupted
    } else {
        Woken::Normally
    }
}

/// The running thread ends as cancelled.
pub fn act() -> ! {
    unwind::exit(CANCELED)
}

extern "C" fn act_where_it_stands(_: usize) {
    act()
}

fn cancel(pthread: usize) -> i32 {
    object::begin(Operation::FutexWake, 0);
    let Some(number) = find(pthread) else {
        return ESRCH as i32;
    };
    let execution = &mut world().execution;
    let current = execution.current;
    let thread = &mut execution.threads[number];
    if thread.state == State::Done {
        return 0;
    }
    thread.cancel.pending = true;
    let now = thread.cancel.asynchronous && !thread.cancel.disabled;
    if number == current {
        if now {
            act();
        }
    } else if thread.state == State::Blocked && thread.cancel.waits {
        thread.cancel.woken = true;
        scheduler::wake(number);
    } else if now {
        // SAFETY: the thread is switched out.
        thread.sp = unsafe { arch::inject(thread.sp, act_where_it_stands, 0) };
        scheduler::wake(number);
    }
    0
}

fn set(field: impl Fn(&mut crate::thread::Cancel) -> &mut bool, value: i32, old: *mut i32) -> i32 {
    if !(0..2).contains(&value) {
        return EINVAL as i32;
    }
    let place = field(mine());
    let previous = core::mem::replace(place, value == 1);
    if !old.is_null() {
        // SAFETY: the program's variable.
        unsafe { *old = i32::from(previous) };
    }
    let cancel = mine();
    if cancel.pending && cancel.asynchronous && !cancel.disabled {
        act();
    }
    0
}

fn register_deferred(buffer: usize) {
    unwind::register(buffer);
    let asynchronous = core::mem::replace(&mut mine().asynchronous, false);
    *object::word(buffer, SAVED_TYPE) = u32::from(asynchronous);
}

fn unregister_restoring(buffer: usize) {
    unwind::unregister(buffer);
    mine().asynchronous = *object::word(buffer, SAVED_TYPE) != 0;
    point();
}

interpose! {
    /// libc's `pthread_cancel`.
    pthread_cancel(pthread: usize) -> i32 => cancel(pthread);
    /// libc's `pthread_testcancel`.
    pthread_testcancel() -> () => {
        // A loop that waits for nothing but this has to let others run.
        if live() {
            scheduler::yield_now(take_at_site());
        }
        point();
    };
    /// libc's `pthread_setcancelstate`.
    pthread_setcancelstate(state: i32, old: *mut i32) -> i32 => set(|cancel| &mut cancel.disabled, state, old);
    /// libc's `pthread_setcanceltype`.
    pthread_setcanceltype(kind: i32, old: *mut i32) -> i32 => set(|cancel| &mut cancel.asynchronous, kind, old);
    /// libc's `pthread_exit`.
    pthread_exit(result: usize) -> i32 => unwind::exit(result);
    /// What `pthread_cleanup_push` calls in C.
    __pthread_register_cancel(buffer: usize) -> () => unwind::register(buffer);
    /// What `pthread_cleanup_pop` calls in C.
    __pthread_unregister_cancel(buffer: usize) -> () => unwind::unregister(buffer);
    /// What `pthread_cleanup_push_defer_np` calls in C.
    __pthread_register_cancel_defer(buffer: usize) -> () => register_deferred(buffer);
    /// What `pthread_cleanup_pop_restore_np` calls in C.
    __pthread_unregister_cancel_restore(buffer: usize) -> () => unregister_restoring(buffer);
    /// What the end of a cleanup handler calls in C.
    __pthread_unwind_next(buffer: usize) -> () => {
        unwind::unregister(buffer);
        unwind::go_on()
    };
}
