//! Where cargo puts what it builds is cargo's business, and what LLVM refuses is told.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use raddle_e2e::{Fixture, Run, Tool};

/// Runs the tool with machine output under cargo's layout of intermediate files by package.
fn with_new_layout(fixture: &Fixture, arguments: &[&str], code: i32) -> Run {
    let (command, rest) = arguments.split_at(1);
    let words = [command, &["--message-format", "json"], rest].concat();
    let tool = Tool::new(fixture.path(), words)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_UNSTABLE_BUILD_DIR_NEW_LAYOUT", "true");
    fixture.check_tool(tool, code)
}

/// Whether some file below a directory satisfies this.
fn find(directory: &Path, wanted: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).find_map(|path| {
        if path.is_dir() && !path.is_symlink() {
            return find(&path, wanted);
        }
        wanted(&path).then_some(path)
    })
}

#[test]
fn tests_and_programs_of_the_new_build_directory_are_found_and_replayed() {
    let fixture = Fixture::example("lost-update");
    let run = with_new_layout(&fixture, &["test"], 100);
    assert!(run.summary().executions > 0, "{run:#?}");
    let is_new = |path: &Path| path.to_string_lossy().contains("/build/lost-update/");
    let new = find(&fixture.path().join("target/raddle"), &is_new);
    assert!(new.is_some(), "cargo has no new layout any more");
    with_new_layout(&fixture, &["replay", &run.finding().id], 100);
    // A program has a second name, in another directory.
    let fixture = Fixture::special("programs");
    let arguments = ["test", "--bin", "programs", "--", "2"];
    let run = with_new_layout(&fixture, &arguments, 100);
    assert_eq!(run.finding().kind, "panic", "{run:#?}");
    with_new_layout(&fixture, &["replay", &run.finding().id], 100);
    let is_map = |path: &Path| path.ends_with("debug/programs.raddle-map");
    let map = find(&fixture.path().join("target/raddle"), &is_map);
    assert!(map.is_some(), "the program's map stands beside it");
}

#[test]
fn types_are_tested_and_replayed_in_the_new_build_directory() {
    let fixture = Fixture::special("types");
    let arguments = ["generate", "types::Basket", "--time", "20s"];
    let run = with_new_layout(&fixture, &arguments, 100);
    let is_new = |path: &Path| path.to_string_lossy().contains("/build/types/");
    let new = find(&fixture.path().join("target/raddle"), &is_new);
    assert!(new.is_some(), "cargo has no new layout any more");
    with_new_layout(&fixture, &["replay", &run.findings()[0].id], 100);
}

#[test]
fn a_crate_that_llvm_refuses_is_named_and_makes_the_run_inconclusive() {
    let fixture = Fixture::example("correct");
    let symbol = format!("unique_{}", std::process::id());
    let test = format!(
        "#[unsafe(no_mangle)]\npub extern \"C\" fn {symbol}() {{}}\n#[test]\nfn joined() {{\n    \
         {symbol}();\n    std::thread::spawn(|| std::thread::yield_now()).join().unwrap();\n}}\n"
    );
    fs::create_dir_all(fixture.path().join("tests")).expect("a directory can be made");
    fs::write(fixture.path().join("tests/refused.rs"), test).expect("a file can be written");
    let since = SystemTime::now() - Duration::from_secs(1);
    let arguments = ["test", "--test", "refused", "--executions", "20"];
    fixture.check(&arguments, 0);
    // As if LLVM had refused the module with this symbol.
    let is_it = |path: &Path| {
        let changed = path.metadata().and_then(|metadata| metadata.modified());
        let is_object = path.extension().is_some_and(|extension| extension == "o");
        is_object
            && changed.is_ok_and(|changed| changed > since)
            && fs::read(path).is_ok_and(|content| {
                let needle = symbol.as_bytes();
                content.windows(needle.len()).any(|window| window == needle)
            })
    };
    let object = find(&raddle_e2e::cache(), &is_it).expect("the object is in the cache");
    fs::write(object.with_extension("failed"), "a reason").expect("a file can be written");
    fs::remove_dir_all(fixture.path().join("target")).expect("the build can be removed");
    let run = fixture.check(&arguments, 75);
    assert!(run.summary().executions > 0, "{run:#?}");
    let said = format!("{:?}", run.lines);
    assert!(
        said.contains("the crate refused is not instrumented"),
        "{run:#?}"
    );
    let allowed = [&arguments[..], &["--allow-inconclusive"]].concat();
    fixture.check(&allowed, 0);
}
