//! Exit codes and messages for everything that goes wrong before a test runs.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs `cargo raddle` in a directory with these files and returns code and stderr.
fn check(files: &[(&str, &str)], arguments: &[&str]) -> (i32, String) {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let output = tool(directory.path(), arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), stderr)
}

fn tool(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cargo-raddle"))
        .arg("raddle")
        .args(arguments)
        .current_dir(directory)
        .env(
            "RADDLE_CACHE",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"),
        )
        .env_remove("CARGO_TARGET_DIR")
        .output()
        .unwrap()
}

const MANIFEST: (&str, &str) = (
    "Cargo.toml",
    "[package]\nname = 'sample'\nversion = '0.1.0'\nedition = '2024'\n[workspace]\n",
);

#[test]
fn usage_errors_are_2() {
    let (code, stderr) = check(&[], &["dance"]);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("dance"));
}

#[test]
fn help_and_version_are_0() {
    for argument in ["--help", "--version"] {
        assert_eq!(check(&[], &[argument]).0, 0);
    }
}

#[test]
fn bad_configuration_is_2_with_one_sentence() {
    let lib = ("src/lib.rs", "");
    let config = ("raddle.toml", "[test]\nspeed = 1\n");
    let (code, stderr) = check(&[MANIFEST, lib, config], &["test"]);
    assert_eq!(code, 2, "{stderr}");
    assert!(
        stderr.starts_with("error: raddle.toml:2: unknown field `speed`"),
        "{stderr}"
    );
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}

#[test]
fn no_package_is_101() {
    let (code, stderr) = check(&[], &["test"]);
    assert_eq!(code, 101, "{stderr}");
    assert!(stderr.contains("could not find `Cargo.toml`"), "{stderr}");
}

#[test]
fn crate_that_does_not_compile_is_101_with_the_compilers_message() {
    let lib = ("src/lib.rs", "#[test] fn f() { let x: u32 = \"\"; }");
    let (code, stderr) = check(&[MANIFEST, lib], &["test"]);
    assert_eq!(code, 101, "{stderr}");
    assert!(stderr.contains("mismatched types"), "{stderr}");
}

#[test]
fn embedded_sources_compile_into_the_cache() {
    let cache = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_raddle"))
        .args(["doctor", "--message-format", "json"])
        .env("RADDLE_CACHE", cache.path())
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let answer = stdout.lines().find(|line| line.contains("\"runtime\""));
    let answer = answer.unwrap_or_else(|| panic!("{stdout}"));
    assert!(answer.contains("\"ok\""), "{answer}");
    let found = |name: &str| {
        let pattern = format!("-name {name} -size +1");
        let words = pattern.split(' ');
        let output = Command::new("find").arg(cache.path()).args(words).output();
        !output.unwrap().stdout.is_empty()
    };
    assert!(found("libraddle_runtime.so") && found("hooks.bc"));
    assert!(!found("*.rs"), "sources are not left behind");
}

#[test]
fn old_compiler_is_69_with_the_oldest_supported() {
    let directory = tempfile::tempdir().unwrap();
    let rustc = directory.path().join("rustc");
    let script = "#!/bin/sh\necho 'release: 1.80.0'\necho 'host: x86_64-unknown-linux-gnu'\n";
    fs::write(&rustc, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&rustc, mode).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_raddle"))
        .args(["test"])
        .current_dir(directory.path())
        .env("RUSTC", &rustc)
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(69), "{stderr}");
    assert!(
        stderr.contains("1.80.0") && stderr.contains("1.93"),
        "{stderr}"
    );
}
