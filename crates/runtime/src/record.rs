//! Records every event of an execution, with stacks, for a replay that is to be explained.

use crate::activations;
use crate::global::Global;
use crate::shared::shared;
use crate::stack;
use crate::world::world;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;
use raddle_abi::control::{EVENTS_OFFSET, EVENTS_SIZE, STACKS_OFFSET, STACKS_SIZE};
use raddle_abi::record::{PICK, RawEvent, flags};
use raddle_abi::site::{Operation, SiteId};

struct Recorder {
    /// Hash of a stack to its place.
    stacks: BTreeMap<u64, u32>,
    /// Thread of the last event.
    last_thread: u16,
    /// Point of the last event.
    last_point: u64,
    /// The frame that was last recorded for each thread: where it ends and returns to.
    frames: Vec<(usize, u64)>,
}

static RECORDER: Global<Recorder> = Global::new(Recorder {
    stacks: BTreeMap::new(),
    last_thread: 0,
    last_point: u64::MAX,
    frames: Vec::new(),
});

/// Starts an empty recording.
pub fn begin() {
    let recorder = RECORDER.get();
    recorder.stacks.clear();
    recorder.last_thread = 0;
    recorder.last_point = u64::MAX;
    recorder.frames.clear();
    activations::clear();
    let control = shared().control();
    control.events.store(0, Ordering::Relaxed);
    control.stacks.store(0, Ordering::Relaxed);
    control.record_overflow.store(0, Ordering::Relaxed);
}

/// Records a pick: schedules are anchored to these.
#[inline(always)]
pub fn pick(thread: usize, site: SiteId) {
    let world = world();
    if world.orders.record && world.running {
        append(RawEvent {
            operation: PICK,
            thread: thread as u16,
            site,
            address: 0,
            value: 0,
            len: 0,
            order: 0,
            flags: 0,
            stack: 0,
            point: world.execution.point as u32,
        });
    }
}

/// Appends an event to the shared memory, if it fits.
fn append(event: RawEvent) {
    let control = shared().control();
    let count = control.events.load(Ordering::Relaxed) as usize;
    if (count + 1) * core::mem::size_of::<RawEvent>() > EVENTS_SIZE {
        control.record_overflow.store(1, Ordering::Relaxed);
        return;
    }
    let place = shared().at(EVENTS_OFFSET) as *mut RawEvent;
    // SAFETY: inside the events area.
    unsafe { place.add(count).write(event) };
    control.events.store(count as u32 + 1, Ordering::Release);
}

/// Records an event of the running thread, if the plan asks for it.
#[inline(always)]
pub fn event(operation: Operation, address: u64, value: u64, len: u32, order: u16, site: SiteId) {
    if is_on() {
        write(operation, address, value, len, order, site);
    }
}

/// Records that the running thread enters a function with these arguments.
pub fn enter(arguments: &[usize], site: SiteId) {
    if !is_on() {
        return;
    }
    let first = arguments.first().map_or(0, |address| *address as u64);
    write(Operation::Enter, first, 0, 0, 0, site);
    activations::enter(site);
    for (index, address) in arguments.iter().enumerate().skip(1) {
        if *address != 0 {
            write(
                Operation::Argument,
                *address as u64,
                index as u64,
                0,
                0,
                site,
            );
        }
    }
}

/// Records that the running thread leaves a function that it was seen to enter.
pub fn leave(unwound: bool, site: SiteId) {
    if is_on() {
        activations::settle(left);
        if activations::resume(site, left) {
            write(Operation::Leave, 0, unwound.into(), 0, 0, site);
            activations::leave();
        }
    }
}

/// Records the ends of what a function called, which goes on itself.
pub fn landed(site: SiteId) {
    if is_on() {
        activations::settle(left);
        activations::resume(site, left);
    }
}

/// Records that the running thread leaves all functions, because it ends.
pub fn leave_all() {
    if is_on() {
        activations::leave_all(left);
    }
}

/// Records the end of an activation that ended without saying so.
fn left(site: SiteId) {
    store(Operation::Leave, 0, 1, 0, 0, site);
}

#[inline(always)]
fn is_on() -> bool {
    let world = world();
    world.orders.record && world.running
}

#[cold]
#[inline(never)]
fn write(operation: Operation, address: u64, value: u64, len: u32, order: u16, site: SiteId) {
    activations::settle(left);
    frame(address as usize);
    store(operation, address, value, len, order, site);
}

/// Records in which frame an address lies that lies on a stack, if the thread's last one lay in
/// another.
fn frame(address: usize) {
    let Some(owner) = stack::owner(address) else {
        return;
    };
    let execution = &world().execution;
    let recorder = RECORDER.get();
    if recorder.frames.len() <= execution.current {
        recorder.frames.resize(execution.current + 1, (0, 0));
    }
    let returns_to = owner.frames.as_slice().get(1).copied().unwrap_or(0);
    let frame = (owner.high, returns_to);
    if core::mem::replace(&mut recorder.frames[execution.current], frame) != frame {
        let place = intern(owner.frames.as_slice());
        append(RawEvent {
            operation: Operation::Frame as u16,
            thread: execution.current as u16,
            site: 0,
            address: owner.high as u64,
            value: owner.thread as u64,
            len: (owner.high - owner.low.min(owner.high)) as u32,
            order: 0,
            flags: 0,
            stack: place,
            point: execution.point as u32,
        });
    }
}

fn store(operation: Operation, address: u64, value: u64, len: u32, order: u16, site: SiteId) {
    let stack = intern_stack();
    let execution = &world().execution;
    let recorder = RECORDER.get();
    let mut bits = 0;
    if !operation.is_annotation() {
        if execution.point != recorder.last_point {
            bits |= flags::POINT;
        }
        if execution.current as u16 != recorder.last_thread {
            bits |= flags::SWITCHED;
        }
        recorder.last_point = execution.point;
        recorder.last_thread = execution.current as u16;
    }
    append(RawEvent {
        operation: operation as u16,
        thread: execution.current as u16,
        site,
        address,
        value,
        len,
        order,
        flags: bits,
        stack,
        point: execution.point as u32,
    });
}

/// Stores the running thread's stack.
fn intern_stack() -> u32 {
    intern(stack::of_running().as_slice())
}

/// Stores a stack once and returns its place + 1.
fn intern(frames: &[u64]) -> u32 {
    let hash = frames
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, address| {
            (hash ^ address).wrapping_mul(0x0100_0000_01b3)
        });
    let recorder = RECORDER.get();
    if let Some(place) = recorder.stacks.get(&hash) {
        return *place;
    }
    let control = shared().control();
    let used = control.stacks.load(Ordering::Relaxed) as usize;
    if used + 8 * (frames.len() + 1) > STACKS_SIZE {
        control.record_overflow.store(1, Ordering::Relaxed);
        return 0;
    }
    let place = (shared().at(STACKS_OFFSET) + used) as *mut u64;
    // SAFETY: inside the stacks area.
    unsafe {
        place.write(frames.len() as u64);
        core::ptr::copy_nonoverlapping(frames.as_ptr(), place.add(1), frames.len());
    }
    control
        .stacks
        .store((used + 8 * (frames.len() + 1)) as u32, Ordering::Release);
    let index = (used / 8) as u32 + 1;
    recorder.stacks.insert(hash, index);
    index
}
