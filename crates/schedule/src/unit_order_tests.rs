//! Units of work in a given order, on the toy machine.

use crate::list::{Recorded, parse_recorded};
use crate::simulator::{Op, Run, run};
use raddle_abi::plan::{EventAnchor, NO_EVENT, Rule, ThreadAnchor};

/// The `index`-th operation of a thread.
fn bound(thread: u16, index: u64) -> EventAnchor {
    EventAnchor {
        thread,
        relation: 0,
        occurrence: 0,
        site_key: index * 100 + 1,
        related: NO_EVENT,
        object: NO_EVENT,
    }
}

/// Threads that thread 0 starts with its first operations.
fn threads(count: u16) -> Vec<ThreadAnchor> {
    let anchor = |thread: u16| ThreadAnchor {
        thread,
        parent: 0,
        occurrence: 0,
        site_key: u64::from(thread - 1) * 100 + 1,
    };
    (1..=count).map(anchor).collect()
}

/// Runs the first unit before the second; how often the order was given up.
fn ordered(program: &[Vec<Op>], bounds: &[EventAnchor], gathers: bool) -> (Run, u32) {
    let rule = Rule {
        kind: 0,
        hold: 0,
        event: 0,
        then: 0,
    };
    let given = Recorded {
        threads: &threads(program.len() as u16 - 1),
        events: bounds,
        rules: if gathers { &[] } else { &[rule] },
        ..Recorded::default()
    };
    let mut strategy = parse_recorded("unit-order(replay)", &given).unwrap();
    let run = run(program, &mut *strategy, 0, 0);
    (run, strategy.released().unwrap())
}

fn place(run: &Run, step: (usize, usize)) -> usize {
    let found = run.order.iter().position(|other| *other == step);
    found.expect("the step was made")
}

/// Thread 0 starts two that count between two steps, and waits for them; the third one disturbs.
fn children() -> Vec<Vec<Op>> {
    let counts = |flag| vec![Op::Step, Op::Load(0), Op::Store(0), Op::Set(flag), Op::Step];
    vec![
        vec![
            Op::Spawn(1),
            Op::Spawn(2),
            Op::Spawn(3),
            Op::SpinUntil(1),
            Op::SpinUntil(2),
            Op::Expect(0, 2),
        ],
        counts(1),
        counts(2),
        vec![Op::Step; 5],
    ]
}

#[test]
fn children_that_do_not_exist_yet_come_first_too() {
    for (first, second) in [(1, 2), (2, 1)] {
        let bounds = [
            bound(first, 1),
            bound(first, 3),
            bound(second, 1),
            bound(second, 3),
        ];
        for gathers in [true, false] {
            let (run, released) = ordered(&children(), &bounds, gathers);
            assert!(!run.failed && !run.stuck, "{run:?}");
            assert_eq!(released, 0, "{run:?}");
            let (first, second) = (usize::from(first), usize::from(second));
            let (end, begin) = (place(&run, (first, 2)), place(&run, (second, 1)));
            assert!(end < begin, "{run:?}");
            // Nobody else runs in a unit or between the two.
            if gathers {
                assert_eq!(begin, end + 1, "{run:?}");
            }
            assert_eq!(place(&run, (second, 2)), begin + 1, "{run:?}");
        }
    }
}

#[test]
fn a_unit_that_waits_for_the_other_one_ends_the_order() {
    // The first unit cannot end before the second one has begun.
    let program = [
        vec![Op::Spawn(1), Op::Spawn(2)],
        vec![Op::Step, Op::SpinUntil(1), Op::Step, Op::Step],
        vec![Op::Step, Op::Set(1), Op::Step, Op::Step],
    ];
    let bounds = [bound(1, 0), bound(1, 3), bound(2, 0), bound(2, 3)];
    let (run, released) = ordered(&program, &bounds, true);
    assert_eq!((run.stuck, released), (false, 1), "{run:?}");
}

#[test]
fn a_lock_around_the_second_unit_is_released_by_who_has_it() {
    // Thread 3 has the lock that the first unit needs.
    let mut program = children();
    program[1].splice(1..1, [Op::Lock(0)]);
    program[1].splice(4..4, [Op::Unlock(0)]);
    program[3] = vec![Op::Lock(0), Op::Set(0), Op::Step, Op::Unlock(0)];
    program[2].splice(0..0, [Op::SpinUntil(0)]);
    let bounds = [bound(1, 1), bound(1, 5), bound(2, 2), bound(2, 4)];
    let (run, released) = ordered(&program, &bounds, true);
    assert!(!run.failed && !run.stuck, "{run:?}");
    assert_eq!(released, 0, "{run:?}");
    assert!(place(&run, (1, 4)) < place(&run, (2, 2)), "{run:?}");
}

#[test]
fn without_bounds_the_other_strategy_picks() {
    let (run, released) = ordered(&children(), &[], true);
    assert_eq!((run.failed, run.stuck, released), (false, false, 0));
}
