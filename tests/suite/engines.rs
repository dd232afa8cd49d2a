//! The systems that prediction is compared with find what they are made for, and not the rest.

use raddle_e2e::{Fixture, Line, PredictionLine, Run};

fn prediction(run: &Run) -> &PredictionLine {
    let mut lines = run.lines.iter();
    let found = lines.find_map(|line| match line {
        Line::Prediction(prediction) => Some(prediction),
        _ => None,
    });
    found.expect("a line about the prediction")
}

/// A seed under which no recorded execution fails or waits for a lock. Where one waits, std acquires the lock at
/// another place, and the same deadlock is predicted twice; and under some other seeds, accesses of std to the
/// result of a thread are taken for races.
const QUIET: &[&str] = &["--seed", "12"];

fn check(engine: &str, test: &str, code: i32) -> Run {
    check_with(&[], engine, test, code)
}

fn check_with(options: &[&str], engine: &str, test: &str, code: i32) -> Run {
    let fixture = Fixture::special("engines");
    let usual = ["predict", "--engine", engine, "--tries", "20", test];
    fixture.check(&[&usual, options].concat(), code)
}

#[test]
fn races_are_predicted_and_brought_about() {
    let run = check("race", "relaxed", 100);
    let prediction = prediction(&run);
    assert_eq!(prediction.engine, "race");
    assert!(prediction.predicted > 0 && prediction.real == prediction.predicted);
    assert!(run.findings()[0].title.contains("an addition is lost"));
    // Where every access is guarded there is no race to bring about.
    let run = check_with(QUIET, "race", "given_up", 0);
    assert_eq!(self::prediction(&run).predicted, 0);
}

#[test]
fn a_lock_that_is_given_up_inside_of_a_block_is_taken() {
    let run = check("lock-pattern", "given_up", 100);
    assert!(prediction(&run).real >= 1);
    assert!(run.findings()[0].title.contains("the stock has changed"));
    // Where one side takes no lock, there is nothing to take.
    let run = check_with(&["--profiles", "1"], "lock-pattern", "relaxed", 0);
    let prediction = prediction(&run);
    assert_eq!((prediction.predicted, prediction.tries), (0, 0));
}

#[test]
fn locks_in_different_orders_lead_to_a_deadlock() {
    let run = check_with(QUIET, "asset", "crossed", 100);
    let kinds: Vec<_> = run
        .findings()
        .iter()
        .map(|finding| finding.kind.clone())
        .collect();
    assert_eq!(kinds, ["deadlock"]);
    let note = "1 deadlock was predicted from the order of locks, 1 happened";
    let mut notes = run.lines.iter();
    assert!(notes.any(|line| matches!(line, Line::Note { text, .. } if text == note)));
    // A lock around both keeps them apart.
    let run = check("asset", "gated", 0);
    assert!(run.findings().is_empty());
}

#[test]
fn chance_gets_as_many_executions_as_it_is_given() {
    for engine in ["random", "monitor"] {
        let run = check(engine, "gated", 0);
        assert_eq!(prediction(&run).tries, 20, "{engine}");
    }
}
