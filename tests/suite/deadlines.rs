//! Time is a scheduling decision: deadlines pass at every scheduling point, in their order.

use raddle_e2e::{FindingLine, Fixture, Line, Run};

const REPLAYS: u64 = 20;

/// Requires that the stored schedule shows the finding every time, and that it says that time
/// advances if it does.
fn replays(fixture: &Fixture, finding: &FindingLine, is_early: bool) {
    let schedule = fixture.path().join(&finding.schedule);
    let text = std::fs::read_to_string(schedule).expect("the schedule can be read");
    assert_eq!(text.contains(" advances"), is_early, "{text}");
    let times = REPLAYS.to_string();
    let run = fixture.check(&["replay", &finding.id, "--times", &times], 100);
    let reproduced = run.lines.iter().find_map(|line| match line {
        Line::Replay(replay) => Some(replay.reproduced),
        _ => None,
    });
    assert_eq!(reproduced, Some(REPLAYS), "{finding:#?}");
}

/// The findings of a test that are more than timing.
fn of_test<'a>(run: &'a Run, test: &str) -> Vec<&'a FindingLine> {
    let findings = run.findings().into_iter();
    findings
        .filter(|finding| finding.test == test && finding.timing.is_none())
        .collect()
}

#[test]
fn bugs_that_need_an_early_expiry_are_found_by_default_and_replay() {
    let fixture = Fixture::special("deadlines");
    let run = fixture.check(&["test", "--test", "early"], 100);
    for (test, kinds) in [
        ("a_sleeping_cleaner_frees_too_early", ["use-after-free"; 2]),
        ("a_sleeper_finds_a_null_pointer", ["crash"; 2]),
        ("a_timeout_loses_a_wake_up", ["deadlock"; 2]),
        (
            "a_parked_thread_reads_before_it_is_unparked",
            ["data-race"; 2],
        ),
        (
            "a_receiver_gives_up_and_frees",
            ["use-after-free", "data-race"],
        ),
    ] {
        let findings = of_test(&run, test);
        let found = findings
            .iter()
            .find(|finding| kinds.contains(&finding.kind.as_str()));
        let finding = found.unwrap_or_else(|| panic!("{test}: {run:#?}"));
        assert!(finding.confirmed, "{finding:#?}");
        let is_race = finding.kind == "data-race";
        if !is_race {
            assert!(finding.cause.contains("deadline"), "{finding:#?}");
            replays(&fixture, finding, true);
        }
    }
    assert_eq!(run.summary().timing, 0, "{run:#?}");
}

#[test]
fn programs_that_are_right_whenever_deadlines_pass_are_quiet() {
    let run = Fixture::special("deadlines").check(&["test", "--test", "right"], 0);
    assert!(run.findings().is_empty(), "{run:#?}");
    assert_eq!(run.summary().timing, 0);
    for test in run.tests() {
        assert_eq!(test.verdict, "explored", "{test:#?}");
        let is_searched = test.exhaustive.is_some() && test.executions >= 300;
        assert!(is_searched || test.executions >= 500, "{test:#?}");
        assert_eq!(test.cut, 0, "{test:#?}");
    }
    assert_eq!(run.tests().len(), 6);
}

#[test]
fn what_only_time_makes_fail_is_listed_apart_and_fails_the_run_if_denied() {
    let fixture = Fixture::special("deadlines");
    for name in ["sleeps_to_wait", "expects_an_answer_in_time"] {
        let run = fixture.check(&["test", "--test", "timing", name], 0);
        let findings = run.findings();
        assert!(!findings.is_empty(), "{run:#?}");
        for finding in &findings {
            let timing = finding.timing.as_deref().unwrap_or_default();
            assert!(timing.starts_with("passes only if "), "{finding:#?}");
            let is_named = timing.contains(" 50 ms") || timing.contains(" 1 s");
            assert!(is_named, "{finding:#?}");
        }
        let summary = run.summary();
        assert_eq!(
            (summary.findings, summary.timing),
            (0, findings.len() as u64)
        );
        let test = run.test(name);
        let is_explored = test.findings.is_empty() && test.executions > 100;
        assert!(is_explored, "{test:#?}");
        replays(&fixture, findings[0], true);
    }
    let denied = [
        "test",
        "--test",
        "timing",
        "--deny",
        "timing",
        "sleeps_to_wait",
    ];
    let run = fixture.check(&denied, 100);
    assert!(run.finding().timing.is_some(), "{run:#?}");
    std::fs::write(
        fixture.path().join("raddle.toml"),
        "[test]\ndeny = \"timing\"\n",
    )
    .expect("a file can be written");
    fixture.check(&["test", "--test", "timing", "sleeps_to_wait"], 100);
}

#[test]
fn what_also_shows_without_an_early_expiry_is_more_than_timing() {
    let fixture = Fixture::special("deadlines");
    for seed in ["0", "1", "2"] {
        let name = "two_sleepers_lose_an_update";
        let run = fixture.check(&["test", "--test", "timing", "--seed", seed, name], 100);
        let findings = of_test(&run, name);
        let [finding] = findings[..] else {
            panic!("one finding was expected: {run:#?}");
        };
        assert_eq!(finding.kind, "panic");
        assert_eq!((run.summary().findings, run.summary().timing), (1, 0));
    }
}

#[test]
fn a_kept_schedule_with_an_early_expiry_is_replayed_first() {
    let fixture = Fixture::special("deadlines");
    let name = "sleeps_to_wait";
    let run = fixture.check(&["test", "--test", "timing", name], 0);
    fixture.check(&["keep", &run.finding().id], 0);
    let arguments = ["test", "--test", "timing", "--executions", "1", name];
    let run = fixture.check(&arguments, 0);
    assert!(run.finding().timing.is_some(), "{run:#?}");
}

#[test]
fn timed_waits_of_c_end_early_and_correct_ones_stay_quiet() {
    let fixture = Fixture::compiled("make", "deadlines.c");
    for (wait, kind) in [
        ("cond", "deadlock"),
        ("lock", "data-race"),
        ("semaphore", "use-after-free"),
        ("timer", "use-after-free"),
        ("sleep", "use-after-free"),
    ] {
        let test = |arguments: &[&str], code| {
            let options = ["test", "--executions", "1000", "./prog"];
            fixture.check(&[&options[..], arguments].concat(), code)
        };
        let run = test(&[wait], 100);
        let mut findings = run.findings().into_iter();
        let finding = findings.find(|finding| finding.kind == kind);
        let finding = finding.unwrap_or_else(|| panic!("{wait}: {run:#?}"));
        assert!(finding.confirmed, "{finding:#?}");
        if kind != "data-race" {
            replays(&fixture, finding, true);
        }
        let run = test(&[wait, "fixed"], 0);
        assert!(run.findings().is_empty(), "{wait}: {run:#?}");
        assert!(run.test("./prog").executions >= 50, "{wait}: {run:#?}");
    }
}

#[test]
fn waits_for_events_signals_and_timers_end_early_and_correct_ones_stay_quiet() {
    let fixture = Fixture::compiled("make", "timeouts.c");
    for wait in [
        "poll",
        "ppoll",
        "select",
        "pselect",
        "epoll",
        "timerfd",
        "sigtimedwait",
        "setitimer",
        "timer_signal",
        "timer_thread",
    ] {
        let options = ["test", "--executions", "300", "./prog", wait];
        let run = fixture.check(&options, 100);
        let finding = run.finding();
        assert_eq!(finding.kind, "use-after-free", "{wait}: {run:#?}");
        replays(&fixture, finding, true);
        let run = fixture.check(&[&options[..], &["fixed"]].concat(), 0);
        assert!(run.findings().is_empty(), "{wait}: {run:#?}");
        assert!(run.test("./prog").executions >= 50, "{wait}: {run:#?}");
    }
}

#[test]
fn timers_of_runtimes_end_early_too() {
    let fixture = Fixture::special("tokio-timers");
    let run = fixture.check(&["test", "--executions", "1000", "--deny", "timing"], 100);
    for threads in ["one_thread", "two_threads"] {
        for wait in ["sleeps_on", "times_out_on"] {
            // Both kinds of runtimes fail at the same place, which is one finding.
            let test = run.test(&format!("{wait}_{threads}"));
            let is_shown = |finding: &&FindingLine| test.timing.contains(&finding.id);
            let finding = run.findings().into_iter().find(is_shown);
            let finding = finding.unwrap_or_else(|| panic!("{test:?}: {run:#?}"));
            assert!(finding.confirmed && finding.timing.is_some(), "{run:#?}");
        }
        let right = run.test(&format!("right_on_{threads}"));
        assert_eq!(right.verdict, "explored", "{run:#?}");
        assert!(right.findings.is_empty() && right.executions >= 50);
    }
}

#[test]
fn a_failed_assertion_of_c_behind_a_sleep_is_timing() {
    let fixture = Fixture::compiled("make", "deadlines.c");
    let run = fixture.check(&["test", "--executions", "300", "./prog", "assert"], 0);
    let finding = run.finding();
    assert_eq!(finding.kind, "crash");
    assert!(finding.timing.is_some(), "{finding:#?}");
    replays(&fixture, finding, true);
    let denied = [
        "test",
        "--executions",
        "300",
        "--deny",
        "timing",
        "./prog",
        "assert",
    ];
    fixture.check(&denied, 100);
}

#[test]
fn deadlines_pass_alike_in_every_process_and_on_every_carrier() {
    let fixture = Fixture::special("deadlines");
    let hashes = |seed: &str, carrier: &str| {
        let options = ["--test", "right", "--seed", seed, "--carrier", carrier];
        let run = fixture.check(
            &[&["test", "--executions", "200"], &options[..]].concat(),
            0,
        );
        let tests = run.tests().into_iter();
        let hashes = tests.map(|test| (test.test.clone(), test.hash.clone()));
        hashes.collect::<std::collections::BTreeMap<_, _>>()
    };
    let first = hashes("7", "fiber");
    assert_eq!(first.len(), 6);
    assert_eq!(hashes("7", "fiber"), first);
    assert_eq!(hashes("7", "os"), first);
    assert_ne!(hashes("8000000", "fiber"), first);
}

#[test]
fn an_exhaustive_search_includes_deadlines() {
    let fixture = Fixture::compiled("make", "deadlines.c");
    for wait in ["cond", "semaphore", "timer", "sleep"] {
        let strategy = ["test", "--strategy", "exhaustive(2)", "./prog", wait];
        let run = fixture.check(&strategy, 100);
        assert!(!run.findings().is_empty(), "{wait}: {run:#?}");
        let strategy = [&strategy[..], &["fixed"]].concat();
        let run = fixture.check(&strategy, 0);
        assert_eq!(run.test("./prog").exhaustive, Some(2), "{wait}: {run:#?}");
    }
}
