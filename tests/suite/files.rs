//! What executions write is seen by no other execution, and stays nowhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use raddle_e2e::{Fixture, Tool};

/// Everything in a directory except what was built, with the contents of files.
fn tree(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).expect("a directory can be read");
            let entries = entries.map(|entry| entry.expect("an entry").path());
            pending.extend(entries.filter(|path| !path.ends_with("target")));
        }
        found.push((path.clone(), fs::read(&path).unwrap_or_default()));
    }
    found.sort();
    found
}

/// Whether the kernel lets this machine's processes have mounts of their own.
fn possible(starter: &[&str]) -> bool {
    let words: Vec<&str> = [starter, &["unshare", "--mount", "--map-root-user", "true"]].concat();
    let status = Command::new(words[0]).args(&words[1..]).status();
    let possible = status.is_ok_and(|status| status.success());
    if !possible {
        raddle_e2e::skip_part(&format!("`{}` is not allowed here", words.join(" ")));
    }
    possible
}

const TESTS: [&str; 8] = [
    "a_failure_is_remembered",
    "a_new_snapshot_is_written",
    "files_are_created_anew",
    "a_file_is_appended_to_truncated_renamed_and_removed",
    "the_same_by_other_ways",
    "a_child_process_writes",
    "times_of_files_follow_the_clock",
    "a_named_pipe_connects_two_threads",
];

/// All bugs are found, confirmed and replayed, and no file is left.
fn check(fixture: &Fixture, starter: &[&str]) {
    if !possible(starter) {
        return;
    }
    let before = tree(fixture.path());
    let arguments = ["test", "--message-format=json", "--executions", "60"];
    let tool = Tool::started_by(starter, fixture.path(), arguments);
    let run = fixture.check_tool(tool, 100);
    for test in TESTS.iter().chain(&["no_update_is_lost"]) {
        let findings = run.findings();
        let found: Vec<_> = findings.iter().filter(|line| line.test == **test).collect();
        let [finding] = found[..] else {
            panic!("one finding of {test} was expected: {run:#?}");
        };
        assert!(finding.confirmed, "{run:#?}");
        let arguments = ["replay", "--message-format=json", &finding.id];
        let tool = Tool::started_by(starter, fixture.path(), arguments);
        fixture.check_tool(tool, 100);
    }
    let test = run.test("everything_is_as_it_was");
    assert_eq!(test.verdict, "explored", "{run:#?}");
    assert_eq!(run.findings().len(), TESTS.len() + 1, "{run:#?}");
    assert_eq!(tree(fixture.path()), before);
    assert!(!Path::new("/tmp/raddle-writes-lock").exists());
}

#[test]
fn files_are_kept_apart_with_and_without_privileges() {
    let fixture = Fixture::special("writes");
    fixture.check_unexplored(&["test", "--no-run"]);
    check(&fixture, &["env"]);
    fs::remove_dir_all(fixture.path().join("target/raddle/findings")).expect("findings");
    check(&fixture, &["setpriv", "--bounding-set=-sys_admin"]);
    notes_tell_what_stays(&fixture);
}

/// Where the machine allows no view, a note says what that means, and nothing is reported that
/// only files left behind have caused.
fn notes_tell_what_stays(fixture: &Fixture) {
    const FORBID: &str = "echo 0 > /proc/sys/user/max_user_namespaces && \
        exec setpriv --bounding-set=-sys_admin \"$@\"";
    let forbid = [
        "unshare",
        "--user",
        "--map-root-user",
        "sh",
        "-c",
        FORBID,
        "sh",
    ];
    let words = [&forbid[1..], &["true"]].concat();
    let status = Command::new(forbid[0]).args(words).status();
    if !status.is_ok_and(|status| status.success()) {
        let words = forbid[..3].join(" ");
        raddle_e2e::skip_part(&format!("`{words}` is not allowed here"));
        return;
    }
    let arguments = ["test", "--executions", "60", "files_are_created_anew"];
    let ended = Tool::started_by(&forbid, fixture.path(), arguments).run();
    let _ = fs::remove_file("/tmp/raddle-writes-lock");
    let said = format!("{}{}", ended.stdout, ended.stderr);
    assert!(said.contains("cannot be kept apart"), "{ended:#?}");
    assert!(!said.contains("panic: test panics: called"), "{ended:#?}");
    assert_ne!(ended.status.code(), Some(0), "{ended:#?}");
}
