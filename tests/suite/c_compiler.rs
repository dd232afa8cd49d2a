//! `raddle cc` and `raddle c++` are compilers like any other.

use std::fs;
use std::path::Path;
use std::process::Command;

use raddle_e2e::{Ended, Fixture, Tool};

/// A project in C.
fn project() -> Fixture {
    Fixture::special("make")
}

/// Runs the compiler and requires its exit code.
fn compile(fixture: &Fixture, arguments: &[&str], code: i32) -> Ended {
    let ended = Tool::new(fixture.path(), arguments).run();
    assert_eq!(ended.status.code(), Some(code), "{arguments:?}: {ended:#?}");
    ended
}

/// Whether a file is an ELF file, and neither bitcode nor missing.
fn is_elf(path: &Path) -> bool {
    fs::read(path).is_ok_and(|content| content.starts_with(b"\x7fELF"))
}

/// What a program prints when it is started by hand.
fn output(fixture: &Fixture, program: &str) -> String {
    let output = Command::new(fixture.path().join(program)).output();
    let output = output.expect("the program can be started");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn questions_are_answered_by_clang() {
    let fixture = project();
    let ended = compile(&fixture, &["cc", "--version"], 0);
    assert!(ended.stdout.contains("clang version"), "{ended:#?}");
    let ended = compile(&fixture, &["cc", "-E", "h.h", "-fno-tree-vectorize"], 0);
    assert!(
        ended.stdout.contains("extern int av, bv, sv;"),
        "{ended:#?}"
    );
    let ended = compile(&fixture, &["cc", "-MM", "main.c"], 0);
    assert_eq!(ended.stdout.trim(), "main.o: main.c h.h", "{ended:#?}");
    compile(&fixture, &["cc", "-S", "a.c", "-o", "a.s"], 0);
    let text = fs::read_to_string(fixture.path().join("a.s")).expect("an assembler file");
    assert!(!text.contains("__raddle"), "-S is clang's own: {text}");
}

#[test]
fn objects_are_elf_and_have_hooks() {
    let fixture = project();
    compile(&fixture, &["cc", "-c", "a.c", "b.c"], 0);
    compile(
        &fixture,
        &["cc", "-c", "-O0", "-o", "dir.o", "-x", "c", "s.c"],
        0,
    );
    for object in ["a.o", "b.o", "dir.o"] {
        let path = fixture.path().join(object);
        assert!(is_elf(&path), "{object}");
        let content = fs::read(path).expect("an object");
        let has_hooks = content.windows(14).any(|word| word == b"__raddle_flags");
        assert!(has_hooks, "{object}");
    }
    compile(&fixture, &["cc", "-c", "-o", "/dev/null", "a.c"], 0);
}

#[test]
fn errors_are_those_of_clang() {
    let fixture = project();
    fs::write(fixture.path().join("bad.c"), "int f( {\n").expect("a written file");
    let ended = compile(&fixture, &["cc", "-c", "bad.c"], 1);
    assert!(ended.stderr.contains("bad.c:1:8: error:"), "{ended:#?}");
    assert!(!fixture.path().join("bad.o").exists());
    let ended = compile(&fixture, &["cc", "-c", "missing.c"], 1);
    assert!(ended.stderr.contains("missing.c"), "{ended:#?}");
    let ended = compile(&fixture, &["cc", "-o", "x", "a.c"], 1);
    assert!(ended.stderr.contains("main"), "{ended:#?}");
}

#[test]
fn what_cannot_work_is_refused_with_a_sentence() {
    let fixture = project();
    for (arguments, words) in [
        (["cc", "-static", "ordered.c"], "dynamic C library"),
        (["cc", "-m32", "ordered.c"], "x86-64 programs only"),
    ] {
        let ended = compile(&fixture, &arguments, 101);
        assert!(ended.stderr.contains(words), "{ended:#?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:#?}");
    }
}

#[test]
fn without_clang_the_user_is_told_what_to_install() {
    let fixture = project();
    let tool =
        Tool::new(fixture.path(), ["cc", "-c", "a.c"]).env("PATH", fixture.path_without_clang());
    let ended = tool.run();
    assert_eq!(ended.status.code(), Some(69), "{ended:#?}");
    assert!(ended.stderr.contains("apt-get install clang"), "{ended:#?}");
}

#[test]
fn a_configure_script_and_make_work() {
    let fixture = project();
    // As configure does: compile, link and run a probe, and complain about any word on stderr.
    let probe = "#include <pthread.h>\nint main(void) { return pthread_self() == 0; }\n";
    fs::write(fixture.path().join("conftest.c"), probe).expect("a written file");
    let ended = compile(
        &fixture,
        &["cc", "-o", "conftest", "-g", "-O2", "conftest.c"],
        0,
    );
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""));
    output(&fixture, "conftest");
    // make calls the compiler as it calls any.
    let ended = Tool::started_by(
        &["sh", "-c", "make -s CC=\"$1 cc\"", "sh"],
        fixture.path(),
        [""],
    )
    .run();
    assert!(ended.status.success(), "{ended:#?}");
    assert_eq!(output(&fixture, "prog"), "2 2 2\n");
    let dependencies = fs::read_to_string(fixture.path().join("main.d")).expect("a .d file");
    assert!(
        dependencies.starts_with("main.o: main.c h.h"),
        "{dependencies}"
    );
}

#[test]
fn races_in_objects_archives_and_shared_libraries_are_named() {
    let fixture = project();
    Tool::started_by(
        &["sh", "-c", "make -s CC=\"$1 cc\"", "sh"],
        fixture.path(),
        [""],
    )
    .run();
    let run = fixture.check(&["test", "./prog"], 100);
    let mut places: Vec<_> = run.findings().iter().flat_map(|one| one.places()).collect();
    places.sort();
    places.dedup();
    assert_eq!(places, ["a.c:4", "b.c:4", "s.c:4"], "{run:#?}");
}

#[test]
fn a_source_that_llvm_refuses_is_named_and_makes_the_run_inconclusive() {
    let fixture = Fixture::compiled("bad-c", "refused.c");
    let options = ["test", "--executions", "20", "./prog"];
    let run = fixture.check(&options, 75);
    assert!(run.summary().explored > 0, "{run:#?}");
    assert_eq!(
        run.notes("LLVM refused to instrument refused.c of ./prog")
            .len(),
        1
    );
    let ended = Tool::new(fixture.path(), options).run();
    let words = "without what happens in refused.c, which could not be instrumented";
    assert!(ended.stdout.contains(words), "{ended:#?}");
    let allowed = [
        "test",
        "--allow-inconclusive",
        "--executions",
        "20",
        "./prog",
    ];
    fixture.check(&allowed, 0);
    // In a library of the program's too.
    let compile = |words: &[&str]| {
        let ended = Tool::new(fixture.path(), [&["cc", "-g", "-pthread"], words].concat()).run();
        assert!(ended.status.success(), "{ended:#?}");
    };
    fixture.edit("refused.c", |text| text.replace("int main", "int refused"));
    let main = "int refused(void);\nint main(void) { return refused(); }\n";
    std::fs::write(fixture.path().join("uses.c"), main).expect("a file can be written");
    compile(&["-fPIC", "-shared", "-o", "librefused.so", "refused.c"]);
    let uses = [
        "-o",
        "prog",
        "uses.c",
        "-L.",
        "-lrefused",
        "-Wl,-rpath,$ORIGIN",
    ];
    compile(&uses);
    let run = fixture.check(&options, 75);
    assert_eq!(
        run.notes("LLVM refused to instrument refused.c of ./prog")
            .len(),
        1
    );
}
