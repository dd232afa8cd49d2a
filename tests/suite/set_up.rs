//! The user's own cargo set-up is respected.

use raddle_e2e::{Fixture, Line};

#[test]
fn flags_wrappers_profiles_features_and_environment_hold() {
    let fixture = Fixture::special("custom");
    let run = fixture.check(&["test", "--features", "extra", "--locked"], 100);
    assert_eq!(run.test("set_up_holds").verdict, "explored", "{run:#?}");
    assert_eq!(
        run.test("overflow_checks_stay_on").verdict,
        "explored",
        "{run:#?}"
    );
    assert!(fixture.path().join("wrapper-was-used").exists());
    let finding = run.finding();
    assert_eq!(
        (finding.test.as_str(), finding.kind.as_str()),
        ("sum_is_right", "panic")
    );
}

#[test]
fn an_allocator_of_the_programs_own_is_set_aside_and_that_is_said() {
    let fixture = Fixture::special("own-allocator");
    let run = fixture.check(&["test"], 100);
    assert_eq!(run.finding().kind, "double-free", "{run:#?}");
    let notes = run.lines.iter().filter_map(|line| match line {
        Line::Note { text } => Some(text.as_str()),
        _ => None,
    });
    let said = notes.filter(|text| text.contains("its own allocator"));
    assert_eq!(said.count(), 1, "{run:#?}");
}

#[test]
fn libraries_for_c_linkers_toolchain_files_and_assembly_hold() {
    let fixture = Fixture::special("hard");
    let run = fixture.check(&["test", "--locked"], 100);
    for test in [
        "additions_by_assembly_are_not_lost",
        "the_owner_has_its_way_with_the_linker",
    ] {
        assert_eq!(run.test(test).verdict, "explored", "{run:#?}");
    }
    assert!(fixture.path().join("linker-was-used").exists());
    let finding = run.finding();
    assert_eq!(
        (finding.test.as_str(), finding.kind.as_str()),
        ("calls_are_not_lost", "panic")
    );
}
