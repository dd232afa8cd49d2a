//! Tests of both formats of traces: round trips, and any damage is survived.

use crate::event::{
    Access, Action, Event, Location, LockName, LockStep, Mark, Message, ObjectId, ObjectName,
    Order, SiteIndex, ThreadId, ThreadName, Trace, TraceSite, TypeIndex,
};
use crate::{binary, text};
use proptest::prelude::*;

const THREADS: u16 = 3;
const OBJECTS: u32 = 4;
const TYPES: u32 = 2;
const SITES: u32 = 2;

fn threads() -> impl Strategy<Value = ThreadId> {
    (0..THREADS).prop_map(ThreadId)
}

fn locations() -> impl Strategy<Value = Location> {
    (0..OBJECTS, any::<u64>()).prop_map(|(object, offset)| Location {
        object: ObjectId(object),
        offset,
    })
}

fn messages() -> impl Strategy<Value = Message> {
    prop_oneof![
        threads().prop_map(Message::Start),
        threads().prop_map(Message::End),
        locations().prop_map(Message::Wake),
        (locations(), any::<u64>()).prop_map(|(channel, number)| Message::Item { channel, number }),
    ]
}

fn actions() -> impl Strategy<Value = Action> {
    let order = || prop::sample::select(Order::ALL);
    prop_oneof![
        (
            prop::sample::select(Access::ALL),
            locations(),
            any::<(u32, u64)>(),
            order()
        )
            .prop_map(|(access, location, (size, value), order)| Action::Access {
                access,
                location,
                size,
                value,
                order
            }),
        (locations(), any::<(u32, u64)>()).prop_map(|(location, (size, value))| Action::Value {
            location,
            size,
            value
        }),
        order().prop_map(|order| Action::Fence { order }),
        (
            prop::sample::select(LockStep::ALL),
            locations(),
            any::<bool>()
        )
            .prop_map(|(step, lock, shared)| Action::Lock { step, lock, shared }),
        messages().prop_map(Action::Send),
        messages().prop_map(Action::Receive),
        locations().prop_map(Action::Wait),
        (0..OBJECTS).prop_map(|object| Action::Alloc {
            object: ObjectId(object)
        }),
        locations().prop_map(|location| Action::Free { location }),
        prop::option::of(locations()).prop_map(|receiver| Action::Enter { receiver }),
        any::<bool>().prop_map(|unwound| Action::Leave { unwound }),
        (locations(), 0..TYPES).prop_map(|(location, index)| Action::Typed {
            location,
            type_index: TypeIndex(index),
        }),
        (locations(), locations())
            .prop_map(|(location, target)| Action::Points { location, target }),
        any::<u32>().prop_map(|way| Action::Branch { way }),
        prop::sample::select(Mark::ALL).prop_map(Action::Mark),
    ]
}

fn objects() -> impl Strategy<Value = ObjectName> {
    let function = || "(?s).{0,8}";
    prop_oneof![
        (any::<(u64, u32, u64, u64)>(), threads(), function()).prop_map(
            |((site_key, occurrence, size, context), thread, function)| ObjectName::Heap {
                site_key,
                thread,
                occurrence,
                size,
                context,
                function,
            }
        ),
        (any::<(u64, u32)>(), threads(), function(), function()).prop_map(
            |((context, occurrence), thread, function, variable)| ObjectName::Stack {
                function,
                variable,
                context,
                thread,
                occurrence,
            }
        ),
        "(?s).{0,8}".prop_map(|path| ObjectName::Static { path }),
        (any::<(u64, u32)>(), threads()).prop_map(|((site_key, occurrence), thread)| {
            ObjectName::Region {
                site_key,
                thread,
                occurrence,
            }
        }),
    ]
}

fn locks() -> impl Strategy<Value = LockName> {
    (locations(), 0..TYPES, "(?s).{0,8}").prop_map(|(location, index, path)| LockName {
        location,
        type_index: TypeIndex(index),
        path,
    })
}

fn traces() -> impl Strategy<Value = Trace> {
    let thread = (prop::option::of(Just(ThreadId(0))), any::<(u64, u32)>());
    let threads_ = prop::collection::vec(thread, usize::from(THREADS));
    let site = ("(?s).{0,8}", "(?s).{0,8}", any::<(u64, u32, u32)>());
    let site = site.prop_map(|(file, function, (key, line, column))| TraceSite {
        key,
        file,
        function,
        line,
        column,
    });
    let event = (threads(), prop::option::of(0..SITES), actions());
    let event = event.prop_map(|(thread, site, action)| Event {
        thread,
        site: site.map(SiteIndex),
        action,
    });
    (
        ("(?s).{0,8}", "(?s).{0,8}"),
        threads_,
        prop::collection::vec(objects(), OBJECTS as usize),
        (
            prop::collection::vec("(?s).{0,8}", TYPES as usize),
            prop::collection::vec(locks(), 0..4),
        ),
        prop::collection::vec(site, SITES as usize),
        prop::collection::vec(event, 0..30),
    )
        .prop_map(
            |((build, test), threads, objects, (types, locks), sites, events)| Trace {
                build,
                test,
                threads: threads
                    .into_iter()
                    .enumerate()
                    .map(|(index, (parent, (site_key, occurrence)))| ThreadName {
                        parent: parent.filter(|_| index > 0),
                        site_key,
                        occurrence,
                    })
                    .collect(),
                objects,
                types,
                locks,
                sites,
                events,
            },
        )
}

proptest! {
    #[test]
    fn what_is_written_in_binary_is_read_again(trace in traces()) {
        prop_assert_eq!(binary::read(&binary::write(&trace)), Ok(trace));
    }

    #[test]
    fn what_is_written_as_text_is_read_again(trace in traces()) {
        prop_assert_eq!(text::parse(&text::write(&trace)), Ok(trace));
    }

    #[test]
    fn every_cut_and_every_changed_byte_of_a_binary_trace_is_noticed(
        trace in traces(), at in any::<prop::sample::Index>(), change in 1..=u8::MAX,
    ) {
        let mut bytes = binary::write(&trace);
        let at = at.index(bytes.len());
        prop_assert!(binary::read(&bytes[..at]).is_err());
        bytes[at] ^= change;
        prop_assert!(binary::read(&bytes).is_err());
    }
}

/// A stream of numbers for the mutations below.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

fn example() -> Trace {
    text::parse(EXAMPLE).unwrap()
}

const EXAMPLE: &str = r#"raddle trace 2
build id "5b0f3c"
test name "tests::push"   # a comment
thread
thread parent 1 key 00f1e2d3c4b5a697

heap key 8a7b6c5d4e3f2a1b thread 0 size 16 context 9 function "a::new"
static path "a::\"COUNTER\""
# another one
type name "a::Queue<u8>"
site key 1 file "src/lib.rs" function "a::push" line 3
send-start other 1
receive-start thread 1 other 1
access thread 1 kind write object 0 offset 8 size 4 value 7 site 1
access kind atomic-load object 1 size 8 order acquire site 1
lock step acquire object 1 mode shared
enter thread 1 receiver 1 site 1
typed thread 1 object 0 type 0 site 1
branch thread 1 way 2
unwind thread 1 site 1
mark kind panic
end
"#;

fn mutate(bytes: &mut Vec<u8>, numbers: &mut Numbers) {
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(bytes.len());
        match numbers.below(5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, numbers.below(256) as u8),
            2 if at < bytes.len() => {
                bytes.remove(at);
            }
            3 => {
                let end = (at + numbers.below(16)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                bytes.extend(copy);
            }
            _ if at < bytes.len() => bytes[at] = numbers.below(256) as u8,
            _ => {}
        }
    }
}

#[test]
fn thousands_of_damaged_binary_traces_are_survived() {
    let valid = binary::write(&example());
    let mut numbers = Numbers(1);
    for _ in 0..20_000 {
        let mut bytes = valid.clone();
        mutate(&mut bytes, &mut numbers);
        if let Err(error) = binary::read(&bytes) {
            assert!(!error.to_string().is_empty());
        }
    }
}

#[test]
fn thousands_of_damaged_texts_are_survived() {
    let mut numbers = Numbers(2);
    for _ in 0..5_000 {
        let mut bytes = EXAMPLE.as_bytes().to_vec();
        mutate(&mut bytes, &mut numbers);
        let _ = text::parse(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn a_text_written_by_hand_means_what_it_says() {
    let trace = example();
    assert_eq!(trace.threads[1].parent, Some(ThreadId(0)));
    assert_eq!(
        trace.objects[1],
        ObjectName::Static {
            path: "a::\"COUNTER\"".into()
        }
    );
    assert_eq!(trace.events[2].site, Some(SiteIndex(0)));
    let lock = Location {
        object: ObjectId(1),
        offset: 0,
    };
    assert_eq!(
        trace.events[4].action,
        Action::Lock {
            step: LockStep::Acquire,
            lock,
            shared: true
        }
    );
}

#[test]
fn errors_say_where_and_what() {
    let error = |body: &str| {
        text::parse(&format!("raddle trace 2\n{body}"))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        error("thread\ncolour red"),
        "line 3: `colour` is not known here"
    );
    assert_eq!(
        error("mark kind chaos"),
        "line 2: `chaos` is not a value of `kind`"
    );
    assert_eq!(
        error("mark colour red"),
        "line 2: `mark` has no field `colour`"
    );
    assert_eq!(error("mark"), "line 2: there is no thread 0");
    assert_eq!(
        error("thread\nalloc object 3"),
        "line 3: there is no object 3"
    );
    assert_eq!(error("thread\nleave site 1"), "line 3: there is no site 1");
    assert_eq!(
        error("test name x"),
        "line 2: the value of `name` is not quoted"
    );
    assert_eq!(
        error("thread\nthread occurrence 4294967296"),
        "line 3: `occurrence` is too large"
    );
    assert_eq!(error("thread"), "the trace has no line `end`");
    assert_eq!(text::parse("x"), Err(text::TextError::NotATrace));
    assert_eq!(
        text::parse("raddle trace 1"),
        Err(text::TextError::Version("1".into()))
    );
    assert_eq!(binary::read(b"x"), Err(binary::BinaryError::NotATrace));
    assert_eq!(
        binary::read(b"RADDLETR\x09\0\0\0"),
        Err(binary::BinaryError::Version(9))
    );
    assert_eq!(
        binary::read(b"RADDLETR\x02\0\0\0\x01\xff"),
        Err(binary::BinaryError::CutOff(14))
    );
}

#[test]
fn a_length_beyond_the_end_allocates_nothing() {
    let mut bytes = b"RADDLETR\x02\0\0\0\x01".to_vec();
    bytes.extend([0xff; 9]);
    bytes.push(1);
    assert_eq!(
        binary::read(&bytes),
        Err(binary::BinaryError::CutOff(bytes.len()))
    );
}
