//! Threads as fibers: their start and their end.

use super::{keys, mutex, process, real};
use crate::arch::{self, errno::EAGAIN};
use crate::donor;
use crate::host::{self, End};
use crate::methods;
use crate::oracles::{race, stacks};
use crate::record;
use crate::scheduler::{self, site_key};
use crate::shared::shared;
use crate::thread::{State, Thread};
use crate::weak;
use crate::world::{is_controlled, live, take_at_site, world};
use core::ffi::{c_char, c_void};
use core::sync::atomic::Ordering;
use raddle_abi::control::conditions;
use raddle_abi::site::{Operation, SiteId};

const DETACHED: i32 = 1;
/// Half of the address space: no stack is larger.
const LARGEST_STACK: usize = 1 << 46;
/// Rounds of destructors, as POSIX promises at least.
const DESTRUCTOR_ROUNDS: usize = 4;

fn attributes(attr: *const c_void) -> (usize, bool) {
    let (mut bytes, mut detached) = (0, 0);
    if !attr.is_null() {
        // SAFETY: the program's attributes.
        unsafe {
            real::pthread_attr_getstacksize(attr, &mut bytes);
            real::pthread_attr_getdetachstate(attr, &mut detached);
        }
    }
    (bytes, detached == DETACHED)
}

/// Borrows a donor, making one if no execution is under way.
fn borrow() -> donor::Loan {
    loop {
        if let Some(loan) = donor::lend(world().execution.threads.len()) {
            return loan;
        }
        if world().running {
            if donor::count() >= donor::MAX_DONORS {
                shared().note_condition(conditions::THREAD_LIMIT);
                host::end(End::Cut);
            }
            host::end(End::MoreDonors);
        }
        donor::create();
    }
}

/// libc's `pthread_create`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_create(
    result: *mut usize,
    attr: *const c_void,
    start: usize,
    argument: *mut c_void,
) -> i32 {
    if !live() {
        // SAFETY: libc's contract.
        return unsafe { (real::functions().pthread_create)(result, attr, start, argument) };
    }
    let site = take_at_site();
    let (stack_bytes, detached) = attributes(attr);
    if stack_bytes > LARGEST_STACK {
        return EAGAIN as i32;
    }
    if stack_bytes > donor::STACK_SIZE {
        shared().note_condition(conditions::STACK_LIMIT);
    }
    let number = add(start, argument as usize, detached, site);
    // SAFETY: the program's variable.
    unsafe { *result = world().execution.threads[number].pthread };
    if world().running {
        scheduler::point_behind(Operation::Spawn, 0, site);
    }
    0
}

/// Adds a thread that nobody waits for, and that runs `start(argument)` when it is picked.
pub fn add_detached(start: usize, argument: usize) {
    add(start, argument, true, 0);
}

/// Adds a thread, and returns its number.
fn add(start: usize, argument: usize, detached: bool, site: SiteId) -> usize {
    if world().running && world().orders.alone && !shared().family().needs_fork {
        host::end(End::Known);
    }
    stacks::passed(argument);
    let loan = borrow();
    let parent = world().execution.current;
    let mut thread = Thread::new();
    thread.fs = loan.fs;
    thread.pthread = loan.pthread;
    thread.donor = loan.donor;
    thread.stack = loan.stack;
    if world().orders.private_stacks {
        thread.private = stacks::private_part(loan.stack);
    }
    thread.start = start;
    thread.argument = argument;
    thread.detached = detached;
    thread.parent = parent as u16;
    thread.mask = world().execution.threads[parent].mask;
    thread.site = site;
    let number = world().execution.threads.len();
    // SAFETY: the donor's stack below its sleeping frame.
    thread.sp = unsafe { arch::prepare_stack(loan.top, run_thread, number) };
    let world = world();
    world.execution.add_thread(thread);
    world.execution.changed();
    if world.running {
        race::spawned(number, &loan.last_clock);
        weak::spawned(number);
        if let Some(strategy) = &mut world.orders.strategy {
            strategy.thread_started(number, parent, site_key(site));
        }
        let alive = host::alive() as u32;
        shared()
            .control()
            .threads
            .fetch_max(alive, Ordering::Relaxed);
        record::event(Operation::Spawn, number as u64, 0, 0, 0, site);
    }
    number
}

extern "C" fn run_thread(number: usize) -> ! {
    record::event(Operation::Start, number as u64, 0, 0, 0, 0);
    scheduler::done_nothing_since(0);
    let thread = &world().execution.threads[number];
    let (start, argument) = (thread.start, thread.argument);
    // SAFETY: the program's start routine.
    let result = unsafe {
        let start: extern "C" fn(usize) -> usize = core::mem::transmute(start);
        start(argument)
    };
    finish(number, result)
}

/// Runs destructors of thread-local objects of the running thread. False if there were none.
pub fn run_local_destructors(number: usize) -> bool {
    let mut any = false;
    while let Some((function, object)) = world().execution.threads[number].destructors.pop() {
        any = true;
        // SAFETY: registered by the program.
        unsafe {
            let function: extern "C" fn(usize) = core::mem::transmute(function);
            function(object);
        }
    }
    any
}

fn run_destructors(number: usize) {
    for _ in 0..DESTRUCTOR_ROUNDS {
        let objects = run_local_destructors(number);
        let data = keys::run_destructors();
        if !objects && !data {
            return;
        }
    }
}

/// Ends the running thread.
pub fn finish(number: usize, result: usize) -> ! {
    record::leave_all();
    methods::leave_all();
    run_destructors(number);
    scheduler::point_of_end(Operation::Exit, number, 0);
    mutex::owner_ends(number);
    if world().execution.alive == 1 {
        // The last thread ends the process, as libc does.
        process::leave(0);
    }
    record::event(Operation::Exit, 0, 0, 0, 0, 0);
    let execution = &mut world().execution;
    let thread = &mut execution.threads[number];
    thread.result = result;
    thread.state = State::Done;
    // Strategies tell a thread that has ended from one that is blocked by this.
    execution.pending[number].operation = Operation::Exit;
    execution.alive -= 1;
    execution.changed();
    execution.disable(number);
    // A detached thread's donor is not lent again in this execution: nothing orders its last
    // accesses to the stack before those of the next owner.
    scheduler::wake_waiters(Operation::Join, number, u32::MAX, !0);
    scheduler::run_others();
    unreachable!("a thread that has ended was resumed")
}

/// The thread with this `pthread_t` that can still be joined or detached.
pub fn find(pthread: usize) -> Option<usize> {
    let threads = &world().execution.threads;
    let is_it = |thread: &Thread| thread.pthread == pthread && !thread.joined;
    // With many threads a search would take longer than all the rest.
    donor::last_thread(pthread)
        .filter(|number| threads.get(*number).is_some_and(is_it))
        .or_else(|| threads.iter().rposition(is_it))
}

/// libc's `pthread_setname_np`: names are not needed, and setting one is a system call.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_setname_np(pthread: usize, name: *const c_char) -> i32 {
    if live() {
        return 0;
    }
    // SAFETY: libc's contract.
    unsafe { (real::functions().pthread_setname_np)(pthread, name) }
}

/// libc's `pthread_getattr_np`: the stack is the fiber's.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_getattr_np(pthread: usize, attr: *mut c_void) -> i32 {
    if live()
        && let Some(number) = find(pthread)
    {
        let (low, high) = world().execution.threads[number].stack;
        // SAFETY: libc's contract.
        unsafe {
            real::pthread_attr_init(attr);
            return real::pthread_attr_setstack(attr, low as *mut c_void, high - low);
        }
    }
    // SAFETY: libc's contract.
    unsafe { (real::functions().pthread_getattr_np)(pthread, attr) }
}

/// libc's registration of destructors of thread-local objects.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn __cxa_thread_atexit_impl(
    function: usize,
    object: usize,
    library: usize,
) -> i32 {
    if is_controlled() {
        let world = world();
        let current = world.execution.current;
        world.execution.threads[current]
            .destructors
            .push((function, object));
        return 0;
    }
    // SAFETY: libc's contract.
    unsafe { (real::functions().__cxa_thread_atexit_impl)(function, object, library) }
}
