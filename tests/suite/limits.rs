//! A machine that gives too little is named before anything is built, with what to do, and what
//! was not shown is not clean.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use raddle_e2e::{Ended, Fixture, Tool};

/// Runs the tool behind a line of shell that ends in running it.
fn behind(script: &str, fixture: &Fixture, arguments: &[&str]) -> Ended {
    let starter = ["bash", "-c", script, "bash"];
    Tool::started_by(&starter, fixture.path(), arguments).run()
}

#[test]
fn every_limit_that_is_too_low_is_named_with_what_to_do() {
    let crates = Fixture::example("lost-update");
    let programs = Fixture::compiled("bad-c", "asserts.c");
    let limits = [
        ("-n 16", "ulimit -n"),
        ("-n 32", "ulimit -n"),
        ("-n 64", "ulimit -n"),
        ("-n 128", "ulimit -n"),
        ("-v 500000", "ulimit -v"),
        ("-v 4000000", "ulimit -v"),
        ("-v 100000000", "ulimit -v"),
        ("-d 100000", "ulimit -d"),
        ("-f 0", ""),
        ("-f 10", ""),
        ("-f 20000", ""),
        ("-f 1000000", ""),
        ("-s 64", "ulimit -s"),
        ("-s 128", "ulimit -s"),
        ("-s 512", "ulimit -s"),
        ("-t 10", "ulimit -t"),
        ("-t 500", "ulimit -t"),
        ("-n 100 -v 1000000 -t 60", "ulimit"),
    ];
    for (limit, advice) in limits {
        let script = format!("ulimit {limit}; exec \"$@\"");
        let runs: [(&Fixture, &[&str]); 5] = [
            (&crates, &["test"]),
            (&crates, &["list"]),
            (&crates, &["doctor"]),
            (&programs, &["test", "./prog"]),
            (&programs, &["replay", "crash-0123456789"]),
        ];
        for (fixture, arguments) in runs {
            let ended = behind(&script, fixture, arguments);
            assert_eq!(
                ended.status.code(),
                Some(69),
                "{limit} {arguments:?} {ended:#?}"
            );
            // Where no file may grow, nobody can be told in a file.
            let said = format!("{}{}", ended.stdout, ended.stderr);
            assert!(said.contains(advice), "{limit} {arguments:?} {ended:#?}");
        }
    }
    // What is no lower than needed does not matter.
    for limit in ["-n 320", "-v 2800000000", "-s 1024", "-t 700", "-f 2000000"] {
        let script = format!("ulimit {limit}; exec \"$@\"");
        let ended = behind(&script, &programs, &["test", "./prog"]);
        assert_eq!(ended.status.code(), Some(100), "{limit} {ended:#?}");
    }
    // What may be raised is raised.
    let ended = behind("ulimit -Sn 64; exec \"$@\"", &programs, &["test", "./prog"]);
    assert_eq!(ended.status.code(), Some(100), "{ended:#?}");
}

/// Processes and threads are counted for each user, and not for root.
#[test]
fn too_few_processes_are_named_with_what_to_do() {
    const USER: &str = "--reuid=64321";
    let can_be_another = Command::new("setpriv").args([USER, "true"]).status();
    if !can_be_another.is_ok_and(|status| status.success()) {
        raddle_e2e::skip("`setpriv --reuid` needs root");
        return;
    }
    // What that user may read and run.
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let tool = directory.path().join("cargo-raddle");
    fs::copy(raddle_e2e::executable(), &tool).expect("the tool can be copied");
    for path in [directory.path(), &tool] {
        let everyone = fs::Permissions::from_mode(0o755);
        fs::set_permissions(path, everyone).expect("the mode can be set");
    }
    let run = |limit: &str| {
        let script = format!("ulimit -u {limit} && cd / && exec \"$0\" raddle doctor");
        let output = Command::new("setpriv")
            .args([USER, "bash", "-c", &script])
            .arg(&tool)
            .env("RADDLE_CACHE", directory.path().join("cache"))
            .output()
            .expect("it can be started");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), said)
    };
    for limit in ["1", "2", "5", "10", "30", "60"] {
        let (code, said) = run(limit);
        assert_eq!(code, Some(69), "{limit}: {said}");
        let line = said
            .lines()
            .find(|line| line.contains("processes and threads"));
        let line = line.unwrap_or_default();
        assert!(line.contains("ulimit -u"), "{limit}: {said}");
    }
    let (_, said) = run("4000");
    assert!(!said.contains("ulimit -u"), "{said}");
}

#[test]
fn output_that_does_not_arrive_is_told() {
    let fixture = Fixture::compiled("make", "ordered.c");
    let runs: [&[&str]; 6] = [
        &["test", "./prog"],
        &["test", "--message-format", "json", "./prog"],
        &["list", "./prog"],
        &["doctor"],
        &["--help"],
        &["test", "--help"],
    ];
    for arguments in runs {
        for script in [
            "exec \"$@\" > /dev/full",
            "exec 5> >(true); wait $!; exec \"$@\" >&5",
            "exec \"$@\" >&-",
        ] {
            let ended = behind(script, &fixture, arguments);
            assert_eq!(ended.status.code(), Some(69), "{arguments:?} {ended:#?}");
            let sentence = "the output cannot be written";
            assert!(ended.stderr.contains(sentence), "{arguments:?} {ended:#?}");
        }
        // Remarks alone may get lost.
        let ended = behind("exec \"$@\" 2> /dev/null", &fixture, arguments);
        assert_eq!(ended.status.code(), Some(0), "{arguments:?} {ended:#?}");
    }
    // A compiler says nothing there.
    let compile = ["cc", "-pthread", "-o", "other", "ordered.c"];
    let ended = behind("exec \"$@\" >&-", &fixture, &compile);
    assert_eq!(ended.status.code(), Some(0), "{ended:#?}");
    // What was found is found, shown or not.
    let fixture = Fixture::compiled("bad-c", "asserts.c");
    let ended = behind("exec \"$@\" 2> /dev/full", &fixture, &["test", "./prog"]);
    assert_eq!(ended.status.code(), Some(100), "{ended:#?}");
}

#[test]
fn a_full_disk_is_named_before_the_build() {
    let can_mount = Command::new("unshare").args(["--mount", "true"]).status();
    if !can_mount.is_ok_and(|status| status.success()) {
        raddle_e2e::skip("`unshare --mount` needs root");
        return;
    }
    let fixture = Fixture::example("lost-update");
    for directory in ["target", "cache"] {
        let path = fixture.path().join(directory);
        fs::create_dir_all(&path).expect("a directory can be made");
        let script = format!(
            "mount -t tmpfs -o size=1m tmpfs {directory} && \
             {{ head -c 2M /dev/zero > {directory}/fill 2> /dev/null; exec \"$@\"; }}"
        );
        let starter = ["unshare", "--mount", "sh", "-c", &script, "sh"];
        let mut tool = Tool::started_by(&starter, fixture.path(), ["test"]);
        if directory == "cache" {
            tool = tool.env("RADDLE_CACHE", &path);
        }
        let ended = tool.run();
        assert_eq!(ended.status.code(), Some(69), "{directory} {ended:#?}");
        for word in ["disk", directory, "free"] {
            assert!(ended.stderr.contains(word), "{directory} {ended:#?}");
        }
    }
}
