//! What a finding says: why it happened, where, and that it is one.

use std::path::Path;

use raddle_e2e::{FindingLine, Fixture, Run};

/// `file:line` of the line of a fixture's file that says this.
fn line_of(fixture: &Fixture, file: &str, text: &str) -> String {
    let path: &Path = &fixture.path().join(file);
    let source = std::fs::read_to_string(path).expect("the fixture has this file");
    let line = source.lines().position(|line| line.contains(text));
    let line = line.unwrap_or_else(|| panic!("{file} has no line with {text}"));
    format!("{file}:{}", line + 1)
}

/// The findings of one test, and that it was explored.
fn findings_of<'a>(run: &'a Run, test: &str) -> Vec<&'a FindingLine> {
    assert!(run.test(test).executions > 0, "{run:#?}");
    let findings = run.findings().into_iter();
    findings.filter(|finding| finding.test == test).collect()
}

/// The only finding of a test.
fn finding_of<'a>(run: &'a Run, test: &str) -> &'a FindingLine {
    let findings = findings_of(run, test);
    assert_eq!(findings.len(), 1, "{test}: {findings:#?}");
    findings[0]
}

#[test]
fn lost_wake_ups_say_which_threads_waited_and_which_one_was_woken() {
    let fixture = Fixture::special("causes");
    let run = fixture.check(&["test", "--test", "wakes", "--executions", "1000"], 100);
    let line = |text: &str| line_of(&fixture, "tests/wakes.rs", text);
    let expected: [(&str, &[&str]); 7] = [
        (
            "two_purposes",
            &[
                "Condvar::notify_one` by thread",
                " woke thread ",
                "did not find what it waits for, and waited again at",
                "without notifying",
                "One condition variable serves both waits",
                &line("push waits"),
                &line("pop waits"),
            ],
        ),
        (
            "early",
            &[
                "Condvar::notify_one` by thread 1",
                &line("early notifies"),
                "came when no thread waited, so it was lost; the main thread began to wait after it",
            ],
        ),
        (
            "premature",
            &[
                "Condvar::notify_one` by the main thread",
                &line("premature notifies"),
                "woke thread 1 from an earlier wait. Thread 1 waited again, and no other follows",
            ],
        ),
        (
            "never",
            &["No thread notifies this condition variable in this execution"],
        ),
        (
            "one_of_two",
            &[
                "Condvar::notify_one` by the main thread",
                &line("one notifies"),
                "which waited at",
                "and no other follows",
            ],
        ),
        (
            "parked",
            &[
                "The last `Thread::unpark` by thread",
                "was used up by an earlier wait of the main thread at",
                &line("parks first"),
            ],
        ),
        ("channel", &["for a message", &line("// receives")]),
    ];
    for (test, words) in expected {
        let finding = finding_of(&run, test);
        assert_eq!(finding.kind, "deadlock", "{finding:#?}");
        for words in words {
            assert!(
                finding.cause.contains(words),
                "{words} is missing: {finding:#?}"
            );
        }
    }
}

#[test]
fn what_comes_after_a_loop_that_spins_for_a_while_is_seen() {
    let fixture = Fixture::special("causes");
    let arguments = ["test", "--test", "bounded"];
    let run = fixture.check(&arguments, 100);
    for (test, kind) in [
        ("a_reader_that_reads_twice", "deadlock"),
        ("a_reader_that_tries", "panic"),
        ("a_loop_with_hints", "panic"),
        ("a_loop_that_yields", "panic"),
    ] {
        let finding = finding_of(&run, test);
        assert_eq!(finding.kind, kind, "{finding:#?}");
        let replay = fixture.check(&["replay", "--times", "5", &finding.id], 100);
        assert_eq!(replay.replayed().reproduced, 5, "{replay:#?}");
    }
    let deadlock = finding_of(&run, "a_reader_that_reads_twice");
    for text in ["// writes", "// reads again"] {
        let line = line_of(&fixture, "tests/bounded.rs", text);
        assert!(deadlock.cause.contains(&line), "{deadlock:#?}");
    }
    // A search that is complete has seen what a waiting writer does.
    let search = ["--strategy", "exhaustive(2)", "a_reader"];
    let run = fixture.check(&[&arguments[..], &search].concat(), 100);
    for test in ["a_reader_that_reads_twice", "a_reader_that_tries"] {
        finding_of(&run, test);
    }
}

#[test]
fn lost_wake_ups_of_pthreads_are_explained_too() {
    for (source, wait, words) in [
        (
            "signal.c",
            "pthread_cond_wait(",
            [
                "The signal by thread 1 at `set`",
                "came when no thread waited",
            ],
        ),
        (
            "posts.c",
            "sem_wait(",
            [
                "It was posted once in this execution",
                "by the main thread at `main`",
            ],
        ),
    ] {
        let fixture = Fixture::compiled("causes", source);
        let run = fixture.check(&["test", "./prog", "--executions", "200"], 100);
        let finding = finding_of(&run, "./prog");
        assert!(
            finding.places().contains(&line_of(&fixture, source, wait)),
            "{finding:#?}"
        );
        for words in words {
            assert!(finding.cause.contains(words), "{finding:#?}");
        }
    }
}

#[test]
fn failures_are_told_at_their_own_line_with_the_whole_message() {
    let fixture = Fixture::special("causes");
    let run = fixture.check(&["test", "--test", "places", "--executions", "500"], 100);
    let line = |text: &str| line_of(&fixture, "tests/places.rs", text);
    for (test, place, message) in [
        (
            "the_receiver_panics_before_a_send",
            "// receiver fails",
            "set before ",
        ),
        ("a_lock_is_poisoned", "// holder fails", "holds the lock"),
        (
            "a_worker_fails_and_the_test_says_so",
            "// worker fails",
            "in the worker",
        ),
        (
            "expected_panics_come_first",
            "// own failure",
            "the test's own",
        ),
        (
            "a_message_of_many_lines",
            "// long message",
            "first line\n\nnote: after an empty line\nlast line",
        ),
        (
            "a_receiver_that_is_not_asked_for_panics",
            "// unjoined receiver fails",
            "receiver not joined",
        ),
        (
            "a_destructor_of_a_thread_local_panics",
            "// destructor fails",
            "in a destructor",
        ),
        (
            "a_hook_of_the_programs_own",
            "// own hook",
            "first line\n\nlast line",
        ),
        ("a_hook_that_panics", "// hook fails", "in the hook"),
        (
            "a_panic_with_other_words",
            "// other words",
            "the flag is set",
        ),
        ("an_abort", "// aborts", ""),
        ("an_exit_in_a_thread", "// exits", ""),
        (
            "one_of_several_assertions",
            "// third assertion",
            "assertion `left == right` failed\n  left: 8\n right: 0",
        ),
        ("a_fault_in_a_library", "// strlen faults", ""),
        ("a_call_of_what_is_no_code", "// calls nowhere", ""),
    ] {
        let finding = finding_of(&run, test);
        assert_eq!(finding.places(), [line(place)], "{finding:#?}");
        assert!(finding.message.contains(message), "{finding:#?}");
        assert!(
            finding.message.is_empty() == message.is_empty(),
            "{finding:#?}"
        );
        for boilerplate in ["test result:", "failures:", "FAILED", "RUST_BACKTRACE"] {
            assert!(!finding.output.contains(boilerplate), "{finding:#?}");
        }
    }
    let finding = finding_of(&run, "a_panic_with_other_words");
    for words in ["not as it should", "the flag is clear"] {
        let said = format!("{} {}", finding.title, finding.cause);
        assert!(said.contains(words), "{finding:#?}");
    }
    let finding = finding_of(&run, "a_kill_from_outside");
    assert!(finding.places().is_empty(), "{finding:#?}");
    assert!(finding.title.contains("SIGKILL"), "{finding:#?}");
}

#[test]
fn threads_that_wait_for_ever_for_one_that_panicked_are_told_after_the_panic() {
    let fixture = Fixture::special("causes");
    let line = |text: &str| line_of(&fixture, "tests/places.rs", text);
    for (test, kind, fails, waits, message) in [
        (
            "a_thread_never_reaches_the_barrier",
            "deadlock",
            "// fails before the barrier",
            "// waits at the barrier",
            "before the barrier",
        ),
        (
            "a_thread_spins_for_one_that_panics",
            "livelock",
            "// fails before the store",
            "// spins for the store",
            "before the store",
        ),
    ] {
        let arguments = ["test", "--test", "places", "--executions", "200", test];
        let run = fixture.check(&arguments, 100);
        let finding = finding_of(&run, test);
        assert_eq!(finding.kind, kind, "{finding:#?}");
        assert_eq!(finding.places(), [line(fails), line(waits)], "{finding:#?}");
        assert!(finding.message.contains(message), "{finding:#?}");
        assert!(finding.title.contains(message), "{finding:#?}");
        let replay = fixture.check(&["replay", &finding.id], 100);
        assert_eq!(replay.replayed().reproduced, 1, "{replay:#?}");
    }
}

#[test]
fn a_failed_assertion_of_c_is_told_at_its_line() {
    let fixture = Fixture::compiled("causes", "asserts.c");
    let run = fixture.check(&["test", "./prog", "--executions", "100"], 100);
    let finding = finding_of(&run, "./prog");
    assert_eq!(
        finding.places(),
        [line_of(&fixture, "asserts.c", "assert(value")],
        "{finding:#?}"
    );
    assert!(
        finding.message.ends_with("Assertion `value == 0' failed."),
        "{finding:#?}"
    );
}

#[test]
fn races_of_one_cause_are_one_finding_with_one_name() {
    let fixture = Fixture::special("causes");
    let line = |text: &str| line_of(&fixture, "tests/races.rs", text);
    for (test, words) in [
        ("array", vec!["Nothing orders".to_owned()]),
        (
            "published",
            vec![
                line("// does not publish"),
                "is `Relaxed`, so it does not publish".to_owned(),
            ],
        ),
        (
            "not_acquired",
            vec![
                line("// does not acquire"),
                "is `Relaxed`, so it does not see what the store".to_owned(),
            ],
        ),
        (
            "added_to_a_list",
            vec![
                line("// adds"),
                "The update by thread 1".to_owned(),
                "is `Relaxed`, so it does not publish".to_owned(),
            ],
        ),
        (
            "unlocked",
            vec![
                line("// unlocks"),
                "is `Relaxed`, so it does not publish".to_owned(),
            ],
        ),
        (
            "counted",
            vec![
                line("// counts"),
                "The update has to be `AcqRel`".to_owned(),
            ],
        ),
        (
            "fenced",
            vec![
                line("// has no fence"),
                "is `Relaxed`, so it does not see what the store".to_owned(),
            ],
        ),
        ("counting_aside", vec!["Nothing orders".to_owned()]),
    ] {
        let mut names = Vec::new();
        for seed in ["1", "2"] {
            let arguments = [
                "test",
                "--test",
                "races",
                test,
                "--executions",
                "300",
                "--seed",
                seed,
            ];
            let run = fixture.check(&arguments, 100);
            let finding = finding_of(&run, test);
            for words in &words {
                assert!(
                    finding.cause.contains(words),
                    "{words} is missing: {finding:#?}"
                );
            }
            let is_weak = words.len() > 1;
            let says_so = ["does not publish", "does not see"];
            let says_so = says_so.iter().any(|words| finding.cause.contains(words));
            assert_eq!(says_so, is_weak, "{finding:#?}");
            names.push(finding.id.clone());
        }
        assert_eq!(names[0], names[1], "{test}");
    }
}

#[test]
fn races_with_the_free_of_one_block_are_one_finding() {
    let fixture = Fixture::special("causes");
    let mut names = Vec::new();
    for seed in ["1", "2"] {
        let arguments = [
            "test",
            "--test",
            "races",
            "freed_while_read",
            "--seed",
            seed,
        ];
        let run = fixture.check(&arguments, 100);
        let mut of_seed = Vec::new();
        for kind in ["data-race", "use-after-free"] {
            let findings = findings_of(&run, "freed_while_read");
            let findings: Vec<_> = findings
                .into_iter()
                .filter(|finding| finding.kind == kind)
                .collect();
            assert_eq!(findings.len(), 1, "{findings:#?}");
            of_seed.push(findings[0].id.clone());
        }
        names.push(of_seed);
    }
    assert_eq!(names[0], names[1]);
}

#[test]
fn deadlocks_say_which_lock_and_whether_its_thread_has_ended() {
    let fixture = Fixture::special("causes");
    let run = fixture.check(&["test", "--test", "held", "--executions", "300"], 100);
    for (test, words) in [
        (
            "a_tuple_of_locks",
            ["the lock `tuple.0`", "the lock `tuple.1`"],
        ),
        (
            "fields_called_like_insides",
            ["the lock `Pair.state`", "the lock `Pair.raw`"],
        ),
        (
            "a_guard_is_never_dropped",
            ["held by thread 1, which has ended", ""],
        ),
        ("locked_twice", ["that it holds itself", ""]),
    ] {
        let finding = finding_of(&run, test);
        assert_eq!(finding.kind, "deadlock", "{finding:#?}");
        for words in words {
            assert!(finding.cause.contains(words), "{words}: {finding:#?}");
        }
    }
}

#[test]
fn deadlocks_without_any_interleaving_say_where_threads_wait() {
    let fixture = Fixture::special("causes");
    let run = fixture.check(&["test", "--test", "always"], 101);
    let test = run.test("both_send_first");
    assert_eq!(test.verdict, "failed", "{run:#?}");
    let why = test.why.as_deref().unwrap_or_default();
    for text in ["// sends first", "// sends too"] {
        let line = line_of(&fixture, "tests/always.rs", text);
        assert!(why.contains(&line), "{why}");
    }
    assert!(why.contains("room in a channel"), "{why}");
}

#[test]
fn waits_on_objects_of_libc_are_named() {
    for (source, words) in [
        (
            "barrier.c",
            ["waits at `main`", "for other threads at a barrier"],
        ),
        (
            "purposes.c",
            [
                "The signal by thread ",
                "One condition variable serves both waits",
            ],
        ),
        (
            "once.c",
            [
                "for the initialization of `first`, run by",
                "for the initialization of `second`, run by",
            ],
        ),
        (
            "unsignalled.c",
            ["No thread signals this condition variable", ""],
        ),
        ("unposted.c", ["No thread posts this semaphore", ""]),
    ] {
        let fixture = Fixture::compiled("causes", source);
        let run = fixture.check(&["test", "./prog", "--executions", "300"], 100);
        let finding = finding_of(&run, "./prog");
        assert_eq!(finding.kind, "deadlock", "{finding:#?}");
        assert!(!finding.title.contains("lock"), "{finding:#?}");
        for words in words {
            assert!(finding.cause.contains(words), "{words}: {finding:#?}");
        }
    }
}
