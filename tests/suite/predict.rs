//! `predict` makes real what a few executions let it predict, and nothing else.

use raddle_e2e::{Fixture, Line, Run, Tool};

fn notes(run: &Run) -> Vec<&str> {
    let notes = run.lines.iter().filter_map(|line| match line {
        Line::Note { text, .. } => Some(text.as_str()),
        _ => None,
    });
    notes.collect()
}

#[test]
fn a_copy_in_two_steps_is_torn() {
    let fixture = Fixture::special("accounts");
    let run = fixture.check(&["predict", "silent"], 100);
    let findings = run.findings();
    assert_eq!(findings.len(), 1, "{findings:?}");
    let finding = findings[0];
    assert_eq!(finding.kind, "atomic-set");
    assert!(finding.confirmed);
    let steps = [
        "`Account::copy` reads `checking` (10)",
        "`Account::credit` writes `checking` (20)",
        "`Account::credit` writes `savings` (20)",
        "`Account::copy` reads `savings` (20)",
    ];
    let places: Vec<_> = steps.iter().map(|step| finding.cause.find(step)).collect();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{}",
        finding.cause
    );
    let violation = finding.violation.as_ref().expect("a violation");
    assert_eq!(
        (violation.pattern, violation.set.as_str()),
        (9, "accounts::Account")
    );
    let units: Vec<_> = violation.units.iter().map(|unit| &unit.function).collect();
    assert_eq!(
        units,
        ["accounts::Account::copy", "accounts::Account::credit"]
    );
    let serial: Vec<_> = violation
        .serial
        .iter()
        .map(|serial| (serial.first.as_str(), serial.outcome.split(';').next()))
        .collect();
    let copied = |values| format!("`Account::copy` reads {values}");
    let (first, second) = (
        copied("checking 10, savings 10"),
        copied("checking 20, savings 20"),
    );
    assert_eq!(
        serial,
        [
            ("Account::copy", Some(first.as_str())),
            ("Account::credit", Some(second.as_str()))
        ]
    );
    assert!(
        violation
            .fix
            .starts_with("hold `checking` in `Account::copy` from line"),
        "{}",
        violation.fix
    );
    // It is stored like any other finding.
    let again = fixture.check(&["replay", &finding.id, "--times", "2"], 100);
    assert_eq!(again.replayed().reproduced, 2, "{again:#?}");
    fixture.check(&["keep", &finding.id], 0);
    let kept = fixture.check(&["test", "silent", "--executions", "1"], 100);
    let kept = kept.findings()[0];
    assert_eq!((&kept.id, &kept.stacks), (&finding.id, &finding.stacks));
    let threads: Vec<_> = kept.stacks.iter().map(|stack| stack.thread).collect();
    assert_eq!(threads, [0, 1]);
}

#[test]
fn a_failure_is_explained_by_the_violation_that_it_follows_from() {
    let fixture = Fixture::special("accounts");
    let run = fixture.check(&["predict", "asserted"], 100);
    let findings = run.findings();
    assert_eq!(findings.len(), 1, "{findings:?}");
    let finding = findings[0];
    assert_eq!(finding.kind, "panic");
    assert!(
        finding.title.contains("the copy is torn"),
        "{}",
        finding.title
    );
    assert!(
        finding
            .cause
            .contains("`Account::copy` and `Account::credit` mix"),
        "{}",
        finding.cause
    );
    let violation = finding.violation.as_ref().expect("a violation");
    assert_eq!((violation.pattern, violation.serial.len()), (9, 2));
}

#[test]
fn units_of_threads_that_meet_in_any_way_are_compared_with_serial_ones() {
    let fixture = Fixture::special("accounts");
    let run = fixture.check(&["predict", "torn::"], 100);
    let tests = run.tests();
    assert!(tests.len() >= 9, "{tests:?}");
    for test in tests {
        assert_eq!(test.verdict, "explored", "{test:?}");
        let findings = run.findings();
        let own: Vec<_> = findings
            .iter()
            .filter(|one| one.test == test.test)
            .collect();
        assert_eq!(own.len(), 1, "{}: {:?}", test.test, notes(&run));
        assert_eq!(own[0].kind, "atomic-set");
        let violation = own[0].violation.as_ref().expect("a violation");
        let serial = violation.serial.iter();
        let known = serial.filter(|serial| serial.outcome != "not known");
        assert_eq!(known.count(), 2, "{violation:?}");
    }
    let run = fixture.check(&["predict", "whole::"], 0);
    assert!(run.tests().len() >= 9, "{:?}", run.tests());
    for test in run.tests() {
        assert_eq!(test.verdict, "explored", "{test:?}");
    }
}

#[test]
fn what_no_serial_order_can_be_compared_with_is_said() {
    let fixture = Fixture::special("accounts");
    let run = fixture.check(&["predict", "announced"], 75);
    let unknown = "whether that does harm is not known";
    assert!(
        notes(&run).iter().any(|note| note.contains(unknown)),
        "{:?}",
        notes(&run)
    );
}

#[test]
fn what_a_serial_order_explains_and_what_is_atomic_is_a_note() {
    let fixture = Fixture::special("accounts");
    let run = fixture.check(&["predict", "benign"], 0);
    let same = "what was read and left is the same as with `Account::";
    assert!(
        notes(&run).iter().any(|note| note.contains(same)),
        "{:?}",
        notes(&run)
    );
    let run = fixture.check(&["predict", "atomics"], 0);
    let atomic = "every access is atomic";
    assert!(
        notes(&run).iter().any(|note| note.contains(atomic)),
        "{:?}",
        notes(&run)
    );
    let run = fixture.check(&["predict", "--strict", "atomics"], 100);
    assert_eq!(run.findings()[0].kind, "atomic-set");
}

#[test]
fn the_monitor_alone_sees_it_when_chance_has_it() {
    let fixture = Fixture::special("accounts");
    let monitor = ["predict", "--engine", "monitor", "--tries", "300"];
    let run = fixture.check(&[&monitor[..], &["silent"]].concat(), 0);
    let seen = "a violation of `accounts::Account` was seen (pattern 9) between `accounts::Account::copy` and \
                `accounts::Account::credit`";
    assert!(
        notes(&run).iter().any(|note| note.starts_with(seen)),
        "{:?}",
        notes(&run)
    );
    let run = fixture.check(&[&monitor[..], &["right"]].concat(), 0);
    assert_eq!(
        notes(&run),
        ["no violation of an atomic set was seen in 300 executions"]
    );
}

#[test]
fn a_copy_under_both_locks_is_not_and_a_wait_ends_a_unit() {
    let fixture = Fixture::special("accounts");
    for test in ["right", "waits"] {
        let run = fixture.check(&["predict", "--profiles", "20", test], 0);
        assert_eq!(
            notes(&run),
            ["no violation of an atomic set is predicted"],
            "{test}"
        );
    }
}

#[test]
fn a_function_that_waits_for_others_in_its_middle_lets_them_in() {
    let fixture = Fixture::special("accounts");
    let run = fixture.check(&["predict", "groups"], 0);
    let notes = notes(&run);
    assert!(
        notes.iter().any(|note| note.contains("became real")),
        "nothing was tried: {notes:?}"
    );
}

#[test]
fn who_looks_again_has_not_seen_what_it_saw_before() {
    let fixture = Fixture::special("accounts");
    let run = fixture.check(&["predict", "--profiles", "20", "polls"], 0);
    let happened = |line: &Line| matches!(line, Line::Violation(_));
    assert!(!run.lines.iter().any(happened), "{:?}", notes(&run));
}

#[test]
fn exploration_reports_no_violation_that_nothing_follows_from() {
    let fixture = Fixture::special("accounts");
    for test in ["silent", "benign", "atomics", "right", "waits"] {
        let run = fixture.check(&["test", test], 0);
        assert!(
            notes(&run).iter().all(|note| !note.contains("atomic set")),
            "{test}: {:?}",
            notes(&run)
        );
    }
    let run = fixture.check(&["test", "asserted"], 100);
    assert_eq!(run.findings()[0].kind, "panic");
}

/// Builds a program of C with these flags, and requires findings whose titles begin so, by title.
fn check_c(fixture: &Fixture, source: &str, flags: &[&str], expected: &[&str]) {
    let usual = ["cc", "-g", "-O1", "-pthread", "-o", "prog", source];
    let ended = Tool::new(fixture.path(), usual.iter().chain(flags)).run();
    assert!(ended.status.success(), "{ended:#?}");
    let code = if expected.is_empty() { 0 } else { 100 };
    let run = fixture.check(&["predict", "./prog"], code);
    let findings = run.findings();
    let mut titles: Vec<_> = findings.iter().map(|one| one.title.as_str()).collect();
    titles.sort_unstable();
    assert_eq!(titles.len(), expected.len(), "{flags:?}: {titles:?}");
    for (title, expected) in titles.iter().zip(expected) {
        assert!(title.starts_with(expected), "{flags:?}: {title}");
    }
}

#[test]
fn in_c_structures_and_the_globals_of_a_file_belong_together() {
    let fixture = Fixture::special("make");
    let of_account = "`difference` and `credit` mix on `account`";
    let of_file = "`width` and `widen` mix on the statics of `bank.c`";
    check_c(&fixture, "bank.c", &[], &[of_account, of_file]);
    check_c(&fixture, "bank.c", &["-DFIXED"], &[]);
}

#[test]
fn in_c_what_a_structure_points_to_belongs_to_it() {
    let fixture = Fixture::special("make");
    let of_buffer = "`difference` and `fill` mix on `buffer`";
    let of_node = "`width` and `widen` mix on `node`";
    check_c(&fixture, "buffer.c", &[], &[of_buffer, of_node]);
    check_c(&fixture, "buffer.c", &["-DSHARED"], &[of_node]);
    check_c(&fixture, "buffer.c", &["-DFIXED"], &[]);
    check_c(&fixture, "buffer.c", &["-DFIXED", "-DSHARED"], &[]);
}
