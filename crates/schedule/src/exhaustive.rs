//! Exhaustive search with a bound on preemptions: every execution in which a thread that could
//! go on is made to wait at most N times, one per class of executions that cannot differ.
//!
//! After Musuvathi and Qadeer, "Iterative context bounding for systematic testing of
//! multithreaded programs" (PLDI 2007), with their reduction: two beginnings of executions that
//! order all conflicting operations in the same way lead to the same state, so what follows
//! is searched once. Beginnings are told apart by a hash over that partial order, which is known
//! for a step before it is made: no execution is run for a step that leads to a known state, and
//! one that can only come to known states is broken off.
//! Unlike sleep sets and persistent sets, this stays sound under a bound, because a state
//! counts as known only if it was reached with as many preemptions to spare.
//!
//! Limits:
//! 1. A thread in a loop that only waits does so until something is written or no other thread can
//!    run (see [`crate::waiting`]). Where all threads that can run wait like that and a deadline could
//!    pass, it passes before their next turn or after the loops have ended: `IDLE_TURNS` turns later,
//!    they are taken for endless.
//! 2. Operations conflict if they touch the same 16 bytes and one of them writes. A longer
//!    access counts with its first byte. What cannot be seen by address (sleeping, input and
//!    output, starting threads) conflicts with everything of its kind.
//! 3. States are known by 58 bits of hash.
//! 4. Time advances to the earliest deadline only, so that deadlines keep their order. Of the clock, a state
//!    holds which deadlines had passed when a thread looked at it, and not what else it said.
//!
//! The search goes on over the executions of a plan. It does not depend on the seed. An
//! execution may run in a forked child, so what it adds is written down in a [`Log`] that the
//! parent reads in [`Strategy::learn`].

use crate::experience::{Experience, Learnt};
use crate::known::Known;
use crate::log::Log;
use crate::partial_order::PartialOrder;
use crate::rng::mix;
use crate::strategy::{Expiry, Load, NOBODY, Search, Strategy, TIME, View, default_pick};
use crate::waiting::{Loops, Tried, Waiting};
use alloc::vec::Vec;

/// Largest bound that makes sense: a state is stored with the preemptions to spare.
pub const MAX_PREEMPTIONS: u32 = 60;

/// See the module's description.
pub struct Exhaustive {
    bound: u32,
    /// The choices that the next execution repeats, one per pick.
    path: Vec<u16>,
    /// Choices not made yet: pick and thread. The last one is made next.
    open: Vec<(u32, u16)>,
    known: Known,
    log: Log,
    /// Words of the log that this process has written: what they say is known already.
    written: usize,
    is_finished: bool,
    /// Something was not searched.
    is_partial: bool,
    /// The bound kept something from being searched.
    is_bounded: bool,
    /// The loops in which threads wait.
    loops: Loops,
    /// More rounds of them have to be run than were: the search begins again.
    is_outdated: bool,
    /// How many choices there were at each pick of the path.
    widths: Vec<u16>,
    /// Room for the choices at a pick.
    options: Vec<u16>,
    /// The execution under way.
    course: Course,
}

/// What is known of the execution under way.
#[derive(Default)]
struct Course {
    /// Of the beginning that the path has in common with the execution before, and what came after.
    order: PartialOrder,
    pick: usize,
    preemptions: u32,
    /// Nothing more is searched in it.
    is_known: bool,
    /// Because all that follows was searched before, or will be.
    is_searched: bool,
    /// Who waits for something to be written.
    waiting: Waiting,
    /// The point of an attempt to change something (see [`PartialOrder::is_attempt`]), of which it is not
    /// known whether it did.
    attempt: Option<u64>,
    /// Turns of loops since all threads wait for a change.
    idle_turns: u32,
}

impl Course {
    /// Something has changed.
    fn changed(&mut self) {
        self.waiting.changed();
        self.idle_turns = 0;
    }
}

/// Turns of loops, of all threads together, after which these only wait for time to pass. Locks spin
/// about a hundred times before they block. Less than what lets the runtime pass time by itself.
const IDLE_TURNS: u32 = 512;

/// Words of the log. What they carry stands in the bits above [`TAG_BITS`].
mod word {
    /// A choice was made.
    pub const CHOSEN: u64 = 0;
    /// Another choice stays open at the pick before.
    pub const OPEN: u64 = 1;
    /// Something was not searched, for the reason that follows.
    pub const PARTIAL: u64 = 2;
    /// Something is known from now on: a state, whose entry is the next word, or a loop, whose key is.
    pub const KNOWN: u64 = 3;
}
const TAG_BITS: u32 = 2;
/// What stands behind [`word::PARTIAL`]: why.
mod reason {
    /// For lack of room, or because executions differed.
    pub const LEFT_OUT: u64 = 0;
    /// It takes more preemptions.
    pub const BOUND: u64 = 1;
}
/// What stands behind [`word::KNOWN`] for a state; for a loop, the number of its rounds does.
const STATE: u64 = 0;
/// Where there is no choice, only every so many picks it is looked up whether the state is known:
/// that takes longer than the step. Beginnings that lead to the same state are of the same length.
const LOOKS: usize = 4;
/// In place of the thread that ran last.
const ANYBODY: u16 = u16::MAX;
/// In place of a thread: time advances.
const TIME_CHOICE: u16 = TIME as u16;

/// What a choice in the path means as a pick.
fn of_choice(choice: u16) -> usize {
    match choice {
        TIME_CHOICE => TIME,
        thread => usize::from(thread),
    }
}

/// A state in which so much time is left to deadlines.
fn with_times(state: u64, expiry: Option<&Expiry>) -> u64 {
    match expiry {
        None => state,
        Some(expiry) => mix(state ^ expiry.times),
    }
}

impl Exhaustive {
    /// All executions with at most `bound` preemptions.
    pub fn new(bound: u32) -> Self {
        Self {
            bound: bound.min(MAX_PREEMPTIONS),
            path: Vec::new(),
            open: Vec::new(),
            known: Known::new(),
            log: Log::new(),
            written: 0,
            is_finished: false,
            is_partial: false,
            is_bounded: false,
            loops: Loops::default(),
            is_outdated: false,
            widths: Vec::new(),
            options: Vec::new(),
            course: Course::default(),
        }
    }

    /// Begins again, with another bound.
    pub fn search_up_to(&mut self, bound: u32) {
        let mut log = core::mem::take(&mut self.log);
        log.clear();
        *self = Self {
            log,
            loops: core::mem::take(&mut self.loops),
            ..Self::new(bound)
        };
    }

    fn note(&mut self, tag: u64, value: u64) {
        self.write(value << TAG_BITS | tag);
    }

    fn write(&mut self, word: u64) {
        self.written += 1;
        if !self.log.push(word) {
            self.is_partial = true;
            self.course.is_known = true;
        }
    }

    /// Whether the current thread could simply go on, so that any other one preempts it.
    fn goes_on(&self, view: &View<'_>) -> bool {
        view.current_enabled && !view.yielded && !self.course.waiting.is_idle(view.current)
    }

    /// The thread that has to run where all have yielded and nobody has written: whoever waits
    /// for a change has looked, and now time may pass.
    fn forced(&self, view: &View<'_>) -> Option<usize> {
        let waiting = &self.course.waiting;
        let mut enabled = view.enabled.iter();
        // Most of the time, no thread has yielded.
        let all_idle =
            !waiting.is_empty() && enabled.all(|&thread| waiting.is_idle(usize::from(thread)));
        all_idle.then(|| view.enabled_after(view.current))
    }

    /// Of the threads that may run next the one to try first: the default one, if it may.
    fn first(&self, view: &View<'_>) -> usize {
        let default = default_pick(view);
        if let Some(forced) = self.forced(view) {
            return forced;
        }
        if !self.course.waiting.is_idle(default) {
            return default;
        }
        let mut enabled = view.enabled.iter().map(|&thread| usize::from(thread));
        let first = enabled.find(|&thread| !self.course.waiting.is_idle(thread));
        first.unwrap_or(default)
    }

    /// Beyond the path: picks an option that leads to an unknown state, and leaves the other
    /// such options open.
    fn explore(&mut self, view: &View<'_>) -> usize {
        if self.course.waiting.has_trial() {
            return self.continue_trial(view);
        }
        let is_forced = self.forced(view).is_some();
        if !is_forced && view.current_enabled && self.course.waiting.repeats_hint(view) {
            self.note(word::CHOSEN, view.current as u64);
            return view.current;
        }
        let first = self.first(view);
        let goes_on = self.goes_on(view);
        // One more turn changes nothing, so that time may as well pass before the first.
        let is_idle_turn = is_forced && view.yielded && self.course.idle_turns > 1;
        let expiry = view.expiry.filter(|_| !is_idle_turn);
        if is_idle_turn && self.course.idle_turns > IDLE_TURNS {
            return self.end_as_searched();
        }
        let needs_trial = self.course.waiting.needs_trial(view, &self.loops);
        let is_single = is_forced
            || view.enabled.len() == 1
            || goes_on && self.course.preemptions == self.bound && first == view.current;
        if is_single && !needs_trial && expiry.is_none() && !self.course.pick.is_multiple_of(LOOKS)
        {
            if !is_forced && view.enabled.len() > 1 {
                self.keep_within_bound();
            }
            self.note(word::CHOSEN, first as u64);
            return first;
        }
        // The state behind the first is looked up last: its memory takes long to come.
        let behind_first = self.behind(view, first);
        self.known.expect(behind_first);
        let (mut options, mut is_bounded) = (core::mem::take(&mut self.options), false);
        options.clear();
        let enabled = view.enabled.iter().map(|&thread| usize::from(thread));
        let others = enabled.filter(|&thread| thread != first);
        for thread in others.chain(core::iter::once(first)) {
            if thread != first && (is_forced || self.course.waiting.is_idle(thread)) {
                continue;
            }
            let preempts = goes_on && thread != view.current;
            let spent = self.course.preemptions + u32::from(preempts);
            if spent > self.bound {
                is_bounded = true;
                continue;
            }
            let state = match thread == first {
                true => behind_first,
                false => self.behind(view, thread),
            };
            if self.is_new(state, thread as u16, (self.bound - spent) as u8) {
                options.push(thread as u16);
            }
        }
        if options.last() == Some(&(first as u16)) {
            options.rotate_right(1);
        }
        if let Some(expiry) = &expiry {
            let state = self.behind_expiry(expiry);
            let spare = self.bound - self.course.preemptions;
            let last = match goes_on {
                true => view.current as u16,
                false => TIME_CHOICE,
            };
            if self.is_new(state, last, spare as u8) {
                options.push(TIME_CHOICE);
            }
        }
        if needs_trial {
            // Of this execution, what follows only shows whether the loop gives up.
            options.insert(0, view.current as u16);
            self.course.waiting.begin_trial(view);
        }
        let chosen = options.first().map(|&choice| of_choice(choice));
        for &thread in options.iter().skip(1) {
            self.note(word::OPEN, u64::from(thread));
        }
        self.options = options;
        if is_bounded {
            self.keep_within_bound();
        }
        let Some(chosen) = chosen else {
            return self.end_as_searched();
        };
        self.note(word::CHOSEN, chosen as u64);
        chosen
    }

    /// The thread that runs alone goes on, until that has shown what its loop does.
    fn continue_trial(&mut self, view: &View<'_>) -> usize {
        match self.course.waiting.continue_trial(view) {
            // No other execution begins like this one.
            Ok(thread) => thread,
            Err(Tried { key, rounds }) => {
                self.note(word::KNOWN, rounds);
                self.write(key);
                self.course.is_known = true;
                self.first(view)
            }
        }
    }

    /// All that follows was searched before, or will be.
    fn end_as_searched(&mut self) -> usize {
        (self.course.is_known, self.course.is_searched) = (true, true);
        NOBODY
    }

    /// The state behind what `thread` stands before.
    fn behind(&self, view: &View<'_>, thread: usize) -> u64 {
        let pending = &view.pending[thread];
        let state = self.course.order.after(thread, pending);
        let waiting = &self.course.waiting;
        let changes = PartialOrder::is_write(pending) && !PartialOrder::is_attempt(pending);
        let state = match waiting.is_empty() || changes {
            true => state,
            false => state ^ waiting.hash(),
        };
        with_times(state, view.expiry.as_ref())
    }

    /// The state behind a deadline that passes.
    fn behind_expiry(&self, expiry: &Expiry) -> u64 {
        let pending = PartialOrder::expiry(expiry);
        let state = self.course.order.after(PartialOrder::TIME, &pending);
        with_times(state, Some(expiry))
    }

    /// The bound keeps something from being searched.
    fn keep_within_bound(&mut self) {
        if !self.is_bounded {
            self.is_bounded = true;
            self.note(word::PARTIAL, reason::BOUND);
        }
    }

    /// Whether a state in which `thread` ran last has not been searched with at least as many
    /// preemptions to spare; it will be. One more to spare makes up for any other last thread.
    fn is_new(&mut self, state: u64, thread: u16, spare: u8) -> bool {
        if self.known.has(Known::entry(state, ANYBODY, spare + 1)) {
            return false;
        }
        let entry = Known::entry(state, thread, spare);
        let is_new = self.known.insert(entry);
        if is_new {
            self.note(word::KNOWN, STATE);
            self.write(entry);
            let entry = Known::entry(state, ANYBODY, spare);
            if self.known.insert(entry) {
                self.note(word::KNOWN, STATE);
                self.write(entry);
            }
        }
        is_new
    }

    fn repeat(&mut self, view: &View<'_>) -> usize {
        let choice = of_choice(self.path[self.course.pick]);
        let waiting = &mut self.course.waiting;
        if choice == view.current && waiting.may_need_trial(view) {
            waiting.begin_trial(view);
        }
        if view.is_enabled(choice) || choice == TIME && view.expiry.is_some() {
            return choice;
        }
        // The program does not do the same again.
        self.note(word::PARTIAL, reason::LEFT_OUT);
        self.course.is_known = true;
        default_pick(view)
    }

    /// Takes up what the log says.
    fn absorb(&mut self) {
        let mut index = 0;
        while let Some(word) = self.log.get(index) {
            index += 1;
            let value = word >> TAG_BITS;
            match word & ((1 << TAG_BITS) - 1) {
                word::CHOSEN => {
                    self.path.push(value as u16);
                    self.widths.resize(self.path.len(), 0);
                    *self.width(self.path.len() - 1) += 1;
                }
                word::OPEN => {
                    self.open.push((self.path.len() as u32, value as u16));
                    *self.width(self.path.len()) += 1;
                }
                word::KNOWN => {
                    match self.log.get(index) {
                        Some(key) if value != STATE => {
                            self.is_outdated |= self.loops.add(Tried { key, rounds: value });
                        }
                        Some(entry) if index >= self.written => _ = self.known.insert(entry),
                        _ => {}
                    }
                    index += 1;
                }
                _ if value == reason::BOUND => self.is_bounded = true,
                _ => self.is_partial = true,
            }
        }
        self.log.clear();
        self.written = 0;
    }

    /// The number of choices at a pick.
    fn width(&mut self, pick: usize) -> &mut u16 {
        if self.widths.len() <= pick {
            self.widths.resize(pick + 1, 0);
        }
        &mut self.widths[pick]
    }

    /// `running` goes on: what the others would do next is known, so their states can be asked
    /// for before they are needed.
    fn expect(&self, view: &View<'_>, running: usize) {
        if self.course.preemptions == self.bound {
            return;
        }
        for thread in view.enabled.iter().map(|&thread| usize::from(thread)) {
            if thread != running {
                self.known.expect(self.behind(view, thread));
            }
        }
    }

    /// The deadline of the view passes.
    fn pass_time(&mut self, view: &View<'_>) {
        let course = &mut self.course;
        course.pick += 1;
        if let Some(expiry) = &view.expiry
            && course.pick > course.order.len()
            && !course.is_known
        {
            let pending = PartialOrder::expiry(expiry);
            course.order.step(PartialOrder::TIME, &pending);
        }
        course.changed();
    }

    fn go_on(&mut self, view: &View<'_>, thread: usize) {
        let preempts = thread != view.current && self.goes_on(view);
        let course = &mut self.course;
        course.preemptions += u32::from(preempts);
        course.pick += 1;
        let pending = &view.pending[thread];
        if course.pick > course.order.len() && !course.is_known {
            course.order.step(thread, pending);
        }
        course.waiting.step(thread, pending);
        if PartialOrder::is_attempt(pending) {
            course.attempt = Some(view.point);
        } else if PartialOrder::is_write(pending) {
            course.changed();
        }
    }
}

impl Strategy for Exhaustive {
    fn begin(&mut self, _seed: u64, _length: u64) {
        // What an execution wrote that was broken off, to be run again, is what to repeat.
        self.absorb();
        self.course.order.back_to(self.path.len());
        self.course.waiting.clear();
        (self.course.idle_turns, self.course.attempt) = (0, None);
        (self.course.pick, self.course.preemptions) = (0, 0);
        (self.course.is_known, self.course.is_searched) = (self.is_finished, false);
    }

    fn thread_started(&mut self, _thread: usize, _parent: usize, _site_key: u64) {}

    fn pick(&mut self, view: &View<'_>) -> usize {
        if let Some(point) = self.course.attempt.take()
            && view.last_change > point
        {
            self.course.changed();
        }
        if view.yielded {
            self.course.waiting.count_yield(view, &self.loops);
            let is_idle_turn = view.expiry.is_some() && self.forced(view).is_some();
            self.course.idle_turns += u32::from(is_idle_turn);
        }
        let picked = if self.course.is_searched {
            NOBODY
        } else if self.course.is_known {
            self.first(view)
        } else if self.course.pick < self.path.len() {
            self.repeat(view)
        } else {
            self.explore(view)
        };
        if picked == NOBODY {
            return NOBODY;
        }
        if picked == TIME {
            self.pass_time(view);
            return TIME;
        }
        self.go_on(view, picked);
        if !self.course.is_known && self.course.pick >= self.path.len() {
            self.expect(view, picked);
        }
        picked
    }

    fn read(&mut self, _load: &Load) -> Option<usize> {
        // What threads do has to depend on their order alone.
        Some(0)
    }

    fn decides_time(&self) -> bool {
        true
    }

    fn set_aside(&mut self) {
        self.note(word::PARTIAL, reason::LEFT_OUT);
    }

    fn learn(&mut self) {
        self.absorb();
        if self.is_outdated {
            return self.search_up_to(self.bound);
        }
        match self.open.pop() {
            Some((pick, thread)) => {
                self.path.truncate(pick as usize);
                self.course.order.back_to(self.path.len());
                self.path.push(thread);
                self.widths.truncate(self.path.len());
            }
            None => self.is_finished = true,
        }
    }

    fn points_changed(&mut self) {
        self.search_up_to(self.bound);
    }

    fn searched(&self) -> Option<Search> {
        let search = match (self.is_partial, self.is_bounded) {
            (true, _) => Search::Partial,
            (false, false) => Search::All {
                preemptions: self.bound,
            },
            (false, true) => Search::Complete {
                preemptions: self.bound,
            },
        };
        self.is_finished.then_some(search)
    }

    fn cuts_loops_short(&self) -> bool {
        self.loops.is_cut_short()
    }

    fn is_finished(&self) -> bool {
        self.is_finished
    }

    fn progress(&self) -> Option<u32> {
        // Every choice at a pick is taken for an equal part of what lies behind it.
        let (mut done, mut part, mut open) = (0.0, 1000.0, 0);
        for (pick, &width) in self.widths.iter().enumerate() {
            let before = open;
            while self
                .open
                .get(open)
                .is_some_and(|entry| entry.0 as usize <= pick)
            {
                open += 1;
            }
            let (left, width) = ((open - before + 1) as f64, f64::from(width.max(1)));
            part /= width;
            done += part * (width - left).max(0.0);
        }
        Some(match self.is_finished {
            true => 1000,
            false => done as u32,
        })
    }

    fn pass(&mut self, experience: &mut Experience<'_>) {
        self.bound.pass(experience);
        self.bound = self.bound.min(MAX_PREEMPTIONS);
        self.path.pass(experience);
        if let Experience::Taken(_) = experience {
            self.course.order.clear();
        }
        self.open.pass(experience);
        self.known.pass(experience);
        self.is_finished.pass(experience);
        self.is_partial.pass(experience);
        self.is_bounded.pass(experience);
        self.loops.pass(experience);
        self.is_outdated.pass(experience);
        self.widths.pass(experience);
    }

    fn logs(&mut self, visit: &mut dyn FnMut(&mut Log)) {
        visit(&mut self.log);
    }

    fn needs_site_keys(&self) -> bool {
        // Every operation takes part in the order.
        true
    }
}

#[cfg(test)]
#[path = "exhaustive_tests.rs"]
mod tests;
