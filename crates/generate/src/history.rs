//! What the marks of an execution say: which calls were made, in which order they began and
//! ended, and what they returned.

use std::collections::BTreeMap;

use raddle_abi::mark::{End, kind};
use raddle_trace::runner::MarkedExecution;

use crate::pairs::{Edge, Entry};
use crate::test_case::{Position, TestCase};

/// In a mark's number: what a call returned is used, or dropped.
const SECOND: u32 = 1 << 15;
/// In the place of a call: making the objects.
const MAKING: u32 = SECOND - 1;
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

/// What one run of a test did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Steps before there were threads.
    pub prefix: Vec<Step>,
    /// Steps of each thread.
    pub threads: Vec<Vec<Step>>,
    /// Steps when all threads had ended.
    pub after: Vec<Step>,
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
            let call = mark.number & (SECOND - 1);
            let is_second = mark.number & SECOND != 0;
            match call {
                MAKING => history.unmade = Some(text()).filter(|text| is_panic(text)),
                GONE => {
                    history.drop_panic = Some(text()).filter(|text| is_panic(text));
                    history.is_whole = true;
                }
                _ => {
                    let call = call as usize;
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
                        last.result = Some(text());
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

    /// All steps of threads.
    pub fn concurrent(&self) -> impl Iterator<Item = &Step> {
        self.threads.iter().flatten()
    }

    /// The trace of methods, for coverage. What follows on a call is a part of it.
    pub fn trace(&self, test: &TestCase) -> Vec<Entry> {
        let mut entries: Vec<(usize, Entry)> = Vec::new();
        for (thread, steps) in self.threads.iter().enumerate() {
            for (index, step) in steps.iter().enumerate() {
                let Some(call) = test.call(step.call) else {
                    continue;
                };
                let entry = |edge: Edge| Entry {
                    edge,
                    method: usize::from(call.operation),
                    thread,
                };
                if !step.is_second {
                    entries.push((step.started, entry(Edge::Start)));
                }
                let next = steps.get(index + 1);
                let goes_on = next.is_some_and(|next| next.call == step.call);
                if let Some(ended) = step.ended.filter(|_| !goes_on) {
                    entries.push((ended, entry(Edge::End)));
                }
            }
        }
        entries.sort_by_key(|(time, _)| *time);
        entries.into_iter().map(|(_, entry)| entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use raddle_abi::mark::{End, kind};
    use raddle_trace::runner::{Marked, MarkedExecution};

    use super::{GONE, History, SECOND};
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
        let counts = covered(&history.trace(&test));
        assert_eq!(counts.into_iter().collect::<Vec<_>>(), [((5, 6), 1)]);
    }

    #[test]
    fn a_call_that_never_returns_has_no_end() {
        let history = History::of(&test_case(), &execution(&[(kind::CALL, 1, "")]));
        assert!(!history.is_whole);
        assert_eq!(history.threads[1][0].ended, None);
    }
}
