//! Runs the calls of a test one after the other, in orders that are asked for, and remembers what
//! came of each.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use raddle_abi::finding::Kind;
use raddle_abi::mark::End;
use raddle_abi::plan::oracles;
use raddle_trace::runner::{PlanRequest, Runner, RunnerError};

use crate::history::{History, Step};
use crate::linearize::{Likely, Played, Sequential};
use crate::order::{self, LEFT_OUT, SECOND};
use crate::test_case::{Manner, TestCase};

/// Orders that are run at once.
const BATCH: usize = 100;
/// Each time that a search asks for an order which was not run, so many times as many are run
/// with it as the last time: a run costs much more than one order more in it.
const GROWTH: usize = 4;

/// Executions in which threads run one after the other, in turns that chance has chosen.
const BY_THREADS: u64 = 8;

/// Runs orders of one test.
pub struct Orders<'a> {
    test: &'a TestCase,
    runner: &'a mut dyn Runner,
    manner: Manner,
    /// What the last step of each order came to.
    known: HashMap<Vec<u8>, Played>,
    /// What was done, of orders that came to their end.
    whole: HashMap<Vec<u8>, History>,
    /// What was done, of orders that got stuck.
    stuck: Vec<History>,
    /// Orders that are run the next time that one is asked for.
    guesses: usize,
    /// Whether some order was run in which all calls were made.
    pub(crate) is_feasible: bool,
    /// Runs that are still allowed.
    pub(crate) left: usize,
    /// Kinds of findings in orders: these need no concurrency.
    pub kinds: BTreeSet<Kind>,
    /// Where orders that came to their end panicked, and how many of them.
    pub panics: BTreeMap<String, usize>,
    /// Why orders cannot be run any more.
    pub error: Option<RunnerError>,
}

impl<'a> Orders<'a> {
    /// Of this test, with so many runs at most.
    pub fn new(test: &'a TestCase, runner: &'a mut dyn Runner, budget: usize) -> Self {
        Self {
            test,
            runner,
            manner: Manner::PLAIN,
            known: HashMap::new(),
            whole: HashMap::new(),
            stuck: Vec::new(),
            guesses: 1,
            is_feasible: false,
            left: budget,
            kinds: BTreeSet::new(),
            panics: BTreeMap::new(),
            error: None,
        }
    }

    /// Orders of the same test that are run in another manner, with so many runs at most.
    pub fn otherwise(&mut self, manner: Manner, budget: usize) -> Orders<'_> {
        Orders {
            manner,
            ..Orders::new(self.test, self.runner, budget)
        }
    }

    /// Orders of another test, with so many runs at most.
    pub fn of_test<'b>(&'b mut self, test: &'b TestCase, budget: usize) -> Orders<'b> {
        Orders::new(test, self.runner, budget)
    }

    /// Runs orders that were not run yet.
    pub fn run(&mut self, orders: &[Vec<u8>]) {
        let mut open: Vec<Vec<u8>> = orders.to_vec();
        open.retain(|order| !self.whole.contains_key(order));
        while !open.is_empty() && self.left > 0 && self.error.is_none() {
            let count = open.len().min(BATCH).min(self.left);
            let batch: Vec<_> = open.drain(..count).collect();
            self.left -= count;
            let done = self.run_batch(&batch);
            // Whatever came after an order that got stuck was not run.
            open.splice(0..0, batch[done..].iter().cloned());
        }
    }

    /// Whether some call of an order never returned.
    pub fn has_stuck(&self) -> bool {
        self.known.values().any(|played| *played == Played::Stuck)
    }

    /// What orders did that got stuck.
    pub fn stuck(&self) -> impl Iterator<Item = &History> {
        self.stuck.iter()
    }

    /// What an order did, if it was run to its end.
    pub fn history(&self, order: &[u8]) -> Option<&History> {
        self.whole.get(order)
    }

    /// What the test's own threads do, one after the other.
    pub fn by_threads(&mut self) -> Vec<History> {
        let outcome = self.runner.run(&PlanRequest {
            // Priorities that never change.
            strategy: "pct(1)".to_owned(),
            executions: BY_THREADS,
            oracles: 0,
            input: self.test.encode(&[]),
            marks: true,
            ..PlanRequest::default()
        });
        match outcome {
            Ok(outcome) => {
                let histories = outcome.marks.iter().map(|one| History::of(self.test, one));
                histories.filter(History::is_serial).collect()
            }
            Err(error) => {
                self.error = Some(error);
                Vec::new()
            }
        }
    }

    /// Runs orders in one execution; how many of them were run.
    fn run_batch(&mut self, orders: &[Vec<u8>]) -> usize {
        let request = PlanRequest {
            strategy: "serial".to_owned(),
            oracles: oracles::HEAP,
            input: self.test.encode_in(orders, self.manner),
            marks: true,
            ..PlanRequest::default()
        };
        let outcome = match self.runner.run(&request) {
            Ok(outcome) => outcome,
            Err(error) => {
                self.error = Some(error);
                return orders.len();
            }
        };
        let kinds = outcome.findings.iter().map(|finding| finding.kind);
        self.kinds
            .extend(kinds.filter(|kind| *kind != Kind::Deadlock));
        let Some(execution) = outcome.marks.first() else {
            return orders.len();
        };
        let histories = History::read(self.test, execution);
        let is_whole = execution.end == Some(End::Passed);
        let last = histories.keys().last().copied().unwrap_or(0);
        for (index, history) in &histories {
            if let Some(order) = orders.get(*index) {
                self.learn(order, history);
            }
        }
        match is_whole {
            true => orders.len(),
            false => (last + 1).min(orders.len()),
        }
    }

    fn learn(&mut self, order: &[u8], history: &History) {
        let all = history
            .prefix
            .iter()
            .chain(history.concurrent())
            .chain(&history.after);
        let results = all.filter_map(|step| step.result.as_deref());
        let results = results.chain(history.drop_panic.as_deref());
        let sites = results.filter(|result| crate::history::is_panic(result));
        let sites: BTreeSet<&str> = sites.map(crate::history::panic_site).collect();
        for site in sites {
            *self.panics.entry(site.to_owned()).or_default() += usize::from(history.is_whole);
        }
        if !history.is_whole {
            self.stuck.push(history.clone());
        }
        let mut steps: Vec<_> = history
            .threads
            .iter()
            .map(|steps| steps.iter().peekable())
            .collect();
        for (index, turn) in order.iter().enumerate() {
            let steps = steps.get_mut(order::thread(*turn));
            let played = match steps.filter(|_| turn & LEFT_OUT == 0) {
                Some(steps) => {
                    let is_second = steps.peek().is_some_and(|step| step.is_second);
                    match steps.next_if(|_| turn & SECOND == 0 || is_second) {
                        Some(Step {
                            result: Some(result),
                            ..
                        }) => Played::Returned(Some(result.clone())),
                        Some(_) => Played::Stuck,
                        // It returned nothing to use, in this order.
                        None if turn & SECOND != 0 => Played::Returned(None),
                        None => Played::Nothing,
                    }
                }
                None => Played::Returned(None),
            };
            let is_stuck = played == Played::Stuck;
            self.known.insert(order[..=index].to_vec(), played);
            if is_stuck {
                return;
            }
        }
        if history.is_whole {
            let calls = history.concurrent().filter(|step| !step.is_second);
            self.is_feasible |= calls.count() == self.test.concurrent_calls();
            self.whole.insert(order.to_vec(), history.clone());
        }
    }
}

impl Sequential for Orders<'_> {
    fn play(&mut self, order: &[u8]) -> Option<Played> {
        if !self.known.contains_key(order) {
            // Whatever begins with something that got stuck gets no further.
            let is_stuck =
                (1..order.len()).any(|len| self.known.get(&order[..len]) == Some(&Played::Stuck));
            if is_stuck {
                return Some(Played::Stuck);
            }
            self.run(&[order.to_vec()]);
        }
        self.known.get(order).cloned()
    }

    fn play_within(&mut self, order: &[u8], likely: Likely<'_>) -> Option<Played> {
        // An order says what comes of every beginning of it.
        if !self.known.contains_key(order) {
            let likely = likely(self.guesses);
            self.guesses = (self.guesses * GROWTH).min(BATCH);
            self.run(&likely);
        }
        self.play(order)
    }

    fn after(&mut self, order: &[u8]) -> Option<Vec<Option<String>>> {
        if !self.whole.contains_key(order) {
            self.run(&[order.to_vec()]);
        }
        let after = &self.whole.get(order)?.after;
        Some(after.iter().map(|step| step.result.clone()).collect())
    }
}

/// All orders of threads with so many steps, if there are no more than that.
pub fn all_orders(steps: &[usize], most: usize) -> Option<Vec<Vec<u8>>> {
    fn extend(left: &mut [usize], turns: &mut Vec<u8>, most: usize, found: &mut Vec<Vec<u8>>) {
        if found.len() > most {
            return;
        }
        if left.iter().all(|steps| *steps == 0) {
            found.push(turns.clone());
            return;
        }
        for thread in 0..left.len() {
            if left[thread] > 0 {
                left[thread] -= 1;
                turns.push(order::next(thread));
                extend(left, turns, most, found);
                turns.pop();
                left[thread] += 1;
            }
        }
    }
    let mut found = Vec::new();
    extend(&mut steps.to_vec(), &mut Vec::new(), most, &mut found);
    (found.len() <= most).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::all_orders;

    #[test]
    fn orders_keep_the_order_of_each_thread() {
        let orders = all_orders(&[2, 2], 100).unwrap();
        assert_eq!(orders.len(), 6);
        assert!(orders.contains(&vec![0, 1, 1, 0]));
        assert_eq!(all_orders(&[5, 5, 5], 1000), None);
    }
}
