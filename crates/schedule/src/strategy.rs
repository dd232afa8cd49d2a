//! What a strategy sees and decides, and the rule that applies when nothing was decided.

use crate::experience::{Experience, Learnt};
use crate::log::Log;
use raddle_abi::control::searched;
use raddle_abi::site::{Operation, SiteId};

/// What a thread is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Kind of the operation.
    pub operation: Operation,
    /// Whether it may change what `address` points at, or who can run.
    pub write: bool,
    /// Address touched, or 0.
    pub address: usize,
    /// Site, or 0.
    pub site: SiteId,
    /// Key of that site, or 0 if unknown. [`Strategy::needs_site_keys`] says who reads it.
    pub site_key: u64,
}

impl Pending {
    /// Nothing known, as for a thread that has not begun to run.
    pub const UNKNOWN: Self = Self {
        operation: Operation::Unknown,
        write: false,
        address: 0,
        site: 0,
        site_key: 0,
    };
}

/// The threads that became able to run last, for strategies that keep account of who can.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// The `n`-th one of the execution stands at `n` modulo the length.
    last: [u16; Self::KEPT],
    total: u64,
}

impl Arrivals {
    const KEPT: usize = 16;

    /// Nobody yet.
    pub const fn new() -> Self {
        Self {
            last: [0; Self::KEPT],
            total: 0,
        }
    }

    /// A thread was added that can run, or one that could not is able to now.
    #[inline(always)]
    pub fn push(&mut self, thread: usize) {
        self.last[self.total as usize % Self::KEPT] = thread as u16;
        self.total += 1;
    }

    /// How many there were in this execution.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Those after the first `seen`, if they are still known.
    pub fn since(&self, seen: u64) -> Option<impl Iterator<Item = usize> + '_> {
        let is_known = seen <= self.total && self.total - seen <= Self::KEPT as u64;
        let thread = |number: u64| usize::from(self.last[number as usize % Self::KEPT]);
        is_known.then(|| (seen..self.total).map(thread))
    }
}

impl Default for Arrivals {
    fn default() -> Self {
        Self::new()
    }
}

/// The state of an execution at a scheduling point.
///
/// Every pick has its own pair of `current` and `steps[current]`, because `current` is the
/// thread that the previous pick returned (thread 0 before the first one) and `steps[t]` is
/// the number of picks that returned `t`. Schedules name picks by this pair.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The thread that ran until here.
    pub current: usize,
    /// Whether it can go on.
    pub current_enabled: bool,
    /// The threads that can run, in ascending order; never empty.
    pub enabled: &'a [u16],
    /// Who of them was added last, where that is known.
    pub arrivals: Option<&'a Arrivals>,
    /// What each thread stands before, by thread number.
    pub pending: &'a [Pending],
    /// How often each thread was picked, by thread number.
    pub steps: &'a [u32],
    /// Picks of the whole execution before this one.
    pub point: u64,
    /// The value of `point` when anything that other threads can see was changed last, at least.
    pub last_change: u64,
    /// The current thread has just yielded, or was seen to spin: others go first if there are any.
    pub yielded: bool,
    /// The deadline that passes next, if the strategy may pick [`TIME`] here.
    pub expiry: Option<Expiry>,
}

/// The earliest deadline of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// The thread that waits for it; none for a timer.
    pub thread: Option<usize>,
    /// The object that the thread waits for as well, or 0: who wakes it before its deadline does
    /// so through this object.
    pub object: usize,
    /// Whether time advances for it; else it has passed already, but its thread has not gone on.
    pub is_early: bool,
    /// Names how long each thread and timer still has to wait: states that differ in nothing else
    /// differ here.
    pub times: u64,
}

impl View<'_> {
    /// Whether the current thread may simply go on: it can run, and has not yielded while
    /// somebody else could run.
    #[inline]
    pub fn may_continue(&self) -> bool {
        self.current_enabled && !(self.yielded && self.enabled.len() > 1)
    }

    /// Whether the pick of `thread` makes one wait that could simply go on.
    pub fn preempts(&self, thread: usize) -> bool {
        thread != self.current && self.may_continue()
    }

    /// Number of threads that a strategy may choose from (see [`View::candidate`]).
    #[inline]
    pub fn candidates(&self) -> usize {
        if self.current_enabled && !self.may_continue() {
            self.enabled.len() - 1
        } else {
            self.enabled.len()
        }
    }

    /// The `index`-th of the threads to choose from: the enabled ones, without the current one
    /// if it yields to others. An index out of range gives the last of them.
    #[inline]
    pub fn candidate(&self, index: usize) -> usize {
        let mut index = index.min(self.candidates().saturating_sub(1));
        if self.current_enabled && !self.may_continue() {
            let skipped = self
                .enabled
                .partition_point(|&thread| usize::from(thread) < self.current);
            index += usize::from(index >= skipped);
        }
        self.enabled
            .get(index)
            .map_or(self.current, |&thread| usize::from(thread))
    }

    /// The same, as if only these threads could run: some of the enabled ones, in ascending order.
    pub fn among<'a>(&'a self, threads: &'a [u16]) -> View<'a> {
        let current_enabled = threads.contains(&(self.current as u16));
        View {
            enabled: threads,
            arrivals: None,
            current_enabled,
            yielded: self.yielded && current_enabled,
            expiry: None,
            ..*self
        }
    }

    /// The first enabled thread after `thread` in numerical order, beginning again after the last.
    #[inline]
    pub fn enabled_after(&self, thread: usize) -> usize {
        let next = self
            .enabled
            .partition_point(|&enabled| usize::from(enabled) <= thread);
        match self.enabled.get(next).or(self.enabled.first()) {
            Some(&thread) => usize::from(thread),
            None => self.current,
        }
    }

    /// Key of the site before which `thread` stands, or 0.
    #[inline]
    pub fn site_key(&self, thread: usize) -> u64 {
        self.pending
            .get(thread)
            .map_or(0, |pending| pending.site_key)
    }

    /// Whether `thread` can run.
    #[inline]
    pub fn is_enabled(&self, thread: usize) -> bool {
        if thread == self.current {
            return self.current_enabled;
        }
        self.enabled
            .binary_search_by(|&enabled| usize::from(enabled).cmp(&thread))
            .is_ok()
    }
}

/// The thread that runs next where a schedule says nothing:
///
/// 1. the current one, if it can run and has not yielded;
/// 2. if it has yielded, the next enabled one in numerical order, beginning again after the
///    last (that is the current one only if nobody else can run);
/// 3. if it cannot run, the enabled one with the lowest number.
///
/// The runtime notes down a decision exactly where a strategy picks another thread than this,
/// and replay applies this rule between the decisions, so both have to share it.
#[inline(always)]
pub fn default_pick(view: &View<'_>) -> usize {
    if !view.current_enabled {
        view.enabled
            .first()
            .map_or(view.current, |&thread| usize::from(thread))
    } else if view.yielded {
        view.enabled_after(view.current)
    } else {
        view.current
    }
}

/// What a search has covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// Everything that can happen with at most so many preemptions.
    Complete {
        /// The bound.
        preemptions: u32,
    },
    /// Everything that can happen, for which it took no more preemptions than that.
    All {
        /// The bound that kept nothing out.
        preemptions: u32,
    },
    /// Something was left out, for lack of room or because executions differed.
    Partial,
}

impl Search {
    /// As a number, for the memory shared with the tool (see [`searched`]).
    pub const fn word(search: Option<Self>) -> u32 {
        match search {
            None => searched::NOT_YET,
            Some(Self::Complete { preemptions }) => preemptions + 1,
            Some(Self::All { preemptions }) => searched::ALL | (preemptions + 1),
            Some(Self::Partial) => searched::PARTLY,
        }
    }

    /// What that number says.
    const fn from_word(word: u32) -> Option<Self> {
        match word {
            searched::NOT_YET | searched::ALL => None,
            searched::PARTLY => Some(Self::Partial),
            word if word & searched::ALL != 0 => Some(Self::All {
                preemptions: (word & !searched::ALL) - 1,
            }),
            word => Some(Self::Complete {
                preemptions: word - 1,
            }),
        }
    }
}

impl Learnt for Option<Search> {
    fn pass(&mut self, experience: &mut Experience<'_>) {
        let mut word = Search::word(*self);
        word.pass(experience);
        *self = Search::from_word(word);
    }
}

/// An atomic load that may read one of several values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// The thread that loads, which was picked for this.
    pub thread: usize,
    /// How often it was picked before.
    pub step: u32,
    /// What it loads from.
    pub address: usize,
    /// How many of the last stores there it may read from; at least two.
    pub choices: usize,
}

/// In place of the thread to run next: nothing that could follow is worth running.
pub const NOBODY: usize = usize::MAX;
/// In place of the thread to run next: the deadline of [`View::expiry`] passes. What waits for it
/// can run then, and [`Strategy::pick`] is called again at the same point.
pub const TIME: usize = usize::MAX - 1;

/// Picks the thread to run next. One strategy serves many executions, one after the other.
///
/// The runtime calls [`Strategy::pick`] at every scheduling point, also when the current thread
/// blocks or ends. It may leave out those where only one thread can run, and those where the
/// current thread has done nothing since it was picked.
pub trait Strategy {
    /// An execution begins, with thread 0. Everything that follows depends on `seed`, `length`
    /// (the estimated number of points) and the views only.
    fn begin(&mut self, seed: u64, length: u64);

    /// `parent` has started `thread` at the site with `site_key` (0 if unknown). Not called
    /// for thread 0.
    fn thread_started(&mut self, thread: usize, parent: usize, site_key: u64);

    /// The thread to run next, one of `view.enabled`. Or [`NOBODY`]: the execution is then broken
    /// off where that can be undone, and goes on by [`default_pick`] where it cannot. Or, where
    /// [`View::expiry`] is set, [`TIME`].
    fn pick(&mut self, view: &View<'_>) -> usize;

    /// Which store a load reads: 0 for the newest one, 1 for the one before, and so on. Nothing
    /// if the strategy only decides about threads.
    fn read(&mut self, _load: &Load) -> Option<usize> {
        None
    }

    /// Whether the strategy decides in the execution that has begun when time advances, by
    /// [`TIME`] as a pick. For strategies that only decide about threads
    /// [`crate::early_expiry`] does.
    fn decides_time(&self) -> bool {
        false
    }

    /// Whether, from now on, loads may read old values: a search of the orders of threads is then
    /// no search of all that can happen.
    fn values_may_be_old(&mut self, _may_be: bool) {}

    /// The execution has ended.
    fn end(&mut self) {}

    /// An execution begins that another strategy leads. One that learns may look on:
    /// [`Strategy::thread_started`], [`Strategy::watch`], [`Strategy::end`] and
    /// [`Strategy::learn`] are called for it as well.
    fn begin_watching(&mut self) {}

    /// The strategy that leads has picked `thread`, which stands before this.
    fn watch(&mut self, _thread: usize, _pending: &Pending) {}

    /// After an execution that followed a recorded schedule: the index of the first switch
    /// that could not be followed. After a directed one: the index of the first event that did
    /// not pass in its order.
    fn diverged(&self) -> Option<usize> {
        None
    }

    /// After a directed execution: how often a thread was let go against the plan, because
    /// nobody else could go on.
    fn released(&self) -> Option<u32> {
        None
    }

    /// The execution was continued without the strategy, because it became too long.
    fn set_aside(&mut self) {}

    /// Takes up what the execution that ended has added to [`Strategy::logs`]. Called in the
    /// process that begins executions, where the execution itself may have run in a child.
    fn learn(&mut self) {}

    /// Other places are scheduling points from now on. What was learnt may still hold; what
    /// was searched has to be searched again.
    fn points_changed(&mut self) {}

    /// For a strategy that searches: what it has searched so far, once that can be said.
    fn searched(&self) -> Option<Search> {
        None
    }

    /// Whether the search left out rounds of a loop that gives up waiting after many of them.
    fn cuts_loops_short(&self) -> bool {
        false
    }

    /// Whether the strategy has nothing more to do.
    fn is_finished(&self) -> bool {
        false
    }

    /// For a strategy that searches: how much of it is done, in thousandths, as an estimate.
    fn progress(&self) -> Option<u32> {
        None
    }

    /// Writes out all that it has learnt, or takes in what another one of its kind has: it then
    /// goes on as that one would. Called between two executions.
    fn pass(&mut self, _experience: &mut Experience<'_>) {}

    /// Shows each place where a strategy that learns writes down what it sees.
    fn logs(&mut self, _visit: &mut dyn FnMut(&mut Log)) {}

    /// Whether, in the execution that has begun, [`Pending::site_key`] must be filled in, and
    /// [`Strategy::pick`] be called where only one thread can run.
    fn needs_site_keys(&self) -> bool {
        false
    }

    /// Whether, in the execution that has begun, [`Strategy::pick`] must be called before every
    /// operation, also where the current thread has done nothing since it was picked. Whoever
    /// could be picked there could have been picked before, so that who does not look at
    /// operations, but only at who runs, loses nothing.
    fn needs_operations(&self) -> bool {
        self.needs_site_keys()
    }
}
