//! The state of one execution: everything that starts afresh with the next one.

use crate::delivery::Signals;
use crate::heap::HeapState;
use crate::oracles::livelock::Home;
use crate::oracles::places::Places;
use crate::posix_timers::PosixTimer;
use crate::queues::Queues;
use crate::thread::{State, Thread};
use crate::timers::Timer;
use crate::world::GATE;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;
use raddle_abi::site::SiteId;
use raddle_schedule::strategy::{Arrivals, Pending};

/// A lock that is held.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// Address of the lock.
    pub lock: usize,
    /// Who holds it.
    pub thread: u16,
    /// Whether others may hold it too.
    pub shared: bool,
}

/// A panic that began.
#[derive(Clone, Debug)]
pub struct Panic {
    /// Who panicked.
    pub thread: u16,
    /// Where, as far as the last hook tells.
    pub site: SiteId,
    /// Return addresses, innermost first.
    pub frames: Vec<u64>,
}

/// A call of `exit` by the program itself.
#[derive(Clone, Debug)]
pub struct Exit {
    /// Thread that called it.
    pub thread: u16,
    /// Return addresses, innermost first.
    pub frames: Vec<u64>,
}

/// A destructor registered with `pthread_key_create`.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// libc's number of the key.
    pub key: u32,
    /// The destructor, or 0.
    pub destructor: usize,
}

/// Accesses without a scheduling point, to memory that is not the thread's own. A thread that has
/// made very many waits for others, if anything: they go first.
#[derive(Clone, Copy, Debug)]
pub struct Accesses {
    count: u32,
    most: u32,
}

impl Accesses {
    /// None so far.
    pub const NONE: Self = Self {
        count: 0,
        most: 1 << 14,
    };
    /// How many there may be if one of them writes, so that something gets on.
    const MOST_WITH_WRITES: u32 = 1 << 20;

    /// Counts one. True if there are too many.
    #[inline(always)]
    pub fn add(&mut self, write: bool) -> bool {
        self.count += 1;
        if write {
            self.most = Self::MOST_WITH_WRITES;
        }
        self.count >= self.most
    }
}

/// Accesses to its own stack that a thread may make without a scheduling point. Most loops there
/// only compute.
const MOST_OWN_ACCESSES: usize = 1 << 18;

/// Lets the running thread make that many from here on.
#[inline(always)]
pub fn renew_own_accesses() {
    GATE.accesses_left
        .store(MOST_OWN_ACCESSES, Ordering::Relaxed);
}

/// State of one execution. The host keeps a copy from the start of executions.
#[derive(Clone)]
pub struct Execution {
    /// The running thread.
    pub current: usize,
    /// All threads of this execution, by number.
    pub threads: Vec<Thread>,
    /// The threads that can run, in ascending order.
    pub enabled: Vec<u16>,
    /// Who of them was added last.
    pub arrivals: Arrivals,
    /// What each thread stands before.
    pub pending: Vec<Pending>,
    /// How often each thread was picked.
    pub steps: Vec<u32>,
    /// Threads that have not ended.
    pub alive: usize,
    /// The running thread has done nothing since it was picked: what it did last lies behind
    /// it, and its next operation before its next point.
    pub just_picked: bool,
    /// Scheduling points passed.
    pub point: u64,
    /// Switches made.
    pub switches: u64,
    /// Hash over all points.
    pub hash: u64,
    /// Plain accesses of the running thread since its last point.
    pub accesses: Accesses,
    /// Points since anything changed that there were only because a thread made many accesses.
    pub computing: u64,
    /// Virtual nanoseconds since the start of the program.
    pub now: u64,
    /// Threads in a wait with a deadline, or that were in one.
    pub timed: Vec<u16>,
    /// Whether time has advanced to a deadline although a thread could run.
    pub expired_early: bool,
    /// Looks at the clock since anything changed.
    pub clock_reads: u32,
    /// Nanoseconds that each look at the clock takes longer, because the program under test asked for it.
    pub slow_clock: u32,
    /// Whether all who wait for input or output have looked for it since anything changed.
    pub looked: bool,
    /// Real nanoseconds waited for the world outside since virtual time last passed.
    pub waited: u64,
    /// Yields, over all threads, since anything changed.
    pub yields: u32,
    /// Point at which something last changed (see the livelock oracle).
    pub progress: u64,
    /// State of the generator behind `getrandom`.
    pub random: u64,
    /// Who waits for what.
    pub queues: Queues,
    /// Threads with [`Thread::hopes`].
    pub hoping: u32,
    /// Those of them that may go on, and have not yet.
    pub hopeful: Vec<u16>,
    /// Locks that are held.
    pub held: Vec<Held>,
    /// Panics so far.
    pub panics: Vec<Panic>,
    /// The call of `exit` that ends the execution.
    pub exit: Option<Exit>,
    /// Registered thread-specific keys.
    pub keys: Vec<Key>,
    /// Signals of the process.
    pub signals: Signals,
    /// Timers that run.
    pub timers: Vec<Timer>,
    /// Timers of POSIX that were created, by number.
    pub posix_timers: Vec<PosixTimer>,
    /// Times that the clock has jumped for timers since anybody could run.
    pub idle_jumps: u32,
    /// Mappings made by the program since the start of executions.
    pub mappings: Vec<(usize, usize)>,
    /// The program's heap.
    pub heap: HeapState,
    /// While new threads wait behind a gate, the number of the first of them.
    pub gate: Option<usize>,
    /// Whether the strategy was set aside because the execution is long, or stands still.
    pub fair: bool,
    /// Whether the test has returned: what follows until the program ends has one order only.
    pub is_over: bool,
    /// Point at which the livelock oracle looks again.
    pub check_at: u64,
    /// Where threads have been while nothing changed.
    pub places: Places,
    /// Where threads that go round are shown, by number.
    pub homes: Vec<Home>,
    /// Whether code that may synchronise unseen has run.
    pub unseen_synchronisation: bool,
}

impl Execution {
    /// Before anything has run.
    pub const fn new() -> Self {
        Self {
            current: 0,
            threads: Vec::new(),
            enabled: Vec::new(),
            arrivals: Arrivals::new(),
            pending: Vec::new(),
            steps: Vec::new(),
            alive: 0,
            just_picked: false,
            point: 0,
            switches: 0,
            hash: 0,
            accesses: Accesses::NONE,
            computing: 0,
            now: 0,
            timed: Vec::new(),
            expired_early: false,
            clock_reads: 0,
            slow_clock: 0,
            looked: false,
            waited: 0,
            yields: 0,
            hoping: 0,
            hopeful: Vec::new(),
            progress: 0,
            random: 0,
            queues: Queues::new(),
            held: Vec::new(),
            panics: Vec::new(),
            exit: None,
            keys: Vec::new(),
            signals: Signals::NONE,
            timers: Vec::new(),
            posix_timers: Vec::new(),
            idle_jumps: 0,
            mappings: Vec::new(),
            heap: HeapState::new(),
            gate: None,
            fair: false,
            is_over: false,
            check_at: 0,
            places: Places::new(),
            homes: Vec::new(),
            unseen_synchronisation: false,
        }
    }

    /// Goes back to `start`, reusing all memory. Every field is named, so that none is
    /// forgotten. The heap goes back only if its contents do.
    pub fn restart(&mut self, start: &Self, with_heap: bool) {
        let Self {
            current,
            threads,
            enabled,
            arrivals: _,
            pending,
            steps,
            alive,
            just_picked: _,
            point: _,
            switches: _,
            hash: _,
            accesses: _,
            computing: _,
            now,
            timed,
            expired_early: _,
            clock_reads: _,
            slow_clock: _,
            looked: _,
            waited: _,
            yields: _,
            progress: _,
            random,
            queues,
            hoping,
            hopeful,
            held,
            panics: _,
            exit: _,
            keys,
            signals,
            timers,
            posix_timers,
            idle_jumps: _,
            mappings: _,
            heap,
            gate: _,
            fair: _,
            is_over: _,
            check_at: _,
            places: _,
            homes: _,
            unseen_synchronisation: _,
        } = start;
        self.current = *current;
        self.threads.truncate(threads.len());
        for (mine, theirs) in self.threads.iter_mut().zip(threads) {
            mine.clone_from(theirs);
        }
        refill(&mut self.enabled, enabled);
        self.arrivals = Arrivals::new();
        refill(&mut self.pending, pending);
        refill(&mut self.steps, steps);
        self.alive = *alive;
        self.just_picked = false;
        self.point = 0;
        self.switches = 0;
        self.hash = 0;
        self.accesses = Accesses::NONE;
        self.computing = 0;
        renew_own_accesses();
        self.now = *now;
        refill(&mut self.timed, timed);
        self.expired_early = false;
        self.clock_reads = 0;
        self.slow_clock = 0;
        self.looked = false;
        self.waited = 0;
        self.yields = 0;
        self.progress = 0;
        self.random = *random;
        self.queues.restart(queues);
        self.hoping = *hoping;
        refill(&mut self.hopeful, hopeful);
        refill(&mut self.held, held);
        self.panics.clear();
        self.exit = None;
        refill(&mut self.keys, keys);
        self.signals = *signals;
        self.signals.set = 0;
        refill(&mut self.timers, timers);
        refill(&mut self.posix_timers, posix_timers);
        self.idle_jumps = 0;
        self.mappings.clear();
        if with_heap {
            self.heap.restore(heap);
        }
        self.gate = None;
        self.fair = false;
        self.is_over = false;
        self.check_at = 0;
        self.places.forget();
        self.homes.clear();
        self.unseen_synchronisation = false;
    }

    /// The running thread.
    #[inline(always)]
    pub fn running(&mut self) -> &mut Thread {
        debug_assert!(self.current < self.threads.len());
        // SAFETY: `current` is the number of a thread; on the way of every hook.
        unsafe { self.threads.get_unchecked_mut(self.current) }
    }

    /// Adds a thread that can run, unless it waits behind a gate, and returns its number.
    pub fn add_thread(&mut self, thread: Thread) -> usize {
        let number = self.threads.len();
        self.threads.push(thread);
        self.pending.push(Pending::UNKNOWN);
        self.steps.push(0);
        if self.gate.is_none() {
            self.enabled.push(number as u16);
            self.arrivals.push(number);
        }
        self.alive += 1;
        number
    }

    /// From now on new threads wait, so that none is ahead of another.
    pub fn close_gate(&mut self) {
        self.gate = Some(self.threads.len());
    }

    /// Lets all those run who wait.
    pub fn open_gate(&mut self) {
        let first = self.gate.take().unwrap_or(self.threads.len());
        for number in first..self.threads.len() {
            self.enable_in_queue(number);
        }
    }

    /// Something has changed: whoever waits for a change may go on.
    #[inline(always)]
    pub fn changed(&mut self) {
        self.just_picked = false;
        self.progress = self.point;
        self.computing = 0;
        self.looked = false;
        self.yields = 0;
        self.clock_reads = 0;
    }

    /// Makes a thread wait for `object`, behind those who already do.
    pub fn enqueue(&mut self, number: usize, object: usize) {
        let thread = &mut self.threads[number];
        thread.wait.object = object;
        thread.wait.place = self.queues.join(number, object, &thread.also_waits_for);
    }

    /// Takes a thread out of the queue it waits in.
    pub fn dequeue(&mut self, number: usize) {
        let thread = &mut self.threads[number];
        self.queues.leave(thread.wait.place);
        thread.also_waits_for.clear();
    }

    /// The threads that wait for `object`, first come first.
    pub fn queue(&self, object: usize) -> impl Iterator<Item = usize> + '_ {
        self.queues.waiting(object)
    }

    /// Whether a thread still stands in the queue of what it waits for.
    pub fn is_queued(&self, number: usize) -> bool {
        self.queues.contain(number)
    }

    /// Makes a blocked thread able to run that keeps its place in its queue.
    pub fn enable_in_queue(&mut self, number: usize) {
        self.threads[number].state = State::Ready;
        if let Err(place) = self.enabled.binary_search(&(number as u16)) {
            self.enabled.insert(place, number as u16);
            self.arrivals.push(number);
        }
    }

    /// Makes a thread able to run.
    pub fn enable(&mut self, number: usize) {
        self.dequeue(number);
        self.enable_in_queue(number);
    }

    /// Makes a thread unable to run.
    pub fn disable(&mut self, number: usize) {
        if let Ok(place) = self.enabled.binary_search(&(number as u16)) {
            self.enabled.remove(place);
        }
    }
}

fn refill<T: Copy>(vector: &mut Vec<T>, from: &[T]) {
    vector.clear();
    vector.extend_from_slice(from);
}

impl Default for Execution {
    fn default() -> Self {
        Self::new()
    }
}
