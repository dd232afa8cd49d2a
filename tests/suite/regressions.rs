//! Kept schedules are replayed first, survive small edits, and fall silent with the bug.

use std::fs;

use raddle_e2e::Fixture;

/// One execution of a strategy that never preempts: finds nothing by itself.
const NO_SEARCH: [&str; 5] = ["test", "--strategy", "serial", "--executions", "1"];

#[test]
fn kept_schedule_finds_the_bug_again_until_it_is_fixed() {
    let fixture = Fixture::example("lost-update");
    let id = fixture.check(&["test"], 100).finding().id.clone();
    fixture.check(&["keep", &id], 0);
    let kept = fs::read_dir(fixture.path().join("raddle-regressions")).expect("it was kept");
    assert_eq!(kept.count(), 1);
    fs::remove_dir_all(fixture.path().join("target")).expect("results can be removed");

    assert_eq!(fixture.check(&NO_SEARCH, 100).finding().id, id);

    fixture.edit("src/lib.rs", |text| {
        format!(
            "// Moved down.\n\n{}",
            text.replace("count + 1", "1 + count")
        )
    });
    assert_eq!(fixture.check(&NO_SEARCH, 100).finding().id, id);

    fixture.edit("src/lib.rs", |text| {
        let fixed = "self.count.fetch_add(1, Ordering::SeqCst);";
        text.replace("let count = self.count.load(Ordering::SeqCst);", fixed)
            .replace("self.count.store(1 + count, Ordering::SeqCst);", "")
    });
    let run = fixture.check(&NO_SEARCH, 0);
    assert!(run.findings().is_empty());
}

#[test]
fn without_the_kept_schedule_the_same_run_finds_nothing() {
    Fixture::example("lost-update").check(&NO_SEARCH, 0);
}
