//! Makes a failing test smaller: fewer threads, fewer calls, the simplest objects and arguments.

use std::ops::Range;

use crate::test_case::{TestCase, runs};

/// The smallest test that still fails, as far as so many tries lead. `fails` runs a test.
pub fn shrink(test: &TestCase, tries: usize, fails: &mut dyn FnMut(&TestCase) -> bool) -> TestCase {
    let mut best = test.clone();
    let mut left = tries;
    loop {
        let smaller = candidates(&best).into_iter().find(|candidate| {
            let may_try = left > 0;
            left = left.saturating_sub(1);
            may_try && fails(candidate)
        });
        match smaller {
            Some(smaller) => best = smaller,
            None => return best,
        }
    }
}

/// Tests that are smaller in one way, the largest steps first.
fn candidates(test: &TestCase) -> Vec<TestCase> {
    let mut result = Vec::new();
    let mut add = |change: &dyn Fn(&mut TestCase)| {
        let mut candidate = test.clone();
        change(&mut candidate);
        result.push(candidate);
    };
    if test.threads.len() > 1 {
        for thread in 0..test.threads.len() {
            add(&|candidate| drop(candidate.threads.remove(thread)));
        }
    }
    if test.prefix.len() > 1 {
        add(&|candidate| candidate.prefix.clear());
    }
    for (thread, calls) in test.threads.iter().enumerate() {
        // From the end: what comes first makes the state for the rest.
        for run in runs(calls).into_iter().rev() {
            for less in fewer(&run).filter(|less| less.len() < calls.len()) {
                add(&|candidate| drop(candidate.threads[thread].drain(less.clone())));
            }
        }
    }
    for run in runs(&test.prefix) {
        for less in fewer(&run) {
            add(&|candidate| drop(candidate.prefix.drain(less.clone())));
        }
    }
    for index in (0..test.after.len()).rev() {
        add(&|candidate| drop(candidate.after.remove(index)));
    }
    if test.constructor != 0 {
        add(&|candidate| candidate.constructor = 0);
    }
    if !test.bytes.is_empty() {
        add(&|candidate| candidate.bytes.clear());
        add(&|candidate| {
            candidate.bytes.pop();
        });
    }
    let lists = [&test.prefix].into_iter().chain(&test.threads);
    let mut before = 0;
    for list in lists.chain([&test.after]) {
        for run in runs(list) {
            let ids = || run.clone().map(|index| before + index);
            if list[run.start].bytes.is_empty() {
                continue;
            }
            let change = |candidate: &mut TestCase, change: &dyn Fn(&mut Vec<u8>)| {
                for id in ids() {
                    if let Some(call) = candidate.call_mut(id) {
                        change(&mut call.bytes);
                    }
                }
            };
            add(&|candidate| change(candidate, &Vec::clear));
            add(&|candidate| {
                change(candidate, &|bytes| {
                    bytes.truncate(bytes.len().saturating_sub(1))
                })
            });
        }
        before += list.len();
    }
    result
}

/// What of a run of equal calls is taken out: half, a few, or one. Which ones makes no difference.
fn fewer(run: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut counts = vec![run.len() / 2, run.len() / 8, 1];
    counts.retain(|count| *count > 0);
    counts.dedup();
    let start = run.start;
    counts.into_iter().map(move |count| start..start + count)
}

#[cfg(test)]
mod tests {
    use super::shrink;
    use crate::test_case::{Call, TestCase};

    fn call(operation: u16) -> Call {
        Call {
            operation,
            bytes: vec![3, 2, 1],
        }
    }

    #[test]
    fn only_what_fails_is_left() {
        let test = TestCase {
            constructor: 3,
            bytes: vec![1, 2],
            prefix: vec![call(1), call(7), call(2)],
            threads: vec![
                vec![call(1), call(5)],
                vec![call(2)],
                vec![call(6), call(1)],
            ],
            after: vec![call(4)],
        };
        // A prepared object, and two calls at the same time, one of them with its first argument.
        let mut runs = 0;
        let smallest = shrink(&test, 1000, &mut |test| {
            runs += 1;
            let has = |operation| {
                test.threads
                    .iter()
                    .position(|calls| calls.iter().any(|call| call.operation == operation))
            };
            let (five, six) = (has(5), has(6));
            let mut fives = test
                .threads
                .iter()
                .flatten()
                .filter(|call| call.operation == 5);
            five.is_some()
                && six.is_some()
                && five != six
                && test.prefix.iter().any(|call| call.operation == 7)
                && fives.any(|call| call.bytes.first() == Some(&3))
        });
        let plain = |operation, bytes: &[u8]| Call {
            operation,
            bytes: bytes.to_vec(),
        };
        let expected = TestCase {
            constructor: 0,
            bytes: Vec::new(),
            prefix: vec![plain(7, &[])],
            threads: vec![vec![plain(5, &[3])], vec![plain(6, &[])]],
            after: Vec::new(),
        };
        assert_eq!(smallest, expected);
        assert!(runs < 200, "{runs}");
    }

    #[test]
    fn calls_that_are_repeated_become_fewer_together() {
        let test = TestCase {
            prefix: vec![call(1); 65],
            threads: vec![vec![call(2); 60], vec![call(3)]],
            ..TestCase::default()
        };
        let mut runs = 0;
        let smallest = shrink(&test, 1000, &mut |test| {
            runs += 1;
            test.prefix.len() > 40 && test.threads.len() == 2 && test.threads[0].len() > 20
        });
        assert_eq!((smallest.prefix.len(), smallest.threads[0].len()), (41, 21));
        assert!(smallest.prefix.iter().all(|call| call.bytes.is_empty()));
        assert!(runs < 250, "{runs}");
    }

    #[test]
    fn without_tries_nothing_changes() {
        let test = TestCase {
            threads: vec![vec![call(1)], vec![call(2)]],
            ..TestCase::default()
        };
        assert_eq!(shrink(&test, 0, &mut |_| true), test);
    }
}
