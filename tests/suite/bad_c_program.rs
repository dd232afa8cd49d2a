//! C programs that misbehave, or do what a runtime does not like, get a clear verdict and
//! never hang.

use raddle_e2e::{Fixture, Run};

fn built(source: &str) -> Fixture {
    Fixture::compiled("bad-c", source)
}

fn run(source: &str, code: i32) -> Run {
    built(source).check(&["test", "--executions", "100", "./prog"], code)
}

fn is_explored(source: &str) {
    let run = run(source, 0);
    assert_eq!(run.test("./prog").verdict, "explored", "{run:#?}");
}

#[test]
fn spinning_without_hooks_is_ended() {
    run("spins.c", 75).assert_not_testable("./prog", &["scheduling point"]);
}

#[test]
fn reading_stdin_does_not_block() {
    is_explored("stdin.c");
}

#[test]
fn waiting_for_the_outside_world_is_ended() {
    run("outside.c", 75).assert_not_testable("./prog", &["wait"]);
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
    run("allocates.c", 75).assert_not_testable("./prog", &["allocat"]);
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

#[test]
fn a_failed_assertion_is_a_crash_and_survives_bad_files_beside_it() {
    let fixture = built("asserts.c");
    let run = fixture.check(&["test", "--executions", "100", "./prog"], 100);
    let finding = run.finding();
    assert_eq!(finding.kind, "crash", "{run:#?}");
    let places = finding.places();
    assert!(places.contains(&"asserts.c:17".to_owned()), "{finding:#?}");
    let unknown = fixture.check(&["replay", "crash-0000000000"], 2);
    unknown.assert_says(&["crash-0000000000"]);
    fixture.edit(&finding.schedule, |_| "no schedule at all\n".to_owned());
    let corrupt = fixture.check(&["replay", &finding.id], 2);
    corrupt.assert_says(&["schedule"]);
    // The next run writes it anew.
    let again = fixture.check(&["test", "--executions", "100", "./prog"], 100);
    assert_eq!(again.finding().id, finding.id, "{again:#?}");
    fixture.check(&["replay", &finding.id], 100);
}

#[test]
fn a_fault_that_needs_no_interleaving_is_a_failure_of_the_program() {
    run("faults.c", 101).assert_failed("./prog", &["without any interleaving"]);
}

#[test]
fn closing_everything_leaves_the_tool_its_own() {
    is_explored("closes.c");
}

#[test]
fn masks_of_the_program_do_not_keep_the_tool_from_anything() {
    is_explored("masks.c");
}
