//! The definitions, word for word and slowly, to compare the fast analyses with.

use crate::patterns::{self, Pattern, Slot, Who};
use crate::predict::{Options, predict};
use crate::projection::{Manner, Touch, Work, project};
use crate::random::{programs, run};
use proptest::prelude::*;
use raddle_trace::event::{Action, LockStep, ThreadId, Trace};
use raddle_trace::program_map::ProgramMap;
use std::collections::{BTreeSet, HashMap};

/// What happens before what, by following every edge.
struct Order(Vec<Vec<bool>>);

impl Order {
    fn new(trace: &Trace) -> Self {
        let count = trace.events.len();
        let mut before = vec![vec![false; count]; count];
        let mut sent = HashMap::new();
        let mut last: HashMap<ThreadId, usize> = HashMap::new();
        for (at, event) in trace.events.iter().enumerate() {
            let mut causes: Vec<usize> = last.insert(event.thread, at).into_iter().collect();
            match event.action {
                Action::Send(message) => {
                    sent.insert(message, at);
                }
                Action::Receive(message) => causes.extend(sent.get(&message)),
                _ => {}
            }
            for cause in causes {
                before[cause][at] = true;
                for row in &mut before {
                    row[at] |= row[cause];
                }
            }
        }
        Self(before)
    }

    fn is_before(&self, first: u32, second: u32) -> bool {
        self.0[first as usize][second as usize]
    }
}

/// A lock that is held: which, whether shared, and by which acquisition.
type Hold = (u64, bool, usize);

/// What a thread holds at an event.
fn held(trace: &Trace, at: u32) -> Vec<Hold> {
    let thread = trace.events[at as usize].thread;
    let mut held: Vec<Hold> = Vec::new();
    for (index, event) in trace.events[..at as usize].iter().enumerate() {
        if let Action::Lock { step, lock, shared } = event.action
            && event.thread == thread
        {
            match step {
                LockStep::Acquire => held.push((lock.offset, shared, index)),
                LockStep::Release => held.retain(|(offset, _, _)| *offset != lock.offset),
                LockStep::Want => {}
            }
        }
    }
    held
}

fn excludes(one: &Hold, other: &Hold) -> bool {
    one.0 == other.0 && !(one.1 && other.1)
}

/// The first sentence of `F_LS`, with `u` and `v` as they are given.
fn leaves_room(trace: &Trace, pattern: &Pattern, chosen: &[&Touch], who: Who) -> bool {
    let own: Vec<_> = (0..chosen.len())
        .filter(|index| pattern.steps[*index].who == who)
        .collect();
    let (first, last) = (own[0], own[own.len() - 1]);
    let foreign: Vec<_> = (first + 1..last)
        .filter(|index| pattern.steps[*index].who != who)
        .map(|index| chosen[index])
        .collect();
    let kept: Vec<_> = held(trace, chosen[first].at)
        .into_iter()
        .filter(|hold| held(trace, chosen[last].at).contains(hold))
        .collect();
    kept.iter().all(|hold| {
        let is_held = foreign.iter().any(|touch| {
            held(trace, touch.at)
                .iter()
                .any(|other| excludes(hold, other))
        });
        let is_acquired = foreign.first().is_some_and(|begin| {
            let thread = trace.events[begin.at as usize].thread;
            (begin.at..foreign[foreign.len() - 1].at).any(|at| {
                let event = &trace.events[at as usize];
                matches!(event.action, Action::Lock { step: LockStep::Acquire, lock, shared }
                    if event.thread == thread && excludes(hold, &(lock.offset, shared, 0)))
            })
        });
        !is_held && !is_acquired
    })
}

fn is_potential(trace: &Trace, order: &Order, pattern: &Pattern, chosen: &[&Touch]) -> bool {
    let steps = pattern.steps;
    for later in 0..chosen.len() {
        for earlier in 0..later {
            let (one, other) = (chosen[earlier], chosen[later]);
            if steps[earlier].who == steps[later].who {
                let is_wide = one.at == other.at
                    && later == earlier + 1
                    && one.place != other.place
                    && one.manner != Manner::Both;
                if one.at > other.at || (one.at == other.at && !is_wide) {
                    return false;
                }
            } else if order.is_before(other.at, one.at) {
                return false;
            }
            let is_one_place = steps[earlier].location == steps[later].location;
            if is_one_place != (one.place == other.place) {
                return false;
            }
        }
        let fits = match steps[later].slot {
            Slot::Read => chosen[later].manner != Manner::Write,
            Slot::Write => chosen[later].manner != Manner::Read,
        };
        if !fits {
            return false;
        }
    }
    leaves_room(trace, pattern, chosen, Who::U)
        && (!pattern.alternates() || leaves_room(trace, pattern, chosen, Who::V))
}

/// Pattern, and site key and context of each access.
type Key = (u8, Vec<(u64, u64)>);

/// All potential violations, from all pairs of units and all choices of accesses.
fn brute(trace: &Trace, map: &ProgramMap) -> BTreeSet<Key> {
    let mut works = Vec::new();
    project(trace, map, |work| works.push(work));
    let order = Order::new(trace);
    let mut found = BTreeSet::new();
    for u in &works {
        for v in &works {
            if u.thread != v.thread && u.set == v.set {
                for pattern in patterns::ALL {
                    choose(trace, &order, pattern, (u, v), &mut Vec::new(), &mut found);
                }
            }
        }
    }
    found
}

fn choose<'a>(
    trace: &Trace,
    order: &Order,
    pattern: &Pattern,
    (u, v): (&'a Work, &'a Work),
    chosen: &mut Vec<&'a Touch>,
    found: &mut BTreeSet<Key>,
) {
    let Some(step) = pattern.steps.get(chosen.len()) else {
        if is_potential(trace, order, pattern, chosen) {
            let name = |touch: &&Touch| {
                let site = touch
                    .site
                    .map_or(0, |site| trace.sites[site.0 as usize].key);
                (site, touch.context)
            };
            found.insert((pattern.number, chosen.iter().map(name).collect()));
        }
        return;
    };
    let work = if step.who == Who::U { u } else { v };
    for touch in &work.touches {
        chosen.push(touch);
        choose(trace, order, pattern, (u, v), chosen, found);
        chosen.pop();
    }
}

fn fast(trace: &Trace, map: &ProgramMap) -> BTreeSet<Key> {
    let violations = predict(trace, map, Options::default()).violations;
    let count = violations.len();
    let keys: BTreeSet<Key> = violations
        .into_iter()
        .map(|violation| {
            let accesses = violation.accesses.iter();
            let names = accesses.map(|access| {
                let site = access
                    .site
                    .map_or(0, |site| trace.sites[site.0 as usize].key);
                (site, access.context)
            });
            (violation.pattern.number, names.collect())
        })
        .collect();
    assert_eq!(keys.len(), count, "nothing is predicted twice");
    keys
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn prediction_finds_what_the_definitions_say((programs, order) in programs(16)) {
        let (trace, map) = run(&programs, &order);
        prop_assert_eq!(fast(&trace, &map), brute(&trace, &map));
    }
}

#[test]
fn random_traces_are_not_empty() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut found = BTreeSet::new();
    for _ in 0..300 {
        let tree = programs(16).new_tree(&mut runner);
        let (programs, order) = tree.expect("a value").current();
        let (trace, map) = run(&programs, &order);
        found.extend(fast(&trace, &map).into_iter().map(|(number, _)| number));
    }
    assert_eq!(found, (1..=11).collect());
}
