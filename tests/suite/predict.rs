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
fn a_copy_under_both_locks_is_not() {
    let fixture = Fixture::special("accounts");
    let run = fixture.check(&["predict", "right"], 0);
    assert_eq!(notes(&run), ["no violation of an atomic set is predicted"]);
}
