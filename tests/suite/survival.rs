//! Killing or interrupting the tool loses nothing that was found.

use std::fs;
use std::process::Command;

use raddle_e2e::{Ended, Fixture, Tool};

/// Far more work than the test waits for.
const LONG: [&str; 7] = [
    "test",
    "--executions",
    "100000000",
    "--time",
    "300s",
    "--message-format",
    "json",
];

const SHORT: [&str; 5] = [
    "test",
    "--continue",
    "--executions",
    "300",
    "--message-format=json",
];

/// What is run: of cargo's, or a program of C.
struct Subject {
    fixture: Fixture,
    program: &'static [&'static str],
    results: &'static str,
}

impl Subject {
    fn all() -> [Self; 2] {
        let of_cargo = Self {
            fixture: Fixture::special("slow-bugs"),
            program: &[],
            results: "target/raddle",
        };
        let of_c = Self {
            fixture: Fixture::compiled("bad-c", "slow.c"),
            program: &["./prog"],
            results: "raddle-results",
        };
        [of_cargo, of_c]
    }

    fn tool(&self, arguments: &[&str]) -> Tool {
        Tool::new(self.fixture.path(), [arguments, self.program].concat())
    }
}

fn stored(subject: &Subject) -> Vec<String> {
    let results = subject.fixture.path().join(subject.results);
    let entries = fs::read_dir(results.join("findings"));
    let entries = entries.expect("findings are stored");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    names
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".json"))
        .collect()
}

/// Sends a signal once the first finding is out, and lets the tool end by itself.
fn signalled(subject: &Subject, signal: &str) -> Ended {
    let mut sent = false;
    subject.tool(&LONG).run_while(|id, stdout| {
        if !sent && stdout.contains("\"finding\"") {
            let kill = Command::new("kill")
                .args([signal, &id.to_string()])
                .status();
            sent = kill.is_ok_and(|status| status.success());
        }
        true
    })
}

#[test]
fn kill_9_loses_no_finding() {
    for subject in Subject::all() {
        let ended = subject
            .tool(&LONG)
            .run_while(|_, stdout| !stdout.contains("\"finding\""));
        assert_eq!(ended.status.code(), None, "it was killed: {ended:#?}");
        let names = stored(&subject);
        assert_eq!(names.len(), 1, "{names:?}");
        let id = names[0].trim_end_matches(".json");
        subject.fixture.check(&["replay", id], 100);

        let continued = subject.tool(&SHORT).run();
        assert_eq!(continued.status.code(), Some(100), "{continued:#?}");
        assert!(continued.stdout.contains(id), "{continued:#?}");
        assert_eq!(stored(&subject), names);
    }
}

#[test]
fn interrupt_keeps_what_was_found() {
    for signal in ["-INT", "-TERM"] {
        for subject in Subject::all() {
            let ended = signalled(&subject, signal);
            assert_eq!(ended.status.code(), Some(100), "{ended:#?}");
            assert!(ended.stdout.contains("\"summary\""), "{ended:#?}");
            assert_eq!(stored(&subject).len(), 1);
        }
    }
}

#[test]
fn interrupt_without_findings_has_its_own_code() {
    let fixture = Fixture::special("slow-bugs");
    fixture.check(&["test", "--no-run"], 0);
    let start = std::time::Instant::now();
    let mut sent = false;
    let arguments = [&LONG[..], &["busy"]].concat();
    let ended = Tool::new(fixture.path(), arguments).run_while(|id, stdout| {
        let begun = stdout.contains("\"start\"") && start.elapsed().as_secs() > 4;
        if begun && !sent {
            let kill = Command::new("kill")
                .args(["-INT", &id.to_string()])
                .status();
            sent = kill.is_ok_and(|status| status.success());
        }
        true
    });
    assert_eq!(ended.status.code(), Some(130), "{ended:#?}");
}
