//! Tests of prediction: traces by hand, and what they lead to.

use super::*;
use crate::testing::{BEFORE, scene};

/// Potential violations as `pattern: accesses`, where an access is `R` or `W`, the line of its
/// event, from 1, and `'` if it is the other unit's; then the locks that the units have to give
/// up, by offset.
fn lines(events: &str) -> Vec<String> {
    let (trace, map) = scene(events);
    let prediction = predict(&trace, &map, Options::default());
    assert_eq!((prediction.shortened, prediction.left_out), (0, 0));
    let lines = prediction.violations.iter().map(|violation| {
        let mut line = format!("{}:", violation.pattern.number);
        for access in &violation.accesses {
            let slot = if access.slot == Slot::Read { "R" } else { "W" };
            let who = if access.who == Who::U { "" } else { "'" };
            line += &format!(" {slot}{}{who}", access.at as usize + 1 - BEFORE);
        }
        for (name, unit) in [("u", &violation.u), ("v", &violation.v)] {
            let locks: Vec<_> = unit
                .vwls
                .iter()
                .map(|lock| lock.offset.to_string())
                .collect();
            if !locks.is_empty() {
                line += &format!(" {name}-{}", locks.join(","));
            }
        }
        line + if violation.is_atomic { " atomic" } else { "" }
    });
    let mut lines: Vec<_> = lines.collect();
    lines.sort_by_key(|line| {
        line.split_once(':')
            .map(|(number, _)| number.parse::<u8>().ok())
    });
    lines
}

#[track_caller]
fn check(events: &str, expected: &[&str]) {
    assert_eq!(lines(events), expected);
}

/// The events of a unit: `enter`, then steps, then `leave`. A step is `R` or `W` and `x` or `y`,
/// `+` and `-` with a number to lock and unlock.
fn unit(thread: u32, steps: &str) -> String {
    let mut text = format!("enter thread {thread} site {thread}\n");
    for step in steps.split_whitespace() {
        let (kind, rest) = step.split_at(1);
        let line = match kind {
            "+" => format!("lock thread {thread} step acquire object 1 offset {rest}"),
            "-" => format!("lock thread {thread} step release object 1 offset {rest}"),
            _ => {
                let kind = if kind == "R" { "read" } else { "write" };
                let offset = if rest == "x" { 0 } else { 8 };
                format!("access thread {thread} kind {kind} offset {offset} size 8")
            }
        };
        text += &line;
        text.push('\n');
    }
    text + &format!("leave thread {thread} site {thread}\n")
}

/// Number and steps of both units, for each row of the table.
fn rows() -> Vec<(u8, String, String)> {
    let rows = patterns::ALL.iter().map(|pattern| {
        let steps = |who: Who| {
            let steps = pattern.steps.iter().filter(|step| step.who == who);
            let words = steps.map(|step| {
                let slot = if step.slot == Slot::Read { "R" } else { "W" };
                format!("{slot}{}", if step.location == 0 { "x" } else { "y" })
            });
            words.collect::<Vec<_>>().join(" ")
        };
        (pattern.number, steps(Who::U), steps(Who::V))
    });
    rows.collect()
}

fn numbers(events: &str) -> Vec<u8> {
    let numbers = lines(events).into_iter();
    numbers
        .filter_map(|line| line.split_once(':')?.0.parse().ok())
        .collect()
}

#[test]
fn each_pattern_is_found_in_a_run_in_which_the_units_come_one_after_the_other() {
    for (number, u, v) in rows() {
        for events in [unit(1, &u) + &unit(2, &v), unit(2, &v) + &unit(1, &u)] {
            let found = numbers(&events);
            assert!(
                found.contains(&number),
                "{number} of {found:?} in\n{events}"
            );
        }
    }
}

#[test]
fn no_pattern_is_found_if_one_thread_hears_of_the_other() {
    for (_, u, v) in rows() {
        let told = "send-item thread 1 object 1\nreceive-item thread 2 object 1\n";
        let events = unit(1, &u) + told + &unit(2, &v);
        assert!(numbers(&events).is_empty(), "{events}");
    }
}

#[test]
fn no_pattern_is_found_if_both_hold_a_lock_all_the_time() {
    for (_, u, v) in rows() {
        let (u, v) = (format!("+0 {u} -0"), format!("+0 {v} -0"));
        let events = unit(1, &u) + &unit(2, &v);
        assert!(numbers(&events).is_empty(), "{events}");
    }
}

#[test]
fn each_pattern_is_found_if_the_lock_is_given_up_in_between() {
    for (number, u, v) in rows() {
        let broken = |steps: &str| format!("+0 {} -0", steps.replace(' ', " -0 +0 "));
        let events = unit(1, &broken(&u)) + &unit(2, &broken(&v));
        let found = numbers(&events);
        assert!(
            found.contains(&number),
            "{number} of {found:?} in\n{events}"
        );
    }
}

#[test]
fn the_account_is_copied_in_two_steps() {
    // The paper's figures 3 and 6: both fields guarded, and no lock around both.
    let copy = "+0 Rx -0 +0 Ry -0";
    let credit = "+0 Rx Wx Ry Wy -0";
    check(
        &(unit(1, copy) + &unit(2, credit)),
        &["9: R3 W12' W14' R6 u-0"],
    );
    check(&(unit(1, "+0 Rx Ry -0") + &unit(2, credit)), &[]);
}

#[test]
fn a_lock_that_is_needed_only_between_the_others_accesses_keeps_it_out() {
    // v acquires what u holds, between its two writes: it cannot get in, but u can get between.
    check(
        &(unit(1, "+0 Rx Ry -0") + &unit(2, "Wx +0 -0 Wy")),
        &["8: W8 R3' R4' W11"],
    );
    check(
        &(unit(1, "+0 Rx Ry -0") + &unit(2, "Wx Wy +0 -0")),
        &["8: W8 R3' R4' W9", "9: R3 W8' W9' R4"],
    );
    // It is needed on the way, and u has to give it up.
    check(
        &(unit(1, "+0 Rx -0 Ry") + &unit(2, "+0 -0 Wx Wy")),
        &["8: W10 R3' R5' W11", "9: R3 W10' W11' R5 u-0"],
    );
}

#[test]
fn readers_do_not_keep_readers_out() {
    let shared = |text: String| text.replace("offset 0\n", "offset 0 mode shared\n");
    let u = unit(1, "+0 Rx Rx -0");
    let v = unit(2, "+0 Wx -0");
    check(&(u.clone() + &v), &[]);
    check(&(shared(u.clone()) + &v), &[]);
    check(&(shared(u) + &shared(v)), &["2: R3 W9' R4"]);
}

#[test]
fn a_wait_inside_of_a_unit_cuts_it() {
    let wait = "enter thread 1 site 1
        access thread 1 kind read size 8
        WAIT
        access thread 1 kind read size 8
        leave thread 1 site 1\n";
    let write = unit(2, "Wx");
    check(
        &(wait.replace("WAIT", "mark thread 1 kind sleep") + &write),
        &["2: R2 W7' R4"],
    );
    check(
        &(wait.replace("WAIT", "wait thread 1 object 1") + &write),
        &[],
    );
    // Waiting for a lock does not.
    let lock = "lock thread 1 step want object 1\nwait thread 1 object 1";
    check(&(wait.replace("WAIT", lock) + &write), &["2: R2 W8' R5"]);
}

#[test]
fn what_is_read_to_find_that_a_wait_is_needed_is_left_out() {
    // The function writes, and looks whether it has to wait; the other one may come in between.
    let wait = "enter thread 1 site 1
        access thread 1 kind write size 8
        lock thread 1 step acquire object 1
        access thread 1 kind read size 8
        lock thread 1 step release object 1
        WAIT
        leave thread 1 site 1\n";
    let write = unit(2, "Wx");
    let check = |what: &str, expected: &[&str]| {
        check(&(wait.replace("WAIT", what) + &write), expected);
    };
    check("mark thread 1 kind sleep", &["4: W2 W9' R4"]);
    check("wait thread 1 object 1 offset 8", &[]);
    // What it has read before it acquired the lock was meant for something else.
    let early = "lock thread 1 step acquire object 1\nwait thread 1 object 1 offset 8";
    check(early, &["4: W2 W10' R4"]);
}

#[test]
fn a_wait_that_finds_its_condition_changed_cuts_too() {
    // A look at the condition variable, and another thread's notification came first.
    let look = |kind: &str| {
        format!(
            "typed object 5 type 2
             enter thread 1 site 1
             access thread 1 kind read object 5 size 8
             access thread 1 kind {kind} object 5 offset 16 size 4
             access thread 1 kind read object 5 size 8
             leave thread 1 site 1
             enter thread 2 site 2
             access thread 2 kind write object 5 size 8
             leave thread 2 site 2"
        )
    };
    check(&look("atomic-load"), &[]);
    check(&look("atomic-rmw"), &["2: R3 W8' R5"]);
}

#[test]
fn a_read_modify_write_fills_one_slot_and_a_failed_one_is_a_read() {
    let atomic = |kinds: &[&str]| {
        let mut text = String::from("enter thread 1 site 1\n");
        for kind in kinds {
            text += &format!("access thread 1 kind {kind} size 8 order seq-cst\n");
        }
        text + "leave thread 1 site 1\nenter thread 2 site 2\n\
                access thread 2 kind atomic-store size 8\nleave thread 2 site 2\n"
    };
    check(&atomic(&["atomic-rmw"]), &[]);
    check(
        &atomic(&["atomic-load", "atomic-rmw"]),
        &["1: R2 W6' W3 atomic", "2: R2 W6' R3 atomic"],
    );
    // What was read before the exchange failed is read again.
    check(&atomic(&["atomic-load", "atomic-cas"]), &[]);
    check(
        &atomic(&["atomic-load", "atomic-cas", "atomic-load"]),
        &["2: R3 W7' R4 atomic"],
    );
    // What the failed one read is of no use once it is tried again with something else.
    check(&atomic(&["atomic-load", "atomic-cas", "atomic-rmw"]), &[]);
    check(
        &atomic(&["atomic-cas", "atomic-rmw", "atomic-load"]),
        &["2: R3 W7' R4 atomic", "4: W3 W7' R4 atomic"],
    );
}

#[test]
fn what_a_load_found_that_is_repeated_is_of_no_use() {
    let polls = |between: &str| {
        format!(
            "enter thread 1 site 1
             access thread 1 kind atomic-load size 8 site 4
             {between}
             access thread 1 kind atomic-load size 8 site 4
             leave thread 1 site 1
             enter thread 2 site 2
             access thread 2 kind read offset 8 size 8
             access thread 2 kind atomic-store size 8
             leave thread 2 site 2"
        )
    };
    let read = "access thread 1 kind read offset 8 size 8";
    check(&polls(read), &[]);
    let twice = "2: R2 W8' R4 atomic".to_owned();
    // It goes by what it found.
    let write = "access thread 1 kind write offset 8 size 8";
    assert!(lines(&polls(write)).contains(&twice));
    // It looks at two places in the source.
    let apart = polls(read).replacen("site 4", "site 5", 1);
    assert_eq!(lines(&apart), [twice]);
}

#[test]
fn a_wide_access_is_one_access_to_several_places() {
    let wide = |kind: &str| {
        format!(
            "enter thread 2 site 2\naccess thread 2 kind {kind} size 16\nleave thread 2 site 2\n"
        )
    };
    check(&(unit(1, "Rx Ry") + &wide("write")), &["9: R2 W6' W6' R3"]);
    check(&(unit(1, "Wx Wy") + &wide("read")), &["8: W2 R6' R6' W3"]);
    check(&(unit(1, "Rx") + &wide("write")), &[]);
}

#[test]
fn instances_of_a_type_have_nothing_to_do_with_each_other() {
    let other = unit(2, "Wx Wy")
        .replace("offset 8", "offset 24")
        .replace("offset 0", "offset 16");
    check(&(unit(1, "Rx Ry") + &other), &[]);
}

#[test]
fn a_function_with_two_instances_is_a_unit_for_both() {
    // append(&self, other): u reads the other's length and then its contents.
    let append = "enter thread 1 site 1
        access thread 1 kind read offset 16 size 8
        access thread 1 kind write offset 0 size 8
        access thread 1 kind read offset 24 size 8
        leave thread 1 site 1
        enter thread 2 site 2
        access thread 2 kind write offset 16 size 8
        access thread 2 kind write offset 24 size 8
        leave thread 2 site 2";
    check(append, &["8: W7 R2' R4' W8", "9: R2 W7' W8' R4"]);
}

#[test]
fn what_an_arc_holds_belongs_to_its_type_and_its_holders_functions_are_units() {
    let pair = "typed object 4 type 1
        enter thread 1 site 3
        access thread 1 kind read object 4 offset 24 size 8
        access thread 1 kind read object 4 offset 32 size 8
        leave thread 1 site 3
        enter thread 2 site 2
        access thread 2 kind write object 4 offset 24 size 8
        access thread 2 kind write object 4 offset 32 size 8
        leave thread 2 site 2";
    check(pair, &["8: W7 R3' R4' W8", "9: R3 W7' W8' R4"]);
}

#[test]
fn lock_words_and_counts_are_in_no_set() {
    let word = |offset: u32| {
        format!(
            "typed object 4 type 1
             enter thread 1 site 1
             access thread 1 kind atomic-load object 4 offset {offset} size 4
             access thread 1 kind atomic-rmw object 4 offset {offset} size 4
             leave thread 1 site 1
             enter thread 2 site 2
             access thread 2 kind atomic-rmw object 4 offset {offset} size 4
             leave thread 2 site 2"
        )
    };
    // Counts of the Arc, the lock word, the poison flag, and then data.
    for offset in [0, 8, 16, 20] {
        check(&word(offset), &[]);
    }
    assert_eq!(lines(&word(24)).len(), 2);
}

#[test]
fn free_functions_closures_and_what_nobody_is_in_are_no_units() {
    let events = unit(1, "Rx Ry") + &unit(2, "Wx Wy");
    check(&events.replace("thread 1 site 1", "thread 1 site 4"), &[]);
    let without: Vec<_> = events
        .lines()
        .filter(|line| !line.contains("thread 1 site 1"))
        .collect();
    check(&without.join("\n"), &[]);
}

#[test]
fn the_outermost_function_is_the_unit() {
    let nested = "enter thread 1 site 1
        enter thread 1 site 2
        access thread 1 kind read size 8
        leave thread 1 site 2
        enter thread 1 site 2
        access thread 1 kind read size 8
        leave thread 1 site 2
        leave thread 1 site 1\n";
    check(&(nested.to_owned() + &unit(2, "Wx")), &["2: R3 W10' R6"]);
    let apart: Vec<_> = nested
        .lines()
        .filter(|line| !line.contains("thread 1 site 1"))
        .collect();
    check(&(apart.join("\n") + "\n" + &unit(2, "Wx")), &[]);
}

#[test]
fn the_statics_of_a_module_are_one_set() {
    let on_statics = |text: String| {
        text.replace("offset 0 size", "object 2 size")
            .replace("offset 8 size", "object 3 size")
    };
    check(
        &on_statics(unit(1, "Rx Ry") + &unit(2, "Wx Wy")),
        &["8: W6 R2' R3' W7", "9: R2 W6' W7' R3"],
    );
}

#[test]
fn a_block_that_the_unit_has_just_allocated_is_nobody_elses() {
    let events = unit(1, "Wx Wx") + &unit(2, "Rx");
    check(&events, &["3: W2 R6' W3"]);
    let fresh = events.replacen('\n', "\nalloc thread 1\n", 1);
    check(&fresh, &[]);
}

#[test]
fn the_same_in_a_loop_is_predicted_once() {
    let mut events = String::new();
    for _ in 0..50 {
        events += &unit(1, "Rx Ry").replace("size 8", "size 8 site 3");
        events += &unit(2, "Wx Wy").replace("size 8", "size 8 site 4");
    }
    assert_eq!(numbers(&events), [8, 9]);
}
