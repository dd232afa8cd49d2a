//! Tests of how tests are written.

use std::collections::{BTreeMap, BTreeSet};

use crate::compose::Composer;
use crate::holding::{Access, Holding};
use crate::program::{Calibration, Meeting, Method, Program, Weakness};
use crate::select::Guidance;
use crate::test_case::{Call, TestCase};
use raddle_schedule::rng::Rng;

fn two(tests: Vec<TestCase>) -> [TestCase; 2] {
    tests.try_into().unwrap()
}

fn program() -> Program {
    let method = |name: &str, weakness: Weakness| Method {
        name: name.to_owned(),
        weakness,
        has_arguments: name == "push",
        takes_other: name == "pop",
        ..Method::default()
    };
    let methods = [
        (0, method("len", Weakness::Observer)),
        (1, method("push", Weakness::None)),
        (2, method("pop", Weakness::None)),
    ];
    Program {
        methods: BTreeMap::from(methods),
        constructors: vec![0],
        ..Program::default()
    }
}

#[test]
fn threads_call_the_pair_in_turn() {
    let program = program();
    let composer = Composer {
        program: &program,
        guidance: Guidance::Uniform,
        threads: Some(3),
    };
    let mut rng = Rng::new(3);
    let [plain, prepared] = two(composer.tests((1, 2), 1, &mut rng));
    let methods: Vec<Vec<u16>> = plain
        .threads
        .iter()
        .map(|calls| calls.iter().map(|call| call.operation).collect())
        .collect();
    // Either thread may begin with either method.
    assert!(methods == [[1, 2], [2, 1], [1, 2]] || methods == [[2, 1], [1, 2], [2, 1]]);
    assert!(plain.prefix.is_empty());
    assert!((1..=5).contains(&prepared.prefix.len()));
    assert!(prepared.prefix.iter().all(|call| call.operation != 0));
    // Two objects need a byte that says which is meant.
    assert!(plain.threads[0].iter().any(|call| call.bytes.is_empty()));
    let paired = Program {
        is_paired: true,
        ..program.clone()
    };
    let on_two = Composer {
        program: &paired,
        ..composer
    };
    let [both, _] = two(on_two.tests((1, 2), 1, &mut rng));
    assert!(
        both.threads
            .iter()
            .flatten()
            .all(|call| !call.bytes.is_empty())
    );
    assert_eq!(both.after.len(), 2 * plain.after.len());
    let composer = Composer {
        program: &program,
        ..on_two
    };
    let [long, _] = two(composer.tests((1, 2), 6, &mut rng));
    assert_eq!(long.threads[0].len(), 5);
}
#[test]
fn what_a_pair_does_not_notice_is_rarely_before_it_and_never_after_it() {
    let method = |name: &str, shown_by: &[u16]| Method {
        name: name.to_owned(),
        has_arguments: true,
        shown_by: shown_by.iter().copied().collect(),
        calibration: Calibration {
            is_pure: shown_by.is_empty(),
            ..Calibration::default()
        },
        ..Method::default()
    };
    let methods = [
        (0, method("get", &[])),
        (1, method("name", &[])),
        (2, method("put", &[0, 2])),
        (3, method("set_name", &[1])),
    ];
    let program = Program {
        methods: BTreeMap::from(methods),
        constructors: vec![0],
        ..Program::default()
    };
    let composer = Composer {
        program: &program,
        guidance: Guidance::Uniform,
        threads: Some(2),
    };
    let mut rng = Rng::new(5);
    let (mut noticed, mut all) = (0, 0);
    for _ in 0..100 {
        let [plain, prepared] = two(composer.tests((0, 2), 1, &mut rng));
        let is_noticed = |call: &&Call| call.operation == 2;
        noticed += prepared.prefix.iter().filter(is_noticed).count();
        all += prepared.prefix.len();
        // The keys that were put are looked for.
        let keys = |calls: &mut dyn Iterator<Item = &Call>, operation: u16| {
            let calls = calls.filter(|call| call.operation == operation);
            calls
                .map(|call| call.bytes.clone())
                .collect::<BTreeSet<_>>()
        };
        let put = keys(&mut plain.threads.iter().flatten(), 2);
        assert_eq!(keys(&mut plain.after.iter(), 0), put);
        assert_eq!(keys(&mut plain.after.iter(), 1), BTreeSet::new());
    }
    assert!(4 * noticed > 3 * all && noticed < all, "{noticed} of {all}");
}

#[test]
fn most_tests_of_a_pair_begin_where_its_methods_meet() {
    let call = |operation: u16, byte: u8| Call {
        operation,
        bytes: vec![byte],
    };
    let meeting = Meeting {
        constructor: 0,
        bytes: vec![7],
        prefix: vec![call(1, 99)],
        calls: [call(1, 98), call(2, 97)],
    };
    let program = Program {
        meetings: BTreeMap::from([((1, 2), vec![meeting.clone()])]),
        ..program()
    };
    let met = |guidance: Guidance, pair: (usize, usize)| {
        let composer = Composer {
            program: &program,
            guidance,
            threads: Some(2),
        };
        let mut rng = Rng::new(7);
        let tests = (0..100).map(|_| two(composer.tests(pair, 1, &mut rng)));
        let met = tests.filter(|[plain, prepared]| {
            assert!(plain.prefix.is_empty());
            // Either thread may begin with either call.
            let mut first = [0, 1].map(|thread| &prepared.threads[thread][0]);
            first.sort_by_key(|call| call.operation);
            let is_same = first == [&meeting.calls[0], &meeting.calls[1]];
            assert_eq!(is_same, prepared.prefix == meeting.prefix);
            is_same
        });
        met.count()
    };
    assert!((60..90).contains(&met(Guidance::Pairs, (1, 2))));
    assert_eq!(met(Guidance::Uniform, (0, 2)), 0);
    assert_eq!(met(Guidance::Random, (1, 2)), 0);
}

#[test]
fn methods_that_never_met_get_one_test_at_first() {
    let call = |operation: u16| Call {
        operation,
        bytes: Vec::new(),
    };
    let meeting = Meeting {
        constructor: 0,
        bytes: Vec::new(),
        prefix: Vec::new(),
        calls: [call(1), call(2)],
    };
    let program = Program {
        meetings: BTreeMap::from([((1, 2), vec![meeting])]),
        ..program()
    };
    let count = |guidance: Guidance, pair: (usize, usize), tried: u32| {
        let composer = Composer {
            program: &program,
            guidance,
            threads: Some(2),
        };
        composer.tests(pair, tried, &mut Rng::new(1)).len()
    };
    assert_eq!(count(Guidance::Pairs, (0, 2), 1), 1);
    assert_eq!(count(Guidance::Pairs, (0, 2), 2), 2);
    assert_eq!(count(Guidance::Pairs, (1, 2), 1), 2);
    assert_eq!(count(Guidance::Uniform, (0, 2), 1), 2);
}

#[test]
fn what_there_is_only_one_of_is_called_by_one_thread_where_methods_meet_too() {
    let method = |holding: Holding| Method {
        access: Access::Own,
        holding,
        part: usize::from(holding == Holding::Cloned),
        ..Method::default()
    };
    let call = |operation: u16| Call {
        operation,
        bytes: vec![99],
    };
    let meeting = Meeting {
        constructor: 0,
        bytes: Vec::new(),
        prefix: Vec::new(),
        calls: [call(0), call(1)],
    };
    let program = Program {
        methods: BTreeMap::from([(0, method(Holding::Owned)), (1, method(Holding::Cloned))]),
        constructors: vec![0],
        meetings: BTreeMap::from([((0, 1), vec![meeting])]),
        ..Program::default()
    };
    let composer = Composer {
        program: &program,
        guidance: Guidance::Uniform,
        threads: Some(2),
    };
    let mut rng = Rng::new(9);
    let mut met = 0;
    for _ in 0..100 {
        let [plain, _] = two(composer.tests((0, 1), 1, &mut rng));
        let calls_it = |calls: &&Vec<Call>| calls.iter().any(|call| call.operation == 0);
        assert_eq!(plain.threads.iter().filter(calls_it).count(), 1);
        let mut first = plain.threads.iter().map(|calls| &calls[0].bytes);
        met += usize::from(first.all(|bytes| *bytes == [99]));
    }
    assert!((20..95).contains(&met), "{met}");
}
