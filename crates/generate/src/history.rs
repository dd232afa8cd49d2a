//! What the marks of an execution say: which calls were made, in which order they began and
//! ended, and what they returned; and which methods ran inside of them.

use std::collections::BTreeMap;

use raddle_abi::mark::{End, kind};
use raddle_trace::runner::MarkedExecution;

use crate::addresses::without_addresses;
use crate::callees::Callees;
use crate::pairs::{Edge, Entry};
use crate::test_case::{Position, TestCase};

/// In a mark's number: what a call returned is used, or dropped.
const SECOND: u32 = 1 << 15;
/// In the place of a call: making the objects.
pub(crate) const MAKING: u32 = SECOND - 1;
/// In the place of a call: the objects are gone.
pub(crate) const GONE: u32 = SECOND - 2;

/// A call, or the use of what it returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Number of the call in the test.
    pub call: usize,
    /// Whether it is what follows on the call: a use of what it returned, or its end.
    pub is_second: bool,
    /// When it began.
    pub started: usize,
    /// When it ended, if it did.
    pub ended: Option<usize>,
    /// What it returned, if it did.
    pub result: Option<String>,
}

/// A method that was entered or left, be it that the test called it or something inside of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// When.
    pub time: usize,
    /// The program's number of the thread.
    pub thread: u16,
    /// Entered or left.
    pub edge: Edge,
    /// Number of the operation.
    pub method: u16,
}

/// What one run of a test did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Steps before there were threads.
    pub prefix: Vec<Step>,
    /// Steps of each thread.
    pub threads: Vec<Vec<Step>>,
    /// Steps when all threads had ended.
    pub after: Vec<Step>,
    /// Methods that were entered and left, if the plan asked for that.
    pub passages: Vec<Passage>,
    /// Threads of the test by the program's numbers.
    pub carriers: BTreeMap<u16, usize>,
    /// The program's number of the thread that makes the objects.
    pub main: Option<u16>,
    /// What making the objects panicked with, if it did.
    pub unmade: Option<String>,
    /// What dropping the objects panicked with, if it did.
    pub drop_panic: Option<String>,
    /// Whether it came to its end.
    pub is_whole: bool,
}

/// Whether a result is a panic.
pub fn is_panic(result: &str) -> bool {
    result.starts_with('!')
}

/// Where a panic was, of its text.
pub fn panic_site(result: &str) -> &str {
    let text = result.trim_start_matches('!');
    text.split_once(": ").map_or(text, |(site, _)| site)
}

impl History {
    /// Steps that came to something else in another execution of the same calls in the same order.
    pub fn differences(&self, other: &Self) -> Vec<(usize, bool)> {
        let steps = self.concurrent().chain(&self.after);
        let others = other.concurrent().chain(&other.after);
        let pairs = steps.zip(others);
        let different = pairs.filter(|(one, other)| one.result != other.result);
        different
            .map(|(step, _)| (step.call, step.is_second))
            .collect()
    }

    /// What an execution did; if calls were made one after the other, once per order.
    pub fn read(test: &TestCase, execution: &MarkedExecution) -> BTreeMap<usize, Self> {
        let mut histories: BTreeMap<usize, Self> = BTreeMap::new();
        for (time, mark) in execution.marks.iter().enumerate() {
            let order = (mark.number >> 16) as usize;
            let history = histories.entry(order).or_insert_with(|| Self {
                threads: vec![Vec::new(); test.threads.len()],
                ..Self::default()
            });
            let text = || String::from_utf8_lossy(&mark.bytes).into_owned();
            if let Some(edge) = edge(mark.kind) {
                history.passages.push(Passage {
                    time,
                    thread: mark.thread,
                    edge,
                    method: mark.number as u16,
                });
                continue;
            }
            let call = mark.number & (SECOND - 1);
            let is_second = mark.number & SECOND != 0;
            match call {
                MAKING => {
                    history.main = Some(mark.thread);
                    history.unmade = Some(text()).filter(|text| is_panic(text));
                }
                GONE => {
                    history.drop_panic = Some(text()).filter(|text| is_panic(text));
                    history.is_whole = true;
                }
                _ => {
                    let call = call as usize;
                    if let Some(Position::Thread(thread, _)) = test.position(call) {
                        history.carriers.insert(mark.thread, thread);
                    }
                    let Some(steps) = history.steps(test, call) else {
                        continue;
                    };
                    if mark.kind == kind::CALL {
                        steps.push(Step {
                            call,
                            is_second,
                            started: time,
                            ended: None,
                            result: None,
                        });
                    } else if let Some(last) = steps.last_mut() {
                        last.ended = Some(time);
                        last.result = Some(without_addresses(text()));
                    }
                }
            }
        }
        histories
    }

    /// What an execution with threads did.
    pub fn of(test: &TestCase, execution: &MarkedExecution) -> Self {
        let mut history = Self::read(test, execution).remove(&0).unwrap_or_default();
        history.is_whole &= execution.end == Some(End::Passed);
        history
    }

    fn steps(&mut self, test: &TestCase, call: usize) -> Option<&mut Vec<Step>> {
        match test.position(call)? {
            Position::Prefix(_) => Some(&mut self.prefix),
            Position::Thread(thread, _) => self.threads.get_mut(thread),
            Position::After(_) => Some(&mut self.after),
        }
    }

    /// Whether it came to its end, and no thread began before another one had ended.
    pub fn is_serial(&self) -> bool {
        let span = |steps: &Vec<Step>| Some((steps.first()?.started, steps.last()?.ended?));
        let mut spans: Vec<_> = self.threads.iter().filter_map(span).collect();
        spans.sort_unstable();
        self.is_whole && spans.windows(2).all(|two| two[0].1 < two[1].0)
    }

    /// All steps of threads.
    pub fn concurrent(&self) -> impl Iterator<Item = &Step> {
        self.threads.iter().flatten()
    }

    /// The trace of methods, for coverage. What follows on a call is a part of it. Methods that
    /// were entered inside of a call are there too, but not the one that the call itself is.
    pub fn trace(&self, test: &TestCase, callees: &Callees) -> Vec<Entry> {
        let mut passages = self.calls(test);
        let inside = self.passages.iter().filter_map(|passage| {
            let thread = self.thread(test, passage.thread)?;
            Some((
                passage.time,
                thread,
                passage.edge,
                Whose::Inside(passage.method),
            ))
        });
        passages.extend(inside);
        passages.sort_by_key(|(time, ..)| *time);
        let mut entries = Vec::new();
        let mut threads: BTreeMap<usize, Running> = BTreeMap::new();
        for (_, thread, edge, whose) in passages {
            let running = threads.entry(thread).or_default();
            let mut note = |edge: Edge, method: u16| {
                entries.push(Entry {
                    edge,
                    method: usize::from(method),
                    thread,
                });
            };
            match (edge, whose) {
                (Edge::Start, Whose::Test(method)) => {
                    running.call = Some(method);
                    note(edge, method);
                }
                (Edge::End, Whose::Test(method)) => {
                    // Unwinding may not have been seen to end what was inside.
                    running.leave(0, |inner| note(edge, inner));
                    running.call = None;
                    note(edge, method);
                }
                (Edge::Start, Whose::Inside(method)) => {
                    let is_call = running.inside.is_empty()
                        && running
                            .call
                            .is_some_and(|call| callees.is_direct(call, method));
                    running.inside.push((method, !is_call));
                    if !is_call {
                        note(edge, method);
                    }
                }
                (Edge::End, Whose::Inside(method)) => {
                    let mut inside = running.inside.iter();
                    if let Some(depth) = inside.rposition(|(inner, _)| *inner == method) {
                        running.leave(depth, |inner| note(edge, inner));
                    }
                }
            }
        }
        entries
    }

    /// When the calls of the test began and ended, in no order.
    fn calls(&self, test: &TestCase) -> Vec<(usize, usize, Edge, Whose)> {
        let mut calls = Vec::new();
        for (thread, steps) in self.threads.iter().enumerate() {
            for (index, step) in steps.iter().enumerate() {
                let Some(call) = test.call(step.call) else {
                    continue;
                };
                let whose = Whose::Test(call.operation);
                if !step.is_second {
                    calls.push((step.started, thread, Edge::Start, whose));
                }
                let next = steps.get(index + 1);
                let goes_on = next.is_some_and(|next| next.call == step.call);
                if let Some(ended) = step.ended.filter(|_| !goes_on) {
                    calls.push((ended, thread, Edge::End, whose));
                }
            }
        }
        calls
    }

    /// The number of one of the program's threads for the trace: first come those of the test. The
    /// one that makes the objects calls what comes before and after, which does not count.
    fn thread(&self, test: &TestCase, number: u16) -> Option<usize> {
        let of_test = self.carriers.get(&number).copied();
        let other = Some(test.threads.len() + usize::from(number));
        of_test.or_else(|| other.filter(|_| self.main != Some(number)))
    }
}

/// Whose call enters or leaves a method, and the method.
#[derive(Clone, Copy)]
enum Whose {
    Test(u16),
    Inside(u16),
}

/// What a thread is in.
#[derive(Default)]
struct Running {
    /// The call of the test.
    call: Option<u16>,
    /// Methods that were entered since, and whether they are other calls than that.
    inside: Vec<(u16, bool)>,
}

impl Running {
    /// Leaves methods until only so many are left, the innermost first.
    fn leave(&mut self, depth: usize, mut left: impl FnMut(u16)) {
        for (method, is_other) in self.inside.drain(depth..).rev() {
            if is_other {
                left(method);
            }
        }
    }
}

/// Whether a mark says that a function was entered or left.
fn edge(mark: u16) -> Option<Edge> {
    match mark {
        kind::ENTER => Some(Edge::Start),
        kind::LEAVE => Some(Edge::End),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use raddle_abi::mark::{End, kind};
    use raddle_trace::runner::{Marked, MarkedExecution};

    use super::{GONE, History, SECOND};
    use crate::callees::Callees;
    use crate::pairs::covered;
    use crate::test_case::{Call, TestCase};

    fn execution(marks: &[(u16, u32, &str)]) -> MarkedExecution {
        let marks = marks.iter().map(|(kind, number, text)| Marked {
            kind: *kind,
            thread: 0,
            number: *number,
            point: 0,
            bytes: text.as_bytes().to_vec(),
        });
        MarkedExecution {
            seed: 0,
            length: 0,
            marks: marks.collect(),
            end: Some(End::Passed),
            decisions: Vec::new(),
        }
    }

    fn test_case() -> TestCase {
        let call = |operation| Call {
            operation,
            bytes: Vec::new(),
        };
        TestCase {
            threads: vec![vec![call(5)], vec![call(6)]],
            ..TestCase::default()
        }
    }

    #[test]
    fn what_is_held_lasts_until_it_is_used() {
        let marks = [
            (kind::CALL, 0, ""),
            (kind::RETURN, 0, "*1"),
            (kind::CALL, 1, ""),
            (kind::RETURN, 1, "!src/lib.rs:3:1: oh"),
            (kind::CALL, SECOND, ""),
            (kind::RETURN, SECOND, ""),
            (kind::RETURN, GONE, ""),
        ];
        let test = test_case();
        let history = History::of(&test, &execution(&marks));
        assert!(history.is_whole);
        assert_eq!(history.threads[0].len(), 2);
        assert_eq!(history.threads[0][0].result.as_deref(), Some("*1"));
        let result = history.threads[1][0].result.as_deref().unwrap();
        assert!(super::is_panic(result));
        assert_eq!(super::panic_site(result), "src/lib.rs:3:1");
        let counts = covered(&history.trace(&test, &Callees::default()));
        assert_eq!(counts.into_iter().collect::<Vec<_>>(), [((5, 6), 1)]);
    }

    /// One mark per word: thread of the program, what it is, and a number. `(` and `)` are calls of
    /// the test with their places, `+` and `-` functions with the operations that they are.
    fn inside(text: &str) -> MarkedExecution {
        let words = text.split_whitespace().map(|word| {
            let (thread, rest) = word.split_at(1);
            let (what, number) = rest.split_at(1);
            let kind = match what {
                "(" => kind::CALL,
                ")" => kind::RETURN,
                "+" => kind::ENTER,
                _ => kind::LEAVE,
            };
            Marked {
                kind,
                thread: thread.parse().unwrap(),
                number: match number {
                    "made" => super::MAKING,
                    number => number.parse().unwrap(),
                },
                point: 0,
                bytes: Vec::new(),
            }
        });
        MarkedExecution {
            marks: words.collect(),
            ..execution(&[])
        }
    }

    /// What is covered if operations 5 and 6 are the calls 1 and 2, of two threads, and call 0 comes before.
    fn check_inside(text: &str, expected: &[((usize, usize), u32)]) {
        let mut test = test_case();
        test.prefix = vec![test.threads[0][0].clone()];
        let callees = Callees::of_operations([5, 6, 7]);
        let history = History::of(&test, &inside(text));
        let counts = covered(&history.trace(&test, &callees));
        assert_eq!(counts.into_iter().collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn a_call_counts_once_and_what_it_calls_inside_counts_too() {
        check_inside("1(1 1+5 2(2 2+6 2-6 2)2 1-5 1)1", &[((5, 6), 1)]);
        check_inside(
            "1(1 1+5 1+7 2(2 2+6 1-7 2-6 2)2 1-5 1)1",
            &[((5, 6), 1), ((6, 7), 1)],
        );
        check_inside("1(1 1+5 1+7 1-7 2(2 2+6 2-6 2)2 1-5 1)1", &[((5, 6), 1)]);
        // A method that calls itself runs twice.
        check_inside("1(1 1+5 1+5 2(2 2+6 2-6 2)2 1-5 1-5 1)1", &[((5, 6), 2)]);
        check_inside("1(1 1+5 1+5 1-5 2(2 2+6 2-6 2)2 1-5 1)1", &[((5, 6), 1)]);
    }

    #[test]
    fn unwinding_ends_what_was_called_inside() {
        // Seen when it is caught, when the method is left, with the call, or later.
        for text in [
            "1(1 1+5 1+7 1-7 2(2 2+6 2-6 2)2 1-5 1)1",
            "1(1 1+5 1+7 1-5 2(2 2+6 2-6 2)2 1)1",
        ] {
            check_inside(text, &[((5, 6), 1)]);
        }
        check_inside("1(1 1+5 1+7 1)1 2(2 2+6 2-6 2)2", &[]);
        check_inside("1(1 1+5 1+5 1)1 2(2 1-5 1-5 2+6 2-6 2)2", &[]);
    }

    #[test]
    fn what_comes_before_does_not_count_and_threads_of_the_type_do() {
        let before = "0)made 0(0 0+5 0+7 2+6 2-6 0-7 0-5 0)0";
        check_inside(before, &[]);
        check_inside("0)made 3+7 1(1 1+5 3-7 1-5 1)1", &[((5, 7), 1)]);
    }

    #[test]
    fn a_call_that_never_returns_has_no_end() {
        let history = History::of(&test_case(), &execution(&[(kind::CALL, 1, "")]));
        assert!(!history.is_whole);
        assert_eq!(history.threads[1][0].ended, None);
    }
}
