//! What is tested, and what the summary says about the rest.

use raddle_e2e::{Fixture, Line, Run};

fn listed(run: &Run) -> Vec<(&str, bool)> {
    let tests = run.lines.iter().filter_map(|line| match line {
        Line::Listed { test, ignored } => Some((test.as_str(), *ignored)),
        _ => None,
    });
    let mut tests: Vec<_> = tests.collect();
    tests.sort_unstable();
    tests
}

#[test]
fn tests_are_listed() {
    let run = Fixture::special("single-threaded").check(&["list"], 0);
    let expected = [
        ("fails_by_itself", true),
        ("ignored_and_fine", true),
        ("one_and_one", false),
    ];
    assert_eq!(listed(&run), expected);
}

#[test]
fn test_without_threads_is_called_single_threaded() {
    let run = Fixture::special("single-threaded").check_unexplored(&["test"]);
    assert_eq!(run.test("one_and_one").verdict, "single-threaded");
    assert_eq!(
        (run.summary().single_threaded, run.summary().explored),
        (1, 0)
    );
}

#[test]
fn a_test_that_always_fails_is_a_failure_as_in_cargo_test() {
    let fixture = Fixture::special("single-threaded");
    let run = fixture.check(&["test", "fails", "--", "--ignored"], 101);
    run.assert_failed("fails_by_itself", &["fails"]);
    assert!(run.findings().is_empty());
}

#[test]
fn filters_and_libtest_options_select_as_in_cargo_test() {
    let fixture = Fixture::example("correct");
    let count = |arguments: &[&str]| {
        let run = fixture.check(&[&["test", "--executions", "3"], arguments].concat(), 0);
        run.tests().len()
    };
    assert_eq!(count(&["mutex"]), 2);
    assert_eq!(count(&["--test", "messages", "mpsc"]), 2);
    assert_eq!(count(&["mutex_guards_a_counter", "--", "--exact"]), 1);
    assert_eq!(count(&["mutex", "--", "--skip", "try_lock"]), 1);
}

#[test]
fn program_is_run_with_its_arguments() {
    let fixture = Fixture::special("programs");
    let run = fixture.check(&["test", "--bin", "programs", "--", "1"], 100);
    let finding = run.finding();
    assert_eq!(finding.kind, "panic");
    assert!(
        finding
            .places()
            .iter()
            .any(|place| place.starts_with("src/main.rs:")),
        "{finding:#?}"
    );
}

#[test]
fn example_is_run() {
    let run = Fixture::special("programs").check(&["test", "--example", "clean"], 0);
    assert_eq!(run.summary().explored, 1);
}
