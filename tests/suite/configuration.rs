//! `raddle.toml`, and what beats it.

use std::fs;

use raddle_e2e::Fixture;

fn configured(example: &str, text: &str) -> Fixture {
    let fixture = Fixture::example(example);
    fs::write(fixture.path().join("raddle.toml"), text).expect("the file can be written");
    fixture
}

#[test]
fn ignored_finding_is_not_reported() {
    let rule = "[[ignore]]\nkind = \"panic\"\nfunction = \"*two_visitors*\"\nreason = \"known\"\n";
    let run = configured("lost-update", rule).check(&["test"], 0);
    assert!(run.findings().is_empty());
}

#[test]
fn ignore_without_a_reason_is_refused() {
    let rule = "[[ignore]]\nkind = \"panic\"\nfunction = \"*\"\n";
    let run = configured("lost-update", rule).check(&["test"], 2);
    run.assert_says(&["reason"]);
}

#[test]
fn unused_ignore_is_said() {
    let rule = "[[ignore]]\nid = \"panic-0123456789\"\nreason = \"long gone\"\n";
    let run = configured("correct", rule).check(&["test", "mutex", "--executions", "3"], 0);
    let said = format!("{:?}{}", run.lines, run.stderr);
    assert!(said.contains("panic-0123456789"), "{run:#?}");
}

#[test]
fn bad_value_is_refused_in_one_sentence() {
    let run = configured("lost-update", "[test]\nstrategy = \"luck\"\n").check(&["test"], 2);
    run.assert_says(&["luck"]);
}

#[test]
fn unknown_key_is_refused() {
    let run = configured("lost-update", "[test]\nstratergy = \"random\"\n").check(&["test"], 2);
    run.assert_says(&["stratergy"]);
}
