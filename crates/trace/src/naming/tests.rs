//! Tests of naming: recordings by hand, and the traces that they become.

use super::*;
use crate::event::ObjectName;
use crate::text;

/// Site n has key n; there is a static of 16 bytes at 0x1000.
struct Fake;

impl Addresses for Fake {
    fn site(&self, id: SiteId) -> Option<SiteInfo> {
        (id < 100).then(|| SiteInfo {
            key: u64::from(id),
            file: "src/lib.rs".into(),
            function: format!("f{id}"),
            line: id,
            column: 0,
            operation: Operation::Unknown,
            flags: if id == 90 { flags::METHOD } else { 0 },
            inlined_at: Vec::new(),
            types: match id {
                90.. => vec!["A".into(), "B".into()],
                _ => Vec::new(),
            },
        })
    }

    fn functions(&self, address: u64) -> Vec<Function> {
        let function = |path: String, is_std| Function { path, is_std };
        match address {
            0..10 => vec![function(format!("std{address}"), true)],
            _ => vec![
                function(format!("inlined{address}"), false),
                function(format!("f{}", address / 10), false),
            ],
        }
    }

    /// Eight bytes at -0x30 in every frame.
    fn variable(&self, _: u64, offset: i64) -> Option<Variable> {
        (-0x30..-0x28).contains(&offset).then(|| Variable {
            name: "number".into(),
            begins: -0x30,
            type_name: Some("N".into()),
        })
    }

    /// Types are as large as a word, which is a lock.
    fn field_path(&self, type_name: &str, offset: u64) -> String {
        match (type_name, offset) {
            ("A", 8) => "inner.lock".into(),
            ("B", 0) => "lock".into(),
            _ => String::new(),
        }
    }

    fn static_at(&self, address: u64) -> Option<(String, u64)> {
        (0x1000..0x1010)
            .contains(&address)
            .then(|| ("S".into(), address - 0x1000))
    }
}

fn raw(thread: u16, operation: Operation, site: SiteId, address: u64, value: u64) -> RawEvent {
    let (operation, len) = (operation as u16, 4);
    RawEvent {
        operation,
        thread,
        site,
        address,
        value,
        len,
        order: 4,
        flags: 0,
        stack: 0,
        point: 0,
    }
}

/// The trace that events with these stacks become.
fn named(events: Vec<RawEvent>, stacks: &[u64]) -> Trace {
    let recording = RawRecording {
        events,
        stacks: stacks.to_vec(),
        ..RawRecording::default()
    };
    name(&recording, &Fake, "", "", 0)
}

fn check(events: Vec<RawEvent>, expected: &str) {
    let text = text::write(&named(events, &[]));
    let lines: Vec<_> = text
        .lines()
        .filter(|line| {
            !["raddle", "build", "test", "site ", "end"]
                .iter()
                .any(|word| line.starts_with(word))
        })
        .collect();
    let expected: Vec<_> = expected
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    assert_eq!(lines, expected);
}

#[test]
fn entries_say_what_methods_are_called_on_and_what_they_get() {
    check(
        vec![
            raw(0, Operation::Enter, 90, 0x1000, 0),
            raw(0, Operation::Argument, 90, 0x1008, 1),
            raw(0, Operation::Enter, 91, 0x1008, 0),
            raw(0, Operation::Leave, 91, 0, 1),
            raw(0, Operation::Leave, 90, 0, 0),
        ],
        r#"thread
         static path "S"
         type name "A"
         type name "B"
         enter receiver 1 site 1
         typed site 1
         typed offset 8 type 1 site 1
         enter site 2
         typed offset 8 site 2
         unwind site 2
         leave site 1"#,
    );
}

#[test]
fn messages_are_paired_by_what_tells_them_apart() {
    check(
        vec![
            raw(0, Operation::Receive, 1, 0x1000, 9),
            raw(0, Operation::Send, 1, 0x1000, 7),
            raw(0, Operation::Send, 1, 0x1000, 8),
            raw(0, Operation::Receive, 2, 0x1000, 8),
            raw(0, Operation::Receive, 2, 0x1000, 7),
            raw(0, Operation::Receive, 2, 0x1000, 7),
        ],
        r#"thread
         static path "S"
         send-item site 1
         send-item number 1 site 1
         receive-item number 1 site 2
         receive-item site 2"#,
    );
}

#[test]
fn blocks_are_named_by_the_innermost_function_outside_of_std_and_its_callers() {
    // Two contexts, of which the first comes twice.
    let mut events = Vec::new();
    for (address, stack) in [(0x9000, 1), (0x9100, 5), (0x9200, 1)] {
        let event = raw(0, Operation::Alloc, 1, address, 8);
        events.push(RawEvent { stack, ..event });
    }
    let objects = named(events, &[3, 1, 50, 60, 2, 2, 70]).objects;
    let names: Vec<_> = objects
        .iter()
        .map(|object| match object {
            ObjectName::Heap {
                function,
                context,
                occurrence,
                ..
            } => (function.as_str(), *context, *occurrence),
            other => panic!("{other:?} is no block"),
        })
        .collect();
    let (first, second) = (names[0].1, names[1].1);
    assert_ne!(first, second);
    let expected = [
        ("inlined50", first, 0),
        ("inlined70", second, 0),
        ("inlined50", first, 1),
    ];
    assert_eq!(names, expected);
}

#[test]
fn memory_on_a_stack_is_named_by_its_variable_or_its_frame() {
    let frame = RawEvent {
        len: 0x40,
        stack: 1,
        ..raw(0, Operation::Frame, 0, 0x8040, 0)
    };
    // Elsewhere in the function, where a call has moved the frame's lower end.
    let moved = RawEvent {
        len: 0x50,
        stack: 4,
        ..frame
    };
    let events = vec![
        frame,
        raw(0, Operation::Write, 1, 0x8008, 1),
        raw(0, Operation::Write, 1, 0x8014, 1),
        moved,
        raw(0, Operation::Read, 1, 0x8018, 1),
    ];
    let trace = named(events, &[2, 20, 30, 2, 21, 30]);
    let names: Vec<_> = trace
        .objects
        .iter()
        .map(|object| match object {
            ObjectName::Stack {
                function, variable, ..
            } => (function.as_str(), variable.as_str()),
            _ => panic!("{object:?}"),
        })
        .collect();
    assert_eq!(names, [("f2", ""), ("f2", "number")]);
    let places: Vec<_> = trace
        .events
        .iter()
        .filter_map(|event| match event.action {
            Action::Access { location, .. } => Some((location.object.0, location.offset)),
            _ => None,
        })
        .collect();
    assert_eq!(places, [(0, 0x8), (1, 0x4), (0, 0x18)]);
    // The variable's type is known before anything happens to it.
    let first = trace.events.iter().find_map(|event| match event.action {
        Action::Typed { location, .. } => Some(Some(location.object.0)),
        Action::Access { location, .. } if location.object.0 == 1 => Some(None),
        _ => None,
    });
    assert_eq!((first, trace.types), (Some(Some(1)), vec!["N".to_owned()]));
}

#[test]
fn threads_are_named_by_parent_site_and_occurrence() {
    check(
        vec![
            raw(0, Operation::Spawn, 7, 1, 0),
            raw(0, Operation::Spawn, 7, 2, 0),
            raw(2, Operation::Start, 0, 2, 0),
            raw(2, Operation::Exit, 0, 2, 0),
            raw(0, Operation::Join, 8, 2, 0),
        ],
        "thread
         thread parent 1 key 0000000000000007
         thread parent 1 key 0000000000000007 occurrence 1
         send-start other 1 site 1
         send-start other 2 site 1
         receive-start thread 2 other 2
         send-end thread 2 other 2
         receive-end other 2 site 2",
    );
}

#[test]
fn memory_is_named_by_block_static_or_first_touch() {
    check(
        vec![
            raw(0, Operation::Alloc, 1, 0x9000, 32),
            raw(0, Operation::Write, 2, 0x9008, 7),
            raw(0, Operation::Read, 3, 0x1004, 1),
            raw(0, Operation::AtomicLoad, 4, 0x7ffe_0004, 2),
            raw(0, Operation::Free, 5, 0x9000, 0),
            raw(0, Operation::Alloc, 1, 0x9010, 8),
            raw(0, Operation::Read, 3, 0x9010, 0),
        ],
        "thread
         heap key 0000000000000001 size 32
         static path \"S\"
         region key 0000000000000004
         heap key 0000000000000001 occurrence 1 size 8
         alloc site 1
         access kind write offset 8 size 4 value 7 order acquire site 2
         access kind read object 1 offset 4 size 4 value 1 order acquire site 3
         access kind atomic-load object 2 offset 4 size 4 value 2 order acquire site 4
         free site 5
         alloc object 3 site 1
         access kind read object 3 size 4 order acquire site 3",
    );
}

#[test]
fn locks_and_waits_keep_their_mode_and_object() {
    let mut shared = raw(0, Operation::LockAcquire, 1, 0x1000, 0);
    let mut exclusive = raw(0, Operation::LockRelease, 1, 0x1008, 0);
    (shared.order, exclusive.order) = (1, 0);
    let wait = raw(0, Operation::FutexWait, 2, 0x1000, 0);
    let wake = raw(0, Operation::FutexWake, 2, 0x1000, 0);
    check(
        vec![shared, exclusive, wait, wake],
        "thread
         static path \"S\"
         lock step acquire mode shared site 1
         lock step release offset 8 mode exclusive site 1
         wait site 2
         send-wake site 2",
    );
}

#[test]
fn locks_are_named_by_the_fields_of_the_outermost_type() {
    check(
        vec![
            raw(0, Operation::LockAcquire, 1, 0x1008, 0),
            raw(0, Operation::Argument, 91, 0x1008, 1),
            raw(0, Operation::Argument, 91, 0x1000, 0),
            raw(0, Operation::LockAcquire, 1, 0x1004, 0),
        ],
        "thread
         static path \"S\"
         type name \"A\"
         type name \"B\"
         lock-name offset 8 path \"inner.lock\"
         lock step acquire offset 8 mode shared site 1
         typed offset 8 type 1 site 2
         typed site 2
         lock step acquire offset 4 mode shared site 1",
    );
}

#[test]
fn odd_recordings_are_survived() {
    let mut odd = raw(9, Operation::Unknown, 999, u64::MAX, u64::MAX);
    let mut events = Vec::new();
    for operation in 0..40 {
        odd.operation = operation;
        events.push(odd);
    }
    let trace = named(events, &[]);
    // What nobody sent is not received; arguments without types and frames tell nothing.
    assert_eq!(trace.events.len(), 38);
    assert_eq!(text::parse(&text::write(&trace)), Ok(trace));
}

#[test]
fn values_that_are_addresses_are_alike_and_wide_ones_come_in_words() {
    let wide = |operation, address, value| RawEvent {
        len: 8,
        order: 0,
        ..raw(0, operation, 1, address, value)
    };
    check(
        vec![
            wide(Operation::Read, 0x1000, 0x10_0000_1230),
            wide(Operation::Write, 0x1000, 0x8000_0010_0000_4561),
            wide(Operation::Read, 0x1008, 0x7fff_0000_1000),
            RawEvent {
                len: 16,
                ..wide(Operation::Read, 0x1000, 99)
            },
            wide(Operation::Value, 0x1000, 7),
            wide(Operation::Value, 0x1008, 0x10_0000_1230),
        ],
        r#"thread
         static path "S"
         access kind read size 8 value 68719476736 order none site 1
         access kind write size 8 value 68719476736 order none site 1
         access kind read offset 8 size 8 value 123145302310912 order none site 1
         access kind read size 16 value 99 order none site 1
         value size 8 value 7 site 1
         value offset 8 size 8 value 68719476736 site 1"#,
    );
}
