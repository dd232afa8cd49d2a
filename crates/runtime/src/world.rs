//! The one global: what runs, by which plan, and the state of the execution under way.

use crate::execution::Execution;
use crate::global::Global;
use crate::native;
use crate::oracles::race;
use crate::orders::Orders;
use core::sync::atomic::Ordering;
use raddle_abi::hooks::{FLAG_CALLS, FLAG_PLAIN, FLAG_SYNC, Gate};

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

/// Sets the hooks' flags to what the plan wants.
pub fn arm() {
    let world = world();
    let mut flags = 0;
    if world.running && world.off == 0 {
        flags |= FLAG_SYNC;
        let orders = &world.orders;
        if orders.watch || orders.record || orders.plain_points || orders.weak {
            flags |= FLAG_PLAIN;
        }
        if world.orders.record {
            flags |= FLAG_CALLS;
        }
    }
    GATE.flags.store(flags, Ordering::Relaxed);
}

/// Prepares hooks and oracles for another running thread, which has this memory for itself.
#[inline(always)]
pub fn look_away_from(private: (usize, usize)) {
    // A site that is a scheduling point is one wherever it touches.
    let len = if world().orders.plain_points {
        0
    } else {
        private.1
    };
    GATE.low.store(private.0, Ordering::Relaxed);
    GATE.len.store(len, Ordering::Relaxed);
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
