//! Records every event of an execution, with stacks, for a replay that is to be explained.
//!
//! A plain access is announced before it happens, so its value is looked at later: before the next
//! event, or before another thread is picked, nobody else can have changed the memory.

use crate::activations;
use crate::global::Global;
use crate::shared::shared;
use crate::stack;
use crate::world::world;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;
use raddle_abi::control::{EVENTS_OFFSET, EVENTS_SIZE, STACKS_OFFSET, STACKS_SIZE};
use raddle_abi::record::{EXPIRY, NO_THREAD, PICK, RawEvent, flags, without_address};
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
    /// The plain access whose value is not recorded yet.
    unread: Option<Unread>,
}

/// A plain access that has been announced.
#[derive(Clone, Copy)]
struct Unread {
    /// Its place among the events.
    index: usize,
    address: usize,
    len: usize,
}

/// Most bytes of an access whose words are recorded one by one.
const WORDS: usize = 64;
/// Most bytes of an access that its hash is made of.
const HASHED: usize = 1 << 16;

static RECORDER: Global<Recorder> = Global::new(Recorder {
    stacks: BTreeMap::new(),
    last_thread: 0,
    last_point: u64::MAX,
    frames: Vec::new(),
    unread: None,
});

/// Starts an empty recording.
pub fn begin() {
    let recorder = RECORDER.get();
    recorder.stacks.clear();
    recorder.last_thread = 0;
    recorder.last_point = u64::MAX;
    recorder.frames.clear();
    recorder.unread = None;
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

/// Records that a deadline passes although a thread can run: whose, or that of a timer, by how many
/// nanoseconds time advances for that, and how many the wait would have taken.
pub fn expiry(thread: Option<usize>, advanced: u64, waited: u64) {
    if !is_on() {
        return;
    }
    let execution = &world().execution;
    append(RawEvent {
        operation: EXPIRY,
        thread: thread.map_or(NO_THREAD, |number| number as u16),
        site: thread.map_or(0, |number| execution.threads[number].wait.site),
        address: waited,
        value: advanced,
        len: 0,
        order: 0,
        flags: 0,
        stack: 0,
        point: execution.point as u32,
    });
}

/// Appends an event to the shared memory, if it fits, after the value of the access before.
fn append(event: RawEvent) {
    look();
    put(event);
}

fn put(event: RawEvent) {
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

/// The kernel is about to change or unmap memory, perhaps.
pub fn look_before_call() {
    if is_on() {
        look();
    }
}

/// The last plain access did not happen: it was interrupted by a fault.
pub fn forget() {
    RECORDER.get().unread = None;
}

/// Looks at what the last plain access read or wrote, while nothing else can have changed it.
fn look() {
    if let Some(unread) = RECORDER.get().unread.take() {
        look_at(unread);
    }
}

#[cold]
#[inline(never)]
fn look_at(unread: Unread) {
    let Unread {
        index,
        address,
        len,
    } = unread;
    let word = |offset: usize| {
        let mut bytes = [0; 8];
        let count = (len - offset).min(8);
        // SAFETY: the program has just touched these bytes, and they are still mapped.
        unsafe {
            core::ptr::copy_nonoverlapping(
                (address + offset) as *const u8,
                bytes.as_mut_ptr(),
                count,
            );
        }
        u64::from_le_bytes(bytes)
    };
    let place = shared().at(EVENTS_OFFSET) as *mut RawEvent;
    // SAFETY: an event that was written before.
    let event = unsafe { &mut *place.add(index) };
    if len <= 8 {
        event.value = word(0);
        return;
    }
    let offsets = (0..len.min(HASHED)).step_by(8);
    event.value = offsets.fold(0xcbf2_9ce4_8422_2325, |hash: u64, offset| {
        (hash ^ without_address(word(offset))).wrapping_mul(0x0100_0000_01b3)
    });
    if len > WORDS {
        return;
    }
    let access = *event;
    for offset in (0..len).step_by(8) {
        put(RawEvent {
            operation: Operation::Value as u16,
            address: (address + offset) as u64,
            value: word(offset),
            len: (len - offset).min(8) as u32,
            flags: 0,
            ..access
        });
    }
}

/// Records a plain access of the running thread that is about to happen, if the plan asks for it.
#[inline(always)]
pub fn access(operation: Operation, address: usize, len: usize, site: SiteId) {
    if is_on() {
        write(operation, address as u64, 0, len as u32, 0, site);
        announced(address, len);
    }
}

/// The event that was just written is of an access that is about to happen.
fn announced(address: usize, len: usize) {
    let control = shared().control();
    let is_written = control.record_overflow.load(Ordering::Relaxed) == 0;
    let count = control.events.load(Ordering::Relaxed) as usize;
    RECORDER.get().unread = count
        .checked_sub(1)
        .filter(|_| is_written && len > 0)
        .map(|index| Unread {
            index,
            address,
            len,
        });
}

/// Records an event of the running thread, if the plan asks for it.
#[inline(always)]
pub fn event(operation: Operation, address: u64, value: u64, len: u32, order: u16, site: SiteId) {
    if is_on() {
        write(operation, address, value, len, order, site);
    }
}

/// The load that was just recorded has read a store that lies `age` before the newest one.
pub fn is_old(age: usize) {
    let control = shared().control();
    let count = control.events.load(Ordering::Relaxed) as usize;
    if !is_on() || count == 0 || control.record_overflow.load(Ordering::Relaxed) != 0 {
        return;
    }
    let place = shared().at(EVENTS_OFFSET) as *mut RawEvent;
    // SAFETY: an event that was written before.
    let event = unsafe { &mut *place.add(count - 1) };
    event.flags |= (age as u16) << flags::AGE_SHIFT;
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
