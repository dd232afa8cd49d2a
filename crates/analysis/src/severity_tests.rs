//! Tests of comparisons: an execution by hand, and the two serial ones beside it.

use super::*;
use crate::monitor::monitor;
use crate::testing::scene;

/// Steps like `1Rx=5`: thread, `R`, `W` or `A` (a read-modify-write), place, value. Threads 1 and 2
/// enter the units `u` and `v` with `(` and leave them with `)`; `~` waits for a wake-up.
fn story(steps: &str) -> String {
    let mut text = String::new();
    for step in steps.split_whitespace() {
        let (thread, rest) = step.split_at(1);
        let (kind, rest) = rest.split_at(1);
        let kind = match kind {
            "(" => {
                text += &format!("enter thread {thread} site {thread}\n");
                continue;
            }
            ")" => {
                text += &format!("leave thread {thread} site {thread}\n");
                continue;
            }
            "~" => {
                text += &format!("wait thread {thread} object 1\n");
                continue;
            }
            "R" => "read",
            "W" => "write",
            "A" => "atomic-rmw",
            kind => panic!("`{kind}` is no step"),
        };
        let (place, value) = rest.split_once('=').expect("a value");
        let offset = if place == "x" { 0 } else { 8 };
        text +=
            &format!("access thread {thread} kind {kind} offset {offset} size 8 value {value}\n");
    }
    text
}

/// The first violation of an execution, compared with what other executions of its units show.
fn severity(observed: &str, serial: &[&str]) -> Severity {
    let (trace, map) = scene(&story(observed));
    let violations = monitor(&trace, &map);
    let pair = pair(&trace, &map, &violations[0]).expect("two units");
    let own = run(&trace, &map, &pair).expect("an outcome");
    assert_eq!(own.first(), None);
    let serial: Vec<_> = serial
        .iter()
        .filter_map(|steps| {
            let (trace, map) = scene(&story(steps));
            let run = run(&trace, &map, &pair).ok()?;
            Some((run.first()?, run.outcome))
        })
        .collect();
    compare(&own.outcome, &serial)
}

/// One unit copies a pair that the other one doubles.
const COPY_FIRST: &str = "1( 1Rx=1 1Ry=1 1) 2( 2Wx=2 2Wy=2 2)";
const DOUBLE_FIRST: &str = "2( 2Wx=2 2Wy=2 2) 1( 1Rx=2 1Ry=2 1)";

#[test]
fn a_torn_copy_equals_no_serial_one() {
    let torn = "1( 1Rx=1 2( 2Wx=2 2Wy=2 2) 1Ry=2 1)";
    let both = [COPY_FIRST, DOUBLE_FIRST];
    assert_eq!(severity(torn, &both), Severity::Unserializable);
    assert_eq!(severity(torn, &both[..1]), Severity::Unknown);
    assert_eq!(severity(torn, &both[1..]), Severity::Unknown);
    // An execution in which they do not come one after the other is no serial one.
    assert_eq!(severity(torn, &[COPY_FIRST, torn]), Severity::Unknown);
}

#[test]
fn values_that_do_not_change_show_nothing() {
    let harmless = "1( 1Rx=1 2( 2Wx=1 2Wy=1 2) 1Ry=1 1)";
    let first = "1( 1Rx=1 1Ry=1 1) 2( 2Wx=1 2Wy=1 2)";
    let second = "2( 2Wx=1 2Wy=1 2) 1( 1Rx=1 1Ry=1 1)";
    assert_eq!(severity(harmless, &[first, second]), Severity::AsIf(0));
    // What is known of one order is enough to call it harmless.
    assert_eq!(severity(harmless, &[second]), Severity::AsIf(1));
}

#[test]
fn what_is_left_counts_too() {
    // Both write both; in the end x is the one's and y the other's.
    let mixed = "1( 1Wx=1 2( 2Wx=2 2Wy=2 2) 1Wy=1 1)";
    let serial = [
        "1( 1Wx=1 1Wy=1 1) 2( 2Wx=2 2Wy=2 2)",
        "2( 2Wx=2 2Wy=2 2) 1( 1Wx=1 1Wy=1 1)",
    ];
    assert_eq!(severity(mixed, &serial), Severity::Unserializable);
    let alike = mixed.replace("=2", "=1");
    let serial = serial.map(|steps| steps.replace("=2", "=1"));
    let serial = serial.each_ref().map(String::as_str);
    assert_eq!(severity(&alike, &serial), Severity::AsIf(0));
}

#[test]
fn executions_that_began_otherwise_are_not_compared() {
    let torn = "1Wx=1 1Wy=1 1( 1Rx=1 2( 2Wx=2 2Wy=2 2) 1Ry=2 1)";
    let first = "1Wx=1 1Wy=1 1( 1Rx=1 1Ry=1 1) 2( 2Wx=2 2Wy=2 2)";
    let second = "1Wx=1 1Wy=1 2( 2Wx=2 2Wy=2 2) 1( 1Rx=2 1Ry=2 1)";
    assert_eq!(severity(torn, &[first, second]), Severity::Unserializable);
    let other = second.replacen("1Wx=1", "1Wx=7", 1);
    assert_eq!(severity(torn, &[first, &other]), Severity::Unknown);
}

#[test]
fn nobody_else_may_write_in_between() {
    let torn = "1( 1Rx=1 2( 2Wx=2 2Wy=2 2) 1Ry=2 1)";
    let disturbed = "2( 2Wx=2 2Wy=2 2) 0Wx=3 1( 1Rx=3 1Ry=2 1)";
    assert_eq!(severity(torn, &[COPY_FIRST, disturbed]), Severity::Unknown);
    let later = format!("{DOUBLE_FIRST} 0Wx=3");
    assert_eq!(
        severity(torn, &[COPY_FIRST, &later]),
        Severity::Unserializable
    );
}

#[test]
fn a_unit_that_waits_reads_once_and_an_update_leaves_what_the_next_access_sees() {
    let waits = "1( 1Rx=1 1Rx=1 1Rx=1 2( 2Wx=1 2Wy=1 2) 1Ry=1 1)";
    let first = "1( 1Rx=1 1Ry=1 1) 2( 2Wx=1 2Wy=1 2)";
    assert_eq!(severity(waits, &[first]), Severity::AsIf(0));
    // Both add to x in two steps; one addition is lost, which the last look shows.
    let lost = "1( 1Rx=1 2( 2Ax=1 2Ax=2 2) 1Ax=3 1) 0Rx=4";
    let one = "1( 1Rx=1 1Ax=1 1) 2( 2Ax=2 2Ax=3 2) 0Rx=4";
    let other = "2( 2Ax=1 2Ax=2 2) 1( 1Rx=3 1Ax=3 1) 0Rx=4";
    assert_eq!(severity(lost, &[one, other]), Severity::Unserializable);
}

#[test]
fn what_the_end_of_a_recording_cuts_off_is_not_held_against_it() {
    let torn = "1( 1Rx=1 2( 2Wx=2 2Wy=2 2) 1Ry=2";
    let serial = [COPY_FIRST, DOUBLE_FIRST];
    assert_eq!(severity(torn, &serial), Severity::Waits(0));
    let whole = format!("{torn} 1)");
    assert_eq!(severity(&whole, &serial), Severity::Unserializable);
}

#[test]
fn a_function_that_waits_when_it_comes_first_lets_the_other_one_in() {
    // Both give their part of x away, and the first one waits until nobody has one.
    let last = "1( 1Rx=2 1Wx=1 2( 2Rx=1 2Wx=0 2) 1Rx=0 1)";
    let waits = "1( 1Rx=2 1Wx=1 1Rx=1 1~ 2( 2Rx=1 2Wx=0 2) 1Rx=0 1)";
    let second = "2( 2Rx=2 2Wx=1 2) 1( 1Rx=1 1Wx=0 1Rx=0 1)";
    assert_eq!(severity(last, &[waits, second]), Severity::Unknown);
    // A third part is left, so that it waits in any case; it has looked before it gave its own part away.
    let looks = "1( 1Rx=3 2( 2Rx=3 2Wx=2 2) 1Rx=2 1Wx=1 1Rx=1 1~ 1)";
    let first = "1( 1Rx=3 1Rx=3 1Wx=2 1Rx=2 1~ 2( 2Rx=2 2Wx=1 2) 1)";
    let second = "2( 2Rx=3 2Wx=2 2) 1( 1Rx=2 1Rx=2 1Wx=1 1Rx=1 1~ 1)";
    assert_eq!(severity(looks, &[first, second]), Severity::Waits(0));
    let spins =
        [looks, first, second].map(|steps| steps.replace("1Rx=1 1~ ", "").replace("1Rx=2 1~ ", ""));
    assert_eq!(
        severity(&spins[0], &[&spins[1], &spins[2]]),
        Severity::Unserializable
    );
    let second = "2( 2Rx=2 2Wx=1 2) 1( 1Rx=1 1Wx=0 1Rx=0 1)";
    let spins = waits.replace("1~ ", "1) ");
    assert_eq!(severity(last, &[&spins, second]), Severity::Unserializable);
}
