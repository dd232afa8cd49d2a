//! What generated tests report and what they do not: right results that no order of calls explains, and wrong ones beside them.

use raddle_e2e::{Fixture, Line};

use crate::generate::{checks, generated};

#[test]
fn right_results_that_no_order_gives_are_not_reported() {
    assert_quiet(&[
        "PerThread",
        "Loader",
        "Lazy",
        "LoadCache",
        "Letterbox",
        "FirstSet",
        "Permits",
    ]);
}

#[test]
#[ignore = "takes a minute"]
fn more_right_results_that_no_order_gives_are_not_reported() {
    assert_quiet(&[
        "Inbox",
        "Tries",
        "Boxes",
        "Latch",
        "Slots",
        "Group",
        "Stopwatch",
        "Counter",
        "Flights",
        "Chain",
    ]);
}

/// No result of these types is reported, though pairs of their methods were tried.
fn assert_quiet(types: &[&str]) {
    let fixture = Fixture::special("types");
    for name in types {
        let subject = format!("types::lenient::{name}");
        let run = fixture.check(&["generate", &subject, "--time", "4s"], 0);
        assert!(generated(&run).is_empty(), "{name}");
        let tests = run.lines.iter().find_map(|line| match line {
            Line::Coverage { pairs, .. } => {
                Some(pairs.iter().filter(|one| one.covered > 0.0).count())
            }
            _ => None,
        });
        assert!(tests > Some(0), "{name}: something was tried");
    }
}

#[test]
fn results_that_documentation_does_not_promise_are_not_checked() {
    let fixture = Fixture::special("types");
    let arguments = ["generate", "types::lenient::Shelves", "--time", "6s"];
    let run = fixture.check(&arguments, 0);
    let (findings, _, unchecked) = checks(&run);
    assert_eq!(findings, 0);
    for (method, words) in [
        ("take_any", "no particular order"),
        ("largest", "may not reflect"),
        ("empty", "not atomic"),
        ("book", "fail spuriously"),
    ] {
        let is_it = |one: &&(&str, &str, u64)| one.0 == method && one.1.contains(words);
        assert!(
            unchecked.iter().any(|one| is_it(&one)),
            "{method}: {unchecked:?}"
        );
    }
}

#[test]
fn builders_lifetimes_constants_and_closures_that_change_something_are_found() {
    let fixture = Fixture::special("types");
    for (subject, code) in [
        ("types::made::Names", "names.number(\""),
        ("types::made::Names<'static>", "names.number(\""),
        ("types::made::Grid<3>", "builder(), &vec!["),
        ("types::made::Changed", "change("),
    ] {
        let run = fixture.check(&["generate", subject, "--time", "30s"], 100);
        let tests = generated(&run);
        let [("linearizability", source)] = tests[..] else {
            panic!("{subject}: {tests:?}");
        };
        assert!(source.contains(code), "{subject}: {source}");
    }
}

#[test]
fn a_cache_may_drop_entries_but_not_mix_them_up() {
    let fixture = Fixture::special("types");
    for name in ["LastCache", "PlaceCache"] {
        let subject = format!("types::edges::{name}");
        let run = fixture.check(&["generate", &subject, "--time", "30s"], 100);
        let kinds: Vec<_> = generated(&run).iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, ["linearizability"], "{name}");
    }
}

#[test]
fn types_that_claim_to_be_sync_for_everything_are_called_with_cells_and_pointers() {
    let fixture = Fixture::special("types");
    for argument in ["std::cell::Cell<u32>", "*mut u8"] {
        let subject = format!("types::made::Lender<{argument}>");
        let run = fixture.check(&["generate", &subject, "--list"], 0);
        let is_called =
            |line: &Line| matches!(line, Line::Operation { refused: None, name } if name == "lend");
        assert!(
            run.lines.iter().any(is_called),
            "{argument}: {:?}",
            run.lines
        );
    }
}
