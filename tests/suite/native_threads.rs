//! Threads that are started behind the runtime's back: they run for real, what ordinary threads
//! wait for comes, and nothing is reported that is not so.

use raddle_e2e::{Fixture, Line, Run, Tool};

/// `natives.c`, built with these flags.
fn program(flags: &[&str]) -> Fixture {
    let fixture = Fixture::special("make");
    let compile = ["cc", "-g", "-O1", "-pthread", "-o", "prog", "natives.c"];
    let ended = Tool::new(fixture.path(), compile.iter().chain(flags)).run();
    assert!(ended.status.success(), "{ended:#?}");
    fixture
}

/// How many notes have these words.
fn notes(run: &Run, words: &str) -> usize {
    let is_it = |line: &&Line| matches!(line, Line::Note { text } if text.contains(words));
    run.lines.iter().filter(is_it).count()
}

fn test<'a>(task: &'a str, flags: &[&'a str]) -> Vec<&'a str> {
    let arguments = ["test", "--watchdog", "3", "--executions", "30"];
    [&arguments, flags, &["./prog", task]].concat()
}

#[test]
fn programs_wait_for_native_threads_whatever_they_do() {
    let fixture = program(&[]);
    for task in [
        "wakes", "polled", "limited", "counts", "locks", "library", "joined", "reads", "meets",
        "selected", "unseen",
    ] {
        let run = fixture.check(&test(task, &[]), 0);
        let test = run.test("./prog");
        assert_eq!(test.verdict, "explored", "{task}: {run:#?}");
        assert_eq!(test.carrier, "os", "{task}: {run:#?}");
        assert!(test.executions >= 30, "{task}: {run:#?}");
        assert_eq!(notes(&run, "behind the runtime's back"), 1, "{run:#?}");
        assert!(run.findings().is_empty(), "{task}: {run:#?}");
    }
    // Who asks for fibers gets them.
    let run = fixture.check(&test("locks", &["--carrier", "fiber"]), 0);
    assert_eq!(run.test("./prog").carrier, "fiber", "{run:#?}");
    assert_eq!(run.test("./prog").verdict, "explored", "{run:#?}");
}

#[test]
fn what_a_native_thread_never_does_is_waited_for_under_the_watchdog() {
    let fixture = program(&[]);
    let run = fixture.check(&test("never", &[]), 75);
    run.assert_not_testable("./prog", &["no scheduling point"]);
    // A crash of it is a crash of the program, in every execution here.
    let run = fixture.check(&test("crashes", &[]), 101);
    run.assert_failed("./prog", &["sigsegv"]);
}

#[test]
fn who_waits_for_a_thread_from_before_main_is_not_called_deadlocked() {
    let run = program(&["-DEARLY"]).check(&test("never", &[]), 75);
    assert!(run.findings().is_empty(), "{run:#?}");
    assert_eq!(notes(&run, "before executions start"), 1, "{run:#?}");
}

#[test]
fn rust_tests_wait_for_native_threads() {
    let fixture = Fixture::special("native-thread");
    let run = fixture.check(&["test", "--locked", "--executions", "30"], 0);
    assert_eq!(run.tests().len(), 3, "{run:#?}");
    for test in run.tests() {
        assert_eq!(test.verdict, "explored", "{run:#?}");
        assert_eq!(test.carrier, "os", "{run:#?}");
    }
    assert_eq!(notes(&run, "behind the runtime's back"), 3, "{run:#?}");
}
