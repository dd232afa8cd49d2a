//! Histories of a queue, some of which no order explains.

use crate::linearize::{
    Explained, Freedom, Observation, Observed, Played, Sequential, explain, fits,
};
use crate::order::{self, LEFT_OUT};

/// A queue whose threads make these calls: numbers are put in, 0 takes one out.
struct Queue {
    calls: Vec<Vec<u32>>,
    runs: usize,
    tells_states: bool,
}

impl Queue {
    /// The queue after an order, and the last result.
    fn run(&self, order: &[u8]) -> (Vec<u32>, Played) {
        let mut queue: Vec<u32> = Vec::new();
        let mut positions = vec![0; self.calls.len()];
        let mut last = Played::Nothing;
        for name in order {
            let thread = order::thread(*name);
            let call = self.calls[thread][positions[thread]];
            positions[thread] += 1;
            last = match call {
                _ if name & LEFT_OUT != 0 => Played::Returned(None),
                0 if queue.is_empty() => Played::Returned(Some("None".to_owned())),
                0 => Played::Returned(Some(queue.remove(0).to_string())),
                9 => Played::Stuck,
                number => {
                    queue.push(number);
                    Played::Returned(Some("()".to_owned()))
                }
            };
        }
        (queue, last)
    }
}

impl Sequential for Queue {
    fn play(&mut self, order: &[u8]) -> Option<Played> {
        self.runs += 1;
        Some(self.run(order).1)
    }

    fn after(&mut self, order: &[u8]) -> Option<Vec<Option<String>>> {
        Some(vec![Some(self.run(order).0.len().to_string())])
    }

    fn state(&mut self, order: &[u8]) -> Option<u64> {
        let queue = self.run(order).0;
        self.tells_states.then(|| {
            queue
                .iter()
                .fold(7, |hash, one| hash * 11 + u64::from(*one))
        })
    }
}

/// A history in words: thread, call, when it began and ended, its result.
fn check(words: &[(usize, u32, usize, usize, &str)], after: &str, expected: Explained) {
    check_with(words, after, expected, Freedom::Strict);
}

fn check_with(
    words: &[(usize, u32, usize, usize, &str)],
    after: &str,
    expected: Explained,
    freedom: Freedom,
) {
    let count = words.iter().map(|word| word.0 + 1).max().unwrap_or(0);
    let mut calls = vec![Vec::new(); count];
    let mut threads = vec![Vec::new(); count];
    for (thread, call, started, ended, result) in words {
        calls[*thread].push(*call);
        threads[*thread].push(Observed {
            turn: order::turn(*thread, false, false),
            started: *started,
            ended: (*ended > 0).then_some(*ended),
            result: (!result.is_empty()).then(|| (*result).to_owned()),
            freedom,
            before: None,
        });
    }
    let after = match after {
        "" => Vec::new(),
        text => vec![(Some(text.to_owned()), true)],
    };
    let observation = Observation {
        threads,
        after,
        finally: Vec::new(),
    };
    let mut queue = Queue {
        calls,
        runs: 0,
        tells_states: false,
    };
    assert_eq!(
        explain(&observation, &mut queue, 100_000),
        expected,
        "{words:?}"
    );
}

#[test]
fn an_order_that_explains_is_found() {
    check(
        &[(0, 1, 1, 4, "()"), (1, 0, 2, 3, "1")],
        "0",
        Explained::Yes,
    );
    check(
        &[(0, 1, 1, 4, "()"), (1, 0, 2, 3, "None")],
        "1",
        Explained::Yes,
    );
}

#[test]
fn what_ended_before_came_before() {
    check(
        &[(0, 1, 1, 2, "()"), (1, 0, 3, 4, "None")],
        "",
        Explained::No,
    );
    check(
        &[(0, 1, 1, 3, "()"), (1, 0, 2, 4, "None")],
        "",
        Explained::Yes,
    );
}

#[test]
fn one_element_is_not_taken_twice() {
    let words = [(0, 1, 1, 2, "()"), (0, 0, 3, 6, "1"), (1, 0, 4, 5, "1")];
    check(&words, "", Explained::No);
}

#[test]
fn what_is_left_at_the_end_counts() {
    let words = [(0, 1, 1, 4, "()"), (1, 2, 2, 3, "()")];
    check(&words, "2", Explained::Yes);
    check(&words, "1", Explained::No);
}

#[test]
fn a_call_that_never_returned_may_have_had_its_effect() {
    check(&[(0, 1, 1, 0, ""), (1, 0, 2, 3, "1")], "", Explained::Yes);
    check(
        &[(0, 1, 1, 0, ""), (1, 0, 2, 3, "None")],
        "",
        Explained::Yes,
    );
    check(&[(0, 1, 1, 0, ""), (1, 0, 2, 3, "2")], "", Explained::No);
}

#[test]
fn an_order_that_gets_stuck_explains_nothing() {
    check(
        &[(0, 9, 1, 4, "()"), (1, 0, 2, 3, "None")],
        "",
        Explained::No,
    );
}

#[test]
fn calls_that_may_fail_without_reason_may_be_left_out() {
    let words = [(0, 1, 1, 2, "full"), (1, 0, 3, 4, "None")];
    check(&words, "0", Explained::No);
    check_with(&words, "0", Explained::Yes, Freedom::Optional);
}

#[test]
fn three_threads_with_five_calls_each_come_to_an_end() {
    // All overlap, and one result is impossible.
    let mut threads = vec![Vec::new(); 3];
    let mut calls = vec![Vec::new(); 3];
    for (thread, steps) in threads.iter_mut().enumerate() {
        for index in 0..5 {
            calls[thread].push(if index % 2 == 0 { 1 } else { 0 });
            steps.push(Observed {
                turn: order::turn(thread, false, false),
                started: index * 10 + thread,
                ended: Some(index * 10 + 9 + thread),
                result: None,
                freedom: Freedom::Any,
                before: None,
            });
        }
    }
    let observation = Observation {
        threads,
        after: vec![(Some("99".to_owned()), true)],
        finally: Vec::new(),
    };
    let mut queue = Queue {
        calls,
        runs: 0,
        tells_states: true,
    };
    assert_eq!(explain(&observation, &mut queue, 100_000), Explained::No);
    assert!(queue.runs < 10_000, "{} runs", queue.runs);
}

#[test]
fn a_refusal_may_have_another_reason_and_a_closure_may_be_called_in_vain() {
    assert!(!fits("Err(Closed)", "Err(Full)", Freedom::Strict));
    assert!(fits("Err(Closed)", "Err(Full)", Freedom::Refused));
    assert!(!fits("Ok(())", "Err(Full)", Freedom::Refused));
    assert!(!fits("Err(7)", "Err(8)", Freedom::Refused));
    assert!(!fits("1|", "1", Freedom::Refused));
    assert!(fits("1|", "1", Freedom::InVain));
    // It returns what it made itself, or was not called though it had to be.
    assert!(!fits("2|", "1", Freedom::InVain));
    assert!(!fits("1", "1|", Freedom::InVain));
}
