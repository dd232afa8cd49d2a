//! The one global: what runs, by which plan, and the state of the execution under way.

use crate::execution::Execution;
use crate::global::Global;
use crate::native;
use crate::oracles::race;
use crate::orders::Orders;
use crate::thread::Thread;
use core::sync::atomic::Ordering;
use raddle_abi::hooks::{FLAG_CALLS, FLAG_METHODS, FLAG_PLAIN, FLAG_SYNC, Gate};

/// What inlined hooks look at.
#[cfg_attr(raddle_cdylib, unsafe(export_name = "__raddle_flags"))]
pub static GATE: Gate = Gate::new();

/// Site of the call that is about to be made, as the `AT` hook stored it.
#[cfg_attr(raddle_cdylib, unsafe(export_name = "__raddle_at_site"))]
pub static mut AT_SITE: usize = 0;

/// Global state of the runtime.
pub struct World {
    /// Threads are fibers: true from the program's `main` on.
    pub live: bool,
    /// An execution is under way: strategy and oracles work.
    pub running: bool,
    /// Sections in which nothing may be scheduled, nested.
    pub off: u32,
    /// What hooks look for in a thread that is in std's own start or exit code, and in others.
    flags: [u8; 2],
    /// The host's saved stack pointer.
    pub host_sp: usize,
    /// The host's FS base.
    pub host_fs: usize,
    /// The plan.
    pub orders: Orders,
    /// The execution under way.
    pub execution: Execution,
}

static WORLD: Global<World> = Global::new(World {
    live: false,
    running: false,
    off: 0,
    flags: [0; 2],
    host_sp: 0,
    host_fs: 0,
    orders: Orders::new(),
    execution: Execution::new(),
});

/// The global state. See [`Global`] for the rule about holding on to it.
#[inline(always)]
pub fn world() -> &'static mut World {
    WORLD.get()
}

/// Whether threads are fibers and may be switched now.
#[inline(always)]
pub fn live() -> bool {
    let world = world();
    world.live && world.off == 0 && !native::is_stranger()
}

/// Whether the program is under control, and the calling OS thread is part of that.
#[inline(always)]
pub fn is_controlled() -> bool {
    world().live && !native::is_stranger()
}

/// Whether an execution is under way, and the calling OS thread is part of it.
#[inline(always)]
pub fn is_executing() -> bool {
    world().running && !native::is_stranger()
}

/// Sets the hooks' flags to what the plan wants of the running thread.
pub fn arm() {
    let world = world();
    let mut flags = 0;
    let watches = world.orders.watch || world.orders.record || world.orders.weak;
    if world.running && world.off == 0 {
        flags |= FLAG_SYNC;
        if watches || world.orders.plain_points {
            flags |= FLAG_PLAIN;
        }
        if world.orders.record {
            flags |= FLAG_CALLS;
        }
        if !world.orders.methods.is_empty() {
            flags |= FLAG_METHODS;
            let filter = world.orders.methods.filter();
            GATE.methods.store(filter, Ordering::Relaxed);
        }
    }
    // Nothing is a scheduling point in std's own code, so that who only schedules need not look.
    world.flags = [if watches { flags } else { 0 }, flags];
    let execution = &world.execution;
    if let Some(running) = execution.threads.get(execution.current) {
        GATE.flags.store(flags_for(running), Ordering::Relaxed);
    }
}

#[inline(always)]
fn flags_for(thread: &Thread) -> u8 {
    world().flags[usize::from(thread.user_depth > 0)]
}

/// Prepares hooks and oracles for another running thread.
#[inline(always)]
pub fn look_at(thread: &Thread) {
    // It has this memory for itself.
    let (low, len) = thread.private;
    // A site that is a scheduling point is one wherever it touches.
    let len = if world().orders.plain_points { 0 } else { len };
    GATE.low.store(low, Ordering::Relaxed);
    GATE.len.store(len, Ordering::Relaxed);
    GATE.flags.store(flags_for(thread), Ordering::Relaxed);
    if world().orders.race {
        race::look_at_clock();
    }
}

/// Runs `section` with hooks off: libc holds a lock, or a signal handler runs.
pub fn without_hooks<T>(section: impl FnOnce() -> T) -> T {
    world().off += 1;
    arm();
    let result = section();
    world().off -= 1;
    arm();
    result
}

/// Takes the site that the `AT` hook left.
pub fn take_at_site() -> u32 {
    // SAFETY: one OS thread.
    unsafe {
        let site = u32::try_from(AT_SITE).unwrap_or(0);
        AT_SITE = 0;
        if site != 0 {
            return site;
        }
    }
    let world = world();
    world
        .execution
        .threads
        .get(world.execution.current)
        .map_or(0, |thread| thread.site)
}
