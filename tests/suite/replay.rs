//! Every finding replays, 100 times out of 100, with a schedule that was minimised.

use raddle_e2e::{Fixture, Line, Run};

fn assert_reproduced(run: &Run, times: u64) {
    let replay = run.lines.iter().find_map(|line| match line {
        Line::Replay {
            runs,
            reproduced,
            diverged,
        } => Some((*runs, *reproduced, diverged.clone())),
        _ => None,
    });
    assert_eq!(replay, Some((times, times, None)), "{run:#?}");
}

fn check(example: &str) {
    let fixture = Fixture::example(example);
    let finding = fixture.check(&["test"], 100).finding().clone();
    let size = finding.size;
    assert!(size.switches <= size.found, "{size:?}");
    assert!(
        size.preemptions <= 2,
        "none of the examples takes more: {size:?}"
    );
    let by_id = fixture.check(&["replay", &finding.id, "--times", "100"], 100);
    assert_reproduced(&by_id, 100);
    let by_file = fixture.check(&["replay", &finding.schedule], 100);
    assert_reproduced(&by_file, 1);
}

#[test]
fn data_race_replays() {
    check("flag-before-data");
}

#[test]
fn deadlock_replays() {
    check("abba-deadlock");
}

#[test]
fn livelock_replays() {
    check("spinning-circle");
}

#[test]
fn lost_wake_up_replays() {
    check("lost-wakeup");
}

#[test]
fn relaxed_publication_replays() {
    check("relaxed-publication");
}

#[test]
fn panic_replays() {
    check("lost-update");
}

#[test]
fn use_after_free_replays() {
    check("use-after-free");
}

#[test]
fn double_free_replays() {
    check("double-free");
}

#[test]
fn access_out_of_bounds_replays() {
    check("out-of-bounds");
}
