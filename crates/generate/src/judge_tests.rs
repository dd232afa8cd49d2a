//! What is judged wrong of a lock, and what is not. The lock is made up here, and so are its executions.

use std::collections::BTreeMap;

use raddle_abi::finding::Kind;
use raddle_abi::mark::{End, kind};
use raddle_abi::plan::Memory;
use raddle_trace::runner::{
    Marked, MarkedExecution, Outcome, PlanRequest, RawFinding, Runner, RunnerError,
};

use crate::judge::Judge;
use crate::order::{self, FIRST, HOLDS, LEFT_OUT, SECOND};
use crate::program::{Method, Program, Weakness};
use crate::test_case::{Call, TestCase};

const TRY_LOCK: u16 = 0;
const LOCK: u16 = 1;
const BREAK: u16 = 2;
const REFUSE: u16 = 3;
const JAM: u16 = 4;
const TRY_SEND: u16 = 5;
const RECEIVE: u16 = 6;

fn program() -> Program {
    let method = |name: &str, weakness: Weakness, may_hold: bool| Method {
        name: name.to_owned(),
        weakness,
        may_hold,
        ..Method::default()
    };
    Program {
        methods: BTreeMap::from([
            (TRY_LOCK, method("try_lock", Weakness::MayFail, true)),
            (LOCK, method("lock", Weakness::None, true)),
            (BREAK, method("break", Weakness::None, false)),
            (REFUSE, method("refuse", Weakness::None, false)),
            (JAM, method("jam", Weakness::None, false)),
            (TRY_SEND, method("try_send", Weakness::MayFail, false)),
            (RECEIVE, method("receive", Weakness::None, false)),
        ]),
        constructors: vec![0],
        ..Program::default()
    }
}

fn test_case(threads: &[&[u16]]) -> TestCase {
    let call = |operation: &u16| Call {
        operation: *operation,
        bytes: Vec::new(),
    };
    TestCase {
        threads: threads
            .iter()
            .map(|calls| calls.iter().map(call).collect())
            .collect(),
        ..TestCase::default()
    }
}

/// In a mark's number: the second step of a call.
const SECOND_STEP: u32 = 1 << 15;
const GONE: u32 = SECOND_STEP - 2;

/// Runs orders of a test with the lock, as the program of a test does.
struct Lock<'a> {
    test: &'a TestCase,
    runs: usize,
}

impl Lock<'_> {
    /// The marks of an order; whether it came to its end.
    fn follow(&self, order: &[u8], number: u32, marks: &mut Vec<Marked>) -> bool {
        let number = number << 16;
        let (mut holder, mut is_jammed, mut is_sent) = (None, false, false);
        let mut next = vec![0; self.test.threads.len()];
        let mut starts = vec![0];
        for calls in &self.test.threads {
            starts.push(starts.last().unwrap_or(&0) + calls.len());
        }
        for turn in order {
            let thread = order::thread(*turn);
            let is_held = holder == Some(thread);
            if turn & FIRST != 0 && is_held {
                holder = None;
            }
            if *turn & (SECOND | FIRST) == SECOND || (turn & FIRST == 0 && is_held) {
                if is_held {
                    holder = None;
                    let id = (starts[thread] + next[thread] - 1) as u32 | number | SECOND_STEP;
                    if turn & LEFT_OUT == 0 {
                        marks.push(mark(kind::CALL, id, ""));
                        marks.push(mark(kind::RETURN, id, ""));
                    }
                }
                continue;
            }
            let Some(call) = self.test.threads[thread].get(next[thread]) else {
                continue;
            };
            let id = (starts[thread] + next[thread]) as u32 | number;
            next[thread] += 1;
            if turn & LEFT_OUT != 0 {
                continue;
            }
            marks.push(mark(kind::CALL, id, ""));
            is_jammed |= call.operation == JAM;
            is_sent |= call.operation == TRY_SEND;
            let result = match (call.operation, holder) {
                (JAM, _) => "Jam: 0",
                (TRY_SEND, _) => "Ok(true)",
                (RECEIVE, _) if !is_sent => return false,
                (RECEIVE, _) => "7",
                (LOCK, _) if is_jammed => return false,
                (REFUSE, _) => "!src/lib.rs:2:1: nobody may do that",
                (BREAK, _) => "!src/lib.rs:1:1: attempt to break",
                (_, None) => "Some",
                (TRY_LOCK, Some(_)) => "None",
                // It waits for itself.
                (_, Some(_)) => return false,
            };
            marks.push(mark(kind::RETURN, id, result));
            if result == "Some" && (turn & FIRST == 0 || turn & HOLDS != 0) {
                holder = Some(thread);
            }
        }
        marks.push(mark(kind::RETURN, number | GONE, ""));
        true
    }
}

impl Runner for Lock<'_> {
    fn run(&mut self, request: &PlanRequest) -> Result<Outcome, RunnerError> {
        self.runs += 1;
        let before = self.test.encode(&[]).len();
        let mut rest = &request.input[before..];
        let (mut marks, mut end) = (Vec::new(), End::Passed);
        let count = [request.input[before - 2], request.input[before - 1]];
        for number in 0..u16::from_le_bytes(count).into() {
            let Some((len, bytes)) = rest.split_first() else {
                break;
            };
            let (order, left) = bytes.split_at(usize::from(*len));
            if !self.follow(order, number, &mut marks) {
                end = End::Abandoned;
                break;
            }
            rest = left;
        }
        Ok(Outcome {
            marks: vec![execution(marks, end)],
            ..Outcome::default()
        })
    }
}

fn mark(kind: u16, number: u32, text: &str) -> Marked {
    Marked {
        kind,
        thread: 0,
        number,
        point: 0,
        bytes: text.as_bytes().to_vec(),
    }
}

fn execution(marks: Vec<Marked>, end: End) -> MarkedExecution {
    MarkedExecution {
        seed: 7,
        length: 0,
        marks,
        end: Some(end),
        decisions: Vec::new(),
    }
}

/// The marks of an execution: `+` begins a call and `-` ends it, with its result; a `'` means the
/// use of what it returned.
fn marks(words: &str, end: End) -> Vec<Marked> {
    let mut marks: Vec<Marked> = words
        .split_whitespace()
        .map(|word| {
            let (kind, rest) = word.split_at(1);
            let kind = if kind == "+" {
                kind::CALL
            } else {
                kind::RETURN
            };
            let (id, text) = rest.split_once("=").unwrap_or((rest, ""));
            let text = text.replace('~', " ");
            let second = if id.ends_with('\'') { SECOND_STEP } else { 0 };
            let id: u32 = id.trim_end_matches('\'').parse().expect("a number");
            mark(kind, id | second, &text)
        })
        .collect();
    if end == End::Passed {
        marks.push(mark(kind::RETURN, GONE, ""));
    }
    marks
}

fn judge_of(program: &Program) -> Judge<'_> {
    Judge {
        program,
        memory: Memory::Sc,
    }
}

/// What is wrong with one execution.
fn judged(threads: &[&[u16]], words: &str, end: End, findings: Vec<RawFinding>) -> Vec<Kind> {
    let test = test_case(threads);
    let outcome = Outcome {
        marks: vec![execution(marks(words, end), end)],
        findings,
        ..Outcome::default()
    };
    let program = program();
    let judge = judge_of(&program);
    let judgement = judge.judge(
        &test,
        &outcome,
        &mut Lock {
            test: &test,
            runs: 0,
        },
    );
    judgement
        .failures
        .iter()
        .map(|failure| failure.kind)
        .collect()
}

fn blocked() -> Vec<RawFinding> {
    vec![RawFinding {
        kind: Kind::Deadlock,
        execution: 0,
        seed: 7,
        length: 0,
        points: 0,
        hash: 0,
        detail: [0; 2],
        decisions: Vec::new(),
        steps: Vec::new(),
        waits: Vec::new(),
        output: String::new(),
    }]
}

#[test]
fn what_was_broken_off_is_no_deadlock() {
    let words = "+0 -0=Some +0' -0' +1";
    let threads: [&[u16]; 2] = [&[LOCK], &[LOCK]];
    assert_eq!(judged(&threads, words, End::Abandoned, Vec::new()), []);
    assert_eq!(judged(&threads, words, End::Cut, Vec::new()), []);
    assert_eq!(
        judged(&threads, words, End::Abandoned, blocked()),
        [Kind::Deadlock]
    );
}

#[test]
fn who_is_refused_need_not_hold_anything_in_any_order() {
    // It is refused while the other only tries, and so there is one step less than in any order.
    let threads: [&[u16]; 2] = [&[TRY_LOCK, LOCK], &[TRY_LOCK]];
    let words = "+0 +2 -0=None -2=None +1 -1=Some +1' -1'";
    assert_eq!(judged(&threads, words, End::Passed, Vec::new()), []);
    // A lock that waits for ever explains itself no better for that.
    let words = "+0 +2 -0=None -2=None +1";
    assert_eq!(
        judged(&threads, words, End::Abandoned, blocked()),
        [Kind::Deadlock]
    );
}

#[test]
fn what_every_order_does_needs_no_threads() {
    let threads: [&[u16]; 2] = [&[BREAK], &[TRY_LOCK]];
    let words = "+0 -0=!src/lib.rs:1:1:~attempt~to~break +1 -1=Some +1' -1'";
    assert_eq!(
        judged(&threads, words, End::Passed, Vec::new()),
        [Kind::Sequential]
    );
    let words = "+0 -0=!src/lib.rs:9:9:~other +1 -1=Some +1' -1'";
    assert_eq!(
        judged(&threads, words, End::Passed, Vec::new()),
        [Kind::Panic]
    );
}

#[test]
fn what_a_handle_shows_does_not_hide_why_a_call_waits() {
    let test = test_case(&[&[JAM], &[LOCK]]);
    // The text of what the one returns tells of the other, which came later.
    let words = "+0 +1 -0=Jam:~1";
    let outcome = Outcome {
        marks: vec![execution(marks(words, End::Abandoned), End::Abandoned)],
        findings: blocked(),
        ..Outcome::default()
    };
    let judged = |program: &Program| {
        let mut lock = Lock {
            test: &test,
            runs: 0,
        };
        let judgement = judge_of(program).judge(&test, &outcome, &mut lock);
        judgement.failures.len()
    };
    let mut program = program();
    assert_eq!(judged(&program), 1);
    if let Some(method) = program.methods.get_mut(&JAM) {
        method.is_unwritten = true;
    }
    assert_eq!(judged(&program), 0);
}

#[test]
fn a_call_waits_rightly_for_what_a_try_was_refused() {
    let test = test_case(&[&[TRY_SEND], &[RECEIVE]]);
    let words = "+0 -0=Ok(false) +1";
    let outcome = Outcome {
        marks: vec![execution(marks(words, End::Abandoned), End::Abandoned)],
        findings: blocked(),
        ..Outcome::default()
    };
    for is_unwritten in [false, true] {
        for (weakness, failures) in [(Weakness::MayFail, 0), (Weakness::None, 1)] {
            let mut program = program();
            if let Some(method) = program.methods.get_mut(&TRY_SEND) {
                (method.weakness, method.is_unwritten) = (weakness, is_unwritten);
            }
            let mut lock = Lock {
                test: &test,
                runs: 0,
            };
            let judgement = judge_of(&program).judge(&test, &outcome, &mut lock);
            // Without an order of the same results nothing says why the other waits.
            assert_eq!(
                judgement.failures.len(),
                failures,
                "{weakness:?} {is_unwritten}"
            );
        }
    }
}

#[test]
fn what_a_crate_refuses_in_words_of_its_own_is_no_failure() {
    let threads: [&[u16]; 2] = [&[REFUSE], &[TRY_LOCK]];
    let words = "+0 -0=!src/lib.rs:2:1:~nobody~may~do~that +1 -1=Some +1' -1'";
    assert_eq!(judged(&threads, words, End::Passed, Vec::new()), []);
    // In no order of the calls it would.
    let words = "+0 -0=!src/lib.rs:3:1:~nobody~may~do~that +1 -1=Some +1' -1'";
    assert_eq!(
        judged(&threads, words, End::Passed, Vec::new()),
        [Kind::Panic]
    );
}

#[test]
fn an_execution_that_is_like_an_order_costs_one_run() {
    let test = test_case(&[&[LOCK, TRY_LOCK], &[LOCK, LOCK]]);
    let program = program();
    let mut lock = Lock {
        test: &test,
        runs: 0,
    };
    let mut marks = Vec::new();
    // Thread after thread, and each call with its use.
    assert!(lock.follow(&[0, 0, 0, 0, 1, 1, 1, 1], 0, &mut marks));
    let outcome = Outcome {
        marks: vec![execution(marks, End::Passed)],
        ..Outcome::default()
    };
    let judgement = judge_of(&program).judge(&test, &outcome, &mut lock);
    assert_eq!((judgement.failures.len(), lock.runs), (0, 1));
}

#[test]
fn orders_that_may_explain_an_execution_are_run_together() {
    let threads: &[&[u16]] = &[&[LOCK, LOCK, LOCK], &[LOCK, LOCK, LOCK]];
    let test = test_case(threads);
    let program = program();
    let mut lock = Lock {
        test: &test,
        runs: 0,
    };
    // All calls overlap, and one says what no order says.
    let words = "+0 +3 -0=Some -3=Some +1 +4 -1=Some -4=Some +2 +5 -2=Some -5=None";
    let outcome = Outcome {
        marks: vec![execution(marks(words, End::Passed), End::Passed)],
        ..Outcome::default()
    };
    let judgement = judge_of(&program).judge(&test, &outcome, &mut lock);
    assert_eq!(judgement.failures.len(), 1);
    // After a few come those of orders in which time does not count, the same in each other manner, one of the threads
    // themselves, and those of time that passes otherwise.
    assert!(lock.runs <= 80, "{} runs", lock.runs);
    // With old values that may be right.
    let weak = Judge {
        memory: Memory::Weak,
        ..judge_of(&program)
    };
    let judgement = weak.judge(&test, &outcome, &mut lock);
    assert_eq!((judgement.failures.len(), judgement.notes.len()), (0, 1));
}
