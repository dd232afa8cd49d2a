//! Which threads wait for a change, and how many rounds of the loops in which they wait are run.
//!
//! A loop that only waits does the same in every round until another thread writes. It is run for
//! [`UNROLLED`] rounds; then its thread waits for a write. A loop that gives up after some rounds does
//! not only wait: it has to be run to its end. The two are told apart by a trial, once per loop: the
//! thread runs alone until it gives up, or for `MOST_POINTS` scheduling points, after which the loop is
//! taken for endless.
//!
//! A round is what a thread does between two yields, if it does anything: a lock that spins calls the
//! processor's hint many times between two looks.

use crate::experience::{Experience, Learnt};
use crate::partial_order::PartialOrder;
use crate::rng::mix;
use crate::strategy::{Pending, View};
use alloc::vec::Vec;
use raddle_abi::site::Operation;

/// Rounds of a loop that only waits.
pub const UNROLLED: u32 = 2;
/// Rounds of a loop that gives up, at most; where it takes more, the search says that it is not complete.
pub const MOST_UNROLLED: u32 = 16;
/// Scheduling points of a trial.
const MOST_POINTS: u64 = 8192;
/// Yields in a row of which only the first is a round. More may be a loop that looks at what is not seen.
const MOST_HINTS: u32 = 256;

/// In place of the number of rounds after which a loop gives up.
const ENDLESS: u64 = 1 << 32;

/// What a trial has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The loop.
    pub key: u64,
    /// After how many rounds it gave up, or `ENDLESS`.
    pub rounds: u64,
}

/// The loops that were tried.
#[derive(Default)]
pub struct Loops {
    /// By their keys: after how many rounds each gives up, or `ENDLESS`.
    rounds: Vec<(u64, u64)>,
}

impl Loops {
    fn find(&self, key: u64) -> Option<u64> {
        let found = self.rounds.iter().find(|(tried, _)| *tried == key);
        found.map(|(_, rounds)| *rounds)
    }

    /// Rounds after which a thread waits for a change.
    fn limit(&self, key: u64) -> u32 {
        match self.find(key) {
            Some(rounds) if rounds <= u64::from(MOST_UNROLLED) => (rounds as u32).max(UNROLLED),
            _ => UNROLLED,
        }
    }

    /// Whether a trial is worth it: where a loop is entered after others, it gives up later.
    fn may_give_up(&self, key: u64) -> bool {
        let rounds = self.find(key);
        rounds.is_none_or(|rounds| rounds <= u64::from(MOST_UNROLLED))
    }

    /// Notes what a trial has shown. Whether more rounds have to be run than until now.
    pub fn add(&mut self, tried: Tried) -> bool {
        let before = self.limit(tried.key);
        self.rounds.retain(|(key, _)| *key != tried.key);
        self.rounds.push((tried.key, tried.rounds));
        self.limit(tried.key) > before
    }

    /// Whether a loop that gives up was not run to its end.
    pub fn is_cut_short(&self) -> bool {
        let cut = u64::from(MOST_UNROLLED) + 1..ENDLESS;
        self.rounds.iter().any(|(_, rounds)| cut.contains(rounds))
    }
}

impl Learnt for Loops {
    fn pass(&mut self, experience: &mut Experience<'_>) {
        self.rounds.pass(experience);
    }
}

/// The loop of a thread, since something was written.
#[derive(Clone, Copy, Default)]
struct Wait {
    /// Rounds.
    rounds: u32,
    /// How many of them there may be.
    limit: u32,
    /// What tells its loop from others.
    key: u64,
    /// Yields since the thread did anything else.
    hints: u32,
    /// The site of its last operation that was no yield.
    looked_at: u64,
}

/// A thread that runs alone, to see whether it gives up.
struct Trial {
    thread: usize,
    /// Its loop.
    key: u64,
    /// How many rounds of it there were.
    rounds: u32,
    /// The scheduling point of the last of them.
    last: u64,
    /// The scheduling point at which the trial began.
    point: u64,
}

/// The threads of the execution under way.
#[derive(Default)]
pub struct Waiting {
    threads: Vec<Wait>,
    /// Whether any has yielded since something was written.
    has_any: bool,
    trial: Option<Trial>,
}

impl Waiting {
    /// An execution begins.
    pub fn clear(&mut self) {
        self.threads.clear();
        self.has_any = false;
        self.trial = None;
    }

    /// Something was written: the threads that wait may look again.
    pub fn changed(&mut self) {
        if core::mem::take(&mut self.has_any) {
            for wait in &mut self.threads {
                wait.rounds = 0;
            }
        }
    }

    /// Whether no thread has yielded since something was written.
    pub fn is_empty(&self) -> bool {
        !self.has_any
    }

    /// `thread` does what it stands before.
    pub fn step(&mut self, thread: usize, pending: &Pending) {
        if pending.operation == Operation::Yield {
            return;
        }
        let wait = self.of(thread);
        (wait.hints, wait.looked_at) = (0, pending.site_key);
    }

    fn of(&mut self, thread: usize) -> &mut Wait {
        if self.threads.len() <= thread {
            self.threads.resize(thread + 1, Wait::default());
        }
        &mut self.threads[thread]
    }

    /// The current thread has yielded.
    pub fn count_yield(&mut self, view: &View<'_>, loops: &Loops) {
        let site_key = view.site_key(view.current);
        let wait = self.of(view.current);
        let is_round = !(1..MOST_HINTS).contains(&wait.hints);
        wait.hints = wait.hints.saturating_add(1);
        if !is_round {
            return;
        }
        wait.key = mix(site_key ^ wait.looked_at.rotate_left(32));
        wait.limit = loops.limit(wait.key);
        wait.rounds = wait.rounds.saturating_add(1);
        let (key, rounds) = (wait.key, wait.rounds);
        self.has_any = true;
        if let Some(trial) = &mut self.trial
            && (trial.thread, trial.key) == (view.current, key)
        {
            (trial.rounds, trial.last) = (rounds, view.point);
        }
    }

    /// Whether the current thread has yielded again without having done anything: what can happen here
    /// can happen at its yield before.
    pub fn repeats_hint(&self, view: &View<'_>) -> bool {
        let wait = self.threads.get(view.current);
        view.yielded && wait.is_some_and(|wait| (2..=MOST_HINTS).contains(&wait.hints))
    }

    /// Whether a thread has looked for a change often enough, and waits for one.
    pub fn is_idle(&self, thread: usize) -> bool {
        let wait = self.threads.get(thread);
        wait.is_some_and(|wait| wait.rounds > wait.limit)
    }

    /// Tells states apart that differ in who waits for a change, which depends on more than the order of
    /// conflicts.
    pub fn hash(&self) -> u64 {
        let waits = self.threads.iter().enumerate();
        let waits = waits.filter(|(_, wait)| wait.rounds > 0);
        waits.fold(0, |hash, (thread, wait)| {
            let rounds = wait.rounds.min(wait.limit.saturating_add(1));
            mix(hash ^ (thread as u64) << 8 ^ u64::from(rounds))
        })
    }

    /// Whether the current thread has just begun to wait, in any loop.
    pub fn may_need_trial(&self, view: &View<'_>) -> bool {
        view.yielded && view.current_enabled && view.enabled.len() > 1 && self.is_idle(view.current)
    }

    /// Whether the current thread has just begun to wait in a loop of which it is not known that it never
    /// gives up.
    pub fn needs_trial(&self, view: &View<'_>, loops: &Loops) -> bool {
        self.may_need_trial(view) && loops.may_give_up(self.threads[view.current].key)
    }

    /// The current thread runs alone from now on.
    pub fn begin_trial(&mut self, view: &View<'_>) {
        let wait = self.of(view.current);
        self.trial = Some(Trial {
            key: wait.key,
            rounds: wait.rounds,
            thread: view.current,
            last: view.point,
            point: view.point,
        });
    }

    /// Whether a thread runs alone.
    pub fn has_trial(&self) -> bool {
        self.trial.is_some()
    }

    /// The thread that runs alone, or what that has shown.
    pub fn continue_trial(&self, view: &View<'_>) -> Result<usize, Tried> {
        let Some(trial) = &self.trial else {
            return Ok(view.current);
        };
        let pending = &view.pending[trial.thread];
        let is_over = view.point > trial.point + MOST_POINTS;
        let has_given_up = !view.is_enabled(trial.thread)
            || view.last_change > trial.point
            || PartialOrder::is_write(pending) && !PartialOrder::is_attempt(pending)
            // It waits in another loop.
            || is_over && trial.last < trial.point + MOST_POINTS / 2;
        if !has_given_up && !is_over {
            return Ok(trial.thread);
        }
        Err(Tried {
            key: trial.key,
            rounds: match has_given_up {
                true => u64::from(trial.rounds),
                false => ENDLESS,
            },
        })
    }
}
