//! Same seed, same plan, same binary: same trace hash, in every process and on every carrier.

use std::collections::BTreeMap;

use raddle_e2e::{Fixture, seeds};

/// Hash and number of executions of every test.
type Hashes = BTreeMap<String, (String, u64)>;

fn hashes(fixture: &Fixture, code: i32, seed: u64, carrier: &str) -> Hashes {
    let (seed, executions) = (seed.to_string(), seeds().to_string());
    let options = [
        "test",
        "--seed",
        &seed,
        "--executions",
        &executions,
        "--time",
        "300s",
        "--carrier",
        carrier,
    ];
    let run = fixture.check(&options, code);
    for test in run.tests() {
        assert_eq!(test.carrier, carrier, "{}", test.test);
    }
    let explored = run
        .tests()
        .into_iter()
        .filter(|test| test.verdict == "explored")
        .inspect(|test| {
            let is_whole = test.executions >= seeds() || test.exhaustive.is_some();
            assert!(code == 100 || is_whole, "{test:?}");
        });
    explored
        .map(|test| (test.test.clone(), (test.hash.clone(), test.executions)))
        .collect()
}

fn check(example: &str, code: i32) {
    let fixture = Fixture::example(example);
    let first = hashes(&fixture, code, 7, "fiber");
    assert!(!first.is_empty());
    for (test, (hash, _)) in &first {
        assert_ne!(hash.trim_matches('0'), "", "{test} has no hash");
    }
    for carrier in ["fiber", "os"] {
        assert_eq!(hashes(&fixture, code, 7, carrier), first, "{carrier}");
    }
    assert_ne!(
        hashes(&fixture, code, 8_000_000, "fiber"),
        first,
        "the seed makes a difference"
    );
}

#[test]
fn correct_tests_run_alike_in_three_processes() {
    check("correct", 0);
}

#[test]
fn racy_test_runs_alike_in_three_processes() {
    check("flag-before-data", 100);
}

#[test]
fn deadlocking_test_runs_alike_in_three_processes() {
    check("abba-deadlock", 100);
}

#[test]
fn waiting_test_runs_alike_in_three_processes() {
    check("lost-wakeup", 100);
}

#[test]
fn panicking_test_runs_alike_in_three_processes() {
    check("lost-update", 100);
}
