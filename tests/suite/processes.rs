//! Nothing is left running, however a run ends, and no run takes longer than it was told.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::{Duration, Instant};

use raddle_e2e::{Ended, Fixture, Tool};

/// Whether a process runs whose command line has this word.
fn is_running(word: &str) -> bool {
    let processes = fs::read_dir("/proc").expect("there is a /proc");
    let mut names = processes.flatten().map(|entry| entry.path());
    names.any(|process| {
        let line = fs::read(process.join("cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        words.next() == Some(b"sleep") && words.next() == Some(word.as_bytes())
    })
}

fn assert_nothing_is_left(word: &str, ended: &Ended) {
    let start = Instant::now();
    while is_running(word) {
        assert!(start.elapsed() < Duration::from_secs(5), "{ended:#?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn processes_that_outlive_their_execution_are_ended() {
    let fixture = Fixture::compiled("bad-c", "daemons.c");
    let ended = Tool::new(
        fixture.path(),
        [
            "test",
            "--message-format=json",
            "--executions",
            "10",
            "./prog",
            "86411",
        ],
    )
    .run();
    assert_eq!(ended.status.code(), Some(0), "{ended:#?}");
    assert!(
        ended.stdout.contains("\"verdict\":\"explored\""),
        "{ended:#?}"
    );
    assert_nothing_is_left("86411", &ended);
}

/// Programs that look at numbers of processes and threads do the same in every process, in
/// another namespace of such numbers too.
#[test]
fn numbers_of_processes_and_threads_are_the_same_every_time() {
    let fixture = Fixture::compiled("bad-c", "ids.c");
    let namespace = ["unshare", "--pid", "--fork", "--mount-proc"];
    let possible = Command::new(namespace[0])
        .args(&namespace[1..])
        .arg("true")
        .status()
        .is_ok_and(|status| status.success());
    if !possible {
        raddle_e2e::skip_part(&format!("`{}` needs root", namespace.join(" ")));
    }
    for argument in ["alone", "fork"] {
        let check = |starter: &[&str], carrier: &str| {
            let options = [
                "test",
                "--message-format=json",
                "--executions",
                "30",
                "--carrier",
                carrier,
                "./prog",
                argument,
            ];
            let run = fixture.check_tool(Tool::started_by(starter, fixture.path(), options), 100);
            let test = run.test("./prog");
            assert_eq!(test.verdict, "explored", "{run:#?}");
            let finding = run.finding();
            assert!(finding.title.contains("SIGABRT"), "{run:#?}");
            (test.hash.clone(), finding.id.clone())
        };
        let first = check(&["env"], "fiber");
        assert_eq!(check(&["env"], "os"), first);
        if possible {
            assert_eq!(check(&namespace, "fiber"), first);
        }
        fixture.check(&["replay", &first.1], 100);
    }
}

/// Ids in files of `/proc`, sizes, counts, times of files, clocks that are read without a system call, and randomness do not
/// change from process to process either.
#[test]
fn what_differs_from_process_to_process_is_the_same_every_time() {
    let fixture = Fixture::compiled("bad-c", "differs.c");
    for what in [
        "stat",
        "status",
        "statm",
        "pid-stat",
        "task-status",
        "task",
        "relative",
        "uptime",
        "uuid",
        "urandom",
        "auxv",
        "temporary",
        "inodes",
        "file-times",
        "spent",
        "usage",
        "sysinfo",
        "processor",
        "cycles",
    ] {
        let check = |carrier: &str| {
            println!("{what}, {carrier}");
            let options = ["test", "--executions", "200", "--carrier", carrier];
            let run = fixture.check(&[&options[..], &["./prog", what]].concat(), 100);
            let test = run.test("./prog");
            assert_eq!(test.verdict, "explored", "{what} {run:#?}");
            (test.hash.clone(), run.finding().id.clone())
        };
        let first = check("fiber");
        assert_eq!(check("fiber"), first, "{what}");
        assert_eq!(check("os"), first, "{what}");
        fixture.check(&["replay", &first.1], 100);
    }
}

/// What cannot be made the same is told, with the place from which runs differ, although they part at no access.
#[test]
fn what_differs_all_the_same_is_named_with_its_place() {
    let fixture = Fixture::compiled("bad-c", "differs.c");
    let run = fixture.check(&["test", "--executions", "20", "./prog", "child"], 75);
    run.assert_not_testable("./prog", &["runs with the same schedule differ"]);
    run.assert_not_testable("./prog", &["goes on at differs.c:", "at differs.c:"]);
}

#[test]
fn processes_end_with_a_tool_that_is_killed() {
    let fixture = Fixture::compiled("bad-c", "daemons.c");
    let arguments = ["test", "--time", "60s", "./prog", "86412"];
    let mut seen = false;
    let ended = Tool::new(fixture.path(), arguments).run_while(|_, _| {
        seen |= is_running("86412");
        !seen
    });
    assert!(seen && ended.status.code().is_none(), "{ended:#?}");
    assert_nothing_is_left("86412", &ended);
}

#[test]
fn a_constructor_that_ends_the_program_is_named() {
    let fixture = Fixture::compiled("bad-c", "constructors.c");
    let arguments = [
        "test",
        "--message-format=json",
        "--watchdog",
        "2s",
        "./prog",
    ];
    for what in ["exit", "_exit", "abort", "sleep"] {
        let start = Instant::now();
        let tool = Tool::new(fixture.path(), arguments).env("CONSTRUCTOR", what);
        let ended = tool.run();
        assert!(ended.stdout.contains("a constructor"), "{ended:#?}");
        assert!(start.elapsed() < Duration::from_secs(20), "{ended:#?}");
    }
    let ended = Tool::new(fixture.path(), arguments).run();
    assert_eq!(ended.status.code(), Some(0), "{ended:#?}");
    assert!(
        ended.stdout.contains("\"verdict\":\"explored\""),
        "{ended:#?}"
    );
}

/// A program that destroys what it shares with the tool costs its own time, and no more.
#[test]
fn scribbling_over_the_shared_memory_costs_no_more_than_the_budget() {
    let fixture = Fixture::compiled("bad-c", "scribbles.c");
    for seed in ["0", "2", "7"] {
        let start = Instant::now();
        let options = ["test", "--time", "3s", "--watchdog", "2s", "./prog", seed];
        let ended = Tool::new(fixture.path(), options).run();
        assert!(start.elapsed() < Duration::from_secs(15), "{ended:#?}");
        assert!(ended.stdout.contains("0 findings"), "{ended:#?}");
        assert!(!ended.stderr.contains("bug in raddle"), "{ended:#?}");
        assert_ne!(ended.status.code(), Some(0), "{ended:#?}");
    }
}

#[test]
fn a_header_of_zeroes_is_never_clean() {
    let fixture = Fixture::compiled("bad-c", "zeroes.c");
    // All of it, all but what the tool checks, more than it, and single numbers.
    let parts = [
        ["0", "1024"],
        ["16", "1008"],
        ["0", "65536"],
        ["0", "16"],
        ["16", "16"],
        ["64", "64"],
        ["80", "16"],
    ];
    for when in ["thread", "end", "exit"] {
        for part in parts {
            let options = ["test", "--time", "3s", "--watchdog", "2s", "./prog", when];
            let run = fixture.check(&[&options[..], &part].concat(), 75);
            assert_eq!(run.summary().explored, 0, "{when} {part:?} {run:#?}");
        }
    }
    let run = fixture.check(
        &["test", "--time", "3s", "./prog", "start", "0", "1024"],
        75,
    );
    run.assert_not_testable("./prog", &["overwrites memory"]);
    fixture.check(&["test", "--executions", "20", "./prog"], 0);
}

#[test]
fn sigterm_is_obeyed_within_two_seconds() {
    // While it explores, and while a program that never gets to `main` is waited for.
    for (source, constructor, code) in [
        ("slow.c", None, 100),
        ("constructors.c", Some("sleep"), 130),
    ] {
        let fixture = Fixture::compiled("bad-c", source);
        let mut arguments = vec!["test", "--time", "100s", "--watchdog", "90s"];
        // A search that never ends by itself.
        arguments.extend(["--strategy", "random", "--executions", "1000000000"]);
        arguments.push("./prog");
        let mut tool = Tool::new(fixture.path(), arguments);
        if let Some(what) = constructor {
            tool = tool.env("CONSTRUCTOR", what);
        }
        assert_obeys(tool, "-TERM", &[code], after(Duration::from_secs(2)));
    }
}

/// Whether so much time has passed from now on.
fn after(time: Duration) -> impl FnMut() -> bool {
    let start = Instant::now();
    move || start.elapsed() > time
}

/// Sends a signal once `is_time`, and requires that the tool ends soon, with one of these codes.
fn assert_obeys(tool: Tool, signal: &str, codes: &[i32], mut is_time: impl FnMut() -> bool) {
    let mut sent: Option<Instant> = None;
    let ended = tool.run_while(|id, _| {
        if sent.is_none() && is_time() {
            let kill = Command::new("kill")
                .args([signal, &id.to_string()])
                .status();
            assert!(kill.is_ok_and(|status| status.success()));
            sent = Some(Instant::now());
        }
        true
    });
    let taken = sent.map(|sent| sent.elapsed());
    // Two seconds are promised; on a loaded machine a process takes longer to end.
    let is_soon = taken.is_some_and(|taken| taken < Duration::from_secs(4));
    assert!(is_soon, "{signal}: {taken:?} {ended:#?}");
    let code = ended.status.code();
    assert!(code.is_some_and(|code| codes.contains(&code)), "{ended:#?}");
}

#[test]
fn signals_are_obeyed_whatever_is_under_way() {
    let fixture = Fixture::compiled("bad-c", "asserts.c");
    let id = fixture.check(&["test", "./prog"], 100).finding().id.clone();
    for signal in ["-TERM", "-INT"] {
        // Many replays; it has shown by then, or not.
        let replay = ["replay", &id, "--times", "1000000000"];
        let tool = Tool::new(fixture.path(), replay);
        assert_obeys(tool, signal, &[100, 130], after(Duration::from_secs(1)));
        // From the start to the confirmation, the minimisation and the explanation of what is found.
        for milliseconds in [100, 200, 300, 400, 600] {
            let endless = [
                "test",
                "--time",
                "100s",
                "--max-findings",
                "100",
                "--strategy",
                "random",
            ];
            let endless = [&endless[..], &["--executions", "1000000000", "./prog"]].concat();
            let tool = Tool::new(fixture.path(), endless);
            let time = Duration::from_millis(milliseconds);
            assert_obeys(tool, signal, &[100, 130], after(time));
        }
    }
}

#[test]
fn a_build_that_is_interrupted_leaves_nothing_running() {
    let fixture = Fixture::example("lost-update");
    let script = "fn main() {\n    let mut sleep = std::process::Command::new(\"sleep\");\n    \
                  sleep.arg(\"86413\").status().unwrap();\n}\n";
    fs::write(fixture.path().join("build.rs"), script).expect("a file can be written");
    for (command, signal) in [
        (&["test"][..], "-TERM"),
        (&["predict"], "-INT"),
        (&["list"], "-TERM"),
        (&["generate", "lost_update::Counter"], "-TERM"),
    ] {
        let tool = Tool::new(fixture.path(), command);
        assert_obeys(tool, signal, &[130], || is_running("86413"));
        let start = Instant::now();
        while is_running("86413") {
            assert!(start.elapsed() < Duration::from_secs(5), "{command:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let fixture = Fixture::compiled("bad-c", "slow.c");
    let make = |path: &str, what: &str| {
        let path = fixture.path().join(path);
        let _ = fs::remove_file(&path);
        let _ = fs::remove_dir_all(&path);
        match what {
            "a FIFO" => {
                let made = Command::new("mkfifo").arg(&path).status();
                assert!(made.is_ok_and(|status| status.success()));
            }
            "a directory" => fs::create_dir(&path).expect("a directory can be made"),
            _ => symlink("/dev/zero", &path).expect("a link can be made"),
        }
        path
    };
    let refused = |word: &str| {
        let start = Instant::now();
        let ended = Tool::new(fixture.path(), ["test", "--time", "60s", "./prog"]).run();
        assert_eq!(ended.status.code(), Some(2), "{ended:#?}");
        assert!(ended.stderr.contains(word), "{ended:#?}");
        assert_eq!(ended.stderr.trim().lines().count(), 1, "{ended:#?}");
        assert!(start.elapsed() < Duration::from_secs(10), "{ended:#?}");
    };
    for what in ["a FIFO", "a directory", "a device"] {
        let path = make("raddle.toml", what);
        refused(what);
        let _ = fs::remove_dir(&path);
        let _ = fs::remove_file(&path);
    }
    for what in ["a FIFO", "a device"] {
        let path = make("raddle-regressions", what);
        refused("directory");
        fs::remove_file(path).expect("it can be removed");
    }
    fs::create_dir(fixture.path().join("raddle-regressions")).expect("a directory can be made");
    for what in ["a FIFO", "a directory", "a device"] {
        make("raddle-regressions/x.schedule", what);
        refused(what);
    }
}
