//! Where threads may be switched: volatile accesses, plain ones that conflict, loops that wait, and ends.

use std::collections::BTreeSet;

use raddle_e2e::{Fixture, Run};

fn explore(source: &str, options: &[&str], argument: &str, code: i32) -> Run {
    let fixture = Fixture::compiled_with("points", source, "-O0");
    let arguments = [&["test"], options, &["./prog", argument]].concat();
    fixture.check(&arguments, code)
}

fn kinds(run: &Run) -> BTreeSet<&str> {
    let findings = run.findings().into_iter();
    findings.map(|finding| finding.kind.as_str()).collect()
}

#[test]
fn volatile_accesses_are_scheduling_points_wherever_they_touch() {
    for source in ["volatile_count.c", "volatile_on_a_stack.c"] {
        let run = explore(source, &[], "", 100);
        assert_eq!(kinds(&run), BTreeSet::from(["crash"]), "{source}");
    }
}

#[test]
fn silent_races_are_scheduling_points_all_the_same() {
    let run = explore("ordered_by_chance.c", &[], "", 100);
    assert_eq!(kinds(&run), BTreeSet::from(["crash", "data-race"]));
    let run = explore("ordered_by_chance.c", &["--races", "off"], "", 100);
    assert_eq!(kinds(&run), BTreeSet::from(["crash"]));
}

#[test]
fn loops_that_wait_for_memory_let_others_run() {
    for argument in ["0", "1", "2", "3"] {
        let options = ["--races", "off", "--executions", "200"];
        let run = explore("spins.c", &options, argument, 0);
        let test = run.tests()[0];
        assert_eq!(test.verdict, "explored", "{argument}: {run:#?}");
        assert!(test.executions > 20, "{argument}: {run:#?}");
    }
}

#[test]
fn loops_that_wait_for_their_own_stack_let_others_run() {
    let fixture = Fixture::compiled_with("points", "spins_on_a_stack.c", "-O0");
    for argument in ["0", "1", "2", "3", "4", "5"] {
        let check = |carrier: &str| {
            let options = [
                "test",
                "--races",
                "off",
                "--executions",
                "100",
                "--carrier",
                carrier,
            ];
            let run = fixture.check(&[&options[..], &["./prog", argument]].concat(), 0);
            let test = run.tests()[0];
            assert!(test.executions > 20, "{argument}: {run:#?}");
            test.hash.clone()
        };
        // When a loop has waited for long enough is counted, and the same everywhere.
        assert_eq!(check("fiber"), check("os"), "{argument}");
    }
    // That is a race, which is found and shown again in a recorded execution.
    let run = fixture.check(&["test", "--executions", "100", "./prog", "0"], 100);
    assert_eq!(kinds(&run), BTreeSet::from(["data-race"]), "{run:#?}");
    fixture.check(&["replay", &run.finding().id], 100);
}

#[test]
fn what_others_do_before_an_end_is_explored() {
    for argument in ["0", "1", "2", "3"] {
        let run = explore("ends.c", &[], argument, 100);
        assert_eq!(kinds(&run), BTreeSet::from(["crash"]), "{argument}");
    }
}

#[test]
fn what_a_thread_drops_at_its_end_is_explored() {
    let fixture = Fixture::special("thread-ends");
    for options in [&["test"][..], &["test", "--races", "off", "--heap", "off"]] {
        let run = fixture.check(&[options, &["loses"]].concat(), 100);
        let findings = run.findings();
        assert_eq!(kinds(&run), BTreeSet::from(["panic"]), "{run:#?}");
        assert_eq!(findings.len(), 2, "{run:#?}");
    }
    let search = ["test", "--strategy", "exhaustive(60)", "tests::counts"];
    let run = fixture.check(&search, 0);
    assert!(run.test("tests::counts").complete, "{run:#?}");
}

#[test]
fn loops_that_give_up_are_searched_to_their_end() {
    let fixture = Fixture::compiled_with("points", "gives_up.c", "-O0");
    let search = |way, rounds: usize| {
        let strategy = ["--strategy", "exhaustive(60)", "--executions", "100000"];
        let program = ["./prog", way, &rounds.to_string()];
        let run = fixture.check(
            &[&["test", "--outcomes"], &strategy[..], &program[..]].concat(),
            0,
        );
        let outcomes = run.test("./prog").outcomes.iter();
        let outputs: BTreeSet<_> = outcomes.map(|outcome| outcome.output.clone()).collect();
        (outputs, run)
    };
    for way in ["loads", "exchanges", "swaps", "tries"] {
        for rounds in [1, 5, 9] {
            let (outputs, run) = search(way, rounds);
            let ends = (0..rounds).map(|round| format!("round {round}\n"));
            let all = ends.chain(["gave up\n".to_owned()]).collect();
            assert_eq!(outputs, all, "{way} {rounds}");
            assert!(run.test("./prog").complete, "{run:#?}");
        }
        for rounds in [50, 1000] {
            let (_, run) = search(way, rounds);
            assert!(!run.test("./prog").complete, "{run:#?}");
            let reason = "a loop gives up waiting only after many rounds";
            assert_eq!(run.notes(reason).len(), 1, "{run:#?}");
        }
    }
}

#[test]
fn a_search_that_missed_a_read_behind_a_racing_write_claims_nothing() {
    let options = [
        "--outcomes",
        "--strategy",
        "exhaustive(60)",
        "--races",
        "off",
    ];
    let run = explore("reads_own_write.c", &options, "", 0);
    let test = run.test("./prog");
    let sees_all = test.outcomes.len() == 2;
    assert!(sees_all || !test.complete, "{run:#?}");
}

#[test]
fn threads_that_always_wait_for_each_other_make_the_test_fail() {
    for argument in ["0", "1"] {
        let run = explore("spins_for_ever.c", &[], argument, 101);
        run.assert_failed("./prog", &["without progress"]);
    }
}

#[test]
fn neighbouring_seeds_have_no_execution_in_common() {
    let fixture = Fixture::compiled_with("points", "volatile_count.c", "-O0");
    // The execution that a shifted search would begin with, one after the other.
    let first = |seed: u64| {
        let seed = seed.to_string();
        let options = [
            "test",
            "--strategy",
            "random",
            "--seed",
            &seed,
            "--executions",
            "40",
            "--max-findings",
            "1",
            "./prog",
        ];
        let run = fixture.check(&options, 100);
        run.finding().executions
    };
    let found: Vec<u64> = (0..6).map(first).collect();
    let shifted = found
        .windows(2)
        .filter(|pair| pair[0] == pair[1] + 1)
        .count();
    assert!(shifted < 5, "{found:?}");
    assert_eq!(first(0), found[0]);
}
