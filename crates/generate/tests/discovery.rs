//! What discovery finds in a crate with every shape that it has to know.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use raddle_abi::finding::Kind;
use raddle_generate::discovery::discover;
use raddle_generate::harness::Harness;
use raddle_generate::judge::Failure;
use raddle_generate::library::Library;
use raddle_generate::literal::Shown;
use raddle_generate::print::Printer;
use raddle_generate::program::{Program, Weakness};
use raddle_generate::test_case::{Call, TestCase};

/// Has rustdoc describe a crate, as the tool's wrapper does.
fn describe(name: &str, source: &Path, directory: &Path, others: &[String]) {
    let status = Command::new("rustdoc")
        .env("RUSTC_BOOTSTRAP", "1")
        .args([
            "-Zunstable-options",
            "--output-format=json",
            "--edition=2024",
        ])
        .args(["--cap-lints=allow", "--crate-name", name, "-o"])
        .arg(directory)
        .args(others)
        .arg(source)
        .status();
    assert!(status.expect("there is a rustdoc").success());
}

fn zoo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/zoo.rs")
}

fn described() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    describe("zoo", &zoo(), directory.path(), &[]);
    directory
}

/// What is found with these files of the user, one after the other.
fn supplied(files: &[&str], look: &mut dyn FnMut(usize, &Library)) {
    let directory = described();
    let metadata = directory.path().join("libzoo.rmeta");
    let status = Command::new("rustc")
        .args(["--edition=2024", "--crate-type=lib", "--emit=metadata"])
        .args(["--cap-lints=allow", "--crate-name=zoo", "-o"])
        .arg(&metadata)
        .arg(zoo())
        .status();
    assert!(status.expect("there is a rustc").success());
    let zoo = format!("zoo={}", metadata.display());
    let source = directory.path().join("harness.rs");
    for (number, file) in files.iter().enumerate() {
        std::fs::write(&source, file).expect("the file can be written");
        let others = ["--extern".to_owned(), zoo.clone()];
        describe("raddle_harness", &source, directory.path(), &others);
        look(number, &Library::open(directory.path().to_owned()));
    }
}

#[test]
fn what_the_user_supplies_is_used() {
    let file = include_str!("data/zoo_harness.rs");
    let right = file.replace("pub mod update", "mod update");
    supplied(&[&right, file], &mut |number, library| {
        let text = shown(library, "zoo::Usual");
        if number == 0 {
            insta::assert_snapshot!("supplied", text);
            let calls: [&[&str]; 2] = [&["own", "primitives"], &["pointer", "shared", "text"]];
            let test = printed(library, "zoo::Usual", calls, false);
            insta::assert_snapshot!("supplied_printed", test);
        } else {
            assert!(text.contains("`update` has no argument `nobody`"), "{text}");
            // It is no mistake for a type without such a method.
            assert!(shown(library, "zoo::Results").contains("look() -> u32"));
        }
    });
}

#[test]
fn what_means_nothing_is_named() {
    let cases = [
        ("pub fn act() {}", "`act` means nothing: it gives neither"),
        (
            "pub fn any<T>() -> Vec<T> { vec![] }",
            "`any` means nothing: it is generic",
        ),
        (
            "pub unsafe fn one() -> u8 { 1 }",
            "`one` means nothing: it is an `unsafe fn`",
        ),
        (
            "pub async fn one() -> u8 { 1 }",
            "`one` means nothing: it is an `async fn`",
        ),
        (
            "pub mod put { pub fn value() {} }",
            "`put::value` means nothing: it gives no values",
        ),
        (
            "pub mod a { pub mod b { pub fn c() -> u8 { 1 } } }",
            "`a::b::c` means nothing: it stands in a module of a module",
        ),
    ];
    let files = cases.map(|(file, _)| file);
    supplied(&files, &mut |number, library| {
        let (file, words) = cases[number];
        let text = shown(library, "zoo::Usual");
        assert!(text.contains(words), "{file}: {text}");
    });
}

fn shown(library: &Library, name: &str) -> String {
    let mut text = format!("{name}\n");
    match discover(library, name) {
        Ok(found) => {
            let _ = writeln!(text, "  is {}", found.parts.join(" and "));
            if found.holdings.iter().any(|holding| holding.is_own()) {
                let _ = writeln!(text, "  held {:?}", found.holdings);
            }
            for constructor in &found.constructors {
                let _ = writeln!(text, "  made by {}", constructor.label);
            }
            for operation in &found.operations {
                let class = operation.class.word();
                let _ = writeln!(text, "  {} ({class})", operation.signature);
                let _ = writeln!(text, "      {}", operation.body);
            }
            for refused in &found.refused {
                let _ = writeln!(text, "  not {}: {}", refused.signature, refused.why);
            }
        }
        Err(error) => {
            let _ = writeln!(text, "  {error}");
        }
    }
    text
}

#[test]
fn every_shape_is_known() {
    let directory = described();
    let library = Library::open(directory.path().to_owned());
    for name in [
        "Receivers",
        "Arguments<u32, String>",
        "Results",
        "Pot<true>",
        "Outer<u32>",
        "Hub<u32>",
        "Worker<u32>",
        "Writer<u32>",
        "Half",
        "Head<u32>",
        "Desk",
    ] {
        let text = shown(&library, &format!("zoo::{name}"));
        let snapshot = name.split('<').next().unwrap_or(name).to_lowercase();
        insta::assert_snapshot!(snapshot, text);
    }
    let others = [
        "zoo::Sender<u32>",
        "zoo::Usual",
        "zoo::Bold",
        "zoo::prelude::Shy",
        "zoo::Words",
        "zoo::Copied<u32>",
        "zoo::Thief<u32>",
        "zoo::Lonely",
        "zoo::look_up",
    ];
    let others = others.map(|name| {
        let text = shown(&library, name);
        text.lines()
            .filter(|line| !line.starts_with("      "))
            .take(6)
            .fold(String::new(), |all, line| all + line + "\n")
    });
    insta::assert_snapshot!("others", others.concat());
}

#[test]
fn what_is_polled_again_and_again_binds_nobody() {
    let directory = described();
    let library = Library::open(directory.path().to_owned());
    let found = discover(&library, "zoo::Receivers").expect("there is such a type");
    let program = Program::new(&found, &Harness::new(&found));
    let weakness = |name: &str| {
        let mut methods = program.methods.values();
        methods
            .find(|method| method.name == name)
            .map(|method| method.weakness)
    };
    assert_eq!(weakness("later"), Some(Weakness::Bulk));
    assert_eq!(weakness("in_arc"), Some(Weakness::None));
    // So does what lies behind a function, and whatever ends with a handle.
    for (name, operation) in [
        ("zoo::look_up", "look_up"),
        ("zoo::Head<u32>", "drop(Tail)"),
    ] {
        let found = discover(&library, name).expect("it is there");
        let program = Program::new(&found, &Harness::new(&found));
        let mut methods = program.methods.values();
        let method = methods.find(|method| method.name == operation);
        assert_eq!(method.map(|method| method.weakness), Some(Weakness::Bulk));
    }
}

#[test]
fn names_that_lead_nowhere_are_explained() {
    let directory = described();
    let library = Library::open(directory.path().to_owned());
    let names = [
        "zoo::Nobody",
        "zoo::inner::Shy",
        "zoo::Named",
        "zoo::seal",
        "zoo::Sealed",
        "Receivers",
        "zoo::",
        "&zoo::Results",
        "zoo::wrong::Results",
    ];
    let text = names.map(|name| shown(&library, name));
    insta::assert_snapshot!("nowhere", text.concat());
}

/// The test in which two threads call these operations, on a new object.
fn printed(library: &Library, name: &str, calls: [&[&str]; 2], right: bool) -> String {
    let found = discover(library, name).expect("there is such a type");
    let program = Program::new(&found, &Harness::new(&found));
    let printer = Printer {
        discovery: &found,
        program: &program,
        shown: Shown::from([((1, 1), "7".to_owned())]),
    };
    let call = |name: &&str| {
        let place = found
            .operations
            .iter()
            .position(|operation| operation.name == *name);
        Call {
            operation: place.expect("there is such an operation") as u16,
            bytes: vec![1, 2, 3, 1, 2, 3],
        }
    };
    let test = TestCase {
        prefix: calls[0].iter().take(1).map(call).collect(),
        threads: calls.map(|calls| calls.iter().map(call).collect()).to_vec(),
        ..TestCase::default()
    };
    let failure = Failure {
        kind: Kind::Linearizability,
        text: "no order explains it".to_owned(),
        key: String::new(),
        sites: Vec::new(),
        execution: 0,
        is_certain: true,
    };
    let results = vec![vec!["None".to_owned()], Vec::new(), Vec::new()];
    let results = right.then(|| BTreeSet::from([results]));
    printer.print(&test, &failure, results.as_ref(), None)
}

#[test]
fn tests_are_written_as_people_write_them() {
    let directory = described();
    let library = Library::open(directory.path().to_owned());
    let texts = [
        printed(
            &library,
            "zoo::Results",
            [&["guard", "entry.set"], &["write_guard.write", "all"]],
            false,
        ),
        printed(
            &library,
            "zoo::Sender<u32>",
            [&["send"], &["receive"]],
            true,
        ),
        printed(
            &library,
            "zoo::Usual",
            [&["own", "many"], &["update", "make", "text"]],
            true,
        ),
        printed(
            &library,
            "zoo::Receivers",
            [&["in_arc", "by_arc"], &["Read::read", "later"]],
            false,
        ),
        printed(
            &library,
            "zoo::Pot<true>",
            [&["pour", "level"], &["share"]],
            false,
        ),
        printed(
            &library,
            "zoo::Head<u32>",
            [&["put", "drop(Tail)"], &["put", "drop(Head)"]],
            false,
        ),
        printed(
            &library,
            "zoo::Thief<u32>",
            [&["steal", "drop(Thief)"], &["pop", "push", "finish"]],
            false,
        ),
        printed(
            &library,
            "zoo::Worker<u32>",
            [&["pop", "push"], &["steal"]],
            true,
        ),
        printed(&library, "zoo::look_up", [&["look_up"], &["look_up"]], true),
        printed(
            &library,
            "zoo::Hub<u32>",
            [&["count"], &["drop", "new", "Clone::clone"]],
            false,
        ),
    ];
    insta::assert_snapshot!("printed", texts.join("\n"));
}

#[test]
fn what_calls_return_becomes_a_variable_of_a_test() {
    let directory = described();
    let library = Library::open(directory.path().to_owned());
    let texts = [
        // What depends on the schedule may not be there.
        printed(
            &library,
            "zoo::Desk",
            [&["take", "look", "place", "at"], &["swap", "look"]],
            true,
        ),
        // What is not copied is kept until the end, and cloned for whoever uses it.
        printed(
            &library,
            "zoo::Desk",
            [&["try_tag", "tagged"], &["tag_all", "tagged"]],
            false,
        ),
    ];
    insta::assert_snapshot!("remembered", texts.join("\n"));
}
