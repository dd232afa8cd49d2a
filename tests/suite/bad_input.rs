//! Bad input gets one clear sentence and its exit code.

use std::fs;

use raddle_e2e::{Fixture, Line, Tool};

#[test]
fn crate_that_does_not_compile() {
    let run = Fixture::special("does-not-compile").check(&["test"], 101);
    run.assert_says(&["mismatched types"]);
}

#[test]
fn filter_that_matches_nothing() {
    let run = Fixture::example("lost-update").check(&["test", "no_such_test"], 4);
    let said = format!("{:?}{}", run.lines, run.stderr);
    assert!(said.contains("no_such_test"), "{run:#?}");
}

#[test]
fn unknown_option() {
    let run = Fixture::example("lost-update").check(&["test", "--no-such-option"], 2);
    run.assert_says(&["--no-such-option"]);
}

#[test]
fn unknown_strategy() {
    let run = Fixture::example("lost-update").check(&["test", "--strategy", "luck(7)"], 2);
    run.assert_says(&["luck"]);
}

#[test]
fn directory_without_a_package() {
    let empty = tempfile::tempdir().expect("a temporary directory can be made");
    let ended = Tool::new(empty.path(), ["test"]).run();
    assert_eq!(ended.status.code(), Some(101), "{ended:#?}");
    assert!(ended.stderr.contains("Cargo.toml"), "{ended:#?}");
}

#[test]
fn unknown_finding() {
    let run = Fixture::example("lost-update").check(&["replay", "panic-0000000000"], 2);
    run.assert_says(&["panic-0000000000"]);
    let run = Fixture::example("lost-update").check(&["keep", "panic-0000000000"], 2);
    run.assert_says(&["panic-0000000000"]);
}

#[test]
fn corrupt_schedule_file() {
    let fixture = Fixture::example("lost-update");
    let schedule = fixture.check(&["test"], 100).finding().schedule.clone();
    let path = fixture.path().join(&schedule);
    let good = fs::read_to_string(&path).expect("the schedule is there");
    let half = &good[..good.len() / 2];
    let wrong = good.replace("switch", "swatch");
    for text in ["", "\u{0}\u{1}\u{2}", "raddle schedule 99\n", half, &wrong] {
        fs::write(&path, text).expect("the schedule can be written");
        let run = fixture.check(&["replay", &schedule], 2);
        run.assert_says(&["schedule"]);
    }
}

#[test]
fn corrupt_trace_file() {
    let fixture = Fixture::example("lost-update");
    let id = fixture.check(&["test"], 100).finding().id.clone();
    let traces = fixture.path().join("target/raddle/traces");
    for entry in fs::read_dir(traces).expect("traces are stored") {
        fs::write(entry.expect("an entry").path(), b"RADDLE garbage").expect("it can be written");
    }
    fixture.check(&["replay", &id], 100);
}

#[test]
fn corrupt_state_and_findings() {
    let fixture = Fixture::example("lost-update");
    fixture.check(&["test"], 100);
    let results = fixture.path().join("target/raddle");
    fs::write(results.join("state.json"), "{").expect("it can be written");
    for entry in fs::read_dir(results.join("findings")).expect("findings are stored") {
        fs::write(entry.expect("an entry").path(), "[]").expect("it can be written");
    }
    let run = fixture.check(&["test", "--continue"], 2);
    run.assert_says(&["state.json"]);
    fixture.check(&["test"], 100);
}

#[test]
fn doctor_answers() {
    let run = Fixture::example("lost-update").check(&["doctor"], 0);
    let checks = run
        .lines
        .iter()
        .filter(|line| matches!(line, Line::Check { .. }));
    assert!(checks.count() > 2, "{run:#?}");
}
