//! Each example's bug is found, as the right kind, at the right lines.

use raddle_e2e::Fixture;

fn check(example: &str) {
    let fixture = Fixture::example(example);
    let run = fixture.check(&["test", "--time", "60s"], 100);
    let expected = fixture.expectation();
    let finding = run.finding();
    assert_eq!(
        (&finding.kind, &finding.test),
        (&expected.kind, &expected.test)
    );
    let places = finding.places();
    for line in &expected.lines {
        assert!(places.contains(line), "{line} is missing: {finding:#?}");
    }
    let digits = finding.id.strip_prefix(&format!("{}-", finding.kind));
    assert!(
        digits.is_some_and(|digits| digits.len() == 10),
        "{finding:#?}"
    );
    assert!(
        fixture.path().join(&finding.schedule).is_file(),
        "{finding:#?}"
    );
    assert!(
        !finding.title.is_empty() && !finding.cause.is_empty(),
        "{finding:#?}"
    );
    assert_eq!(run.summary().findings, 1);
}

#[test]
fn data_race_of_a_flag_before_its_data() {
    check("flag-before-data");
}

#[test]
fn deadlock_without_any_yield() {
    check("abba-deadlock");
}

#[test]
fn deadlock_with_a_lock_that_was_downgraded() {
    let run = Fixture::special("downgrades").check(&["test", "--time", "60s"], 100);
    let finding = run.finding();
    assert_eq!(finding.kind, "deadlock", "{finding:#?}");
    // Who holds the lock is known only if its change of mode was followed.
    assert_eq!(finding.title, "2 threads wait for each other's locks");
}

#[test]
fn livelock_of_spinning_threads() {
    check("spinning-circle");
}

#[test]
fn lost_wake_up() {
    check("lost-wakeup");
}

#[test]
fn relaxed_publication_is_a_race() {
    check("relaxed-publication");
}

#[test]
fn use_after_free_without_a_race() {
    check("use-after-free");
}

#[test]
fn double_free_by_two_owners() {
    check("double-free");
}

#[test]
fn out_of_bounds_by_one_writer_too_many() {
    check("out-of-bounds");
}

#[test]
fn panic_that_needs_one_preemption() {
    check("lost-update");
}

#[test]
fn crash_of_whoever_comes_second() {
    check("aborting-guard");
}

#[test]
fn race_on_the_stack_of_whoever_went_first_is_found_at_once() {
    let fixture = Fixture::special("shared-stack");
    let arguments = ["test", "--strategy", "serial", "--executions", "1"];
    let run = fixture.check(&arguments, 100);
    let finding = run.finding();
    assert_eq!(finding.kind, "data-race");
    let places = finding.places();
    for line in ["src/lib.rs:14", "src/lib.rs:20"] {
        assert!(places.iter().any(|place| place == line), "{finding:#?}");
    }
}

#[test]
fn every_single_strategy_finds_the_lost_update() {
    let fixture = Fixture::example("lost-update");
    for strategy in [
        "random",
        "pct(3)",
        "pos",
        "surw",
        "reads-from",
        "exhaustive(1)",
    ] {
        let run = fixture.check(&["test", "--strategy", strategy], 100);
        assert_eq!(run.finding().kind, "panic", "{strategy}");
    }
}

#[test]
fn same_bug_has_the_same_id_after_a_line_shift_and_in_another_directory() {
    let first = Fixture::example("flag-before-data");
    let second = Fixture::example("flag-before-data");
    second.edit("src/lib.rs", |text| {
        format!("// A new line.\n// Another one.\n{text}")
    });
    let ids = [first, second].map(|fixture| fixture.check(&["test"], 100).finding().id.clone());
    assert_eq!(ids[0], ids[1]);
}

#[test]
fn people_get_lanes_a_cause_and_the_replay_command() {
    let fixture = Fixture::example("lost-update");
    let tool = raddle_e2e::Tool::new(fixture.path(), ["test", "--color", "never"]);
    let ended = tool.run();
    assert_eq!(ended.status.code(), Some(100), "{ended:#?}");
    let text = format!("{}{}", ended.stdout, ended.stderr);
    for words in [
        "cargo raddle replay panic-",
        "lib.rs:15",
        "tests/visitors.rs:13",
    ] {
        assert!(text.contains(words), "{words} is missing:\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "no colour was asked for:\n{text}");
}
