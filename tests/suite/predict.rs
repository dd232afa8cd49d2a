//! `predict` makes real what a few executions let it predict, and nothing else.

use raddle_e2e::{Fixture, Line, Run};

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
    let run = fixture.check(&["predict", "asserted"], 100);
    let findings = run.findings();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(findings[0].kind, "panic");
    assert!(
        findings[0].title.contains("the copy is torn"),
        "{}",
        findings[0].title
    );
    // Without the assertion nothing fails, and the violation is worth a note.
    let run = fixture.check(&["predict", "silent"], 0);
    let notes = notes(&run);
    let violation = notes
        .iter()
        .find(|note| note.contains("a violation of `accounts::Account` happened"))
        .unwrap_or_else(|| panic!("{notes:?}"));
    assert!(violation.contains("pattern 9"), "{violation}");
    let steps = [
        "`accounts::Account::copy` reads `checking` at line 21",
        "`accounts::Account::credit` writes `checking` at line 46",
        "`accounts::Account::credit` writes `savings` at line 47",
        "`accounts::Account::copy` reads `savings` at line 25",
    ];
    let places: Vec<_> = steps.iter().map(|step| violation.find(step)).collect();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{violation}"
    );
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
