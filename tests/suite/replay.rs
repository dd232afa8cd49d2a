//! Every finding replays, 100 times out of 100, with a schedule that was minimised.

use raddle_e2e::{Fixture, Run};

fn assert_reproduced(run: &Run, times: u64) {
    let replay = run.replayed();
    assert_eq!((replay.runs, replay.reproduced), (times, times), "{run:#?}");
    assert_eq!(replay.diverged, None, "{run:#?}");
}

/// What is found replays, and its schedule is no longer than the one that it was made of: by the
/// default strategy, and by one whose schedules are long.
fn check(example: &str) {
    let fixture = Fixture::example(example);
    for strategy in ["portfolio", "random"] {
        let run = fixture.check(&["test", "--strategy", strategy], 100);
        let finding = run.finding().clone();
        assert_eq!(finding.kind, fixture.expectation().kind, "{strategy}");
        let size = finding.size;
        assert!(size.switches <= size.found, "{strategy}: {size:?}");
        assert!(
            size.preemptions <= 2,
            "none of the examples takes more; {strategy}: {size:?}"
        );
        let by_id = fixture.check(&["replay", &finding.id, "--times", "100"], 100);
        assert_reproduced(&by_id, 100);
        let by_file = fixture.check(&["replay", &finding.schedule], 100);
        assert_reproduced(&by_file, 1);
    }
}

/// One test for each example, and one that says whether an example was forgotten.
macro_rules! replays {
    ($($test:ident: $example:literal,)*) => {
        $(#[test]
        fn $test() {
            check($example);
        })*

        #[test]
        fn no_example_is_left_out() {
            let mut examples = vec![$($example),*];
            examples.sort_unstable();
            assert_eq!(Fixture::examples(), examples);
        }
    };
}

replays! {
    data_race_replays: "flag-before-data",
    deadlock_replays: "abba-deadlock",
    livelock_replays: "spinning-circle",
    lost_wake_up_replays: "lost-wakeup",
    relaxed_publication_replays: "relaxed-publication",
    panic_replays: "lost-update",
    crash_replays: "aborting-guard",
    use_after_free_replays: "use-after-free",
    double_free_replays: "double-free",
    access_out_of_bounds_replays: "out-of-bounds",
}

#[test]
fn a_long_schedule_becomes_a_short_one() {
    let fixture = Fixture::example("lost-update");
    let sizes = ["1", "2", "3", "4"].map(|seed| {
        let arguments = ["test", "--strategy", "random", "--seed", seed];
        fixture.check(&arguments, 100).finding().size
    });
    assert!(
        sizes.iter().any(|size| size.switches < size.found),
        "{sizes:?}"
    );
}
