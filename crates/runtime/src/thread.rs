//! A logical thread: a fiber with somebody's thread-local storage.

use crate::io::Probe;
use crate::queues::Place;
use alloc::vec::Vec;
use raddle_abi::site::{Operation, SiteId};

/// Whether a thread can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It can run.
    Ready,
    /// It waits, see [`Thread::wait`].
    Blocked,
    /// It has ended.
    Done,
}

/// What a blocked thread waits for.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// What it is blocked in.
    pub operation: Operation,
    /// Futex address, thread number, or 0.
    pub object: usize,
    /// Futex bit set.
    pub bits: u32,
    /// Virtual time at which the wait ends by itself; `u64::MAX` for never.
    pub deadline: u64,
    /// Where it stands among those who wait for `object`.
    pub place: Place,
    /// Scheduling point since which it waits.
    pub since: u64,
    /// Virtual time since which it waits.
    pub begun: u64,
    /// Where it waits.
    pub site: SiteId,
    /// Whether the thread does nothing when the wait is over before its next point.
    pub ends_quietly: bool,
    /// The object that it takes as soon as the wait is over, if that is another one; else 0.
    pub then_takes: usize,
    /// What the word at `object` held when the wait began: another value ends the wait, where
    /// native threads may have written it.
    pub expects: Option<u32>,
    /// What kind of object it is: bits of [`raddle_abi::record::wake`].
    pub kind: u32,
}

impl Wait {
    /// Waits for nothing.
    pub const NONE: Self = Self {
        operation: Operation::Unknown,
        object: 0,
        bits: !0,
        deadline: u64::MAX,
        place: Place::NONE,
        since: 0,
        begun: 0,
        site: 0,
        ends_quietly: false,
        then_takes: 0,
        expects: None,
        kind: 0,
    };
}

/// What a thread has read lately without changing anything: the sign of a spin loop.
#[derive(Clone, Copy, Debug)]
pub struct Spin {
    /// Site of the last atomic load or failed exchange.
    pub site: SiteId,
    /// Its address.
    pub address: usize,
    /// What it read.
    pub value: u64,
    /// How often in a row it read the same there.
    pub same: u32,
    /// Atomic operations since the thread last changed anything.
    pub idle: u32,
    /// Hints and loads that are no scheduling points any more, if the thread changes nothing.
    quiet: u32,
}

impl Spin {
    /// Nothing read yet.
    pub const NONE: Self = Self {
        site: 0,
        address: 0,
        value: 0,
        same: 0,
        idle: 0,
        quiet: 0,
    };

    /// Equal reads at one site after which a loop counts as spinning.
    const SAME: u32 = 2;
    /// Operations without a change after which a loop over several sites does.
    const IDLE: u32 = 64;
    /// More hints and loads than there are in the loops that locks spin before they make a thread sleep.
    const BOUNDED: u32 = 512;

    /// What the thread spins from here on, and does not change, is one step.
    pub fn is_one_step(&mut self) {
        self.quiet = Self::BOUNDED;
    }

    /// Whether a hint or a load is no scheduling point, which counts it.
    #[inline(always)]
    pub fn is_quiet(&mut self) -> bool {
        let is_quiet = self.quiet > 0;
        self.quiet -= u32::from(is_quiet);
        is_quiet
    }

    /// Whether the operation that is about to happen at `site` looks like one more turn of a
    /// spin loop, so that others should go first.
    #[inline(always)]
    pub fn spins(&self, site: SiteId, address: usize) -> bool {
        (self.same >= Self::SAME && self.site == site && self.address == address)
            || self.idle >= Self::IDLE
    }

    /// An atomic operation read `value` and changed nothing.
    #[inline(always)]
    pub fn saw(&mut self, site: SiteId, address: usize, value: u64) {
        self.idle += 1;
        if self.site == site && self.address == address && self.value == value {
            self.same += 1;
        } else {
            (self.site, self.address, self.value, self.same) = (site, address, value, 0);
        }
    }

    /// The thread changed something.
    #[inline(always)]
    pub fn progressed(&mut self) {
        self.same = 0;
        self.idle = 0;
        self.site = 0;
        self.quiet = 0;
    }
}

/// Where a thread stands with its cancellation.
#[derive(Clone, Copy, Debug)]
pub struct Cancel {
    /// Somebody has cancelled it.
    pub pending: bool,
    /// It does not want to be cancelled now.
    pub disabled: bool,
    /// It can be cancelled anywhere, not only at cancellation points.
    pub asynchronous: bool,
    /// It is blocked at a cancellation point.
    pub waits: bool,
    /// It was woken there by its cancellation.
    pub woken: bool,
}

impl Cancel {
    /// As a thread starts.
    pub const NONE: Self = Self {
        pending: false,
        disabled: false,
        asynchronous: false,
        waits: false,
        woken: false,
    };
}

/// A logical thread. Numbers are given in order of creation and never reused in an execution.
#[derive(Clone)]
pub struct Thread {
    /// Saved stack pointer while it does not run.
    pub sp: usize,
    /// FS base of its thread-local storage.
    pub fs: usize,
    /// Its stack, from lowest address to highest.
    pub stack: (usize, usize),
    /// The part of it that needs no look: start and length.
    pub private: (usize, usize),
    /// Lowest address in it that was passed to a thread: others may look from there upwards.
    pub passed: usize,
    /// Whether it can run.
    pub state: State,
    /// What it waits for, if blocked.
    pub wait: Wait,
    /// Whether its last wait ended by time.
    pub timed_out: bool,
    /// Nobody will join it.
    pub detached: bool,
    /// Somebody has joined it.
    pub joined: bool,
    /// Start function.
    pub start: usize,
    /// Argument of the start function.
    pub argument: usize,
    /// Its result.
    pub result: usize,
    /// Its `pthread_t`.
    pub pthread: usize,
    /// Index of the donor of its thread-local storage; `usize::MAX` for the first thread.
    pub donor: usize,
    /// Destructors of thread-local objects: function and object.
    pub destructors: Vec<(usize, usize)>,
    /// Where it stands with its cancellation.
    pub cancel: Cancel,
    /// Cleanup handlers of C, oldest first, by their buffers.
    pub cleanups: Vec<usize>,
    /// Robust mutexes that it has.
    pub robust: Vec<usize>,
    /// Once controls whose routines it is in.
    pub onces: Vec<usize>,
    /// How to find out whether its wait for input or output may be over.
    pub probe: Probe,
    /// Further objects that it waits for while it is blocked.
    pub also_waits_for: Vec<usize>,
    /// The object on which it was last woken.
    pub woken_by: usize,
    /// Signals that it blocks.
    pub mask: u64,
    /// Signals sent to it and not handled yet.
    pub pending_signals: u64,
    /// Signals that it waits for while it is blocked.
    pub awaits: u64,
    /// It will handle its signals before it goes on.
    pub delivers: bool,
    /// Whether a signal handler ends its wait.
    pub interruptible: bool,
    /// Whether the handlers that ended its wait let the call go on.
    pub restarts: bool,
    /// Whether its last wait was ended by a signal handler.
    pub interrupted: bool,
    /// How deep it is in user code; 0 in std's own start and exit code.
    pub user_depth: u32,
    /// Whether it has come from std's start code to the user's.
    pub entered: bool,
    /// Site of the last hook.
    pub site: SiteId,
    /// Signs of spinning.
    pub spin: Spin,
    /// Lock that it is trying to get, or 0.
    pub wants: usize,
    /// Whether it waits for that lock before it has tried for it in earnest (see
    /// [`crate::locks::wanted_again`]).
    pub hopes: bool,
    /// Lock that its next change of memory releases, or 0.
    pub leaves: usize,
    /// Point at which it last woke nobody without a point of its own.
    pub idle_wake: u64,
    /// Slot of its vector clock.
    pub clock: u16,
    /// The thread that started it.
    pub parent: u16,
    /// How often it has panicked.
    pub panics: u32,
}

impl Thread {
    /// A thread that can run, with nothing filled in.
    pub const fn new() -> Self {
        Self {
            sp: 0,
            fs: 0,
            stack: (0, 0),
            private: (0, 0),
            passed: usize::MAX,
            state: State::Ready,
            wait: Wait::NONE,
            timed_out: false,
            detached: false,
            joined: false,
            start: 0,
            argument: 0,
            result: 0,
            pthread: 0,
            donor: usize::MAX,
            destructors: Vec::new(),
            cancel: Cancel::NONE,
            cleanups: Vec::new(),
            robust: Vec::new(),
            onces: Vec::new(),
            probe: Probe::Try,
            also_waits_for: Vec::new(),
            woken_by: 0,
            mask: 0,
            pending_signals: 0,
            awaits: 0,
            delivers: false,
            interruptible: false,
            restarts: false,
            interrupted: false,
            user_depth: 1,
            entered: true,
            site: 0,
            spin: Spin::NONE,
            wants: 0,
            hopes: false,
            leaves: 0,
            idle_wake: u64::MAX,
            clock: 0,
            parent: 0,
            panics: 0,
        }
    }

    /// Whether an address lies in the part of its stack that it has not passed to another thread.
    #[inline(always)]
    pub fn owns(&self, address: usize) -> bool {
        let (low, high) = self.stack;
        address >= low && address < high.min(self.passed)
    }

    /// The seat of the OS thread that its storage belongs to.
    #[inline(always)]
    pub const fn seat(&self) -> usize {
        // The first thread has no donor.
        self.donor.wrapping_add(1)
    }
}

impl Default for Thread {
    fn default() -> Self {
        Self::new()
    }
}
