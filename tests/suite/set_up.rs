//! The user's own cargo set-up is respected.

use raddle_e2e::Fixture;

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
