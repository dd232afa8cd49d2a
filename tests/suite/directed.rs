//! A schedule file may give an order of events instead of switches.

use std::fs;

use raddle_e2e::{Fixture, Run, seeds};

/// Site keys of the two accesses of `Counter::count`, by their lines in the source.
fn keys(schedule: &str) -> (String, String) {
    let key = |place: &str| {
        let line = schedule
            .lines()
            .find(|line| line.starts_with("racy ") && line.contains(place))
            .unwrap_or_else(|| panic!("no racy access at {place}:\n{schedule}"));
        line.split(' ').nth(1).expect("a key").to_owned()
    };
    (key("src/lib.rs:17 "), key("src/lib.rs:19 "))
}

fn counts(run: &Run) -> (u64, u64, Option<String>) {
    let replay = run.replayed();
    (replay.runs, replay.reproduced, replay.diverged.clone())
}

#[test]
fn an_order_of_two_events_forces_the_bug_or_prevents_it() {
    let fixture = Fixture::special("unsynchronised");
    let found = fixture.check(&["test"], 100);
    let panic = found
        .findings()
        .into_iter()
        .find(|finding| finding.kind == "panic")
        .expect("the count is wrong");
    let path = fixture.path().join(&panic.schedule);
    let schedule = fs::read_to_string(&path).expect("the schedule was stored");
    let (load, store) = keys(&schedule);
    let kept = schedule
        .lines()
        .filter(|line| !line.starts_with("switch ") && !line.starts_with("end"))
        .map(|line| match line.starts_with("oracles") {
            // The race is there in any order; this is about what comes of it.
            true => "oracles",
            false => line,
        })
        .collect::<Vec<_>>()
        .join("\n");
    let times = seeds().to_string();
    let replay = |rule: &str, code| {
        let text = format!(
            "{kept}\nstrategy directed(random)\n\
             event 0 thread any site {load} occurrence any\n\
             event 1 thread not 0 site {load} occurrence any object 0\n\
             event 2 thread of 0 site {store} occurrence any object 0\n\
             {rule}\nend\n"
        );
        let file = fixture.path().join("ordered.schedule");
        fs::write(&file, text).expect("the fixture's directory is writable");
        counts(&fixture.check(&["replay", "ordered.schedule", "--times", &times], code))
    };
    // Both load before one stores.
    assert_eq!(replay("before 1 2", 100), (seeds(), seeds(), None));
    assert_eq!(replay("hold 0 until 1", 100), (seeds(), seeds(), None));
    assert_eq!(replay("before 2 1", 0), (seeds(), 0, None));
    let (_, _, diverged) = replay("before 1 0\nbefore 2 1", 0);
    let diverged = diverged.expect("an order that is impossible is said to be");
    assert!(diverged.contains("event 0"), "{diverged}");
}
