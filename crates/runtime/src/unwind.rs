//! Leaving a thread's frames before they return: `pthread_exit` and cancellation. Looking through
//! those of libraries after a crash.
//!
//! The frames are unwound by libgcc's forced unwinding, which runs C++ destructors. Handlers
//! of `pthread_cleanup_push` in C are not part of frames: they are jumped to when the frame
//! that registered them has been passed.

use crate::arch;
use crate::global::Global;
use crate::interpose::{once, real, signals, threads};
use crate::world::world;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const END_OF_STACK: i32 = 16;
const CLEANUP_PHASE: i32 = 2;
/// `_URC_NO_REASON`.
const GO_ON: i32 = 0;
/// `_URC_CONTINUE_UNWIND`.
const CONTINUE_UNWIND: i32 = 8;

/// An `_Unwind_Exception`, and more room than it needs.
type Exception = [usize; 8];

type Stop = extern "C" fn(i32, i32, u64, *mut Exception, *mut c_void, *mut c_void) -> i32;

type Each = extern "C" fn(*mut c_void, *mut c_void) -> i32;

static FORCED_UNWIND: AtomicUsize = AtomicUsize::new(0);
static GET_CFA: AtomicUsize = AtomicUsize::new(0);
static BACKTRACE: AtomicUsize = AtomicUsize::new(0);
static GET_IP: AtomicUsize = AtomicUsize::new(0);

/// One exception object per thread number; they stand outside of the stacks that are unwound.
static EXCEPTIONS: Global<Vec<&'static mut Exception>> = Global::new(Vec::new());

/// Finds the unwinder. Before executions start, because it may have to be loaded.
pub fn set_up() {
    if real::find(c"_Unwind_ForcedUnwind") == 0 {
        real::load(c"libgcc_s.so.1");
    }
    FORCED_UNWIND.store(real::find(c"_Unwind_ForcedUnwind"), Ordering::Relaxed);
    GET_CFA.store(real::find(c"_Unwind_GetCFA"), Ordering::Relaxed);
    BACKTRACE.store(real::find(c"_Unwind_Backtrace"), Ordering::Relaxed);
    GET_IP.store(real::find(c"_Unwind_GetIP"), Ordering::Relaxed);
}

/// Whether the unwinder walks a stack that a fault has interrupted.
static WALKS: AtomicBool = AtomicBool::new(false);

/// Whether the unwinder itself may have met a fault.
pub fn walks() -> bool {
    WALKS.load(Ordering::Relaxed)
}

/// Gives return addresses of the running thread to `visit`, innermost first, from a handler of a fatal
/// signal on. Unlike the walk by frame pointers, it gets through libraries.
///
/// Nothing is found after a fault of the unwinder itself, which the handler is called for again.
pub fn callers<F: FnMut(u64)>(mut visit: F) {
    let (backtrace, get_ip) = (
        BACKTRACE.load(Ordering::Relaxed),
        GET_IP.load(Ordering::Relaxed),
    );
    if backtrace == 0 || get_ip == 0 || WALKS.swap(true, Ordering::Relaxed) {
        return;
    }
    extern "C" fn each<F: FnMut(u64)>(context: *mut c_void, visit: *mut c_void) -> i32 {
        // SAFETY: libgcc's function with the context that it passed, and the closure of the caller,
        // which lives as long as the walk.
        unsafe {
            let get_ip: extern "C" fn(*mut c_void) -> usize =
                core::mem::transmute(GET_IP.load(Ordering::Relaxed));
            (*visit.cast::<F>())(get_ip(context) as u64);
        }
        GO_ON
    }
    signals::unblock_fatal();
    // SAFETY: libgcc's function.
    unsafe {
        let backtrace: extern "C" fn(Each, *mut c_void) -> i32 = core::mem::transmute(backtrace);
        backtrace(each::<F>, (&raw mut visit).cast());
    }
    WALKS.store(false, Ordering::Relaxed);
}

/// Ends the running thread with this result, from wherever it is.
pub fn exit(result: usize) -> ! {
    let execution = &mut world().execution;
    let thread = &mut execution.threads[execution.current];
    thread.result = result;
    thread.cancel.disabled = true;
    thread.cancel.pending = false;
    go_on()
}

/// Registers a cleanup handler of C: `buffer` stands in the frame that waits for it.
pub fn register(buffer: usize) {
    let execution = &mut world().execution;
    execution.threads[execution.current].cleanups.push(buffer);
}

/// Removes a cleanup handler, and those of frames that were left by a jump.
pub fn unregister(buffer: usize) {
    let execution = &mut world().execution;
    let cleanups = &mut execution.threads[execution.current].cleanups;
    if let Some(place) = cleanups.iter().rposition(|known| *known == buffer) {
        cleanups.truncate(place);
    }
}

/// Goes on unwinding, after a handler has run or at the beginning.
pub fn go_on() -> ! {
    let current = world().execution.current;
    let exceptions = EXCEPTIONS.get();
    while exceptions.len() <= current {
        // Never freed: the next execution's thread of this number uses it again.
        exceptions.push(Box::leak(Box::new([0; 8])));
    }
    let exception: *mut Exception = &mut *exceptions[current];
    let forced = FORCED_UNWIND.load(Ordering::Relaxed);
    if forced != 0 {
        // SAFETY: libgcc's function; the exception object is ours and of class 0.
        unsafe {
            *exception = [0; 8];
            let forced: extern "C" fn(*mut Exception, Stop, *mut c_void) -> i32 =
                core::mem::transmute(forced);
            forced(exception, stop, core::ptr::null_mut());
        }
    }
    // There is no unwinder, or it lost its way: handlers of C still run.
    leave(usize::MAX);
    unreachable!("a thread that left was resumed")
}

/// Jumps to the newest handler whose frame has been passed; ends the thread after the last one.
fn leave(passed: usize) {
    let execution = &world().execution;
    let number = execution.current;
    let thread = &execution.threads[number];
    match thread.cleanups.last() {
        // SAFETY: the buffer was set by the program's `sigsetjmp` in a frame that still stands.
        Some(buffer) if *buffer < passed => unsafe { real::siglongjmp(*buffer, 1) },
        None if passed == usize::MAX => threads::finish(number, thread.result),
        _ => {}
    }
}

extern "C" fn stop(
    _version: i32,
    actions: i32,
    _class: u64,
    _exception: *mut Exception,
    context: *mut c_void,
    _parameter: *mut c_void,
) -> i32 {
    if actions & END_OF_STACK != 0 {
        leave(usize::MAX);
    }
    // SAFETY: libgcc's function, with the context that it passed.
    let frame = unsafe {
        let get_cfa: extern "C" fn(*mut c_void) -> usize =
            core::mem::transmute(GET_CFA.load(Ordering::Relaxed));
        get_cfa(context)
    };
    leave(frame);
    GO_ON
}

/// Calls the routine of a `pthread_once`; if it is left by unwinding, it has not run.
pub fn call_once(routine: usize) {
    // SAFETY: the program's routine.
    unsafe { arch::call_guarded(routine) };
}

/// Personality routine of [`arch::call_guarded`].
///
/// # Safety
/// Called by the unwinder only.
pub unsafe extern "C" fn guard_personality(
    _version: i32,
    actions: i32,
    _class: u64,
    _exception: *mut Exception,
    _context: *mut c_void,
) -> i32 {
    if actions & CLEANUP_PHASE != 0 {
        once::end(0);
    }
    CONTINUE_UNWIND
}
