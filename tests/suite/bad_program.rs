//! Programs that misbehave cost their own test and nothing else; nothing hangs.

use raddle_e2e::Fixture;

#[test]
fn uninstrumented_program_is_said_to_be_so() {
    let run = Fixture::special("uninstrumented").check(&["test"], 75);
    run.assert_not_testable("two_threads_end", &["instrument"]);
}

#[test]
fn spinning_without_hooks_is_ended() {
    let run = Fixture::special("spins").check(&["test"], 0);
    run.assert_not_testable("one_thread_never_comes_back", &["spin", "scheduling point"]);
    assert_eq!(run.test("the_other_test_is_fine").verdict, "explored");
}

#[test]
fn reading_stdin_does_not_block() {
    let run = Fixture::special("blocks").check(&["test", "stdin_is_read", "--executions", "20"], 0);
    assert_eq!(run.test("stdin_is_read").verdict, "explored", "{run:#?}");
}

#[test]
fn waiting_for_the_outside_world_is_ended() {
    let run = Fixture::special("blocks").check(&["test", "a_socket_never_answers"], 101);
    run.assert_failed("a_socket_never_answers", &["block", "wait"]);
}

#[test]
fn forking_programs_come_to_an_end() {
    let run = Fixture::special("forks").check(&["test", "--executions", "20"], 0);
    for test in run.tests() {
        let told = test.verdict == "explored" || test.why.is_some();
        assert!(told, "{run:#?}");
    }
    assert_eq!(run.tests().len(), 2);
}

#[test]
fn stack_overflow_is_a_crash_if_it_needs_an_interleaving() {
    let run = Fixture::special("overflows").check(&["test"], 100);
    run.assert_failed(
        "always",
        &["overflow", "sigsegv", "sigabrt", "signal", "fails"],
    );
    let finding = run.finding();
    assert_eq!(finding.kind, "crash");
    assert_eq!(finding.test, "when_the_flag_is_seen_half_way");
}

#[test]
fn exit_in_a_thread_is_a_failure_if_it_needs_an_interleaving() {
    let run = Fixture::special("exits").check(&["test"], 100);
    run.assert_failed("always", &["exit"]);
    let finding = run.finding();
    assert_eq!(finding.test, "when_the_flag_is_seen_half_way");
}

#[test]
fn allocating_without_end_is_ended() {
    let run = Fixture::special("allocates").check(&["test"], 75);
    run.assert_not_testable("without_end", &["memory", "allocat", "heap"]);
}
