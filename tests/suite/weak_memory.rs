//! With weak memory, loads read the old values that the memory model allows, and no others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use raddle_e2e::{Fixture, Line, Run};

const WEAK: [&str; 3] = ["test", "--memory-model", "weak"];

fn weak<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&WEAK, more].concat()
}

/// Tests that have findings.
fn failing(run: &Run) -> BTreeSet<String> {
    let findings = run.findings();
    assert!(findings.iter().all(|finding| finding.confirmed), "{run:#?}");
    let tests = findings.iter().map(|finding| finding.test.clone());
    tests.collect()
}

#[test]
fn what_the_model_allows_shows_and_only_with_weak_memory() {
    let fixture = Fixture::special("litmus");
    let run = fixture.check(&weak(&["allowed::", "--executions", "3000"]), 100);
    let all: BTreeSet<String> = run.tests().iter().map(|test| test.test.clone()).collect();
    assert_eq!(all.len(), 8, "{run:#?}");
    assert_eq!(failing(&run), all, "{run:#?}");
    assert!(run.findings().iter().all(|finding| finding.kind == "panic"));
    fixture.check(&["test", "allowed::", "--executions", "1000"], 0);
}

#[test]
fn what_the_model_forbids_never_shows() {
    let fixture = Fixture::special("litmus");
    for strategy in ["portfolio", "random"] {
        let options = [
            "forbidden::",
            "--executions",
            "3000",
            "--strategy",
            strategy,
            "--time",
            "300s",
        ];
        let run = fixture.check(&weak(&options), 0);
        assert_eq!(run.tests().len(), 17, "{run:#?}");
        assert!(run.tests().iter().all(|test| test.verdict == "explored"));
        assert!(run.tests().iter().all(|test| test.exhaustive.is_none()));
    }
}

#[test]
fn an_old_value_is_part_of_the_schedule() {
    let fixture = Fixture::special("litmus");
    let options = [
        "allowed::value_that_is_two_stores_old",
        "--executions",
        "3000",
    ];
    let run = fixture.check(&weak(&options), 100);
    let finding = run.finding();
    assert!(finding.cause.contains("reads an old value: 7"), "{run:#?}");
    let schedule =
        fs::read_to_string(fixture.path().join(&finding.schedule)).expect("the schedule is there");
    assert!(schedule.contains("\nmemory weak\n"), "{schedule}");
    let reads: Vec<_> = schedule
        .lines()
        .filter(|line| line.starts_with("read "))
        .collect();
    assert!(
        matches!(reads[..], [read] if read.contains(" old 2")),
        "{schedule}"
    );
    let replayed = fixture.check(&["replay", &finding.id, "--times", "20"], 100);
    let replay = replayed.replayed();
    assert_eq!((replay.runs, replay.reproduced), (20, 20), "{replayed:#?}");
    assert_eq!(replay.diverged, None, "{replayed:#?}");
    // It is kept and replayed without the option.
    fixture.check(&["keep", &finding.id], 0);
    let kept = fixture.check(&["test", options[0], "--executions", "1"], 100);
    assert_eq!(kept.finding().id, finding.id);
}

#[test]
fn the_seed_decides_which_values_are_old() {
    let fixture = Fixture::special("litmus");
    let hash = |seed: &str, carrier: &str, reexecution: &str| {
        let options = [
            "forbidden::reads_that_go_back",
            "--strategy",
            "random",
            "--executions",
            "200",
            "--seed",
            seed,
            "--carrier",
            carrier,
            "--reexecution",
            reexecution,
        ];
        let run = fixture.check(&weak(&options), 0);
        let tests = run.tests().into_iter();
        tests
            .map(|test| (test.test.clone(), test.hash.clone()))
            .collect::<BTreeMap<_, _>>()
    };
    let first = hash("7", "fiber", "snapshot");
    assert_eq!(hash("7", "fiber", "snapshot"), first);
    assert_eq!(hash("7", "os", "snapshot"), first);
    assert_eq!(hash("7", "fiber", "fork"), first);
    assert_eq!(hash("7", "fiber", "loop"), first);
    assert_ne!(hash("8000", "fiber", "snapshot"), first);
}

#[test]
fn a_search_of_orders_does_not_claim_to_be_exhaustive() {
    let fixture = Fixture::special("litmus");
    let search = [
        "forbidden::store_buffering_in_order",
        "--strategy",
        "exhaustive(2)",
        "--executions",
        "100000",
    ];
    let run = fixture.check(&weak(&search), 0);
    assert!(run.tests().iter().all(|test| test.exhaustive.is_none()));
    let said = run.lines.iter().any(|line| {
        matches!(line, Line::Note { text, .. } if text.contains("not those that weak memory allows"))
    });
    assert!(said, "{run:#?}");
}
