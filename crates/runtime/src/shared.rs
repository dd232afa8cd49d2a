//! Memory shared with the tool, and memory shared with forked children.

use crate::arch::{self, nr};
use crate::global::Global;
use crate::oracles::stacks;
use crate::own;
use crate::view::Need;
use core::sync::atomic::Ordering;
use raddle_abi::ABI_VERSION;
use raddle_abi::control::{self, Control};
use raddle_abi::plan::Decision;

/// What parent and forked children both change.
pub struct Family {
    /// An execution did something to the kernel's state that a snapshot cannot undo.
    pub needs_fork: bool,
    /// Whether executions need a private view of the file system.
    pub view: Need,
    /// How the forked execution ended, as `host` encodes it.
    pub child_end: u64,
    /// Longest execution so far, in points.
    pub longest: u64,
    /// First word of the test function's result when it passes, once a test that returned it has passed.
    pub passing_value: Option<u64>,
    /// Which parts of stacks several threads touch.
    pub stacks: stacks::Known,
    /// Keys of findings already reported, so that each is written down once.
    pub known: [u64; KNOWN],
    /// Number of entries of `known`.
    pub known_count: usize,
}

const KNOWN: usize = 4096;

/// Handle on both.
pub struct Shared {
    control: *mut Control,
    family: *mut Family,
    /// Points of all executions before this one.
    base: u64,
}

static SHARED: Global<Shared> = Global::new(Shared {
    control: core::ptr::null_mut(),
    family: core::ptr::null_mut(),
    base: 0,
});

/// The shared memory. Only valid after [`attach`].
#[inline(always)]
pub fn shared() -> &'static mut Shared {
    SHARED.get()
}

/// Whether there is a tool.
pub fn is_attached() -> bool {
    !SHARED.get().control.is_null()
}

/// Maps the tool's memory. False if it is not what this runtime can work with.
pub fn attach(descriptor: usize) -> bool {
    let address = own::map(control::CONTROL_SIZE);
    let flags = arch::MAP_SHARED | arch::MAP_FIXED;
    // SAFETY: replaces a mapping of our own.
    let mapped = unsafe {
        arch::syscall(
            nr::MMAP,
            [
                address,
                control::CONTROL_SIZE,
                arch::PROT_READ_WRITE,
                flags,
                descriptor,
                0,
            ],
        )
    };
    if mapped != address as isize {
        return false;
    }
    let shared = SHARED.get();
    shared.control = address as *mut Control;
    if shared.control().magic != control::CONTROL_MAGIC || shared.control().version != ABI_VERSION {
        return false;
    }
    shared.family = own::map_shared(core::mem::size_of::<Family>()) as *mut Family;
    // SAFETY: the program must not find the descriptor; nothing else uses it.
    unsafe { arch::syscall(nr::CLOSE, [descriptor, 0, 0, 0, 0, 0]) };
    true
}

/// Tells the tool that the runtime ends the worker by itself, if there is a tool to be told.
pub fn note_failure(code: u32) {
    let shared = SHARED.get();
    if !shared.control.is_null() {
        shared.control().failure.store(code, Ordering::Release);
    }
}

impl Shared {
    /// Whether there is such memory: not in unit tests.
    pub fn is_attached(&self) -> bool {
        !self.control.is_null()
    }

    /// The header of the tool's memory.
    #[inline(always)]
    pub fn control(&self) -> &'static Control {
        // SAFETY: mapped by `attach`, shared fields are atomic.
        unsafe { &*self.control }
    }

    /// Address of a part of the tool's memory.
    #[inline(always)]
    pub fn at(&self, offset: usize) -> usize {
        self.control as usize + offset
    }

    /// What parent and children share.
    pub fn family(&mut self) -> &'static mut Family {
        // SAFETY: mapped by `attach`; parent and child never run at the same time.
        unsafe { &mut *self.family }
    }

    /// Tells the watchdog how far the execution is.
    #[inline(always)]
    pub fn heartbeat(&self, point: u64) {
        self.control()
            .points
            .store(self.base + point, Ordering::Relaxed);
    }

    /// Counts an execution's points into the total.
    pub fn add_points(&mut self, points: u64) {
        self.base += points;
        self.control().points.store(self.base, Ordering::Relaxed);
    }

    /// Appends a decision.
    pub fn note_decision(&self, decision: Decision) {
        let count = self.control().decisions.load(Ordering::Relaxed) as usize;
        if count >= control::DECISIONS_CAPACITY {
            return;
        }
        let place = self.at(control::DECISIONS_OFFSET) as *mut Decision;
        // SAFETY: inside the decisions area.
        unsafe { place.add(count).write(decision) };
        self.control()
            .decisions
            .store(count as u32 + 1, Ordering::Release);
    }

    /// Counts a decision that makes a thread wait that could go on.
    pub fn note_preemption(&self) {
        let count = &self.control().preemptions;
        // Only the running thread writes it.
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// The decisions of the execution under way.
    pub fn decisions(&self) -> &'static [Decision] {
        let count = self.control().decisions.load(Ordering::Relaxed) as usize;
        // SAFETY: that many were written.
        unsafe {
            core::slice::from_raw_parts(
                self.at(control::DECISIONS_OFFSET) as *const Decision,
                count,
            )
        }
    }

    /// Appends to the output of the execution under way.
    pub fn note_output(&self, text: &[u8]) {
        let used = self.control().output.load(Ordering::Relaxed) as usize;
        let fits = text.len().min(control::OUTPUT_SIZE - used);
        let place = (self.at(control::OUTPUT_OFFSET) + used) as *mut u8;
        // SAFETY: inside the output area.
        unsafe { core::ptr::copy_nonoverlapping(text.as_ptr(), place, fits) };
        self.control()
            .output
            .store((used + fits) as u32, Ordering::Release);
    }

    /// The output of the execution under way.
    pub fn output(&self) -> &'static [u8] {
        let used = self.control().output.load(Ordering::Relaxed) as usize;
        // SAFETY: that many bytes were written.
        unsafe { core::slice::from_raw_parts(self.at(control::OUTPUT_OFFSET) as *const u8, used) }
    }

    /// Forgets all that was written after these bytes.
    pub fn cut_output(&self, bytes: usize) {
        self.control()
            .output
            .fetch_min(bytes as u32, Ordering::Relaxed);
    }

    /// Notes a condition of [`control::conditions`].
    pub fn note_condition(&self, condition: u32) {
        self.control()
            .conditions
            .fetch_or(condition, Ordering::Relaxed);
    }

    /// Whether a finding with this key is new; remembers it.
    pub fn is_new(&mut self, key: u64) -> bool {
        let family = self.family();
        let known = &family.known[..family.known_count];
        if known.contains(&key) {
            return false;
        }
        if family.known_count < KNOWN {
            family.known[family.known_count] = key;
            family.known_count += 1;
        }
        true
    }
}
