//! Whether what came of a test is right: compared with what the same calls come to one after the
//! other.
//!
//! A panic or a deadlock is a violation of thread safety if no order of the calls shows it. Results
//! are a violation of linearizability if no order explains them, even when methods that look at
//! the whole object and methods that may fail without a reason are left out; what only those show
//! is a note. With weak memory results are only ever a note: old values are no mistake in themselves.

use std::collections::BTreeSet;

use raddle_abi::finding::Kind;
use raddle_abi::plan::Memory;
use raddle_trace::runner::{Outcome, Runner};

use crate::eviction::Evictions;
use crate::history::{History, Step, is_panic, panic_site};
use crate::linearize::{
    Explained, Freedom, Likely, Observation, Observed, Played, Sequential, explain,
};
use crate::order::{self, turns};
use crate::place::in_package;
use crate::program::{Program, Weakness};
use crate::sequential::{Orders, all_orders};
use crate::test_case::{Manner, TestCase};

/// Runs of orders per test.
const RUNS: usize = 2_000;
/// Runs of orders in each other manner.
const OTHERWISE: usize = 500;
/// Steps of one search.
const STEPS: usize = 20_000;
/// Orders that are all run, if there are no more.
const ORDERS: usize = 1_000;

/// What is wrong with an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What it is.
    pub kind: Kind,
    /// One sentence.
    pub text: String,
    /// What tells it apart from others.
    pub key: String,
    /// Sites of the two accesses, if it is a race.
    pub sites: Vec<u32>,
    /// Which execution of the plan showed it, by number among its marks.
    pub execution: usize,
    /// Whether all orders were looked at that might show the same. If they are too many, a smaller
    /// test has to say.
    pub is_certain: bool,
}

/// What a plan's executions of a test come to.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// What is wrong, at most one of each key.
    pub failures: Vec<Failure>,
    /// What no order explains and is right all the same, by execution.
    pub notes: Vec<(String, Excuse)>,
    /// Methods that show it and whose results are not checked, once per execution.
    pub unexplained: Vec<u16>,
    /// The objects could not be made, or the calls before threads panicked.
    pub is_invalid: bool,
}

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
            Self::Manner => "it depends on which thread calls, or on pauses between calls",
        }
    }
}

/// Judges tests.
pub struct Judge<'a> {
    /// What is called.
    pub program: &'a Program,
    /// What loads could read.
    pub memory: Memory,
}

impl Judge<'_> {
    /// Judges all executions of a test.
    pub fn judge(&self, test: &TestCase, outcome: &Outcome, runner: &mut dyn Runner) -> Judgement {
        let mut judgement = Judgement::default();
        let mut orders = Orders::new(test, runner, RUNS);
        let mut seen = BTreeSet::new();
        for finding in &outcome.findings {
            if !matches!(finding.kind, Kind::Deadlock | Kind::Panic | Kind::Livelock) {
                self.foundation(test, outcome, finding, &mut orders, &mut judgement);
            }
        }
        for (index, execution) in outcome.marks.iter().enumerate() {
            let history = History::of(test, execution);
            if history.unmade.is_some() || have_panic(&history.prefix) {
                judgement.is_invalid = true;
                return judgement;
            }
            if !seen.insert(signature(&history)) {
                continue;
            }
            // An execution is also broken off if all that could follow is known, or if it is long.
            let is_blocked = outcome.findings.iter().any(|finding| {
                let is_kind = matches!(finding.kind, Kind::Deadlock | Kind::Livelock);
                is_kind && finding.seed == execution.seed
            });
            if !history.is_whole && !is_blocked && !has_panic(&history) {
                continue;
            }
            let known = judgement.notes.len();
            let failure = self.failure(test, &history, &mut orders, &mut judgement.notes);
            if judgement.notes.len() > known {
                let called: BTreeSet<u16> = test.operations().collect();
                let unchecked = called.into_iter();
                let unchecked = unchecked.filter(|one| self.program.unchecked(*one).is_some());
                judgement.unexplained.extend(unchecked);
            }
            judgement.add(failure, index);
        }
        judgement
    }

    /// What the oracles of the foundation found.
    fn foundation(
        &self,
        test: &TestCase,
        outcome: &Outcome,
        finding: &raddle_trace::runner::RawFinding,
        orders: &mut Orders<'_>,
        judgement: &mut Judgement,
    ) {
        let execution = outcome
            .marks
            .iter()
            .position(|one| one.seed == finding.seed);
        let Some(execution) = execution else { return };
        let orders_run = self.run_orders(test, orders);
        let mut sites: Vec<_> = finding.steps.iter().take(2).map(|step| step.site).collect();
        sites.sort_unstable();
        let needs_threads = !orders.kinds.contains(&finding.kind);
        let kind = if needs_threads {
            finding.kind
        } else {
            Kind::Sequential
        };
        let failure = Failure {
            kind,
            text: format!("{} in {}", finding.kind.word(), self.program.calls(test)),
            key: format!("{} {sites:?}", finding.kind.word()),
            sites,
            execution,
            is_certain: orders_run.are_all || is_always_wrong(finding.kind),
        };
        judgement.add(Some(failure), execution);
    }

    fn failure(
        &self,
        test: &TestCase,
        history: &History,
        orders: &mut Orders<'_>,
        notes: &mut Vec<(String, Excuse)>,
    ) -> Option<Failure> {
        if let Some(failure) = self.panic(test, history, orders) {
            return Some(failure);
        }
        if has_panic(history) {
            return None;
        }
        match history.is_whole {
            true => self.results(test, history, orders, notes),
            false => self.deadlock(test, history, orders),
        }
    }

    /// A panic that no order shows.
    fn panic(
        &self,
        test: &TestCase,
        history: &History,
        orders: &mut Orders<'_>,
    ) -> Option<Failure> {
        let after = history.after.iter();
        let results = history
            .concurrent()
            .chain(after)
            .filter_map(|step| Some((step.call, step.result.as_deref()?)));
        let dropped = history.drop_panic.as_deref().map(|text| (usize::MAX, text));
        let mut panics = results
            .chain(dropped)
            .filter(|(_, result)| is_panic(result));
        // A lock that an earlier panic left poisoned says nothing new.
        let (call, text) = panics.find(|(_, text)| !text.contains("PoisonError"))?;
        let site = panic_site(text).to_owned();
        let run = self.run_orders(test, orders);
        if orders.error.is_some() {
            return None;
        }
        let (kind, is_certain) = match orders.panics.get(&site) {
            None => (Kind::Panic, run.are_all),
            Some(count) if *count == run.ended && run.are_all => (Kind::Sequential, true),
            Some(_) => return None,
        };
        let method = test.call(call).map(|call| call.operation);
        let method = method.and_then(|operation| self.program.methods.get(&operation));
        // Who may fail without a reason may say so by panicking.
        if method.is_some_and(|method| method.weakness == Weakness::MayFail) {
            return None;
        }
        // What a method says that it does is no failure.
        if kind == Kind::Sequential && method.is_none_or(|method| method.may_panic) {
            return None;
        }
        let name = method.map_or("drop", |method| &method.name);
        Some(Failure {
            kind,
            text: format!(
                "`{name}` panics at {}",
                in_package(text.trim_start_matches('!'))
            ),
            key: format!("{} {site}", kind.word()),
            sites: Vec::new(),
            execution: 0,
            is_certain,
        })
    }

    /// A call that never returned, though it does in every order that explains the others.
    fn deadlock(
        &self,
        test: &TestCase,
        history: &History,
        orders: &mut Orders<'_>,
    ) -> Option<Failure> {
        let pending: Vec<usize> = (0..history.threads.len())
            .filter(|thread| {
                history.threads[*thread]
                    .last()
                    .is_some_and(|step| step.ended.is_none())
            })
            .collect();
        if !self.is_feasible(test, orders) {
            return None;
        }
        let observation = self.observation(test, history, Strictness::Weak);
        let stuck = pending.iter().find(|thread| {
            let turns = turns(**thread, &history.threads[**thread]);
            let mut goal = StuckAt {
                orders,
                thread: **thread,
                turns,
            };
            explain(&observation, &mut goal, STEPS) == Explained::No
        })?;
        let step = history.threads[*stuck].last()?;
        let names: Vec<_> = pending
            .iter()
            .filter_map(|thread| {
                let step = history.threads[*thread].last()?;
                Some(self.program.name(test.call(step.call)?.operation))
            })
            .collect();
        let name = self.program.name(test.call(step.call)?.operation);
        Some(Failure {
            kind: Kind::Deadlock,
            text: format!("`{name}` never returns, though it does in every order of the calls"),
            key: format!("deadlock {}", names.join(" ")),
            sites: Vec::new(),
            execution: 0,
            is_certain: true,
        })
    }

    /// Results that no order explains.
    fn results(
        &self,
        test: &TestCase,
        history: &History,
        orders: &mut Orders<'_>,
        notes: &mut Vec<(String, Excuse)>,
    ) -> Option<Failure> {
        let strict = self.observation(test, history, Strictness::Strict);
        let is_explained = explain(&strict, orders, STEPS) != Explained::No;
        if is_explained || !self.is_feasible(test, orders) {
            return None;
        }
        let text = format!(
            "no order of the calls explains what {} returned",
            self.program.calls(test)
        );
        let is_bulk = history.concurrent().any(|step| {
            let call = test.call(step.call);
            let weakness = call.map(|call| self.program.weakness(call.operation));
            weakness == Some(Weakness::Bulk)
        });
        let mut explains = |how: Strictness| {
            let observation = self.observation(test, history, how);
            explain(&observation, orders, STEPS) != Explained::No
        };
        let is_explained = explains(Strictness::Weak) || explains(Strictness::Written);
        let excuse = match () {
            () if self.memory == Memory::Weak => Some(Excuse::StaleReads),
            () if self.program.defers_work() => Some(Excuse::DeferredWork),
            () if is_bulk => Some(Excuse::PartByPart),
            () if is_explained && self.has_shared(test, history) => Some(Excuse::SharedEffect),
            () if is_explained => Some(Excuse::Unchecked),
            () if self.evicts(test, history, orders) => Some(Excuse::Eviction),
            () if self.varies(test, history, orders) => Some(Excuse::Manner),
            () if self.depends_on_threads(test, orders) => Some(Excuse::Manner),
            () => None,
        };
        if let Some(excuse) = excuse {
            notes.push((text, excuse));
            return None;
        }
        let mut names: Vec<_> = test
            .threads
            .iter()
            .flatten()
            .map(|call| self.program.name(call.operation))
            .collect();
        names.sort_unstable();
        names.dedup();
        Some(Failure {
            kind: Kind::Linearizability,
            text,
            key: format!("linearizability {}", names.join(" ")),
            sites: Vec::new(),
            execution: 0,
            is_certain: true,
        })
    }

    /// Whether orders explain the results in which a cache drops entries. What is not known counts as explained.
    fn evicts(&self, test: &TestCase, history: &History, orders: &mut Orders<'_>) -> bool {
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
    fn varies(&self, test: &TestCase, history: &History, orders: &mut Orders<'_>) -> bool {
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
    fn depends_on_threads(&self, test: &TestCase, orders: &mut Orders<'_>) -> bool {
        orders.by_threads().iter().any(|history| {
            let mut explains = |how: Strictness| {
                let observation = self.observation(test, history, how);
                explain(&observation, orders, STEPS) != Explained::No
            };
            !explains(Strictness::Weak) && !explains(Strictness::Written)
        })
    }

    fn observation(&self, test: &TestCase, history: &History, how: Strictness) -> Observation {
        let freedom = |call: usize| {
            let operation = test.call(call).map_or(u16::MAX, |call| call.operation);
            let is_unwritten = self.program.is_unwritten(operation);
            match (self.program.weakness(operation), how) {
                (Weakness::Random, _) => Freedom::Any,
                (_, Strictness::Written) if is_unwritten => Freedom::Any,
                (Weakness::None, _) | (_, Strictness::Strict) => Freedom::Strict,
                (Weakness::Observer | Weakness::Bulk | Weakness::Structure, _) => Freedom::Any,
                (Weakness::MayFail | Weakness::Relaxed, _) => Freedom::Optional,
            }
        };
        let threads = history.threads.iter().enumerate().map(|(thread, steps)| {
            let turns = turns(thread, steps);
            let observed = steps.iter().zip(turns).map(|(step, turn)| {
                let is_refused = step.result.as_deref().is_some_and(fails_without_reason);
                let (started, ended) = self.span(step, how);
                Observed {
                    turn,
                    started,
                    ended,
                    result: step.result.clone(),
                    freedom: match how != Strictness::Strict
                        && (is_refused || self.is_shared(test, history, step))
                    {
                        true => Freedom::Optional,
                        false => freedom(step.call),
                    },
                    before: None,
                }
            });
            observed.collect()
        });
        let after = history.after.iter().map(|step| {
            let weakness = test.call(step.call).map_or(Weakness::Random, |call| {
                self.program.weakness(call.operation)
            });
            let binds = match how {
                _ if weakness.is_never_checked() => false,
                Strictness::Strict => freedom(step.call) == Freedom::Strict,
                Strictness::Weak => true,
                Strictness::Written => {
                    let call = test.call(step.call);
                    call.is_none_or(|call| self.program.is_written_after(call.operation))
                }
            };
            (step.result.clone(), binds)
        });
        Observation {
            threads: threads.collect(),
            after: match history.is_whole {
                true => after.collect(),
                false => Vec::new(),
            },
            finally: Vec::new(),
        }
    }

    /// Whether some call may have been given what another one made.
    fn has_shared(&self, test: &TestCase, history: &History) -> bool {
        history
            .concurrent()
            .any(|step| self.is_shared(test, history, step))
    }

    /// Whether a call may have been given what another one made for both.
    fn is_shared(&self, test: &TestCase, history: &History, step: &Step) -> bool {
        let method = test.call(step.call);
        let method = method.and_then(|call| self.program.methods.get(&call.operation));
        let sharing = method.and_then(|method| method.shared.as_ref());
        sharing.is_some_and(|sharing| sharing.is_shared(test, history, step))
    }

    /// From when to when orders may have a step. Where old values are read, that a step of another
    /// thread has ended before orders nothing; and a written test does not see it.
    fn span(&self, step: &Step, how: Strictness) -> (usize, Option<usize>) {
        match (self.memory, how) {
            (Memory::Sc, Strictness::Strict | Strictness::Weak) => (step.started, step.ended),
            (Memory::Weak, _) | (_, Strictness::Written) => (0, step.ended.map(|_| usize::MAX)),
        }
    }

    /// Whether some order of a test comes to its end. Most often one has done so before.
    fn is_feasible(&self, test: &TestCase, orders: &mut Orders<'_>) -> bool {
        if orders.is_feasible {
            return true;
        }
        let serial = self.serial_orders(test);
        orders.run(&serial);
        serial.iter().any(|order| orders.history(order).is_some())
            || self.run_orders(test, orders).ended > 0
    }

    /// Thread after thread, in both directions.
    fn serial_orders(&self, test: &TestCase) -> Vec<Vec<u8>> {
        let steps = self.program.most_steps(test);
        let serial = |threads: &mut dyn Iterator<Item = usize>| -> Vec<u8> {
            threads
                .flat_map(|thread| vec![order::next(thread); steps[thread]])
                .collect()
        };
        let threads = 0..steps.len();
        vec![serial(&mut threads.clone()), serial(&mut threads.rev())]
    }

    /// Runs all orders of a test, or some if they are too many.
    fn run_orders(&self, test: &TestCase, orders: &mut Orders<'_>) -> OrdersRun {
        let steps = self.program.most_steps(test);
        let (all, are_all) = match all_orders(&steps, ORDERS) {
            Some(all) => (all, true),
            None => (self.serial_orders(test), false),
        };
        orders.run(&all);
        let ended = all.iter().filter(|order| orders.history(order).is_some());
        OrdersRun {
            ended: ended.count(),
            are_all: are_all && orders.left > 0,
        }
    }
}

/// Whether it is wrong no matter what calls come to one after the other.
const fn is_always_wrong(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::DataRace | Kind::UseAfterFree | Kind::DoubleFree | Kind::OutOfBounds
    )
}

/// What came of running orders.
#[derive(Clone, Copy, Debug)]
struct OrdersRun {
    /// How many came to their end.
    ended: usize,
    /// Whether there are no others.
    are_all: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strictness {
    /// All results bind.
    Strict,
    /// Those of weak methods do not, unless they come when all threads have ended.
    Weak,
    /// Nor does anything that a written test does not compare: some results, and when calls were made.
    Written,
}

impl Judgement {
    fn add(&mut self, failure: Option<Failure>, execution: usize) {
        let Some(failure) = failure else { return };
        if self.failures.iter().all(|known| known.key != failure.key) {
            self.failures.push(Failure {
                execution,
                ..failure
            });
        }
    }
}

/// Results by which calls say that they may be made again.
fn fails_without_reason(result: &str) -> bool {
    ["Retry", "WouldBlock"]
        .iter()
        .any(|word| result.contains(word))
}

fn have_panic(steps: &[Step]) -> bool {
    steps
        .iter()
        .any(|step| step.result.as_deref().is_some_and(is_panic))
}

/// Whether a thread panicked.
fn has_panic(history: &History) -> bool {
    history.threads.iter().any(|steps| have_panic(steps))
}

/// What two executions have in common that need not be judged twice.
fn signature(history: &History) -> String {
    let mut edges: Vec<(usize, String)> = Vec::new();
    for step in history.concurrent().chain(&history.after) {
        edges.push((step.started, format!("+{}{}", step.call, step.is_second)));
        let result = step.result.as_deref().unwrap_or("");
        let ended = step.ended.unwrap_or(usize::MAX);
        edges.push((ended, format!("-{}{} {result}", step.call, step.is_second)));
    }
    edges.sort();
    let drop = history.drop_panic.clone().unwrap_or_default();
    let edges = edges.into_iter().map(|(_, text)| text);
    edges.chain([drop]).collect::<Vec<_>>().join("\n")
}

/// Explains that a thread is stuck: at the end of an order its next call is, too.
struct StuckAt<'a, 'b> {
    orders: &'a mut Orders<'b>,
    thread: usize,
    /// The turns of its steps, of which the last is the one that never ended.
    turns: Vec<u8>,
}

impl Sequential for StuckAt<'_, '_> {
    fn play(&mut self, order: &[u8]) -> Option<Played> {
        self.orders.play(order)
    }

    fn play_within(&mut self, order: &[u8], likely: Likely<'_>) -> Option<Played> {
        self.orders.play_within(order, likely)
    }

    fn after(&mut self, order: &[u8]) -> Option<Vec<Option<String>>> {
        self.orders.after(order)
    }

    fn is_end(&mut self, order: &[u8]) -> Option<bool> {
        let own = order.iter();
        let own = own.filter(|turn| order::thread(**turn) == self.thread);
        match (self.turns.last(), own.count() + 1 == self.turns.len()) {
            (Some(last), true) => {
                let next: Vec<u8> = order.iter().copied().chain([*last]).collect();
                Some(self.orders.play(&next)? == Played::Stuck)
            }
            // What did not end has ended in this order.
            _ => Some(false),
        }
    }
}
