//! Hand-made events for the snapshot tests.

use std::time::Duration;

use raddle_abi::finding::Kind;
use raddle_trace::finding::{
    Finding, LaneStep, Place, ScheduleSize, SerialOutcome, Stack, Violation,
};
use raddle_trace::results::{Conclusion, Predicted, SeenViolation, Totals};

use crate::{
    Check, CheckResult, Event, ListedTest, Note, Progress, Replay, Summary, TestResult, Verdict,
};

/// One event of each kind.
pub(crate) fn events() -> Vec<Event> {
    let mut events = vec![
        Event::Start,
        Event::Status {
            verb: "Preparing".to_owned(),
            text: "the runtime for rustc 1.95.0 (once per toolchain)".to_owned(),
        },
        Event::Progress(Progress {
            time_left: Duration::from_secs(90),
            search: None,
            ..Progress::default()
        }),
        Event::Finding(Box::new(race())),
        Event::Finding(Box::new(violation())),
        Event::Finding(Box::new(timing())),
        Event::Note(Note {
            text: "something that only those see who ask for more".to_owned(),
            is_detail: true,
            ..Note::default()
        }),
        Event::Note(Note {
            test: "tests::reads_stdin".to_owned(),
            target: "lib".to_owned(),
            text: "a thread panicked that nobody joined".to_owned(),
            is_detail: false,
        }),
        Event::Note(Note::general(
            "the rule for `panic-0000000000` matched nothing",
        )),
    ];
    events.extend(predicted());
    events.extend(tests().into_iter().map(Box::new).map(Event::Test));
    events.extend([
        Event::Listed(ListedTest {
            test: "tests::one".to_owned(),
            target: "lib".to_owned(),
            package: "sample".to_owned(),
            ignored: true,
        }),
        Event::Replay(Box::new(Replay {
            id: "data-race-0123456789".to_owned(),
            runs: 100,
            reproduced: 99,
            diverged: Some("diverged at switch 3: thread 1 never reached f".to_owned()),
            others: vec!["panic: index out of bounds".to_owned()],
            finding: None,
            exit: 100,
        })),
        Event::Check(Check {
            name: "toolchain".to_owned(),
            result: CheckResult::Good,
            text: "rustc 1.95.0".to_owned(),
        }),
        Event::Summary(Summary {
            totals: Totals {
                executions: 12_345,
                points: 1_000_000,
                cut: 990,
                explored: 1,
                single_threaded: 1,
                failed: 1,
                not_testable: 2,
                not_run: 1,
                unconfirmed: 1,
                internal_errors: 0,
                seconds: 1.23456,
                interrupted: false,
                is_weak: false,
            },
            findings: 1,
            timing: 1,
            ignored: 1,
            conclusion: Conclusion::Findings,
            uninstrumented: Vec::new(),
            exit: Some(100),
        }),
    ]);
    events
}

fn tests() -> Vec<TestResult> {
    let why = "it waits for input on stdin, which no test gets".to_owned();
    let verdicts = [
        ("tests::publishes", Verdict::Explored),
        ("tests::alone", Verdict::SingleThreaded),
        (
            "tests::fails",
            Verdict::Failed {
                why: "test panics: no\nassertion of\ntwo lines".to_owned(),
            },
        ),
        (
            "tests::reads_stdin",
            Verdict::NotTestable { why: why.clone() },
        ),
        ("tests::reads_more", Verdict::NotTestable { why }),
        (
            "tests::late",
            Verdict::NotRun {
                why: "the time was over".to_owned(),
            },
        ),
    ];
    let report = |(index, (name, verdict)): (usize, (&str, Verdict))| TestResult {
        index,
        test: name.to_owned(),
        target: "lib".to_owned(),
        verdict,
        executions: 1000,
        points: 50_000,
        cut: if name == "tests::publishes" { 990 } else { 0 },
        threads: 2,
        exhaustive: None,
        is_complete: false,
        reexecution: "snapshot",
        carrier: "fiber",
        hash: 0x0123_4567_89ab_cdef,
        seconds: 0.5,
        findings: Vec::new(),
        timing: Vec::new(),
        ignored: Vec::new(),
        outcomes: Vec::new(),
    };
    verdicts.into_iter().enumerate().map(report).collect()
}

fn place(line: u32, function: &str) -> Place {
    Place {
        file: "src/cell.rs".to_owned(),
        line,
        column: 9,
        function: format!("sample::{function}"),
    }
}

fn step(thread: usize, line: u32, action: &str, at_fault: bool) -> LaneStep {
    LaneStep {
        thread,
        place: place(line, "Cell::set"),
        action: action.to_owned(),
        at_fault,
    }
}

/// A data race of two threads.
pub(crate) fn race() -> Finding {
    Finding {
        kind: Kind::DataRace,
        id: "data-race-0123456789".to_owned(),
        test: "tests::publishes".to_owned(),
        target: "lib".to_owned(),
        title: "`Cell::set` writes while `Cell::get` reads".to_owned(),
        cause: "Thread 1 writes 8 bytes at src/cell.rs:10 while the main thread reads them at \
                src/cell.rs:14, and nothing orders the two accesses."
            .to_owned(),
        message: String::new(),
        sites: vec![place(10, "Cell::set"), place(14, "Cell::get")],
        stacks: vec![Stack {
            heading: "write of 8 bytes by thread 1".to_owned(),
            thread: 1,
            frames: vec![
                place(10, "Cell::set"),
                place(19, "tests::publishes::{closure}"),
            ],
        }],
        threads: vec!["main".to_owned(), "started at src/cell.rs:19".to_owned()],
        lanes: vec![
            step(0, 19, "starts thread 1", false),
            step(1, 10, "writes 8 bytes", true),
            step(0, 14, "reads 8 bytes", true),
            step(0, 14, "reads 8 bytes again", false),
            step(0, 999_999, "unlocks", false),
        ],
        output: "thread 'main' panicked\nnote: run with\n".to_owned(),
        schedule: "target/raddle/schedules/data-race-0123456789.schedule".to_owned(),
        confirmed: true,
        executions: 12,
        count: 1_234,
        size: Some(ScheduleSize {
            switches: 2,
            preemptions: 1,
            found: 17,
        }),
        violation: None,
        timing: None,
    }
}

/// A panic that is only about time.
fn timing() -> Finding {
    let condition =
        "passes only if thread 1 gets from src/cell.rs:19 to src/cell.rs:10 within 50 ms";
    Finding {
        kind: Kind::Panic,
        id: "panic-0123456789".to_owned(),
        title: "test panics: assertion failed".to_owned(),
        sites: vec![place(14, "Cell::get")],
        count: 3,
        timing: Some(condition.to_owned()),
        ..race()
    }
}

/// A deadlock of many threads.
pub(crate) fn deadlock(threads: usize) -> Finding {
    Finding {
        kind: Kind::Deadlock,
        id: "deadlock-0123456789".to_owned(),
        title: format!("{threads} threads wait for each other"),
        threads: (0..threads)
            .map(|thread| format!("worker {thread}"))
            .collect(),
        lanes: (0..threads)
            .map(|thread| step(thread, 10, "waits for a lock", thread % 2 == 1))
            .collect(),
        stacks: Vec::new(),
        output: String::new(),
        count: 1,
        size: None,
        timing: None,
        violation: None,
        ..race()
    }
}

/// A violation of an atomic set.
fn violation() -> Finding {
    let serial = |first: &str, outcome: &str| SerialOutcome {
        first: first.to_owned(),
        outcome: outcome.to_owned(),
    };
    Finding {
        kind: Kind::AtomicSet,
        id: "atomic-set-0123456789".to_owned(),
        title: "`Cell::get` and `Cell::set` mix on `sample::Cell`".to_owned(),
        stacks: Vec::new(),
        output: String::new(),
        count: 1,
        violation: Some(Violation {
            pattern: 9,
            meaning: "the state that is seen does not fit together".to_owned(),
            set: "sample::Cell".to_owned(),
            fields: vec!["low".to_owned(), "high".to_owned()],
            units: vec![place(12, "Cell::get"), place(8, "Cell::set")],
            observed: "`Cell::get` reads low 1, high 2; low 2, high 2 are left".to_owned(),
            serial: vec![
                serial(
                    "Cell::get",
                    "`Cell::get` reads low 1, high 1; low 2, high 2 are left",
                ),
                serial(
                    "Cell::set",
                    "`Cell::get` reads low 2, high 2; low 2, high 2 are left",
                ),
            ],
            fix: "hold `lock` in `Cell::get` from line 13 to line 14".to_owned(),
        }),
        ..race()
    }
}

fn predicted() -> [Event; 2] {
    let place = |line: u32, function: &str| Place {
        file: "src/lib.rs".to_owned(),
        line,
        column: 5,
        function: function.to_owned(),
    };
    [
        Event::Violation(Box::new(SeenViolation {
            test: "tests::copies".to_owned(),
            target: "lib".to_owned(),
            engine: "asset",
            pattern: 9,
            set: "sample::Account".to_owned(),
            units: vec![
                place(12, "sample::Account::copy"),
                place(20, "sample::Account::credit"),
            ],
            first_execution: 4,
            hits: 1,
            tries: 1,
        })),
        Event::Predicted(Box::new(Predicted {
            test: "tests::copies".to_owned(),
            target: "lib".to_owned(),
            engine: "asset",
            predicted: 1,
            real: 1,
            is_complete: true,
            tries: 1,
            hits: 1,
            executions: 4,
            seconds: 0.25,
        })),
    ]
}
