//! Makes a failing test smaller: fewer threads, fewer calls, the simplest objects and arguments.

use crate::test_case::TestCase;

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
        for index in (0..calls.len()).rev().filter(|_| calls.len() > 1) {
            add(&|candidate| drop(candidate.threads[thread].remove(index)));
        }
    }
    for index in 0..test.prefix.len() {
        add(&|candidate| drop(candidate.prefix.remove(index)));
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
    let count = test.prefix.len() + test.concurrent_calls() + test.after.len();
    for id in 0..count {
        let bytes = test.call(id).map_or(0, |call| call.bytes.len());
        if bytes > 0 {
            add(&|candidate| {
                if let Some(call) = candidate.call_mut(id) {
                    call.bytes.clear();
                }
            });
            add(&|candidate| {
                if let Some(call) = candidate.call_mut(id) {
                    call.bytes.pop();
                }
            });
        }
    }
    result
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
    fn without_tries_nothing_changes() {
        let test = TestCase {
            threads: vec![vec![call(1)], vec![call(2)]],
            ..TestCase::default()
        };
        assert_eq!(shrink(&test, 0, &mut |_| true), test);
    }
}
