//! `raddle test ./prog`: programs that cargo does not build.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

use raddle_e2e::{Fixture, Line, Run, Tool};

/// A project with this source compiled to `prog`.
fn built(compiler: &str, source: &str) -> Fixture {
    let fixture = Fixture::special("make");
    compile(&fixture, compiler, &[source]);
    fixture
}

/// Compiles these files to `prog`.
fn compile(fixture: &Fixture, compiler: &str, files: &[&str]) {
    let flags = [compiler, "-g", "-O1", "-pthread", "-o", "prog"];
    let ended = Tool::new(fixture.path(), flags.iter().chain(files)).run();
    assert!(ended.status.success(), "{ended:#?}");
}

/// Compiles without us.
fn plain_cc(fixture: &Fixture, arguments: &[&str]) {
    let mut cc = Command::new("cc");
    let status = cc.args(arguments).current_dir(fixture.path()).status();
    assert!(status.is_ok_and(|status| status.success()), "{arguments:?}");
}

fn notes(run: &Run) -> Vec<&str> {
    let notes = run.lines.iter().filter_map(|line| match line {
        Line::Note { text } => Some(text.as_str()),
        _ => None,
    });
    notes.collect()
}

#[test]
fn a_correct_program_is_clean() {
    let run = built("cc", "ordered.c").check(&["test", "./prog"], 0);
    let test = run.test("./prog");
    assert_eq!(test.verdict, "explored", "{run:#?}");
    let is_searched = test.exhaustive.is_some() && test.executions >= 500;
    assert!(is_searched || test.executions >= 1000, "{run:#?}");
}

/// A project with `ticks.c` compiled to `prog`.
fn ticking(flags: &[&str]) -> Fixture {
    let fixture = Fixture::special("make");
    let arguments = ["cc", "-g", "-O1", "-o", "prog", "ticks.c"];
    let ended = Tool::new(fixture.path(), arguments.iter().chain(flags)).run();
    assert!(ended.status.success(), "{ended:#?}");
    fixture
}

#[test]
fn a_program_that_differs_from_run_to_run_is_not_testable_and_the_place_is_named() {
    let run = ticking(&[]).check(&["test", "./prog"], 75);
    let test = run.test("./prog");
    assert_eq!(test.verdict, "not-testable", "{run:#?}");
    let why = test.why.as_deref().unwrap_or_default();
    assert!(why.contains("runs with the same schedule differ"), "{why}");
    assert!(why.contains("ticks.c:27 in main"), "{why}");
}

/// A server that answers every byte, a little later each time; returns its port.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for (number, client) in listener.incoming().flatten().enumerate() {
            thread::spawn(move || {
                let mut client = client;
                let mut question = [0];
                while client.read_exact(&mut question).is_ok() {
                    thread::sleep(Duration::from_micros(100 * (number as u64 % 4)));
                    if client.write_all(b"!").is_err() {
                        break;
                    }
                }
            });
        }
    });
    port
}

#[test]
fn how_soon_a_server_answers_makes_no_difference() {
    let port = server().to_string();
    let fixture = built("cc", "asks.c");
    let run = fixture.check(&["test", "--executions", "100", "./prog", &port], 100);
    assert_eq!(run.test("./prog").verdict, "explored", "{run:#?}");
    let findings = run.findings();
    assert!(!findings.is_empty(), "{run:#?}");
    for finding in findings {
        assert_eq!(finding.kind, "data-race", "{run:#?}");
        assert_eq!(finding.sites[0].file, "asks.c", "{run:#?}");
    }
}

#[test]
fn a_program_that_differs_only_when_interleaved_gets_a_note_with_the_place() {
    let fixture = ticking(&["-DINTERLEAVED"]);
    let run = fixture.check(&["test", "--executions", "200", "./prog"], 0);
    assert_eq!(run.test("./prog").verdict, "explored", "{run:#?}");
    let notes = notes(&run);
    let differs = |note: &&str| {
        // The run that takes the branch goes on at its operation, the other one behind it.
        let places = ["ticks.c:27 in main", "ticks.c:28 in main"];
        note.contains("executions with the same schedule differ")
            && places.iter().any(|place| note.contains(place))
    };
    assert!(notes.iter().any(differs), "{notes:#?}");
}

#[test]
fn crossed_locks_are_found_replayed_and_kept() {
    let fixture = built("cc", "crossed.c");
    let run = fixture.check(&["test", "./prog"], 100);
    let finding = run.finding();
    assert_eq!(finding.kind, "deadlock", "{finding:#?}");
    let places = finding.places();
    assert!(places.contains(&"crossed.c:9".to_owned()), "{finding:#?}");
    assert!(places.contains(&"crossed.c:19".to_owned()), "{finding:#?}");
    fixture.check(&["replay", &finding.id, "--times", "10"], 100);
    fixture.check(&["keep", &finding.id], 0);
    let again = fixture.check(&["test", "--executions", "1", "./prog"], 100);
    assert_eq!(again.finding().id, finding.id);
}

#[test]
fn cxx_programs_read_their_input_and_have_readable_names() {
    let fixture = built("c++", "sums.cpp");
    fs::write(fixture.path().join("numbers"), "1 2 3\n").expect("a written file");
    let arguments = ["test", "--stdin", "numbers", "--executions", "50", "./prog"];
    let run = fixture.check(&arguments, 100);
    assert!(
        run.findings().iter().all(|one| one.kind == "data-race"),
        "{run:#?}"
    );
    let functions = run.findings()[0].sites.clone();
    assert!(
        functions
            .iter()
            .all(|site| site.function == "sums::Total::add"),
        "{functions:#?}"
    );
    // Without the input the program ends before it starts a thread.
    let run = fixture.check(&["test", "./prog"], 101);
    assert_eq!(run.test("./prog").verdict, "failed", "{run:#?}");
}

#[test]
fn a_program_may_say_something_by_its_exit_code() {
    let fixture = built("cc", "matches.c");
    let run = fixture.check(&["test", "./prog"], 101);
    assert_eq!(run.test("./prog").verdict, "failed", "{run:#?}");
    let run = fixture.check(&["test", "--exit-code", "2", "./prog"], 100);
    let finding = run.finding();
    assert_eq!(finding.kind, "panic", "{run:#?}");
    assert!(finding.title.contains("code 1"), "{finding:#?}");
    // Which code means success is remembered with the finding.
    fixture.check(&["replay", &finding.id, "--times", "10"], 100);
    // Only one code is success.
    let run = fixture.check(&["test", "--exit-code", "1", "./prog"], 100);
    assert!(run.finding().title.contains("code 2"), "{run:#?}");
}

#[test]
fn a_program_built_without_us_is_run_with_a_note() {
    let fixture = Fixture::special("make");
    plain_cc(&fixture, &["-o", "prog", "crossed.c", "-lpthread"]);
    let run = fixture.check(&["test", "./prog"], 100);
    assert_eq!(run.finding().kind, "deadlock", "{run:#?}");
    let said = notes(&run)
        .into_iter()
        .filter(|text| text.contains("preloaded"));
    assert_eq!(said.count(), 1, "{run:#?}");
}

#[test]
fn results_go_where_the_user_says() {
    let fixture = built("cc", "crossed.c");
    let run = fixture.check(&["test", "--results", "out", "./prog"], 100);
    let id = run.finding().id.clone();
    assert!(fixture.path().join("out/findings").is_dir());
    assert!(!fixture.path().join("raddle-results").exists());
    fixture.check(&["replay", "--results", "out", &id], 100);
}

#[test]
fn programs_can_be_listed() {
    let run = built("cc", "ordered.c").check(&["list", "./prog"], 0);
    let listed = |line: &Line| matches!(line, Line::Listed { test, .. } if test == "./prog");
    assert!(run.lines.iter().any(listed), "{run:#?}");
}

#[test]
fn files_that_are_no_programs_get_one_sentence() {
    let fixture = Fixture::special("make");
    let write = |name: &str, content: &[u8], mode| {
        let path = fixture.path().join(name);
        fs::write(&path, content).expect("a written file");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
    };
    // The beginning of a 32-bit executable for Intel's processors.
    let mut old = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x03\0".to_vec();
    old.resize(64, 0);
    write("old", &old, 0o755);
    write("script", b"#!/bin/sh\n", 0o755);
    write("text", b"hello", 0o644);
    plain_cc(
        &fixture,
        &["-static", "-o", "static", "ordered.c", "-lpthread"],
    );
    for (program, code, words) in [
        ("./missing", 2, "no such file"),
        ("./text", 2, "not executable"),
        ("./script", 2, "not an elf program"),
        ("./old", 69, "32-bit"),
        ("./static", 69, "statically"),
    ] {
        let run = fixture.check(&["test", program], code);
        run.assert_says(&[words]);
    }
    let run = fixture.check(&["test", "--stdin", "x", "filter"], 2);
    run.assert_says(&["--stdin"]);
}

#[test]
fn c_in_a_rust_crate_is_instrumented() {
    let fixture = Fixture::special("native");
    let run = fixture.check(&["test", "--locked"], 100);
    assert!(!run.findings().is_empty());
    for finding in run.findings() {
        assert_eq!(finding.kind, "data-race", "{run:#?}");
        assert!(
            finding
                .sites
                .iter()
                .all(|site| site.file == "src/counter.c"),
            "{finding:#?}"
        );
    }
    assert!(
        notes(&run).iter().all(|text| !text.contains("native code")),
        "{run:#?}"
    );
}

#[test]
fn without_clang_rust_works_and_native_code_is_named() {
    let fixture = Fixture::special("native");
    // Not an object that another run has already seen with clang.
    fixture.edit("src/counter.c", |text| {
        format!("{text}int unused_number = 1;\n")
    });
    let tool = Tool::new(fixture.path(), ["test", "--message-format", "json"])
        .env("PATH", fixture.path_without_clang());
    let run = fixture.check_tool(tool, 0);
    assert_eq!(run.test("two_threads_add").verdict, "explored", "{run:#?}");
    let said: Vec<_> = notes(&run)
        .into_iter()
        .filter(|text| text.contains("native code"))
        .collect();
    assert_eq!(said.len(), 1, "{run:#?}");
    assert!(
        said[0].contains("libcounter.a") || said[0].contains("libnative.rlib"),
        "{said:?}"
    );
    assert!(said[0].contains("apt-get install clang"), "{said:?}");
}

#[test]
fn assembly_of_a_crate_is_named() {
    let fixture = Fixture::special("assembly");
    let run = fixture.check(&["test", "--executions", "100"], 0);
    assert_eq!(
        run.test("tests::two_threads_add").verdict,
        "explored",
        "{run:#?}"
    );
    let told = notes(&run);
    let told = told
        .iter()
        .any(|text| text.contains("native code in the assembly of assembly is not instrumented"));
    assert!(told, "{run:#?}");
}

#[test]
fn code_that_synchronises_unseen_makes_races_uncertain() {
    let fixture = Fixture::special("make");
    plain_cc(&fixture, &["-O1", "-c", "handover.c", "-o", "handover.o"]);
    compile(&fixture, "cc", &["handed.c", "handover.o"]);
    let run = fixture.check(&["test", "--executions", "100", "./prog"], 0);
    assert_eq!(run.test("./prog").verdict, "explored", "{run:#?}");
    let told = notes(&run).iter().any(|note| note.contains("handover.o"));
    assert!(told, "{run:#?}");
    let all = ["test", "--executions", "100", "--races", "all", "./prog"];
    assert_eq!(fixture.check(&all, 100).finding().kind, "data-race");
    // The same code, instrumented, is seen to order the accesses.
    compile(&fixture, "cc", &["handed.c", "handover.c"]);
    let run = fixture.check(&["test", "--executions", "100", "./prog"], 0);
    assert!(
        !notes(&run).iter().any(|note| note.contains("handover")),
        "{run:#?}"
    );
}

#[test]
fn a_lock_that_was_freed_is_a_use_after_free() {
    let run = built("cc", "freed.c").check(&["test", "./prog"], 100);
    let finding = run
        .findings()
        .into_iter()
        .find(|f| f.kind == "use-after-free");
    let finding = finding.unwrap_or_else(|| panic!("{run:#?}"));
    let places = finding.places();
    let is_in_take = |place: &String| place == "freed.c:8" || place == "freed.c:9";
    assert!(places.iter().any(is_in_take), "{finding:#?}");
}

#[test]
fn a_test_ends_with_as_many_findings_as_wanted() {
    let fixture = built("cc", "crossed.c");
    let run = fixture.check(&["test", "--max-findings", "1", "./prog"], 100);
    let explored = run.test("./prog").executions;
    assert!(explored < 500, "{run:#?}");
    assert!(run.finding().executions <= explored, "{run:#?}");
    // What is ignored is not counted.
    fs::write(
        fixture.path().join("raddle.toml"),
        "[[ignore]]\nkind = \"deadlock\"\nfunction = \"*\"\nreason = \"known\"\n",
    )
    .expect("a written file");
    let run = fixture.check(&["test", "--max-findings", "1", "./prog"], 0);
    assert!(run.test("./prog").executions >= 500, "{run:#?}");
}
