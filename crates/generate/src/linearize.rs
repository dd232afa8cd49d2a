//! Whether some order of the calls, one after the other, explains what came of them at the same
//! time: the search of Wing and Gong, which keeps what is known about orders.
//!
//! An order keeps the order of each thread and of calls that did not overlap. A call that never
//! returned may have had its effect, or not. What is not known within the budget counts as
//! explained, so that nothing is reported that may be right.

use crate::history::{is_panic, panic_site};
use crate::order::LEFT_OUT;
use crate::refusal::differ_in_reason;

/// How much a result has to be what an order gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freedom {
    /// It has to be the same.
    Strict,
    /// If it is a refusal, it may be one for another reason.
    Refused,
    /// The same, and the value of a closure may have been discarded: what the closure was given may be missing in the order.
    InVain,
    /// It may be anything.
    Any,
    /// It may be anything, and the call may have had no effect.
    Optional,
}

/// A step of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// How an order names it.
    pub turn: u8,
    /// When it began.
    pub started: usize,
    /// When it ended, if it did.
    pub ended: Option<usize>,
    /// What it returned, if it did.
    pub result: Option<String>,
    /// What that has to be.
    pub freedom: Freedom,
    /// A turn that may come just before it.
    pub before: Option<u8>,
}

/// What a run of an order gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Played {
    /// The last step of the order returned this; `None` if it was left out.
    Returned(Option<String>),
    /// It never returned.
    Stuck,
    /// The thread had nothing more to do.
    Nothing,
}

/// So many orders of all calls that are likely to be asked about.
pub type Likely<'a> = &'a dyn Fn(usize) -> Vec<Vec<u8>>;

/// Runs the calls of a test one after the other.
pub trait Sequential {
    /// What the last step of an order comes to; `None` if that is not known.
    fn play(&mut self, order: &[u8]) -> Option<Played>;

    /// The same, for an order that will most likely be asked about further: `likely` returns so
    /// many whole ones that begin with it, the likeliest first.
    fn play_within(&mut self, order: &[u8], _likely: Likely<'_>) -> Option<Played> {
        self.play(order)
    }

    /// What the calls after all threads return, after this order; `None` if that is not known.
    fn after(&mut self, order: &[u8]) -> Option<Vec<Option<String>>>;

    /// Whether an order may be where the test ended; `None` if that is not known.
    fn is_end(&mut self, _order: &[u8]) -> Option<bool> {
        Some(true)
    }

    /// What tells the states after two orders of the same calls apart, if something does.
    fn state(&mut self, _order: &[u8]) -> Option<u64> {
        None
    }
}

/// What is to be explained.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// By thread.
    pub threads: Vec<Vec<Observed>>,
    /// Results of the calls after all threads, and which of them have to be the same.
    pub after: Vec<(Option<String>, bool)>,
    /// Turns that may come when all threads have ended.
    pub finally: Vec<u8>,
}

impl Observation {
    /// Threads whose next step may come next, the one that ended first before others: it is
    /// most often right.
    fn candidates(&self, positions: &[usize]) -> Vec<usize> {
        let next = |thread: usize| self.threads[thread].get(positions[thread]);
        let threads = 0..positions.len();
        let first_end = threads
            .clone()
            .filter_map(|thread| next(thread)?.ended)
            .min();
        let mut candidates: Vec<usize> = threads
            .filter(|thread| {
                next(*thread).is_some_and(|step| first_end.is_none_or(|end| step.started < end))
            })
            .collect();
        candidates.sort_by_key(|thread| {
            next(*thread)
                .and_then(|step| step.ended)
                .unwrap_or(usize::MAX)
        });
        candidates
    }

    /// So many ways at most to go on to the end, in the order in which they are tried.
    pub fn completions(&self, positions: &[usize], order: &[u8], most: usize) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        self.complete(
            &mut positions.to_vec(),
            &mut order.to_vec(),
            most,
            &mut found,
        );
        found
    }

    fn complete(
        &self,
        positions: &mut [usize],
        order: &mut Vec<u8>,
        most: usize,
        found: &mut Vec<Vec<u8>>,
    ) {
        if found.len() >= most {
            return;
        }
        let mut is_over = true;
        for thread in self.candidates(positions) {
            let step = &self.threads[thread][positions[thread]];
            if step.ended.is_none() {
                continue;
            }
            is_over = false;
            order.push(step.turn);
            positions[thread] += 1;
            self.complete(positions, order, most, found);
            positions[thread] -= 1;
            order.pop();
        }
        if is_over {
            found.push(order.clone());
        }
    }
}

/// Whether two results are the same; of panics it matters where they were.
pub fn is_same(one: &str, other: &str) -> bool {
    match is_panic(one) && is_panic(other) {
        true => panic_site(one) == panic_site(other),
        false => one == other,
    }
}

/// Whether a result is the same as that of an order, as far as its freedom asks for that.
pub fn fits(one: &str, other: &str, freedom: Freedom) -> bool {
    let is_same_refusal = || is_same(one, other) || differ_in_reason(one, other);
    let is_in_vain = || {
        let (value, _) = one.split_once('|')?;
        Some(value == other)
    };
    match freedom {
        Freedom::Strict => is_same(one, other),
        Freedom::Refused => is_same_refusal(),
        Freedom::InVain => is_same_refusal() || is_in_vain() == Some(true),
        Freedom::Any | Freedom::Optional => is_panic(one) == is_panic(other) || !is_panic(one),
    }
}

/// What a search came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Explained {
    /// There is such an order.
    Yes,
    /// There is none.
    No,
    /// Not known within the budget.
    Unknown,
}

/// Looks for an order that explains what was observed, in so many steps at most.
pub fn explain(
    observation: &Observation,
    sequential: &mut dyn Sequential,
    budget: usize,
) -> Explained {
    let mut search = Search {
        observation,
        sequential,
        left: budget,
        is_unknown: false,
        seen: std::collections::HashSet::new(),
        order: Vec::new(),
        positions: vec![0; observation.threads.len()],
    };
    match search.run() {
        true => Explained::Yes,
        false if search.is_unknown => Explained::Unknown,
        false => Explained::No,
    }
}

struct Search<'a> {
    observation: &'a Observation,
    sequential: &'a mut dyn Sequential,
    left: usize,
    is_unknown: bool,
    seen: std::collections::HashSet<(Vec<usize>, u64)>,
    order: Vec<u8>,
    positions: Vec<usize>,
}

impl Search<'_> {
    fn run(&mut self) -> bool {
        let is_over = self
            .observation
            .threads
            .iter()
            .zip(&self.positions)
            .all(|(steps, at)| steps[*at..].iter().all(|step| step.ended.is_none()));
        if is_over && self.is_some_end_explained(&self.observation.finally) {
            return true;
        }
        for thread in self.observation.candidates(&self.positions) {
            if self.left == 0 {
                self.is_unknown = true;
                return false;
            }
            self.left -= 1;
            let step = &self.observation.threads[thread][self.positions[thread]];
            let left_out = step.turn | LEFT_OUT;
            let is_explained = self.try_step(thread, &[step.turn], step)
                || step.freedom == Freedom::Optional && self.try_step(thread, &[left_out], step)
                || (step.before).is_some_and(|one| self.try_step(thread, &[one, step.turn], step));
            if is_explained {
                return true;
            }
        }
        false
    }

    fn try_step(&mut self, thread: usize, turns: &[u8], step: &Observed) -> bool {
        self.order.extend(turns);
        self.positions[thread] += 1;
        let (observation, positions, order) = (self.observation, &self.positions, &self.order);
        let likely = |most| observation.completions(positions, order, most);
        let is_fit = match self.sequential.play_within(order, &likely) {
            None => {
                self.is_unknown = true;
                false
            }
            Some(Played::Stuck | Played::Nothing) => false,
            Some(Played::Returned(result)) => match (&step.result, &result) {
                (Some(one), Some(other)) => fits(one, other, step.freedom),
                _ => true,
            },
        };
        let is_new = is_fit && self.is_new();
        let found = is_new && self.run();
        self.positions[thread] -= 1;
        self.order.truncate(self.order.len() - turns.len());
        found
    }

    fn is_new(&mut self) -> bool {
        match self.sequential.state(&self.order) {
            Some(state) => self.seen.insert((self.positions.clone(), state)),
            None => true,
        }
    }

    /// Whether the end is explained if any of these turns come before it.
    fn is_some_end_explained(&mut self, finally: &[u8]) -> bool {
        let Some((first, others)) = finally.split_first() else {
            return self.is_end_explained();
        };
        if self.is_some_end_explained(others) {
            return true;
        }
        if self.left == 0 {
            self.is_unknown = true;
            return false;
        }
        self.left -= 1;
        self.order.push(*first);
        let is_explained = self.is_some_end_explained(others);
        self.order.pop();
        is_explained
    }

    fn is_end_explained(&mut self) -> bool {
        match self.sequential.is_end(&self.order) {
            Some(true) => {}
            Some(false) => return false,
            None => {
                self.is_unknown = true;
                return false;
            }
        }
        if self.observation.after.is_empty() {
            return true;
        }
        let Some(after) = self.sequential.after(&self.order) else {
            self.is_unknown = true;
            return false;
        };
        let mut pairs = self.observation.after.iter().zip(&after);
        pairs.all(|((one, is_strict), other)| match (one, other) {
            (Some(one), Some(other)) => !is_strict || is_same(one, other),
            _ => true,
        })
    }
}
