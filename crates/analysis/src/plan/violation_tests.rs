//! Tests of plans: the order that the paper's example leads to.

use super::super::testing;
use super::*;
use crate::predict::{Options, predict};
use crate::testing::scene;

/// The account of the paper: copied in two steps, each under the lock, and credited in one. The
/// lock is taken by an exchange at a site of its own, beside the lock event.
fn account(first: u32) -> Trace {
    let lock = |thread: u32, site: u32, step: &str| {
        let access =
            format!("access thread {thread} kind atomic-rmw object 1 size 4 site {site}\n");
        let lock = format!("lock thread {thread} step {step} object 1 site 1\n");
        match step {
            "acquire" => access + &lock,
            _ => lock + &access,
        }
    };
    let touch = |thread: u32, kind: &str, offset: u32| {
        format!("access thread {thread} kind {kind} offset {offset} size 8\n")
    };
    let copy = String::from("enter thread 1 site 1\n")
        + &lock(1, 3, "acquire")
        + &touch(1, "read", 0)
        + &lock(1, 4, "release")
        + &lock(1, 3, "acquire")
        + &touch(1, "read", 8)
        + &lock(1, 4, "release")
        + "leave thread 1 site 1\n";
    let credit = String::from("enter thread 2 site 2\n")
        + &lock(2, 5, "acquire")
        + &touch(2, "write", 0)
        + &touch(2, "write", 8)
        + &lock(2, 4, "release")
        + "leave thread 2 site 2\n";
    let events = if first == 1 {
        copy + &credit
    } else {
        credit + &copy
    };
    scene(&events).0
}

fn lines(trace: &Trace, aim: Aim) -> Vec<String> {
    let map = scene("").1;
    let violations = predict(trace, &map, Options::default()).violations;
    assert_eq!(violations.len(), 1);
    let order = order(&violations[0], trace, aim).expect("all sites are known");
    testing::lines(&order)
}

const RULES: [&str; 7] = [
    "0 before 1",
    "1 before 2",
    "2 before 3",
    "hold 1 after 0",
    "hold 1 after 4",
    "hold 1 until 2",
    "4 before 5",
];

#[test]
fn the_unit_is_held_after_it_gave_the_lock_up_and_the_other_before_it_takes_it() {
    for first in [1, 2] {
        let mut expected = vec!["1 x 0", "2 x 0", "2 x 0", "1 x 0", "1 4 0", "2 5 0"];
        expected.extend(RULES);
        assert_eq!(lines(&account(first), Aim::Same), expected);
    }
}

#[test]
fn any_access_at_the_sites_is_told_by_its_thread_and_its_address() {
    let mut expected = vec![
        "any x any",
        "any x any not 0 at 0",
        "any x any of 1",
        "any x any of 0 at 2",
        "any 4 any of 0",
        "any 5 any not 0",
    ];
    expected.extend(RULES);
    assert_eq!(lines(&account(1), Aim::Any), expected);
}

#[test]
fn threads_are_named_as_in_the_trace() {
    let trace = account(1);
    let map = scene("").1;
    let violations = predict(&trace, &map, Options::default()).violations;
    let order = order(&violations[0], &trace, Aim::Same).expect("all sites are known");
    let names: Vec<_> = order
        .threads
        .iter()
        .map(|anchor| {
            (
                anchor.thread,
                anchor.parent,
                anchor.site_key,
                anchor.occurrence,
            )
        })
        .collect();
    assert_eq!(names, [(1, 0, 1, 0), (2, 0, 1, 1)]);
}

#[test]
fn a_wide_access_is_one_event() {
    let touch = |thread: u32, kind: &str, offset: u32, size: u32| {
        format!("access thread {thread} kind {kind} offset {offset} size {size}\n")
    };
    let events = String::from("enter thread 1 site 1\n")
        + &touch(1, "read", 0, 8)
        + &touch(1, "read", 8, 8)
        + "leave thread 1 site 1\nenter thread 2 site 2\n"
        + &touch(2, "write", 0, 16)
        + "leave thread 2 site 2\n";
    let expected = [
        "any x any",
        "any x any not 0 at 0",
        "any x any of 0",
        "0 before 1",
        "1 before 2",
        "hold 1 after 0",
        "hold 1 until 1",
    ];
    assert_eq!(lines(&scene(&events).0, Aim::Any), expected);
}
