//! A full disk and missing permissions get one clear sentence that names the path.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use raddle_e2e::{Ended, Fixture, Tool};

/// Something with a bug, built, and with a directory for results.
struct Subject {
    fixture: Fixture,
    arguments: &'static [&'static str],
    results: &'static str,
}

impl Subject {
    fn of_cargo() -> Self {
        let fixture = Fixture::example("lost-update");
        fixture.check(&["test", "--no-run"], 0);
        Self::with_results(fixture, &["test"], "target/raddle")
    }

    fn of_c() -> Self {
        let fixture = Fixture::compiled("bad-c", "asserts.c");
        Self::with_results(fixture, &["test", "./prog"], "raddle-results")
    }

    fn with_results(
        fixture: Fixture,
        arguments: &'static [&'static str],
        results: &'static str,
    ) -> Self {
        for directory in ["findings", "schedules", "traces"] {
            let path = fixture.path().join(results).join(directory);
            fs::create_dir_all(path).expect("a directory can be made");
        }
        Self {
            fixture,
            arguments,
            results,
        }
    }

    fn run(&self, starter: &[&str]) -> Ended {
        Tool::started_by(starter, self.fixture.path(), self.arguments).run()
    }

    /// The finding is shown although it cannot be stored, and one sentence says why not and
    /// where.
    fn assert_says_path(&self, ended: &Ended, words: &[&str]) {
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.status.code(), Some(100), "{ended:#?}");
        let path = format!("{}/findings", self.results);
        assert!(said.contains(&path), "{ended:#?}");
        let lower = said.to_lowercase();
        assert!(words.iter().any(|word| lower.contains(word)), "{ended:#?}");
    }
}

/// Whether this machine lets the test prepare what it needs.
fn possible(program: &str, arguments: &[&str]) -> bool {
    let status = Command::new(program).args(arguments).status();
    status.is_ok_and(|status| status.success())
}

#[test]
fn full_disk() {
    if !possible("unshare", &["--mount", "true"]) {
        raddle_e2e::skip("`unshare --mount` needs root");
        return;
    }
    for subject in [Subject::of_cargo(), Subject::of_c()] {
        let findings = format!("{}/findings", subject.results);
        let script = format!(
            "mount -t tmpfs -o size=16k tmpfs {findings} && \
             {{ head -c 1M /dev/zero > {findings}/fill 2> /dev/null; exec \"$@\"; }}"
        );
        let ended = subject.run(&["unshare", "--mount", "sh", "-c", &script, "sh"]);
        subject.assert_says_path(&ended, &["space", "full"]);
    }
}

#[test]
fn no_write_permission() {
    let setpriv = ["--bounding-set=-dac_override,-dac_read_search", "true"];
    let starter: &[&str] = match possible("setpriv", &setpriv) {
        true => &["setpriv", "--bounding-set=-dac_override,-dac_read_search"],
        false => &[],
    };
    for subject in [Subject::of_cargo(), Subject::of_c()] {
        let findings = subject
            .fixture
            .path()
            .join(subject.results)
            .join("findings");
        let set_mode = |mode| {
            let permissions = fs::Permissions::from_mode(mode);
            fs::set_permissions(&findings, permissions).expect("the mode can be set");
        };
        set_mode(0o555);
        let ended = subject.run(starter);
        set_mode(0o755);
        subject.assert_says_path(&ended, &["permission"]);
    }
}

#[test]
fn toolchain_that_is_too_old() {
    let fixture = Fixture::example("lost-update");
    let rustc = fixture.path().join("old-rustc");
    let script = "#!/bin/sh\nprintf 'rustc 1.80.0 (051478957 2024-07-21)\\nbinary: rustc\\n\
                  commit-hash: 051478957371ee0084a7c0913941d2a8c4757bb9\\ncommit-date: 2024-07-21\\n\
                  host: x86_64-unknown-linux-gnu\\nrelease: 1.80.0\\nLLVM version: 18.1.7\\n'\n";
    fs::write(&rustc, script).expect("a file can be written");
    fs::set_permissions(&rustc, fs::Permissions::from_mode(0o755)).expect("the mode can be set");
    let ended = Tool::new(fixture.path(), ["test"])
        .env("RUSTC", &rustc)
        .run();
    assert_eq!(ended.status.code(), Some(69), "{ended:#?}");
    assert!(ended.stderr.contains("1.93"), "{ended:#?}");
}
