//! What is seen is confirmed, whatever way the program dies, or the run is inconclusive.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::TcpListener;
use std::thread;

use raddle_e2e::{Fixture, Run, Tool};

/// Tests of the fixture `hard-panics`.
const HARD: usize = 8;

fn ids(run: &Run) -> BTreeSet<(String, String)> {
    let findings = run.findings().into_iter();
    findings
        .map(|finding| (finding.test.clone(), finding.id.clone()))
        .collect()
}

#[test]
fn panics_that_cannot_unwind_are_confirmed_with_the_same_id_in_every_mode() {
    let fixture = Fixture::special("hard-panics");
    let modes = [
        ("auto", "fiber"),
        ("snapshot", "os"),
        ("loop", "fiber"),
        ("fork", "os"),
    ];
    let mut seen = Vec::new();
    for (reexecution, carrier) in modes {
        let arguments = ["test", "--executions", "20", "--test", "hard"];
        let how = ["--reexecution", reexecution, "--carrier", carrier];
        let run = fixture.check(&[&arguments[..], &how].concat(), 100);
        assert_eq!(run.summary().explored, HARD as u64, "{run:#?}");
        assert_eq!(run.summary().unconfirmed, 0, "{run:#?}");
        for finding in run.findings() {
            assert!(finding.confirmed && finding.kind == "crash", "{finding:#?}");
        }
        assert_eq!(ids(&run).len(), HARD, "{run:#?}");
        assert!(run.notes("same schedule differ").is_empty(), "{run:#?}");
        seen.push(ids(&run));
    }
    assert!(seen.windows(2).all(|two| two[0] == two[1]), "{seen:#?}");
    let replay = fixture.check(&["replay", &seen[0].first().expect("one").1], 100);
    assert_eq!(replay.replayed().reproduced, 1, "{replay:#?}");
}

#[test]
fn failures_without_a_place_are_confirmed_and_kept_apart_by_test() {
    const TESTS: [&str; 7] = [
        "one_error",
        "another_error",
        "one_that_should_panic",
        "another_that_should_panic",
        "a_panic_without_the_hook",
        "one_exit",
        "another_exit",
    ];
    let fixture = Fixture::special("hard-panics");
    let mut seen = Vec::new();
    for (reexecution, strategy) in [
        ("auto", "portfolio"),
        ("fork", "random"),
        ("snapshot", "exhaustive(2)"),
    ] {
        let arguments = ["test", "--executions", "1000", "--test", "silent"];
        let how = ["--reexecution", reexecution, "--strategy", strategy];
        let run = fixture.check(&[&arguments[..], &how].concat(), 100);
        assert_eq!(run.summary().unconfirmed, 0, "{run:#?}");
        for test in TESTS {
            let findings = run.findings().into_iter();
            let count = findings.filter(|finding| finding.test == test).count();
            assert_eq!(count, 1, "{test} with {how:?}: {run:#?}");
        }
        let names: BTreeSet<String> = ids(&run).into_iter().map(|(_, id)| id).collect();
        assert_eq!(names.len(), TESTS.len(), "{run:#?}");
        seen.push(ids(&run));
    }
    assert!(seen.windows(2).all(|two| two[0] == two[1]), "{seen:#?}");
    for (_, id) in &seen[0] {
        let replay = fixture.check(&["replay", "--times", "3", id], 100);
        assert_eq!(replay.replayed().reproduced, 3, "{replay:#?}");
    }
}

#[test]
fn a_panic_that_aborts_is_confirmed_in_every_mode() {
    let fixture = Fixture::special("hard-panics");
    let mut seen = BTreeSet::new();
    for reexecution in ["loop", "snapshot", "fork"] {
        let build = ["test", "--profile", "aborting", "--bin", "hard-panics"];
        let how = ["--executions", "20", "--reexecution", reexecution];
        let run = fixture.check(&[&build[..], &how].concat(), 100);
        let finding = run.finding();
        assert_eq!(finding.kind, "crash", "{run:#?}");
        seen.insert(finding.id.clone());
    }
    assert_eq!(seen.len(), 1, "{seen:#?}");
}

#[test]
fn a_failed_assertion_of_c_is_confirmed_in_every_mode() {
    let fixture = Fixture::compiled("bad-c", "asserts.c");
    let mut seen = BTreeSet::new();
    for (reexecution, carrier) in [("snapshot", "fiber"), ("fork", "fiber"), ("auto", "os")] {
        let how = ["--reexecution", reexecution, "--carrier", carrier];
        let arguments = [&["test", "--executions", "50"][..], &how, &["./prog"]];
        let run = fixture.check(&arguments.concat(), 100);
        seen.insert(run.finding().id.clone());
    }
    assert_eq!(seen.len(), 1, "{seen:#?}");
}

#[test]
fn each_verdict_has_its_exit_code_and_the_first_one_wins() {
    let fixture = Fixture::special("verdicts");
    let test = |names: &[&str], code| {
        let skipped = [
            "passes",
            "has_one_thread",
            "always_fails",
            "always_panics_otherwise",
            "always_waits_for_ever",
            "computes_without_end",
            "loses",
            "fails_once",
            "never_ends",
        ];
        let mut arguments = vec!["test", "--executions", "8", "--max-points", "200", "--"];
        for name in skipped.iter().filter(|name| !names.contains(name)) {
            arguments.extend(["--skip", name]);
        }
        fixture.check(&arguments, code)
    };
    // The message of the panic is whole, and what libtest prints is left out.
    let run = test(
        &[
            "passes",
            "has_one_thread",
            "always_fails",
            "always_panics_otherwise",
            "always_waits_for_ever",
            "never_ends",
        ],
        101,
    );
    let told = [
        (
            "always_fails",
            vec!["the answer\n\nnote: has more", "left: 41", "right: 42"],
        ),
        (
            "always_panics_otherwise",
            vec!["in these words", "expected substring: \"other words\""],
        ),
        (
            "always_waits_for_ever",
            vec!["(tests/verdicts.rs:", "for a message"],
        ),
    ];
    for (test, parts) in told {
        let why = run.test(test).why.clone().unwrap_or_default();
        for part in parts {
            assert!(why.contains(part), "{why}");
        }
        for boilerplate in ["test result", "FAILED", "failures:"] {
            assert!(!why.contains(boilerplate), "{why}");
        }
    }
    assert_eq!(run.test("passes").verdict, "explored", "{run:#?}");
    // Every execution is cut: that is no exploration.
    let line = run.test("never_ends");
    assert_eq!(line.verdict, "not-testable", "{run:#?}");
    assert_eq!(run.summary().conclusion, "failed", "{run:#?}");
    let run = test(&["loses", "always_fails", "never_ends"], 100);
    assert_eq!(run.finding().test, "loses", "{run:#?}");
    test(&["passes", "has_one_thread"], 0);
    let run = test(&["never_ends", "has_one_thread"], 75);
    assert_eq!(run.summary().conclusion, "inconclusive", "{run:#?}");
    let arguments = ["test", "--allow-inconclusive", "--max-points", "200"];
    let arguments = [&arguments[..], &["--executions", "8", "never_ends"]].concat();
    let run = fixture.check_unexplored(&arguments);
    assert_eq!(run.summary().conclusion, "inconclusive", "{run:#?}");
    let text = Tool::new(fixture.path(), ["test", "always_fails"])
        .run()
        .stdout;
    let last = text.lines().last().unwrap_or_default().to_owned();
    assert_eq!(
        last, "exit code 101: 1 test fails without any interleaving",
        "{text}"
    );
}

#[test]
fn an_execution_that_computes_without_end_is_inconclusive() {
    let fixture = Fixture::special("verdicts");
    let arguments = ["test", "--executions", "10", "--watchdog", "1s"];
    let run = fixture.check(&[&arguments[..], &["computes_without_end"]].concat(), 75);
    assert_eq!(run.summary().unconfirmed, 1, "{run:#?}");
    let notes = run.notes("it spins or computes");
    assert!(notes[0].contains("tests/verdicts.rs:"), "{run:#?}");
}

/// A server that lets its first client fail, and no other one; its address.
fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    thread::spawn(move || {
        for (number, client) in listener.incoming().flatten().enumerate() {
            let answer = if number == 0 { b"f" } else { b"o" };
            // A client may be gone already.
            let _ = { client }.write_all(answer);
        }
    });
    address
}

#[test]
fn what_does_not_show_again_is_inconclusive_and_is_not_forgotten() {
    let fixture = Fixture::special("verdicts");
    let server = server();
    let run = |flags: &[&str], code| {
        let arguments = ["test", "--message-format", "json", "--executions", "100"];
        let arguments = [&arguments[..], flags, &["fails_once"]].concat();
        let tool = Tool::new(fixture.path(), arguments).env("SERVER", &server);
        fixture.check_tool(tool, code)
    };
    let first = run(&[], 75);
    assert_eq!(first.summary().unconfirmed, 1, "{first:#?}");
    assert!(first.findings().is_empty(), "{first:#?}");
    assert_eq!(first.notes("did not show again").len(), 1, "{first:#?}");
    // A run that continues it knows no less, and counts what it does itself.
    let second = run(&["--continue"], 75);
    assert_eq!(second.notes("did not show again").len(), 1, "{second:#?}");
    assert_eq!(second.summary().executions, 0, "{second:#?}");
    run(&["--continue", "--allow-inconclusive"], 0);
    // The server has seen its first client, and nothing fails any more.
    let third = run(&[], 0);
    assert_eq!(third.summary().unconfirmed, 0, "{third:#?}");
}

#[test]
fn a_panic_of_the_runtime_is_our_bug() {
    let fixture = Fixture::compiled("bad-c", "provokes.c");
    for reexecution in ["auto", "fork"] {
        let how = ["--executions", "30", "--reexecution", reexecution];
        let run = fixture.check(&[&["test"][..], &how, &["./prog"]].concat(), 70);
        assert_eq!(run.summary().conclusion, "internal-error", "{run:#?}");
        run.assert_says(&["this is a bug in raddle"]);
        assert!(run.notes("ends its own process").is_empty(), "{run:#?}");
    }
}

#[test]
fn a_replay_that_shows_another_failure_says_so() {
    let fixture = Fixture::special("verdicts");
    let found = fixture.check(&["test", "loses"], 100);
    let id = found.finding().id.clone();
    // A part of the id is enough if no other one begins so.
    fixture.check(&["replay", &id[..9]], 100);
    fixture.edit("tests/verdicts.rs", |text| {
        text.replace("complain", "protest")
    });
    let replay = fixture.check(&["replay", &id[..9]], 75);
    assert_eq!(replay.replayed().reproduced, 0, "{replay:#?}");
    assert_eq!(replay.replayed().others.len(), 1, "{replay:#?}");
    let ended = Tool::new(fixture.path(), ["replay", &id]).run();
    let says = "a different failure showed instead: panic: test panics: a count was lost";
    assert!(ended.stdout.contains(says), "{ended:#?}");
    // Both are stored after another run, and neither is meant by what both begin with.
    let again = fixture.check(&["test", "loses"], 100);
    let ambiguous = fixture.check(&["replay", "panic-"], 2);
    ambiguous.assert_says(&[&again.finding().id]);
    ambiguous.assert_says(&[&id]);
    // Where nothing fails any more, and the schedule does not fit, both are said.
    fixture.edit("src/lib.rs", |text| {
        text.replace("let before = total.load(Ordering::SeqCst);", "")
            .replace("store(before + 1,", "fetch_add(1,")
    });
    let gone = fixture.check(&["replay", &id], 0);
    assert!(gone.replayed().diverged.is_some(), "{gone:#?}");
}

#[test]
fn threads_have_the_same_numbers_in_report_schedule_and_trace() {
    let fixture = Fixture::special("verdicts");
    let run = fixture.check(&["test", "loses"], 100);
    let finding = run.finding();
    let schedule = std::fs::read_to_string(&finding.schedule).expect("a schedule");
    let threads: Vec<&str> = schedule
        .lines()
        .filter_map(|line| line.strip_prefix("thread "))
        .map(|line| line.split(" site").next().unwrap_or_default())
        .collect();
    assert_eq!(threads, ["1 parent 0", "2 parent 0"], "{schedule}");
    let trace = fixture.path().join("trace");
    let arguments = ["replay", &finding.id, "--trace", "trace"];
    let replay = fixture.check(&arguments, 100);
    assert_eq!(replay.replayed().diverged, None, "{replay:#?}");
    let trace = std::fs::read_to_string(trace).expect("a trace");
    // The harness's thread has no number among the first three.
    let parents = trace.lines().filter(|line| line.starts_with("thread"));
    let parents: Vec<bool> = parents.map(|line| line.contains("parent 1")).collect();
    assert_eq!(parents[..3], [false, true, true], "{trace}");
    assert_eq!(finding.stacks[0].thread, 0, "{finding:#?}");
    assert!(trace.contains("panic"), "{trace}");
}

#[test]
fn rules_that_matched_earlier_are_not_unused() {
    let fixture = Fixture::special("verdicts");
    let found = fixture.check(&["test", "loses"], 100);
    let id = &found.finding().id;
    let rule = format!("[[ignore]]\nid = '{id}'\nreason = 'known'\n");
    std::fs::write(fixture.path().join("raddle.toml"), rule).expect("a file");
    // The rule came after the run that is continued.
    for _ in 0..2 {
        let run = fixture.check(&["test", "loses", "--continue"], 0);
        assert!(run.notes("matched nothing").is_empty(), "{run:#?}");
        assert_eq!(run.notes("is ignored by raddle.toml").len(), 1, "{run:#?}");
    }
    std::fs::remove_file(fixture.path().join("raddle.toml")).expect("the file");
    let run = fixture.check(&["test", "loses", "--continue"], 100);
    assert_eq!(run.finding().id, *id, "{run:#?}");
}

#[test]
fn turns_of_the_fair_mode_are_no_preemptions() {
    let fixture = Fixture::example("spinning-circle");
    let run = fixture.check(&["test", "--executions", "20"], 100);
    let finding = run.finding();
    assert_eq!(finding.kind, "livelock", "{run:#?}");
    assert!(finding.size.preemptions <= 3, "{finding:#?}");
    assert!(finding.size.switches <= 10, "{finding:#?}");
    let replay = fixture.check(&["replay", &finding.id], 100);
    assert_eq!(replay.replayed().diverged, None, "{replay:#?}");
}
