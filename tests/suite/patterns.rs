//! Every pattern of accesses is predicted and made real, and what is no data or one access is not.

use std::collections::{BTreeMap, BTreeSet};

use raddle_e2e::{Fixture, Line};

/// The patterns that happen in each test. Where two units both take two steps, there are several ways to mix them.
const EXPECTED: [(&str, &str, &[u8]); 33] = [
    ("pattern_01", "Pair", &[1]),
    ("pattern_02", "Pair", &[2]),
    ("pattern_03", "Pair", &[3]),
    ("pattern_04", "Pair", &[4]),
    ("pattern_05", "Pair", &[5]),
    ("pattern_06", "Pair", &[6]),
    ("pattern_07", "Pair", &[6, 7]),
    ("pattern_08", "Pair", &[8]),
    ("pattern_09", "Pair", &[9]),
    ("pattern_10", "Pair", &[8, 9, 10, 11]),
    ("pattern_11", "Pair", &[8, 9, 10, 11]),
    // No pattern; the monitor sees the cycle where chance has it.
    ("write_skew", "Pair", &[0]),
    ("a_free_function_is_no_unit", "", &[]),
    ("one_step_is_never_two_accesses", "", &[]),
    ("two_steps_are", "Counter", &[1, 2, 3, 4, 5]),
    ("a_wide_write_is_one_access", "Triple", &[9]),
    ("readers_share_and_writers_come_between", "Shared", &[9]),
    ("readers_keep_writers_out", "", &[]),
    ("two_instances_are_two_sets", "", &[]),
    (
        "what_is_behind_an_arc_has_units_in_its_holder",
        "Inner",
        &[9],
    ),
    ("another_instance_belongs_to_the_unit", "List", &[2, 9]),
    ("a_buffer_belongs_to_its_owner", "Row", &[9]),
    ("a_buffer_that_is_read_at_once_does_too", "", &[]),
    ("a_box_belongs_to_its_owner", "Boxed", &[9]),
    ("a_table_belongs_to_its_owner", "Table", &[9]),
    ("nodes_of_a_tree_belong_to_its_owner", "kept::Kept", &[9]),
    ("nodes_of_a_list_belong_to_its_owner", "kept::Kept", &[9]),
    ("nodes_that_are_read_at_once_do_too", "", &[]),
    ("a_ring_belongs_to_its_owner", "kept::Kept", &[9]),
    ("a_heap_belongs_to_its_owner", "kept::Kept", &[2, 9]),
    ("a_text_belongs_to_its_owner", "kept::Kept", &[9]),
    ("what_handles_share_belongs_to_their_type", "Handle", &[9]),
    ("counts_locks_and_formatting_are_no_data", "", &[]),
];

/// A test without its modules.
fn name(test: &str) -> &str {
    test.rsplit("::").next().unwrap_or(test)
}

/// A test for which not every prediction is made to happen: how many there are depends on the recorded
/// executions.
const PARTLY_FEASIBLE: &str = "a_heap_belongs_to_its_owner";

#[test]
fn every_pattern_becomes_real_and_nothing_else_does() {
    let fixture = Fixture::special("patterns");
    let run = fixture.check(&["predict"], 100);
    let mut seen: BTreeMap<&str, BTreeSet<u8>> = BTreeMap::new();
    let mut sets: BTreeSet<(&str, &str)> = BTreeSet::new();
    for line in &run.lines {
        match line {
            Line::Violation(violation) => {
                let test = name(&violation.test);
                seen.entry(test).or_default().insert(violation.pattern);
                let base = violation.set.split('<').next().unwrap_or_default();
                sets.insert((test, base));
            }
            Line::Prediction(prediction) => {
                let test = name(&prediction.test);
                seen.entry(test).or_default();
                assert_eq!(prediction.engine, "asset");
                if test == PARTLY_FEASIBLE {
                    assert!(prediction.real > prediction.predicted / 2, "{test}");
                } else {
                    assert_eq!(prediction.real, prediction.predicted, "{test}");
                }
            }
            _ => {}
        }
    }
    let expected: BTreeMap<&str, BTreeSet<u8>> = EXPECTED
        .iter()
        .map(|(test, _, patterns)| (*test, patterns.iter().copied().collect()))
        .collect();
    assert_eq!(seen, expected);
    for (test, set, _) in EXPECTED.iter().filter(|(_, set, _)| !set.is_empty()) {
        let name = format!("patterns::{set}");
        let of_test: Vec<_> = sets.iter().filter(|(of, _)| of == test).collect();
        assert_eq!(of_test, [&(*test, name.as_str())]);
    }
}

#[test]
fn a_cycle_that_matches_no_pattern_is_a_finding_too() {
    let fixture = Fixture::special("patterns");
    let run = fixture.check(&["predict", "--profiles", "10", "write_skew"], 100);
    let findings = run.findings();
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].kind, "atomic-set");
    assert!(findings[0].title.contains("each of them overlooks"));
}

#[test]
fn the_configuration_says_what_types_do_not() {
    let fixture = Fixture::special("patterns");
    let configure = |text: &str| {
        let path = fixture.path().join("raddle.toml");
        std::fs::write(path, text).expect("the file can be written");
    };
    // A field by itself has nothing to fit together with.
    configure("[[predict.set]]\ntype = 'patterns::Pair'\nfields = ['x']\n");
    assert_eq!(
        fixture
            .check(&["predict", "pattern_09"], 0)
            .findings()
            .len(),
        0
    );
    fixture.check(&["predict", "pattern_02"], 100);
    // Neither has what is left out, be it by its type or by the function that touches it.
    for name in ["patterns::Pair", "patterns::Pair::read_read"] {
        configure(&format!("[predict]\nignore = ['{name}']\n"));
        assert_eq!(
            fixture
                .check(&["predict", "pattern_02"], 0)
                .findings()
                .len(),
            0
        );
    }
    // A free function is a unit only if it is named.
    configure("");
    fixture.check(&["predict", "a_free_function"], 0);
    configure("[predict]\nunits = ['patterns::sum']\n");
    let run = fixture.check(&["predict", "a_free_function"], 100);
    assert!(
        run.findings()[0].title.contains("sum"),
        "{:?}",
        run.findings()
    );
}

#[test]
fn attributes_say_the_same_in_the_source() {
    let fixture = Fixture::special("patterns");
    let helper = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/raddle");
    let edit = |file: &str, changes: &[(&str, &str)]| {
        let path = fixture.path().join(file);
        let mut text = std::fs::read_to_string(&path).expect("the file can be read");
        for (before, attribute) in changes {
            assert!(text.contains(before), "{before}");
            text = text.replacen(before, &format!("{attribute}\n{before}"), 1);
        }
        std::fs::write(path, text).expect("the file can be written");
    };
    edit(
        "Cargo.toml",
        &[(
            "[package]",
            &format!("[dependencies]\nraddle = {{ path = {helper:?} }}\n"),
        )],
    );
    edit(
        "src/lib.rs",
        &[
            ("pub fn sum", "#[raddle::unit]"),
            ("pub fn read_read", "#[raddle::ignore]"),
            ("pub struct Shared", "#[raddle::ignore]"),
            ("pub struct Triple", "#[raddle::ignore(values)]"),
            ("pub struct Inner", "#[raddle::set(low)]"),
        ],
    );
    let run = fixture.check(&["predict", "a_free_function"], 100);
    assert!(run.findings()[0].title.contains("sum"));
    let silent = [
        "pattern_02",
        "readers_share_and_writers",
        "a_wide_write",
        "what_is_behind_an_arc",
    ];
    for test in silent {
        let run = fixture.check(&["predict", test], 0);
        assert_eq!(run.findings().len(), 0, "{test}");
    }
}
