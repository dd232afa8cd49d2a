//! Tests of the minimiser, on lists of switches and on toy programs.

use super::*;
use crate::anchor::switches_by_step;
use crate::list::parse;
use crate::replay::Replay;
use crate::simulator::{Op, Run, run};
use proptest::prelude::*;
use raddle_abi::plan::{READS_OLD, TIME_ADVANCES};

fn switches(occurrences: &[u32]) -> Vec<Switch> {
    let switch = |&occurrence| Switch {
        from: 0,
        to: 1,
        occurrence,
        site_key: 0,
    };
    occurrences.iter().map(switch).collect()
}

/// A run in which every switch is a preemption.
fn failing(switches: Vec<Switch>) -> Failing {
    Failing {
        preemptions: switches.len() as u32,
        points: 100,
        switches,
    }
}

/// Fails exactly if all `needed` switches are there.
fn check(length: u32, needed: &[u32], budget: usize) -> Minimised {
    let all: Vec<u32> = (0..length).collect();
    let needed = switches(needed);
    let original = failing(switches(&all));
    let result = minimise(&original, budget, &mut |candidate| {
        needed
            .iter()
            .all(|switch| candidate.contains(switch))
            .then(|| failing(candidate.to_vec()))
    });
    assert!(result.attempts <= budget);
    let best = &result.best.switches;
    assert!(needed.iter().all(|switch| best.contains(switch)));
    result
}

#[test]
fn only_what_is_needed_stays() {
    let best = check(100, &[3, 50, 99], 1_000).best;
    assert_eq!(best.switches, switches(&[3, 50, 99]));
    assert_eq!(check(1, &[0], 1_000).best.switches, switches(&[0]));
    assert_eq!(check(64, &[], 1_000).best.switches, []);
    assert_eq!(check(5, &[0, 1, 2, 3, 4], 1_000).best.switches.len(), 5);
}

#[test]
fn few_runs_are_enough_for_a_long_schedule() {
    let result = check(4_096, &[17, 3_000], 200);
    assert_eq!(result.best.switches.len(), 2, "{}", result.attempts);
}

#[test]
fn the_budget_is_kept_and_no_budget_changes_nothing() {
    assert_eq!(check(100, &[3, 50], 0).best.switches.len(), 100);
    assert!(check(100, &[3, 50], 3).best.switches.len() <= 100);
}

#[test]
fn runs_that_do_other_things_never_make_it_longer() {
    let original = failing(switches(&[1, 2, 3]));
    let longer = Failing {
        preemptions: 0,
        ..failing(switches(&[1, 2, 3, 4, 5, 6]))
    };
    let result = minimise(&original, 100, &mut |_| Some(longer.clone()));
    assert_eq!(result.best, original);
}

#[test]
fn what_a_run_really_did_counts_and_preemptions_count_most() {
    let original = failing(switches(&[1, 2, 3, 4]));
    let result = minimise(&original, 100, &mut |candidate| {
        (candidate.len() == 2).then(|| failing(switches(&[9])))
    });
    assert_eq!(result.best.switches, switches(&[9]));
    let gentle = Failing {
        preemptions: 1,
        ..failing(switches(&[5, 6, 7, 8]))
    };
    let result = minimise(&original, 1, &mut |_| Some(gentle.clone()));
    assert_eq!(result.best, gentle);
}

#[test]
fn two_switches_that_need_each_other_go_together() {
    let original = failing(switches(&[1, 2, 3]));
    let result = minimise(&original, 100, &mut |candidate| {
        let has = |occurrence| candidate.contains(&switches(&[occurrence])[0]);
        (has(2) && has(1) == has(3)).then(|| failing(candidate.to_vec()))
    });
    assert_eq!(result.best.switches, switches(&[2]));
}

#[test]
fn a_thread_that_is_not_needed_does_not_take_part() {
    let to = |thread, occurrence| Switch {
        from: 0,
        to: thread,
        occurrence,
        site_key: 0,
    };
    let original = failing(vec![to(1, 1), to(2, 2), to(1, 3), to(2, 4)]);
    let mut runs = 0;
    let result = minimise(&original, 100, &mut |candidate| {
        runs += 1;
        let needed = [to(2, 2), to(2, 4)];
        needed
            .iter()
            .all(|switch| candidate.contains(switch))
            .then(|| failing(candidate.to_vec()))
    });
    assert_eq!(result.best.switches, [to(2, 2), to(2, 4)]);
    assert_eq!(result.attempts, runs);
}

fn as_failing(run: &Run) -> Option<Failing> {
    (run.failed || run.stuck).then(|| Failing {
        switches: switches_by_step(&run.decisions),
        preemptions: run.preemptions,
        points: run.passed.len() as u64,
    })
}

fn operation() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => (0..2_usize).prop_map(Op::Load),
        3 => (0..2_usize).prop_map(Op::Store),
        1 => (0..2_usize, 0..3_u64).prop_map(|(place, value)| Op::Expect(place, value)),
        2 => Just(Op::Step),
        2 => (0..2_usize).prop_map(Op::Lock),
        2 => (0..2_usize).prop_map(Op::Unlock),
    ]
}

proptest! {
    #[test]
    fn minimised_schedules_of_programs_still_fail_and_are_never_longer(
        threads in proptest::collection::vec(proptest::collection::vec(operation(), 1..8), 1..4),
        seed in 0_u64..1_000,
    ) {
        let spawns = (1..=threads.len()).map(Op::Spawn).collect();
        let program: Vec<Vec<Op>> = [vec![spawns], threads].concat();
        let mut strategy = parse("random+pct(3)+pos").unwrap();
        let found = run(&program, &mut *strategy, seed, 20);
        prop_assume!(as_failing(&found).is_some());
        let original = as_failing(&found).unwrap();
        let replay = |switches: &[Switch]| run(&program, &mut Replay::new(&[], switches), 0, 0);
        let result = minimise(&original, 60, &mut |candidate| as_failing(&replay(candidate)));
        prop_assert!(result.attempts <= 60);
        prop_assert!(result.best.switches.len() <= original.switches.len());
        prop_assert!(result.best.cost() <= original.cost());
        prop_assert_eq!(as_failing(&replay(&result.best.switches)), Some(result.best));
    }
}

#[test]
fn the_newest_values_are_tried_first_and_one_old_value_is_better_than_two() {
    let old = |occurrence, age| Switch {
        from: 1,
        to: READS_OLD | age,
        occurrence,
        site_key: 0,
    };
    let mut all = switches(&[0, 1]);
    all.extend([old(3, 1), old(5, 2), old(7, 1)]);
    let run = |all: &[Switch], needed: &[Switch]| {
        let mut tried = Vec::new();
        let result = minimise(&failing(all.to_vec()), 100, &mut |candidate| {
            tried.push(candidate.to_vec());
            needed
                .iter()
                .all(|one| candidate.contains(one))
                .then(|| failing(candidate.to_vec()))
        });
        (result.best.switches, tried)
    };
    let (best, tried) = run(&all, &switches(&[1]));
    assert_eq!(best, switches(&[1]));
    assert_eq!(tried[1], switches(&[0, 1]));
    assert_eq!(run(&all, &[old(5, 2)]).0, [old(5, 2)]);
    // Time that advances costs more than any old value, and is tried to be done without first.
    let early = Switch {
        from: 1,
        to: TIME_ADVANCES,
        occurrence: 4,
        site_key: 0,
    };
    all.insert(2, early);
    let (best, tried) = run(&all, &[old(5, 2)]);
    assert_eq!(best, [old(5, 2)]);
    assert!(!tried[1].contains(&early) && tried[1].contains(&old(3, 1)));
    assert_eq!(run(&all, &[early]).0, [early]);
    assert!(failing(vec![early]).needs_early_expiry());
    assert!(failing(vec![old(5, 2); 9]).cost() < failing(vec![early]).cost());
    // An old value costs more than any preemption.
    let two = failing(switches(&[0, 1]));
    assert!(two.cost() < failing(vec![old(3, 1)]).cost());
    assert!(failing(vec![old(3, 1)]).cost() < failing(vec![old(5, 2)]).cost());
}
