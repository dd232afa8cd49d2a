//! A test that gets several turns, each in a process of its own, is explored as if it had one.

use std::collections::BTreeMap;

use raddle_e2e::{Fixture, Line, TestLine};

/// So many that whoever learns has learnt something.
const EXECUTIONS: &str = "300";

/// What came of every test that was explored, by name.
fn explored(fixture: &Fixture, code: i32, options: &[&str]) -> BTreeMap<String, TestLine> {
    let run = fixture.check(&[&["test", "--time", "300s"], options].concat(), code);
    let tests = run.tests().into_iter();
    let tests = tests.filter(|test| test.verdict == "explored");
    tests
        .map(|test| (test.test.clone(), test.clone()))
        .collect()
}

fn check_turns(example: &str, code: i32) {
    let fixture = Fixture::example(example);
    let hashes = |options: &[&str]| -> Vec<(String, u64, String)> {
        let options = [&["--executions", EXECUTIONS], options].concat();
        let tests = explored(&fixture, code, &options).into_iter();
        tests
            .map(|(name, test)| (name, test.executions, test.hash))
            .collect()
    };
    let one = hashes(&["-j", "1"]);
    assert!(!one.is_empty());
    // A turn for each plan.
    assert_eq!(hashes(&["-j", "1", "--turn", "1ns"]), one);
    assert_eq!(hashes(&["-j", "3", "--turn", "1ns"]), one);
    assert_eq!(hashes(&["-j", "3", "--turn", "20ms"]), one);
}

#[test]
fn how_long_turns_are_makes_no_difference() {
    check_turns("correct", 0);
}

#[test]
fn it_makes_none_where_findings_change_what_is_explored_next() {
    check_turns("flag-before-data", 100);
}

#[test]
fn predictions_are_tried_in_turns_too() {
    let fixture = Fixture::special("patterns");
    let predicted = |options: &[&str]| -> Vec<(String, [u64; 4])> {
        let tests = [
            "--",
            "--exact",
            "tests::pattern_10",
            "tests::two_instances_are_two_sets",
        ];
        let run = fixture.check(&[&["predict", "-j", "1"], options, &tests].concat(), 100);
        let lines = run.lines.iter().filter_map(|line| match line {
            Line::Prediction(line) => {
                let figures = [line.predicted, line.real, line.tries, line.executions];
                Some((line.test.clone(), figures))
            }
            _ => None,
        });
        lines.collect()
    };
    let one = predicted(&[]);
    let mut several = predicted(&["--turn", "1ns"]);
    assert_ne!(several, one, "who has nothing to try is through first");
    several.sort();
    assert_eq!(several, one);
}

#[test]
fn a_run_that_continues_another_goes_on_with_what_was_learnt() {
    let fixture = Fixture::example("correct");
    let serial = explored(&fixture, 0, &["--strategy", "serial", "--executions", "1"]);
    // The share of executions with more scheduling points begins anew with each command.
    let search = ["--granularity", "sync", "--executions"];
    let whole = explored(&fixture, 0, &[&search[..], &[EXECUTIONS]].concat());
    let begun = explored(&fixture, 0, &[&search[..], &["100"]].concat());
    let options = [&["--continue"], &search[..], &[EXECUTIONS]].concat();
    let continued = explored(&fixture, 0, &options);
    assert!(continued.len() > 3 && continued.len() == whole.len());
    for (name, test) in &continued {
        // Each command counts what it has run itself. The serial executions before all others are made
        // again.
        let serial = serial[name].points / serial[name].executions * 3;
        let executions = begun[name].executions + test.executions - 3;
        let points = begun[name].points + test.points - serial;
        let whole = &whole[name];
        assert_eq!(
            (executions, points),
            (whole.executions, whole.points),
            "{name}"
        );
    }
}
