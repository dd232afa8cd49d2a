//! The exhaustive search ends, and says what it has covered.

use raddle_e2e::Fixture;

const TEST: &str = "two_visitors_are_counted";

#[test]
fn the_search_ends_without_the_bug_where_it_takes_more_preemptions() {
    let fixture = Fixture::example("lost-update");
    let run = fixture.check(&["test", "--strategy", "exhaustive(0)"], 0);
    assert_eq!(run.test(TEST).exhaustive, Some(0));
    let run = fixture.check(&["test", "--strategy", "exhaustive(1)"], 100);
    assert_eq!(run.finding().kind, "panic");
}

#[test]
fn a_correct_program_is_searched_completely_however_executions_are_repeated() {
    let fixture = Fixture::example("lost-update");
    fixture.edit("src/lib.rs", |source| {
        let start = source.find("let count").expect("the load");
        let end = source
            .find("count + 1, Ordering::SeqCst);")
            .expect("the store");
        let rest = &source[end + "count + 1, Ordering::SeqCst);".len()..];
        format!(
            "{}self.count.fetch_add(1, Ordering::SeqCst);{rest}",
            &source[..start]
        )
    });
    let search = |reexecution, seed| {
        let arguments = [
            "test",
            "--strategy",
            "exhaustive(2)",
            "--executions",
            "100000",
            "--reexecution",
            reexecution,
            "--seed",
            seed,
        ];
        let run = fixture.check(&arguments, 0);
        let test = run.test(TEST);
        assert_eq!(test.exhaustive, Some(2), "{run:#?}");
        (test.executions, test.hash.clone())
    };
    let in_place = search("snapshot", "0");
    assert!(in_place.0 > 10, "{in_place:?}");
    assert_eq!(search("snapshot", "5"), in_place);
    assert_eq!(search("fork", "0"), in_place);
}
