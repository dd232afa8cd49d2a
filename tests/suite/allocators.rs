//! jemalloc and mimalloc as `#[global_allocator]`: Raddle's heap stands in their place.

use std::time::Duration;

use raddle_e2e::{Fixture, Line, Tool};

/// What building an allocator may take on a slow machine, once for us and once more for clang.
const BUILD: Duration = Duration::from_secs(1800);

fn is_set_aside(feature: &str) {
    let fixture = Fixture::special("allocators");
    let arguments = ["test", "--message-format", "json", "--locked"];
    let chosen = ["--features", feature, "--time", "60s"];
    let tool = Tool::new(fixture.path(), arguments.iter().chain(&chosen));
    let run = fixture.check_tool(tool.patiently(BUILD), 100);
    let clean = run.test("tests::blocks_change_hands");
    assert_eq!(clean.verdict, "explored", "{run:#?}");
    let of_bug = |test: &str| test == "tests::a_freed_block_is_read";
    assert!(
        run.findings().iter().all(|finding| of_bug(&finding.test)),
        "{run:#?}"
    );
    let found = run
        .findings()
        .into_iter()
        .find(|finding| finding.kind == "use-after-free")
        .unwrap_or_else(|| panic!("{run:#?}"));
    // The read, the free and the allocation.
    let places = found.places();
    for line in [61, 57] {
        let place = format!("src/lib.rs:{line}");
        assert!(places.contains(&place), "{place}: {found:#?}");
    }
    let notes = run
        .lines
        .iter()
        .filter(|line| matches!(line, Line::Note { text } if text.contains("its own allocator")));
    assert_eq!(notes.count(), run.tests().len(), "{run:#?}");
}

#[test]
#[ignore = "builds jemalloc, which takes minutes"]
fn jemalloc_is_set_aside() {
    is_set_aside("tikv-jemallocator");
}

#[test]
#[ignore = "builds mimalloc"]
fn mimalloc_is_set_aside() {
    is_set_aside("mimalloc");
}
