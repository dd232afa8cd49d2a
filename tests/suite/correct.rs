//! Correct concurrency gives nothing.

use raddle_e2e::Fixture;

#[test]
fn nothing_is_reported_on_correct_tests() {
    let fixture = Fixture::example("correct");
    let run = fixture.check(&["test", "--executions", "500"], 0);
    let unexplored = run
        .tests()
        .into_iter()
        .filter(|test| test.verdict != "explored");
    assert_eq!(unexplored.count(), 0, "{run:#?}");
    assert_eq!(run.summary().explored, 40, "{run:#?}");
    assert_eq!(run.summary().findings, 0);
}

#[test]
fn nothing_is_reported_with_points_at_every_access() {
    let fixture = Fixture::example("correct");
    fixture.check(
        &["test", "--granularity", "access", "--executions", "50"],
        0,
    );
}

#[test]
fn nothing_is_reported_by_single_strategies() {
    let fixture = Fixture::example("correct");
    for strategy in [
        "random",
        "pct(5)",
        "pos",
        "surw",
        "reads-from",
        "exhaustive(1)",
        "round-robin",
    ] {
        fixture.check(&["test", "--strategy", strategy, "--executions", "50"], 0);
    }
}

#[test]
fn reading_for_long_is_no_livelock() {
    let fixture = Fixture::special("long-walk");
    let run = fixture.check(&["test", "--executions", "2", "--time", "120s"], 0);
    assert_eq!(run.summary().explored, 2, "{run:#?}");
}
