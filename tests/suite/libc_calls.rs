//! What functions of libc do to memory is seen as if the program did it itself.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use raddle_e2e::{Fixture, Line, Run, Tool, skip};

fn calls() -> Fixture {
    Fixture::compiled("libc", "calls.c")
}

/// The lines of `calls.c` at which a case accesses its block, with the case.
fn cases(fixture: &Fixture) -> Vec<(String, usize)> {
    let source = fs::read_to_string(fixture.path().join("calls.c")).expect("the source");
    let case = |(line, text): (usize, &str)| {
        let rest = ["CASE(", "WIDE("]
            .iter()
            .find_map(|start| text.strip_prefix(start))?;
        let (name, call) = rest.split_once(", ")?;
        // Calls of helpers stand elsewhere, with a comment.
        let is_here = !["from_", "into_", "by_", "formatted"]
            .iter()
            .any(|helper| call.contains(helper));
        is_here.then(|| (name.to_owned(), line + 1))
    };
    let marked = |(line, text): (usize, &str)| {
        let (_, rest) = text.split_once("/* in ")?;
        Some((rest.split_once(" */")?.0.to_owned(), line + 1))
    };
    let lines = || source.lines().enumerate();
    lines()
        .filter_map(case)
        .chain(lines().filter_map(marked))
        .collect()
}

#[test]
fn every_call_takes_part_in_races() {
    let fixture = calls();
    let arguments = [
        "test",
        "--executions",
        "60",
        "--max-findings",
        "1000",
        "./prog",
        "race",
    ];
    let run = fixture.check(&arguments, 100);
    let findings = run.findings();
    assert!(
        findings.iter().all(|one| one.kind == "data-race"),
        "{run:#?}"
    );
    let places: BTreeSet<String> = findings.iter().flat_map(|one| one.places()).collect();
    let missing: Vec<_> = cases(&fixture)
        .into_iter()
        .filter(|(_, line)| !places.contains(&format!("calls.c:{line}")))
        // One finding stands for the races of two functions.
        .filter(|(name, _)| !SAME_FUNCTION.contains(&name.as_str()))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}\n{places:#?}");
}

/// Cases in a function that has another one before them.
const SAME_FUNCTION: &[&str] = &[
    "writev", "readv", "recv", "send", "sendmsg", "recvmsg", "fgets", "fread", "fputs", "fwrite",
    "fprintf", "fscanf",
];

#[test]
fn calls_under_a_lock_are_quiet() {
    let run = calls().check(&["test", "--executions", "300", "./prog", "ordered"], 0);
    assert_eq!(run.test("./prog").verdict, "explored", "{run:#?}");
}

#[test]
fn a_call_touches_only_what_the_standard_makes_it_touch() {
    for level in ["-O0", "-O1", "-O2"] {
        let fixture = Fixture::compiled_with("libc", "lengths.c", level);
        let run = fixture.check(&["test", "--executions", "300", "./prog"], 0);
        assert_eq!(run.test("./prog").verdict, "explored", "{run:#?}");
    }
}

/// One or two of each class of functions.
const CLASSES: &[&str] = &[
    "strlen",
    "strcpy_to",
    "strncpy",
    "strcat",
    "strcmp",
    "strchr",
    "strstr",
    "strdup",
    "memchr",
    "memccpy",
    "bcopy",
    "wcslen",
    "wcscpy",
    "wmemset",
    "atoi",
    "strtol",
    "sprintf",
    "snprintf_to",
    "snprintf_from",
    "vsnprintf_to",
    "vsnprintf_from",
    "printed_count",
    "sscanf_number",
    "sscanf_text",
    "qsort",
    "read",
    "write",
    "readv",
    "writev",
    "recv",
    "send",
    "recvmsg",
    "sendmsg",
    "fgets",
    "fread",
    "fputs",
    "fwrite",
    "fprintf",
    "puts",
    "time",
    "gettimeofday",
    "localtime_r",
    "strftime",
    "stat",
    "getcwd",
    "realpath",
];

#[test]
fn a_call_that_may_come_after_the_free_is_found() {
    let fixture = calls();
    for case in CLASSES {
        let run = fixture.check(
            &["test", "--executions", "60", "./prog", "after-free", case],
            100,
        );
        assert_eq!(run.finding().kind, "use-after-free", "{case}: {run:#?}");
        let run = fixture.check(
            &["test", "--executions", "60", "./prog", "before-free", case],
            0,
        );
        assert_eq!(run.test("./prog").verdict, "explored", "{case}: {run:#?}");
    }
}

#[test]
fn a_call_that_goes_beyond_its_block_is_found() {
    let fixture = calls();
    for case in CLASSES {
        let run = fixture.check(
            &["test", "--executions", "60", "./prog", "beyond", case],
            101,
        );
        let why = run.test("./prog").why.clone().unwrap_or_default();
        assert!(why.contains("beyond a heap block"), "{case}: {why}");
    }
}

#[test]
fn a_call_that_crashes_is_named() {
    let fixture = Fixture::compiled("libc", "null.c");
    let source = fs::read_to_string(fixture.path().join("null.c")).expect("the source");
    let line = source
        .lines()
        .position(|text| text.ends_with("/* crashes */"));
    let place = format!("null.c:{}", line.expect("a mark") + 1);
    // No address, and one that nothing is mapped at.
    for address in ["0", "4096000000000"] {
        let run = fixture.check(&["test", "--executions", "60", "./prog", address], 100);
        let finding = run.finding();
        assert_eq!(finding.kind, "crash", "{run:#?}");
        assert_eq!(finding.places().first(), Some(&place), "{finding:#?}");
    }
}

fn outcomes(fixture: &Fixture, case: &str) -> (BTreeSet<String>, bool, Vec<String>) {
    let options = [
        "test",
        "--outcomes",
        "--strategy",
        "exhaustive(20)",
        "--executions",
        "100000",
        "--races",
        "off",
        "--heap",
        "off",
        "./prog",
        case,
    ];
    let run = fixture.check(&options, 0);
    let test = run.test("./prog");
    let outputs = test.outcomes.iter().map(|outcome| outcome.output.clone());
    let notes = run.lines.iter().filter_map(|line| match line {
        Line::Note { text } => Some(text.clone()),
        _ => None,
    });
    (outputs.collect(), test.complete, notes.collect())
}

#[test]
fn searches_see_every_outcome_of_calls() {
    let fixture = Fixture::compiled("libc", "outcomes.c");
    let expected = [
        ("set", &["c 1", "c 2"][..], true),
        ("print", &["c7 2", "c7 2"], true),
        ("append", &["abc 0", "abcc 0"], true),
        ("count", &["2 0", "3 0"], true),
        ("long", &["c 1", "c 36"], false),
    ];
    for (case, outputs, is_complete) in expected {
        let (seen, complete, notes) = outcomes(&fixture, case);
        let outputs: BTreeSet<String> = outputs.iter().map(|text| (*text).to_owned()).collect();
        assert_eq!(seen, outputs, "{case}");
        assert_eq!(complete, is_complete, "{case}: {notes:#?}");
    }
}

#[test]
fn functions_of_the_program_with_names_of_libcs_are_its_own() {
    let fixture = Fixture::special("libc");
    let compile = [
        "cc",
        "-g",
        "-O1",
        "-pthread",
        "-o",
        "prog",
        "uses-own.c",
        "own.c",
    ];
    let ended = Tool::new(fixture.path(), compile).run();
    assert!(ended.status.success(), "{ended:#?}");
    fixture.check(&["test", "--executions", "200", "./prog"], 0);
}

fn cxx(fixture: &Fixture) -> bool {
    let compile = [
        "c++",
        "-g",
        "-O1",
        "-pthread",
        "-o",
        "prog",
        "invokes.cpp",
        "-latomic",
    ];
    let ended = Tool::new(fixture.path(), compile).run();
    ended.status.success()
}

#[test]
fn code_that_is_not_instrumented_keeps_a_search_from_being_exhaustive() {
    let fixture = Fixture::special("libc");
    let prebuilt = [
        "-shared",
        "-fPIC",
        "-O1",
        "-o",
        "libprebuilt.so",
        "prebuilt.c",
    ];
    let mut cc = Command::new("cc");
    let built = cc.args(prebuilt).current_dir(fixture.path()).status();
    assert!(built.is_ok_and(|status| status.success()));
    let search = |sources: &[&str]| {
        let flags = [
            "cc",
            "-g",
            "-O1",
            "-pthread",
            "-o",
            "prog",
            "uses-prebuilt.c",
        ];
        let rpath = "-Wl,-rpath,$ORIGIN";
        let arguments = [&flags[..], sources, &[rpath]].concat();
        let ended = Tool::new(fixture.path(), arguments).run();
        assert!(ended.status.success(), "{ended:#?}");
        fixture
            .check(&["test", "./prog"], 0)
            .test("./prog")
            .complete
    };
    assert!(search(&["prebuilt.c"]));
    assert!(!search(&["-L.", "-lprebuilt"]));
}

#[test]
fn what_a_call_that_may_unwind_has_written_is_seen() {
    let fixture = Fixture::special("libc");
    if !cxx(&fixture) {
        return skip("there is no libatomic");
    }
    let run = fixture.check(&["test", "--executions", "100", "./prog", "race"], 100);
    assert_eq!(run.finding().kind, "data-race", "{run:#?}");
    fixture.check(&["test", "--executions", "200", "./prog", "apart"], 0);
}

#[test]
fn operations_of_libatomic_synchronise() {
    let fixture = Fixture::special("libc");
    if !cxx(&fixture) {
        return skip("there is no libatomic");
    }
    let run: Run = fixture.check(&["test", "--executions", "300", "./prog", "atomic"], 0);
    assert_eq!(run.test("./prog").verdict, "explored", "{run:#?}");
}

#[test]
fn calls_of_rust_programs_and_of_std_are_seen() {
    let fixture = Fixture::special("libc-crate");
    let line = |mark: &str| {
        let source = fs::read_to_string(fixture.path().join("src/lib.rs")).expect("the source");
        let ends = |text: &str| text.ends_with(&format!("// {mark}"));
        let line = source.lines().position(ends).expect("a mark");
        format!("src/lib.rs:{}", line + 1)
    };
    let find = |test: &str, kind: &str, marks: &[&str]| {
        let run = fixture.check(&["test", test], 100);
        let findings = run.findings();
        let finding = findings.iter().find(|one| one.kind == kind);
        let finding = finding.unwrap_or_else(|| panic!("{test}: {run:#?}"));
        let texts: Vec<String> = finding.places();
        for mark in marks {
            assert!(texts.contains(&line(mark)), "{test}: {mark} in {texts:#?}");
        }
    };
    find("compared_while_it_is_set", "data-race", &["set", "is"]);
    find(
        "measured_while_a_number_is_written",
        "data-race",
        &["number", "len"],
    );
    find("used_after_its_release", "use-after-free", &["len"]);
    let run = fixture.check(&["test", "written_beyond_its_end"], 101);
    let why = run.tests()[0].why.clone().unwrap_or_default();
    assert!(why.contains("beyond a heap block of 16 bytes"), "{why}");
    fixture.check(&["test", "used_in_order"], 0);
}
