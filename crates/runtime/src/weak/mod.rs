//! Weak memory: an atomic load may read a value that is no longer the newest one.
//!
//! Only where the plan asks for it, and only at scheduling points, to which the decision is
//! anchored as a switch is. Memory itself always holds the newest values: the kernel, plain
//! accesses and code that is not instrumented see these.
//!
//! A thread that waited, yielded, spins or called the kernel reads nothing older than what was
//! there then. So does one that may have learnt something in a way that is not seen.

pub mod history;

use self::history::{Access, History};
use crate::global::Global;
use crate::native;
use crate::oracles::race;
use crate::scheduler;
use crate::world::world;
use raddle_abi::hooks::order;
use raddle_schedule::old_values::OldValues;
use raddle_schedule::strategy::Load;

struct Weak {
    history: History,
    old_values: OldValues,
    is_set_up: bool,
}

static WEAK: Global<Weak> = Global::new(Weak {
    history: History::new(),
    old_values: OldValues::new(),
    is_set_up: false,
});

/// An atomic object that the running thread is about to touch, or has touched.
#[derive(Clone, Copy)]
pub struct Touched {
    /// Where it is.
    pub address: usize,
    /// Its bytes.
    pub size: u32,
    /// What it held before.
    pub before: u64,
    /// Memory order.
    pub order: u32,
}

impl Touched {
    fn access(&self) -> Access {
        let unused = 64 - 8 * self.size;
        Access {
            slot: running_slot(),
            address: self.address,
            size: self.size,
            current: self.before << unused >> unused,
            order: self.order,
        }
    }
}

fn running_slot() -> usize {
    usize::from(world().execution.running().clock)
}

/// Whether the plan asks for it.
#[inline(always)]
pub fn is_on() -> bool {
    world().orders.weak
}

/// Maps memory, for the first plan that asks for it.
pub fn set_up() {
    let weak = WEAK.get();
    if !weak.is_set_up {
        weak.history.set_up();
        weak.is_set_up = true;
    }
}

/// Starts an execution with this many threads.
pub fn begin(threads: usize, seed: u64) {
    if !is_on() {
        return;
    }
    let weak = WEAK.get();
    weak.history.begin(threads);
    weak.old_values.begin(seed);
    for slot in 0..threads {
        world().execution.threads[slot].clock = slot as u16;
    }
}

/// The running thread has started `thread`.
pub fn spawned(thread: usize) {
    if !is_on() {
        return;
    }
    let slot = WEAK.get().history.spawn(running_slot());
    let thread = &mut world().execution.threads[thread];
    // The race oracle gives the same slots.
    thread.clock = slot as u16;
    let (low, high) = thread.stack;
    WEAK.get().history.forget(low, high - low);
}

/// The running thread has waited for the end of `thread`.
pub fn joined(thread: usize) {
    if is_on() {
        let ended = usize::from(world().execution.threads[thread].clock);
        WEAK.get().history.join(running_slot(), ended);
    }
}

/// What the running thread does from now on comes after the last [`release`] of an object.
pub fn acquire(object: usize) {
    if is_on() && world().running {
        WEAK.get().history.acquire(running_slot(), object);
    }
}

/// What it did so far comes before the next [`acquire`]; with `too`, beside what others did.
pub fn release(object: usize, too: bool) {
    if is_on() && world().running {
        WEAK.get().history.release(running_slot(), object, too);
    }
}

/// The running thread knows of all that was stored so far.
#[inline(always)]
pub fn refresh() {
    if is_on() && world().running {
        WEAK.get().history.refresh(running_slot());
    }
}

/// Memory is touched in another way than by atomic operations, or changes its owner.
#[inline(always)]
pub fn forget(address: usize, len: usize) {
    if is_on() {
        WEAK.get().history.forget(address, len);
    }
}

/// Whether stores can be followed: a native thread makes its own unseen.
fn is_followed() -> bool {
    if native::seen() {
        WEAK.get().history.forget_all();
        return false;
    }
    true
}

fn of_oracle(address: usize) -> alloc::vec::Vec<u32> {
    match world().orders.race {
        true => race::released(address).to_vec(),
        false => alloc::vec::Vec::new(),
    }
}

/// The running thread loads. With `may_be_old`, it has just passed a scheduling point for that.
/// Returns the value, and how many stores it lies before the newest one.
#[cold]
#[inline(never)]
pub fn load(touched: Touched, may_be_old: bool) -> (u64, usize) {
    if !is_followed() {
        return (touched.before, 0);
    }
    let access = touched.access();
    let weak = WEAK.get();
    let choices = weak.history.choices(&access, of_oracle);
    let age = match choices > 1 && may_be_old && !world().execution.fair {
        true => choose(touched.address, choices),
        false => 0,
    };
    let (value, released) = weak.history.read(&access, age);
    if age > 0 {
        scheduler::note_old_value(age);
        if world().orders.race && world().execution.running().entered {
            race::load_released(released, touched.order);
        }
    }
    (value, age)
}

fn choose(address: usize, choices: usize) -> usize {
    let world = world();
    let thread = world.execution.current;
    let load = Load {
        thread,
        step: world.execution.steps[thread].saturating_sub(1),
        address,
        choices,
    };
    let strategy = world.orders.strategy.as_mut();
    let age = match strategy.and_then(|strategy| strategy.read(&load)) {
        Some(age) => age,
        None => WEAK.get().old_values.choose(&load),
    };
    age.min(choices - 1)
}

/// The running thread has stored.
#[cold]
#[inline(never)]
pub fn store(touched: Touched, value: u64) {
    if is_followed() {
        let access = touched.access();
        WEAK.get()
            .history
            .store(&access, cut(value, touched.size), of_oracle);
    }
}

/// The running thread has made a read-modify-write.
#[cold]
#[inline(never)]
pub fn modify(touched: Touched, value: u64) {
    if is_followed() {
        let access = touched.access();
        WEAK.get()
            .history
            .modify(&access, cut(value, touched.size), of_oracle);
    }
}

/// A compare-exchange of the running thread has failed, which would have had this order.
#[cold]
#[inline(never)]
pub fn exchange_failed(touched: Touched, success: u32) {
    load(touched, false);
    if success == order::SEQ_CST {
        fence(success);
    }
}

fn cut(value: u64, size: u32) -> u64 {
    let unused = 64 - 8 * size;
    value << unused >> unused
}

/// The race oracle has looked at the store that was made last.
#[cold]
#[inline(never)]
pub fn released_to_oracle(address: usize) {
    WEAK.get()
        .history
        .released_to_oracle(address, race::released(address));
}

/// A fence of the running thread.
#[cold]
#[inline(never)]
pub fn fence(memory_order: u32) {
    if is_followed() {
        WEAK.get().history.fence(running_slot(), memory_order);
    }
}

/// The running thread runs assembly that may synchronise. If it has a result, the thread may
/// have learnt of anything by it.
pub fn assembly(has_result: bool) {
    if !is_on() {
        return;
    }
    fence(order::SEQ_CST);
    if has_result {
        refresh();
    }
}
