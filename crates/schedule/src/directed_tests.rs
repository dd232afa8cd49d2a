//! Directed plans on the toy machine.

use super::*;
use crate::list::{Recorded, parse_recorded};
use crate::simulator::{Op, Run, run};
use crate::strategy::Pending;

/// Thread any, any occurrence, of the `index`-th operation of a thread.
fn at(index: u64) -> EventAnchor {
    EventAnchor {
        thread: ANY_THREAD,
        relation: 0,
        occurrence: ANY_OCCURRENCE,
        site_key: index * 100 + 1,
        related: NO_EVENT,
        object: NO_EVENT,
    }
}

fn of(thread: u16, index: u64) -> EventAnchor {
    EventAnchor {
        thread,
        ..at(index)
    }
}

fn related(relation: Relation, to: u32, index: u64) -> EventAnchor {
    EventAnchor {
        relation: relation as u16,
        related: to,
        ..at(index)
    }
}

fn before(event: u32, then: u32) -> Rule {
    Rule {
        kind: RuleKind::Before as u32,
        hold: 0,
        event,
        then,
    }
}

fn hold(hold: u32, after: &[u32], until: &[u32]) -> Vec<Rule> {
    let rules = |kind: RuleKind, events: &[u32]| {
        let rule = |&event| Rule {
            kind: kind as u32,
            hold,
            event,
            then: 0,
        };
        events.iter().map(rule).collect::<Vec<_>>()
    };
    [rules(RuleKind::Hold, after), rules(RuleKind::Until, until)].concat()
}

struct Result {
    run: Run,
    diverged: Option<usize>,
    released: u32,
}

fn direct(program: &[Vec<Op>], events: &[EventAnchor], rules: &[Rule], seed: u64) -> Result {
    let given = Recorded {
        events,
        rules,
        ..Recorded::default()
    };
    let name = ["directed", "directed(random)", "directed(pos)"][seed as usize % 3];
    let mut strategy = parse_recorded(name, &given).unwrap();
    let run = run(program, &mut *strategy, seed, 0);
    Result {
        run,
        diverged: strategy.diverged(),
        released: strategy.released().unwrap(),
    }
}

/// Two threads count to two, after a few steps of the first; thread 0 checks in the end.
fn lost_update() -> Vec<Vec<Op>> {
    let count = vec![Op::Load(0), Op::Store(0)];
    vec![
        vec![Op::Spawn(1), Op::Spawn(2)],
        [count.clone(), vec![Op::Set(1)]].concat(),
        [count, vec![Op::SpinUntil(1), Op::Expect(0, 2)]].concat(),
    ]
}

#[test]
fn an_order_forces_the_bug_and_the_opposite_order_never_shows_it() {
    let named = [of(1, 0), of(2, 0), of(1, 1), of(2, 1)];
    for seed in 0..300 {
        let bad = direct(&lost_update(), &named, &[before(0, 3), before(1, 2)], seed);
        assert_eq!(
            (bad.run.failed, bad.diverged, bad.released),
            (true, None, 0)
        );
        let good = direct(&lost_update(), &named, &[before(2, 1)], seed);
        assert_eq!((good.run.failed, good.diverged), (false, None));
    }
}

#[test]
fn threads_that_are_not_named_are_told_apart_by_relation() {
    let mut program = lost_update();
    let pad = [Op::Step, Op::Step];
    for thread in &mut program[1..] {
        thread.splice(0..0, pad);
    }
    let events = [
        at(2),
        related(Relation::OtherThread, 0, 2),
        related(Relation::SameThread, 0, 3),
        related(Relation::OtherThread, 0, 3),
    ];
    for seed in 0..300 {
        let bad = direct(&program, &events, &[before(1, 2), before(0, 3)], seed);
        assert_eq!((bad.run.failed, bad.diverged), (true, None));
        let good = direct(&program, &events, &[before(2, 1)], seed);
        assert_eq!((good.run.failed, good.diverged), (false, None));
    }
}

#[test]
fn the_same_object_is_told_by_its_address() {
    // Thread 1 touches another variable first, at the site that thread 2 has for the first.
    let program = [
        vec![Op::Spawn(1), Op::Spawn(2), Op::Step],
        vec![Op::Step, Op::Step, Op::Step, Op::Load(0), Op::Store(0)],
        vec![
            Op::Step,
            Op::Step,
            Op::Step,
            Op::Load(1),
            Op::Load(0),
            Op::Store(0),
        ],
    ];
    let load = |index| EventAnchor {
        object: 0,
        ..related(Relation::OtherThread, 0, index)
    };
    for seed in 0..100 {
        let same = direct(&program, &[of(1, 3), load(4)], &[], seed);
        let other = direct(&program, &[of(1, 3), load(3)], &[], seed);
        assert_eq!(other.diverged, Some(1));
        let order = direct(&program, &[of(1, 3), load(4)], &[before(0, 1)], seed);
        assert_eq!((order.diverged, order.released), (None, 0));
        // Without a rule it may come too early to be one.
        assert!(same.diverged.is_none_or(|event| event == 1));
    }
}

#[test]
fn a_total_order_is_enforced_exactly() {
    let program = [
        vec![Op::Spawn(1), Op::Spawn(2), Op::Step, Op::Step],
        vec![Op::Step; 4],
        vec![Op::Step; 4],
    ];
    let wanted = [(2, 0), (1, 0), (1, 1), (0, 3), (2, 1), (1, 2), (2, 2)];
    let events = wanted.map(|(thread, index)| of(thread, index));
    let rules: Vec<Rule> = (1..wanted.len() as u32)
        .map(|then| before(then - 1, then))
        .collect();
    for seed in 0..300 {
        let result = direct(&program, &events, &rules, seed);
        assert_eq!((result.diverged, result.released), (None, 0));
        let order: Vec<_> = result
            .run
            .order
            .iter()
            .map(|&(thread, index)| (thread as u16, index as u64))
            .filter(|step| wanted.contains(step))
            .collect();
        assert_eq!(order, wanted);
    }
}

/// Thread 1 writes under a lock, lets it go, and writes again; thread 2 reads under the lock.
fn window() -> Vec<Vec<Op>> {
    vec![
        vec![Op::Spawn(1), Op::Spawn(2)],
        vec![
            Op::Lock(0),
            Op::Store(0),
            Op::Unlock(0),
            Op::Lock(0),
            Op::Store(1),
            Op::Unlock(0),
        ],
        vec![
            Op::Step,
            Op::Lock(0),
            Op::Expect(0, 0),
            Op::Unlock(0),
            Op::Step,
        ],
    ]
}

#[test]
fn a_thread_is_held_once_it_has_released_its_locks() {
    // The write, the release after it, the other's acquisition and read, the second write.
    let events = [of(1, 1), of(1, 2), of(2, 1), of(2, 2), of(1, 4)];
    let order = [before(0, 2), before(3, 4)];
    let rules = [hold(1, &[0, 1], &[3]), order.to_vec()].concat();
    for seed in 0..300 {
        let result = direct(&window(), &events, &rules, seed);
        assert_eq!((result.diverged, result.released), (None, 0));
        assert!(result.run.failed && !result.run.stuck);
        // Held at once, it keeps the lock that the other needs: one of them has to be let go.
        let at_once = [hold(1, &[0], &[3]), order.to_vec()].concat();
        let thrashed = direct(&window(), &events, &at_once, seed);
        assert!(thrashed.released > 0 && !thrashed.run.stuck);
    }
}

#[test]
fn impossible_orders_are_given_up_by_seed_and_the_execution_goes_on() {
    let program = [
        vec![Op::Spawn(1), Op::Step, Op::Set(0)],
        vec![Op::Step, Op::Set(1)],
    ];
    // Each waits for the other.
    let events = [of(0, 1), of(1, 0)];
    let rules = [before(0, 1), before(1, 0)];
    let mut first = [0; 2];
    for seed in 0..300 {
        let result = direct(&program, &events, &rules, seed);
        assert!(!result.run.stuck && result.released == 1);
        let diverged = result.diverged.unwrap();
        first[diverged] += 1;
        assert_eq!(direct(&program, &events, &rules, seed).run, result.run);
    }
    assert!(first.iter().all(|&count| count > 100), "{first:?}");
}

#[test]
fn spinning_for_a_held_thread_ends() {
    let program = [
        vec![Op::Spawn(1), Op::SpinUntil(0), Op::Step],
        vec![Op::Set(0), Op::Step],
    ];
    let events = [of(0, 2), of(1, 0)];
    for seed in 0..30 {
        let result = direct(&program, &events, &[before(0, 1)], seed);
        assert!(!result.run.stuck && result.released == 1);
        assert_eq!(result.diverged, Some(1));
    }
}

#[test]
fn an_event_that_never_comes_is_told() {
    let events = [of(1, 0), of(1, 77)];
    for seed in 0..30 {
        let result = direct(&lost_update(), &events, &[before(1, 0)], seed);
        assert!(!result.run.stuck);
        assert_eq!(result.diverged, Some(0));
        let result = direct(&lost_update(), &events, &[], seed);
        assert_eq!((result.diverged, result.released), (Some(1), 0));
    }
}

#[test]
fn occurrences_count_per_thread() {
    // Two threads with the same program; the second pass of thread 2 comes before all of 1.
    let twice = vec![Op::SpinUntil(0), Op::Step, Op::Step];
    let program = [
        vec![Op::Spawn(1), Op::Spawn(2), Op::Step, Op::Set(0)],
        twice.clone(),
        twice,
    ];
    let spins = EventAnchor {
        occurrence: 1,
        ..of(2, 0)
    };
    for seed in 0..30 {
        let result = direct(&program, &[spins, of(0, 3)], &[before(0, 1)], seed);
        assert_eq!((result.diverged, result.released), (None, 0));
        assert!(!result.run.stuck);
    }
}

#[test]
fn a_held_thread_wakes_others_up_before_it_waits() {
    let events = [of(0, 0), of(1, 9)];
    let picked_while = |operation: Operation| {
        let given = Recorded {
            events: &events,
            rules: &hold(1, &[0], &[1]),
            ..Recorded::default()
        };
        let mut strategy = parse_recorded("directed(random)", &given).unwrap();
        strategy.begin(1, 0);
        let standing = |operation, site_key| Pending {
            operation,
            site_key,
            ..Pending::UNKNOWN
        };
        let mut pick = |pending: [Pending; 2], enabled: &[u16]| {
            strategy.pick(&View {
                current: 0,
                current_enabled: true,
                enabled,
                arrivals: None,
                pending: &pending,
                steps: &[0, 0],
                point: 0,
                last_change: 0,
                yielded: false,
                expiry: None,
            })
        };
        let other = standing(Operation::Read, 7);
        pick([standing(Operation::Read, 1), other], &[0]);
        let picks = (0..20).map(|_| pick([standing(operation, 8), other], &[0, 1]));
        picks.filter(|picked| *picked == 0).count()
    };
    assert_eq!(picked_while(Operation::Read), 0);
    assert!(picked_while(Operation::FutexWake) > 0);
}
