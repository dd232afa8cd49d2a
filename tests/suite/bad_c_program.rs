//! C programs that misbehave, or do what a runtime does not like, get a clear verdict and
//! never hang.

use raddle_e2e::{Fixture, Run, Tool};

fn run(source: &str, code: i32) -> Run {
    let fixture = Fixture::special("bad-c");
    let compile = ["cc", "-g", "-O1", "-pthread", "-o", "prog", source];
    let ended = Tool::new(fixture.path(), compile).run();
    assert!(ended.status.success(), "{ended:#?}");
    fixture.check(&["test", "--executions", "100", "./prog"], code)
}

fn is_explored(source: &str) {
    let run = run(source, 0);
    assert_eq!(run.test("./prog").verdict, "explored", "{run:#?}");
}

#[test]
fn spinning_without_hooks_is_ended() {
    run("spins.c", 0).assert_not_testable("./prog", &["scheduling point"]);
}

#[test]
fn reading_stdin_does_not_block() {
    is_explored("stdin.c");
}

#[test]
fn waiting_for_the_outside_world_is_ended() {
    run("outside.c", 0).assert_not_testable("./prog", &["wait"]);
}

#[test]
fn stack_overflow_is_a_crash_if_it_needs_an_interleaving() {
    let run = run("overflows.c", 100);
    assert_eq!(run.finding().kind, "crash", "{run:#?}");
}

#[test]
fn exit_in_a_thread_is_a_failure_if_it_needs_an_interleaving() {
    let run = run("exits.c", 100);
    assert!(run.finding().title.contains("exit"), "{run:#?}");
}

#[test]
fn allocating_without_end_is_ended() {
    run("allocates.c", 0).assert_not_testable("./prog", &["allocat"]);
}

#[test]
fn handlers_of_the_program_are_kept_and_called() {
    is_explored("handlers.c");
}

#[test]
fn other_programs_can_be_started_in_every_way() {
    is_explored("spawns.c");
}

#[test]
fn gigabytes_that_are_hardly_used_cost_little() {
    is_explored("maps.c");
}
