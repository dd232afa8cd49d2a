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

use crate::addresses::ADDRESS;
pub use crate::excuses::Excuse;
use crate::history::{History, Step, is_panic, panic_site};
use crate::linearize::{
    Explained, Freedom, Likely, Observation, Observed, Played, Sequential, explain,
};
use crate::order::{self, turns};
use crate::place::in_package;
use crate::program::{Program, Weakness};
use crate::refusal::is_refusal;
use crate::sequential::{Orders, all_orders};
use crate::test_case::{Call, TestCase};

/// Runs of orders per test.
pub(crate) const RUNS: usize = 2_000;
/// Steps of one search.
pub(crate) const STEPS: usize = 20_000;
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
        // What a method says that it does is no failure, be it said only by the message of the panic.
        let is_promised = method.is_none_or(|method| method.may_panic) || is_refusal(text);
        if kind == Kind::Sequential && is_promised {
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
        let observation = self.observation(test, history, Strictness::Blocked);
        let stuck = pending.iter().find(|thread| {
            let turns = turns(**thread, &history.threads[**thread]);
            let mut goal = StuckAt {
                orders,
                thread: **thread,
                turns,
            };
            explain(&observation, &mut goal, STEPS) == Explained::No
        })?;
        if self.waits_for_ever(test, history, orders) {
            return None;
        }
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
        let is_pending = history.concurrent().any(|step| self.is_pending(test, step));
        let mut explains = |how: Strictness| {
            let observation = self.observation(test, history, how);
            explain(&observation, orders, STEPS) != Explained::No
        };
        let is_explained = explains(Strictness::Weak) || explains(Strictness::Written);
        let is_alike = !is_explained && self.differs_in_reason(test, history, orders);
        let excuse = match () {
            () if self.memory == Memory::Weak => Some(Excuse::StaleReads),
            () if self.program.defers_work() => Some(Excuse::DeferredWork),
            () if is_bulk => Some(Excuse::PartByPart),
            () if is_pending => Some(Excuse::Waiting),
            () if is_explained && self.has_shared(test, history) => Some(Excuse::SharedEffect),
            () if is_explained => Some(Excuse::Unchecked),
            () if is_alike => Some(Excuse::Reason),
            () if self.evicts(test, history, orders) => Some(Excuse::Eviction),
            () if self.varies(test, history, orders) => Some(Excuse::Manner),
            () if self.depends_on_threads(test, orders) => Some(Excuse::Manner),
            () if self.depends_on_time(test, history, orders) => Some(Excuse::Manner),
            () if self.waits(test, history, orders) => Some(Excuse::Waiting),
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

    /// Whether a step is a future that was dropped while it was waiting: until then it may have had some of what it waited for.
    fn is_pending(&self, test: &TestCase, step: &Step) -> bool {
        let method = test.call(step.call);
        let method = method.and_then(|call| self.program.methods.get(&call.operation));
        let is_pending = step.result.as_deref() == Some("Pending");
        is_pending && method.is_some_and(|method| method.is_future)
    }

    pub(crate) fn observation(
        &self,
        test: &TestCase,
        history: &History,
        how: Strictness,
    ) -> Observation {
        let linked = linked(test, history);
        let freedom = |call: usize| {
            let operation = test.call(call).map_or(u16::MAX, |call| call.operation);
            let is_unwritten = self.program.is_unwritten(operation);
            match (self.program.weakness(operation), how) {
                (Weakness::Random, _) => Freedom::Any,
                (_, Strictness::Strict) => Freedom::Strict,
                (Weakness::MayFail | Weakness::Relaxed, _) => Freedom::Optional,
                _ if linked.contains(&operation) => Freedom::Any,
                (_, Strictness::Blocked | Strictness::Written | Strictness::Alike)
                    if is_unwritten =>
                {
                    Freedom::Any
                }
                (Weakness::None, Strictness::Alike) => self.alike(operation),
                (Weakness::None, _) => Freedom::Strict,
                (Weakness::Observer | Weakness::Bulk | Weakness::Structure, _) => Freedom::Any,
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
            let is_linked = test
                .call(step.call)
                .is_some_and(|call| linked.contains(&call.operation));
            let binds = match how {
                _ if weakness.is_never_checked() => false,
                Strictness::Strict => freedom(step.call) == Freedom::Strict,
                Strictness::Weak | Strictness::Blocked => !is_linked,
                Strictness::Written | Strictness::Alike => {
                    let call = test.call(step.call);
                    let is_written = |call: &Call| self.program.is_written_after(call.operation);
                    !is_linked && call.is_none_or(is_written)
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

    /// How a result may differ that means the same.
    fn alike(&self, operation: u16) -> Freedom {
        let method = self.program.methods.get(&operation);
        match method.is_some_and(|method| method.may_call_in_vain) {
            true => Freedom::InVain,
            false => Freedom::Refused,
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
            (Memory::Weak, _) | (_, Strictness::Written | Strictness::Alike) => {
                (0, step.ended.map(|_| usize::MAX))
            }
            (Memory::Sc, _) => (step.started, step.ended),
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
    pub(crate) fn serial_orders(&self, test: &TestCase) -> Vec<Vec<u8>> {
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
    pub(crate) fn run_orders(&self, test: &TestCase, orders: &mut Orders<'_>) -> OrdersRun {
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
pub(crate) struct OrdersRun {
    /// How many came to their end.
    ended: usize,
    /// Whether there are no others.
    pub(crate) are_all: bool,
}

/// Which results an explanation has to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// All results bind.
    Strict,
    /// Those of weak methods do not, unless they come when all threads have ended.
    Weak,
    /// Nor do those that a written test does not compare: the text of a handle may show what others have done since the
    /// call returned it.
    Blocked,
    /// Nor does anything that a written test does not compare: some results, and when calls were made.
    Written,
    /// Nor does the reason of a refusal: if there are several, it is not said which of them is told. Nor whether a closure was
    /// called and its value discarded, if nothing says how often it is.
    Alike,
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

/// Operations of which a result shows an address, and so links between parts of the object: what it refers to may change after
/// the call.
fn linked(test: &TestCase, history: &History) -> BTreeSet<u16> {
    let steps = history.concurrent().chain(&history.after);
    let shows_address = |step: &&Step| {
        let result = step.result.as_deref();
        result.is_some_and(|result| result.contains(ADDRESS))
    };
    let linked = steps.filter(shows_address);
    linked
        .filter_map(|step| Some(test.call(step.call)?.operation))
        .collect()
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
