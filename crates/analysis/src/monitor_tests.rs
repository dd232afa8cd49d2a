//! Tests of the monitor: traces by hand, and random ones against the definition of
//! serializability.

use super::*;
use crate::random::{programs, run};
use crate::testing::{BEFORE, scene};
use proptest::prelude::*;

/// The events of steps like `1Rx`: thread, `R` or `W`, place. Threads are in their functions from
/// the first step to the last.
fn story(steps: &str) -> String {
    let mut text = String::new();
    for thread in ['1', '2'] {
        text += &format!("enter thread {thread} site {thread}\n");
    }
    for step in steps.split_whitespace() {
        let (thread, rest) = step.split_at(1);
        let kind = if rest.starts_with('R') {
            "read"
        } else {
            "write"
        };
        let offset = if rest.ends_with('x') { 0 } else { 8 };
        text += &format!("access thread {thread} kind {kind} offset {offset} size 8\n");
    }
    text
}

/// Violations as `pattern: accesses`, by their numbers from 1.
#[track_caller]
fn check(steps: &str, expected: &[&str]) {
    let (trace, map) = scene(&story(steps));
    let lines: Vec<_> = monitor(&trace, &map)
        .iter()
        .map(|observed| {
            let accesses: Vec<_> = observed
                .accesses
                .iter()
                .map(|at| (*at as usize - BEFORE - 1).to_string())
                .collect();
            format!("{}: {}", observed.pattern, accesses.join(" "))
        })
        .collect();
    assert_eq!(lines, expected);
}

#[test]
fn each_pattern_is_seen_where_it_happens_and_not_where_units_come_one_after_the_other() {
    for pattern in patterns::ALL {
        let word = |step: &Step| {
            let thread = if step.who == Who::U { 1 } else { 2 };
            let slot = if step.slot == Slot::Read { 'R' } else { 'W' };
            let place = if step.location == 0 { 'x' } else { 'y' };
            format!("{thread}{slot}{place}")
        };
        let words: Vec<_> = pattern.steps.iter().map(word).collect();
        let (trace, map) = scene(&story(&words.join(" ")));
        let observed = monitor(&trace, &map);
        let numbers: Vec<_> = observed.iter().map(|observed| observed.pattern).collect();
        assert!(numbers.contains(&pattern.number), "{pattern}: {numbers:?}");
        let mut serial = words.clone();
        serial.sort_by_key(|word| word.starts_with('2'));
        check(&serial.join(" "), &[]);
    }
}

#[test]
fn write_skew_is_a_cycle_that_matches_no_pattern() {
    check("1Rx 2Ry 1Wy 2Wx", &["0: 1 2 3 4"]);
    check("2Ry 1Rx 1Wy 2Wx", &["0: 1 2 3 4"]);
}

#[test]
fn other_accesses_in_between_do_not_hide_a_pattern() {
    check("1Ry 1Rx 2Rx 2Wx 2Ry 1Ry 1Rx", &["2: 2 4 7"]);
}

/// Whether the units of every set can be put in an order in which all conflicts go forward.
fn is_serializable(works: &[Work]) -> bool {
    let mut order: Vec<usize> = (0..works.len()).collect();
    permutations(&mut order, 0, &mut |order| {
        order.iter().enumerate().all(|(position, later)| {
            order[..position].iter().all(|earlier| {
                works[*later].touches.iter().all(|touch| {
                    works[*earlier].touches.iter().all(|before| {
                        let is_conflict = touch.place == before.place
                            && (touch.manner != Manner::Read || before.manner != Manner::Read);
                        !is_conflict || before.at < touch.at
                    })
                })
            })
        })
    })
}

/// Whether some order passes.
fn permutations(
    order: &mut [usize],
    from: usize,
    passes: &mut impl FnMut(&[usize]) -> bool,
) -> bool {
    if from >= order.len() {
        return passes(order);
    }
    (from..order.len()).any(|index| {
        order.swap(from, index);
        let found = permutations(order, from + 1, passes);
        order.swap(from, index);
        found
    })
}

/// Every pattern that any choice of accesses matches: its number and where the units begin.
fn brute(works: &[Work]) -> BTreeSet<(u8, u32, u32)> {
    let mut found = BTreeSet::new();
    for u in works {
        for v in works.iter().filter(|v| v.thread != u.thread) {
            for pattern in patterns::ALL {
                if choose(pattern.steps, u, v, &mut Vec::new()) {
                    found.insert((pattern.number, u.touches[0].at, v.touches[0].at));
                }
            }
        }
    }
    found
}

fn choose<'a>(steps: &[Step], u: &'a Work, v: &'a Work, chosen: &mut Vec<&'a Touch>) -> bool {
    let Some(step) = steps.get(chosen.len()) else {
        return true;
    };
    let work = if step.who == Who::U { u } else { v };
    work.touches.iter().any(|touch| {
        let fits = match step.slot {
            Slot::Read => touch.manner != Manner::Write,
            Slot::Write => touch.manner != Manner::Read,
        };
        let is_after = chosen.last().is_none_or(|last| {
            let is_wide = last.at == touch.at && touch.manner != Manner::Both;
            last.at < touch.at || (is_wide && last.place != touch.place)
        });
        let is_place = chosen.iter().zip(steps).all(|(other, before)| {
            (before.location == step.location) == (other.place == touch.place)
        });
        chosen.push(touch);
        let found = fits && is_after && is_place && choose(steps, u, v, chosen);
        chosen.pop();
        found
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn the_monitor_sees_what_is_not_serializable_and_nothing_else(
        (programs, order) in programs(14),
    ) {
        let (trace, map) = run(&programs, &order);
        let mut sets: BTreeMap<SetId, Vec<Work>> = BTreeMap::new();
        project(&trace, &map, |work| sets.entry(work.set).or_default().push(work));
        prop_assume!(sets.values().all(|works| works.len() <= 7));
        let observed = monitor(&trace, &map);
        prop_assert_eq!(observed.is_empty(), sets.values().all(|works| is_serializable(works)));
        let seen: BTreeSet<_> = observed
            .iter()
            .filter(|observed| observed.pattern != 0)
            .map(|seen| (seen.pattern, seen.parties[0].begins, seen.parties[1].begins))
            .collect();
        let expected: BTreeSet<_> = sets.values().flat_map(|works| brute(works)).collect();
        prop_assert_eq!(seen, expected);
    }
}
