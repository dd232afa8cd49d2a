//! A small library with a bug in each of its types, as a new user would have it: every bug is found with its
//! cause, and nothing once they are corrected.

use raddle_e2e::{FindingLine, Fixture, PlannedFinding, Run};

/// Executions of each test: several times what the last of its bugs needs.
const EXECUTIONS: &str = "400";

fn matches(expected: &PlannedFinding, finding: &FindingLine) -> bool {
    let places = finding.places();
    expected.test == finding.test
        && expected.kind == finding.kind
        && expected.lines.iter().all(|line| places.contains(line))
        && finding.cause.contains(&expected.cause)
}

/// Every expected finding of a command is there, confirmed, and none in another test.
fn check(command: &str, expected: &[PlannedFinding], run: &Run) {
    let expected: Vec<_> = expected
        .iter()
        .filter(|one| one.command == command)
        .collect();
    let findings = run.findings();
    for one in &expected {
        let shown = findings.iter().find(|finding| matches(one, finding));
        let shown = shown.unwrap_or_else(|| panic!("{one:?} is missing: {findings:#?}"));
        assert!(shown.confirmed, "{shown:#?}");
    }
    for finding in findings {
        let is_planned = expected.iter().any(|one| one.test == finding.test);
        assert!(is_planned, "{finding:#?}");
    }
}

#[test]
fn a_library_with_a_bug_in_each_type_and_quiet_without() {
    let fixture = Fixture::example("pools");
    let expected = fixture.planned_findings();
    let test = ["test", "--executions", EXECUTIONS];
    check("test", &expected, &fixture.check(&test, 100));
    let predict = ["predict", "a_budget"];
    check("predict", &expected, &fixture.check(&predict, 100));
    for arguments in [&test[..], &predict[..]] {
        let run = fixture.check(&[arguments, &["--features", "fixed"]].concat(), 0);
        assert!(run.findings().is_empty(), "{:#?}", run.findings());
        for test in run.tests() {
            assert_eq!(test.verdict, "explored", "{test:?}");
        }
    }
}
