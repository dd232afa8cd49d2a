//! Stories of hand-written recordings. Each address is a line of `src/lib.rs`; 1000 more mean
//! that std does something there.

use std::path::PathBuf;

use raddle_abi::finding::Kind;
use raddle_abi::record::RawEvent;
use raddle_abi::site::Operation;
use raddle_trace::finding::{Finding, Place};
use raddle_trace::runner::{RawFinding, RawRecording, RawStep, RawWait};

use super::Explainer;
use super::locate::{Located, Locator};
use super::paths::Owner;
use super::symbols::{Frame, Symbols};
use crate::{Target, TargetKind};

fn frame(file: &str, line: u32, function: &str, owner: Owner) -> Frame {
    let (file, function) = (file.to_owned(), function.to_owned());
    Frame {
        place: Place {
            file,
            line,
            column: 1,
            function,
        },
        owner,
    }
}

fn explainer() -> Explainer {
    let frames = (1..100_u64).flat_map(|line| {
        let number = u32::try_from(line).unwrap();
        let user = frame(
            "src/lib.rs",
            number,
            &format!("queue::line_{line}"),
            Owner::Workspace,
        );
        let std = frame("std/src/x.rs", 1, "std::sync::Mutex::lock", Owner::Std);
        [(line, vec![user.clone()]), (line + 1000, vec![std, user])]
    });
    Explainer {
        expected: Default::default(),
        overrides: Default::default(),
        first_thread: 0,
        test: "t".to_owned(),
        locator: Locator::new(None, Symbols::known(frames)),
        executable: PathBuf::new(),
        map: None,
    }
}

fn target() -> Target {
    Target {
        exe: PathBuf::from("exe"),
        name: "t".to_owned(),
        target: "lib".to_owned(),
        package: "p".to_owned(),
        kind: TargetKind::Test,
        stdin: None,
        success: 0,
        args: Vec::new(),
        env: Vec::new(),
        cwd: PathBuf::new(),
        private: Vec::new(),
        unseen_synchronisation: Vec::new(),
        unseen_code: Vec::new(),
        ignored: false,
    }
}

fn raw(kind: Kind) -> RawFinding {
    RawFinding {
        kind,
        execution: 0,
        seed: 0,
        length: 0,
        points: 10,
        hash: 0,
        detail: [0; 2],
        decisions: Vec::new(),
        steps: Vec::new(),
        waits: Vec::new(),
        output: String::new(),
    }
}

/// Events as (thread, operation, address touched, line).
fn recording(events: &[(u16, Operation, u64, u64)]) -> RawRecording {
    let mut recording = RawRecording::default();
    for &(thread, operation, address, line) in events {
        let stack = u32::try_from(recording.stacks.len()).unwrap() + 1;
        recording.stacks.extend([1, line]);
        recording.events.push(RawEvent {
            operation: operation as u16,
            thread,
            site: 0,
            address,
            value: 0,
            len: 4,
            order: 0,
            flags: 0,
            stack,
            point: 0,
        });
    }
    recording
}

fn step(thread: u16, operation: Operation, address: u64, frames: &[u64]) -> RawStep {
    RawStep {
        site: 0,
        operation,
        thread,
        address,
        len: 4,
        frames: frames.to_vec(),
    }
}

fn wait(thread: u16, object: u64, holders: &[u32], line: u64) -> RawWait {
    RawWait {
        thread,
        operation: Operation::FutexWait,
        site: 0,
        object,
        is_lock: !holders.is_empty(),
        in_cycle: !holders.is_empty(),
        holders: holders.to_vec(),
        frames: vec![line],
    }
}

/// Rows as (thread, line, action, at fault).
fn rows(finding: &Finding) -> Vec<(usize, u32, &str, bool)> {
    let lanes = finding.lanes.iter();
    lanes
        .map(|row| {
            (
                row.thread,
                row.place.line,
                row.action.as_str(),
                row.at_fault,
            )
        })
        .collect()
}

#[test]
fn a_race_shows_both_accesses_with_their_stacks() {
    let mut raw = raw(Kind::DataRace);
    raw.steps = vec![
        step(1, Operation::Read, 0x100, &[20]),
        RawStep {
            len: 0,
            ..step(0, Operation::Write, 0x100, &[])
        },
    ];
    let recording = recording(&[
        (0, Operation::Spawn, 1, 5),
        (0, Operation::Alloc, 0x900, 6),
        (0, Operation::Write, 0x100, 10),
        (1, Operation::Read, 0x100, 20),
    ]);
    let finding = explainer().explain(&target(), &raw, Some(&recording));
    assert_eq!(
        finding.title,
        "`line_10` (src/lib.rs:10) writes while `line_20` (src/lib.rs:20) reads the same memory"
    );
    let lines: Vec<u32> = finding.sites.iter().map(|place| place.line).collect();
    assert_eq!(lines, [20, 10]);
    assert_eq!(finding.stacks[1].heading, "write by the main thread");
    assert_eq!(finding.threads, ["main", "started at src/lib.rs:5"]);
    assert_eq!(
        rows(&finding),
        [
            (0, 5, "starts thread 1", false),
            (0, 10, "writes 4 bytes", true),
            (1, 20, "reads 4 bytes", true),
        ]
    );
}

#[test]
fn a_use_after_free_shows_the_access_the_free_and_the_allocation() {
    let mut raw = raw(Kind::UseAfterFree);
    raw.detail = [0x900, 16];
    raw.steps = vec![step(1, Operation::Read, 0x908, &[20])];
    let recording = recording(&[
        (0, Operation::Alloc, 0x900, 3),
        (0, Operation::Free, 0x900, 4),
        (0, Operation::Alloc, 0x900, 6),
        (0, Operation::Alloc, 0xa00, 7),
        (0, Operation::Free, 0x900, 9),
        (0, Operation::Free, 0xa00, 10),
        (1, Operation::Read, 0x908, 20),
    ]);
    let finding = explainer().explain(&target(), &raw, Some(&recording));
    assert_eq!(
        finding.title,
        "`line_20` (src/lib.rs:20) reads memory that `line_9` (src/lib.rs:9) freed"
    );
    assert_eq!(
        finding.cause,
        "Thread 1 reads 4 bytes of a heap block of 16 bytes that the main thread freed before in \
         `line_9` (src/lib.rs:9). It was allocated by the main thread in `line_6` (src/lib.rs:6)."
    );
    let headings: Vec<&str> = finding.stacks.iter().map(|s| s.heading.as_str()).collect();
    assert_eq!(
        headings,
        [
            "read of 4 bytes by thread 1",
            "freed by the main thread",
            "allocated by the main thread"
        ]
    );
    assert_eq!(
        rows(&finding),
        [
            (0, 6, "allocates 4 bytes", false),
            (0, 9, "frees", true),
            (1, 20, "reads 4 bytes", true),
        ]
    );
}

#[test]
fn a_double_free_names_the_first_free() {
    let mut raw = raw(Kind::DoubleFree);
    raw.detail = [0x900, 16];
    raw.steps = vec![step(1, Operation::Free, 0x900, &[20])];
    let recording = recording(&[
        (0, Operation::Free, 0x900, 9),
        (1, Operation::Free, 0x900, 20),
    ]);
    let finding = explainer().explain(&target(), &raw, Some(&recording));
    assert_eq!(
        finding.title,
        "`line_20` (src/lib.rs:20) frees memory that `line_9` (src/lib.rs:9) freed before"
    );
    let lines: Vec<u32> = finding.sites.iter().map(|place| place.line).collect();
    assert_eq!(lines, [20, 9], "it was allocated before the recording");
}

#[test]
fn an_access_out_of_bounds_tells_how_far() {
    let mut raw = raw(Kind::OutOfBounds);
    raw.detail = [0x900, 16];
    for (address, words) in [
        (0x8fc, "4 bytes before the start"),
        (0x90e, "begins at offset 14 and runs over the end"),
        (0x910, "right behind the end"),
        (0x918, "8 bytes behind the end"),
    ] {
        raw.steps = vec![step(1, Operation::Write, address, &[20])];
        let finding = explainer().explain(&target(), &raw, None);
        assert!(finding.cause.contains(words), "{}", finding.cause);
    }
}

#[test]
fn a_deadlock_tells_who_waits_for_whom() {
    let mut raw = raw(Kind::Deadlock);
    raw.waits = vec![
        RawWait {
            operation: Operation::Join,
            in_cycle: false,
            ..wait(0, 1, &[1], 8)
        },
        wait(1, 0xb, &[2], 1022),
        wait(2, 0xa, &[1], 1032),
    ];
    let recording = recording(&[
        (1, Operation::LockAcquire, 0xa, 1021),
        (2, Operation::LockAcquire, 0xb, 1031),
        (2, Operation::LockAcquire, 0xc, 1033),
        (2, Operation::LockRelease, 0xc, 1034),
        (2, Operation::LockWant, 0xa, 1032),
        (1, Operation::LockWant, 0xb, 1022),
    ]);
    let finding = explainer().explain(&target(), &raw, Some(&recording));
    assert_eq!(finding.title, "2 threads wait for each other's locks");
    assert_eq!(
        finding.cause,
        "Thread 1 waits at `line_22` (src/lib.rs:22) for a lock held by thread 2; thread 2 waits \
         at `line_32` (src/lib.rs:32) for a lock held by thread 1."
    );
    assert_eq!(
        rows(&finding),
        [
            (1, 21, "locks", false),
            (2, 31, "locks", false),
            (2, 32, "wants a lock", true),
            (1, 22, "wants a lock", true),
        ]
    );
}

#[test]
fn a_deadlock_of_many_threads_stays_short() {
    let mut raw = raw(Kind::Deadlock);
    let holders: Vec<u32> = (0..3000).map(|holder| holder % 1000).collect();
    raw.waits = (0..1000)
        .map(|thread| wait(thread, 0xa, &holders, 1022))
        .collect();
    let finding = explainer().explain(&target(), &raw, None);
    assert_eq!(finding.title, "1000 threads wait for each other's locks");
    let expected = "The main thread waits at `line_22` (src/lib.rs:22) for a lock held by the main \
        thread, thread 1 and 998 others; thread 1 waits at";
    assert!(finding.cause.starts_with(expected), "{}", finding.cause);
    assert!(
        finding.cause.ends_with("; 997 other threads wait too."),
        "{}",
        finding.cause
    );
    assert_eq!((finding.sites.len(), finding.stacks.len()), (1, 8));
}

#[test]
fn a_long_message_makes_no_long_title() {
    let mut raw = raw(Kind::Panic);
    raw.steps = vec![step(0, Operation::Panic, 0, &[50])];
    let message = "\u{1b}[31mx".repeat(1000);
    raw.output = format!("thread 't' panicked at src/lib.rs:50:5:\n{message}\n");
    let title = explainer().explain(&target(), &raw, None).title;
    assert_eq!(title.chars().count(), 240);
    assert!(!title.contains('\u{1b}'), "{title}");
}

#[test]
fn stacks_begin_at_the_call_that_panics() {
    let std = |function| frame("std/src/x.rs", 1, function, Owner::Std);
    let frames = vec![
        std("std::panicking::panic_handler::{closure}"),
        std("std::sys::backtrace::__rust_end_short_backtrace"),
        std("__rustc::rust_begin_unwind"),
        std("core::panicking::panic_fmt"),
        std("core::option::unwrap_failed"),
        frame("src/lib.rs", 7, "queue::pop", Owner::Workspace),
        std("test::run_test"),
    ];
    let stack = super::stack_of(String::new(), 0, &Located { key: 0, frames });
    let functions: Vec<_> = stack
        .frames
        .iter()
        .map(|place| place.function.as_str())
        .collect();
    assert_eq!(functions, ["core::option::unwrap_failed", "queue::pop"]);
}

#[test]
fn a_panic_shows_what_threads_share() {
    let mut raw = raw(Kind::Panic);
    raw.steps = vec![step(0, Operation::Panic, 0, &[50])];
    raw.output = "thread 't' panicked at src/lib.rs:50:5:\nlost an update\n".to_owned();
    let recording = recording(&[
        (1, Operation::AtomicLoad, 0x10, 11),
        (2, Operation::AtomicLoad, 0x10, 11),
        (2, Operation::AtomicStore, 0x10, 12),
        (1, Operation::AtomicLoad, 0x99, 13),
        (1, Operation::AtomicStore, 0x10, 12),
        (0, Operation::Panic, 0, 50),
    ]);
    let finding = explainer().explain(&target(), &raw, Some(&recording));
    assert_eq!(finding.title, "test panics: lost an update");
    let lines: Vec<_> = rows(&finding)
        .iter()
        .map(|row| (row.0, row.1, row.3))
        .collect();
    let expected = [
        (1, 11, false),
        (2, 11, false),
        (2, 12, false),
        (1, 13, false),
        (1, 12, false),
        (0, 50, true),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn the_tests_own_thread_is_shown_as_main() {
    let mut raw = raw(Kind::Deadlock);
    let joins = RawWait {
        operation: Operation::Join,
        is_lock: false,
        ..wait(3, 4, &[], 8)
    };
    raw.waits = vec![joins, wait(4, 0xf, &[], 1040)];
    let recording = recording(&[(3, Operation::Spawn, 4, 7)]);
    let mut explainer = explainer();
    explainer.first_thread = 3;
    let finding = explainer.explain(&target(), &raw, Some(&recording));
    assert_eq!(finding.threads, ["main", "started at src/lib.rs:7"]);
    let headings: Vec<&str> = finding
        .stacks
        .iter()
        .map(|stack| stack.heading.as_str())
        .collect();
    assert_eq!(
        headings,
        [
            "thread 1 waits for a wake-up",
            "the main thread waits for the end of thread 1"
        ]
    );
}

#[test]
fn ids_depend_on_places_and_not_on_threads_or_order() {
    let mut explainer = explainer();
    let mut one = raw(Kind::Deadlock);
    one.waits = vec![wait(1, 0xa, &[2], 1022), wait(2, 0xb, &[1], 1032)];
    let mut other = raw(Kind::Deadlock);
    other.waits = vec![wait(3, 0xc, &[4], 1032), wait(4, 0xd, &[3], 1022)];
    let id = explainer.id(&one);
    assert_eq!(id, explainer.id(&other));
    assert!(
        id.starts_with("deadlock-") && id.len() == "deadlock-".len() + 10,
        "{id}"
    );
    other.waits[0].frames = vec![1033];
    assert_ne!(id, explainer.id(&other));
}

#[test]
fn long_recordings_give_few_rows_with_the_fault_among_them() {
    let mut events = vec![(0, Operation::Write, 0x100, 10)];
    for turn in 0..500 {
        events.push((0, Operation::AtomicLoad, 0x200, 11 + turn % 2));
        events.push((1, Operation::AtomicStore, 0x200, 13 + turn % 2));
    }
    events.push((1, Operation::Panic, 0, 50));
    let mut raw = raw(Kind::Panic);
    raw.steps = vec![step(1, Operation::Panic, 0, &[50])];
    let finding = explainer().explain(&target(), &raw, Some(&recording(&events)));
    assert_eq!(finding.lanes.len(), 24);
    assert!(finding.lanes.last().unwrap().at_fault);
}
