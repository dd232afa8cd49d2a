//! Why results may be right that no order explains, and whether that is why.
//!
//! Each excuse is a way to run the calls of the test, or to read their results, that a correct type may show. What is not known counts as
//! an excuse.

use std::collections::BTreeSet;

use crate::eviction::Evictions;
use crate::history::{History, Step};
use crate::judge::{Judge, RUNS, STEPS, Strictness};
use crate::linearize::{Explained, Freedom, Observation, explain, fits, is_same};
use crate::sequential::{Orders, all_orders};
use crate::test_case::{Manner, TestCase};

/// Runs of orders in each other manner.
const OTHERWISE: usize = 500;
/// The same where calls may wait for ever: each time one does, all orders of its plan that were not run count, too.
const WAITING: usize = 20_000;

/// Why results may be right that no order explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Excuse {
    /// Only methods show it whose results are not checked.
    Unchecked,
    /// A method takes part that changes the object part by part.
    PartByPart,
    /// It is not promised when deferred work is done.
    DeferredWork,
    /// Loads may read stale values.
    StaleReads,
    /// Calls that wait for another one may share its effect.
    SharedEffect,
    /// Orders explain it in which a cache drops entries.
    Eviction,
    /// Orders explain it in which calls are refused for other reasons, or call no closure whose value is discarded.
    Reason,
    /// Orders explain it in which a call waits while others are made.
    Waiting,
    /// Orders explain it that are run by other threads, or with pauses.
    Manner,
}

impl Excuse {
    /// As the end of a sentence about results.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Unchecked => "only methods show it whose results are not checked",
            Self::PartByPart => "a method takes part that changes the object part by part",
            Self::DeferredWork => "it is not promised when deferred work is done",
            Self::StaleReads => "loads may read stale values",
            Self::SharedEffect => "calls that wait for another one may share its effect",
            Self::Eviction => "a cache may drop entries at any time",
            Self::Reason => {
                "a call may be refused for another reason, or call a closure and discard its value"
            }
            Self::Waiting => "a call may be served while it waits",
            Self::Manner => "it depends on which thread calls, or on pauses between calls",
        }
    }
}

impl Judge<'_> {
    /// Whether orders explain the results in which a cache drops entries. What is not known counts as explained.
    pub(crate) fn evicts(
        &self,
        test: &TestCase,
        history: &History,
        orders: &mut Orders<'_>,
    ) -> bool {
        let evicting = match Evictions::of(self.program, test) {
            Evictions::Never => return false,
            Evictions::Unknown => return true,
            Evictions::Possible(evicting) => evicting,
        };
        let mut orders = orders.of_test(&evicting.test, RUNS);
        [Strictness::Weak, Strictness::Written].iter().any(|how| {
            let observation = self.observation(test, history, *how);
            let observation = evicting.observe(observation);
            explain(&observation, &mut orders, STEPS) != Explained::No
        })
    }

    /// Whether orders explain the results if they are run in another manner: by threads of their own, or with pauses.
    pub(crate) fn varies(
        &self,
        test: &TestCase,
        history: &History,
        orders: &mut Orders<'_>,
    ) -> bool {
        let observations =
            [Strictness::Weak, Strictness::Written].map(|how| self.observation(test, history, how));
        Manner::OTHERS.iter().any(|manner| {
            let mut otherwise = orders.otherwise(*manner, OTHERWISE);
            let mut explains =
                |observation| explain(observation, &mut otherwise, STEPS) != Explained::No;
            observations.iter().any(&mut explains)
        })
    }

    /// Whether it matters which thread makes which call, be it one after the other: orders are made by one thread, and
    /// say nothing then.
    pub(crate) fn depends_on_threads(&self, test: &TestCase, orders: &mut Orders<'_>) -> bool {
        orders.by_threads().iter().any(|history| {
            let mut explains = |how: Strictness| {
                let observation = self.observation(test, history, how);
                explain(&observation, orders, STEPS) != Explained::No
            };
            !explains(Strictness::Weak) && !explains(Strictness::Written)
        })
    }

    /// Whether orders explain the results but for those of calls that return something else, in the same order, if time passes
    /// otherwise.
    pub(crate) fn depends_on_time(
        &self,
        test: &TestCase,
        history: &History,
        orders: &mut Orders<'_>,
    ) -> bool {
        let serial = self.serial_orders(test);
        orders.run(&serial);
        let mut timed = BTreeSet::new();
        for manner in Manner::IN_TIME {
            let plain: Vec<Option<History>> = serial
                .iter()
                .map(|order| orders.history(order).cloned())
                .collect();
            let mut otherwise = orders.otherwise(manner, OTHERWISE);
            otherwise.run(&serial);
            for (order, plain) in serial.iter().zip(plain) {
                if let Some((plain, other)) = plain.zip(otherwise.history(order)) {
                    timed.extend(plain.differences(other));
                }
            }
        }
        if timed.is_empty() {
            return false;
        }
        let mut observation = self.observation(test, history, Strictness::Written);
        for (steps, observed) in history.threads.iter().zip(&mut observation.threads) {
            for (step, seen) in steps.iter().zip(observed) {
                if timed.contains(&(step.call, step.is_second)) {
                    seen.freedom = Freedom::Any;
                }
            }
        }
        for (step, (_, binds)) in history.after.iter().zip(&mut observation.after) {
            *binds &= !timed.contains(&(step.call, step.is_second));
        }
        explain(&observation, orders, STEPS) != Explained::No
    }

    /// Whether orders explain the results in which calls are refused for other reasons, or call no closure whose value is discarded.
    pub(crate) fn differs_in_reason(
        &self,
        test: &TestCase,
        history: &History,
        orders: &mut Orders<'_>,
    ) -> bool {
        let observation = self.observation(test, history, Strictness::Alike);
        explain(&observation, orders, STEPS) != Explained::No
    }

    /// Whether orders explain the results in which others are made while a call waits: a call that waits to put something in may
    /// be served by one that takes all, for example. Where they are too many, they count as doing so.
    pub(crate) fn waits(
        &self,
        test: &TestCase,
        history: &History,
        orders: &mut Orders<'_>,
    ) -> bool {
        if !orders.has_stuck() {
            return false;
        }
        let observation = self.observation(test, history, Strictness::Written);
        let start = vec![0; observation.threads.len()];
        let all = observation.completions(&start, &[], OTHERWISE);
        if all.len() >= OTHERWISE {
            return true;
        }
        let mut waiting = orders.otherwise(Manner::WAITING, WAITING);
        waiting.run(&all);
        let mut whole = all.iter().filter_map(|order| waiting.history(order));
        whole.any(|other| is_like(history, &observation, other))
    }

    /// Whether the same calls wait for ever in some order in which others are made while a call waits. Where the orders are too many, they
    /// count as doing so.
    pub(crate) fn waits_for_ever(
        &self,
        test: &TestCase,
        history: &History,
        orders: &mut Orders<'_>,
    ) -> bool {
        if !orders.has_stuck() {
            return false;
        }
        let Some(all) = all_orders(&self.program.most_steps(test), OTHERWISE) else {
            return true;
        };
        let mut observation = self.observation(test, history, Strictness::Written);
        // A call that was refused holds nothing, and one that was not may be what the others wait for.
        for seen in observation.threads.iter_mut().flatten() {
            if seen.freedom == Freedom::Optional {
                seen.freedom = Freedom::Strict;
            }
        }
        let mut waiting = orders.otherwise(Manner::WAITING, WAITING);
        waiting.run(&all);
        let lengths = |one: &History| one.threads.iter().map(Vec::len).collect::<Vec<_>>();
        let mut stuck = waiting.stuck();
        stuck.any(|other| {
            lengths(history) == lengths(other) && is_like(history, &observation, other)
        })
    }
}

/// Whether an order of the same calls gave what was observed.
fn is_like(history: &History, observation: &Observation, other: &History) -> bool {
    let threads = history.threads.iter().zip(&observation.threads);
    let are_steps = threads.zip(&other.threads).all(|((steps, seen), others)| {
        steps.iter().zip(seen).all(|(step, seen)| {
            let is_it = |one: &&Step| (one.call, one.is_second) == (step.call, step.is_second);
            match others.iter().find(is_it) {
                None => step.is_second,
                Some(other) => match (&seen.result, &other.result) {
                    (Some(one), Some(other)) => fits(one, other, seen.freedom),
                    (one, other) => one.is_none() && other.is_none(),
                },
            }
        })
    });
    let mut after = observation.after.iter().zip(&other.after);
    are_steps
        && after.all(|((one, binds), other)| match (one, &other.result) {
            (Some(one), Some(other)) => !binds || is_same(one, other),
            _ => true,
        })
}
