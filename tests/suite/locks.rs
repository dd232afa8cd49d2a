//! Builds that want the same module, or a lock of cargo's, do not wait for ever for a process that is
//! stopped, and say what they wait for.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use raddle_e2e::{Fixture, Tool};

/// The instrumented object in the cache that is new and holds these bytes.
fn object_with(directory: &Path, needle: &[u8], since: SystemTime) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).find_map(|path| {
        if path.is_dir() {
            return object_with(&path, needle, since);
        }
        let changed = path.metadata().and_then(|metadata| metadata.modified());
        let is_new = changed.is_ok_and(|changed| changed + Duration::from_secs(1) > since);
        let is_object = is_new && path.extension().is_some_and(|extension| extension == "o");
        let content = is_object.then(|| fs::read(&path).ok()).flatten()?;
        let has_it = content.windows(needle.len()).any(|window| window == needle);
        has_it.then_some(path)
    })
}

/// A process that holds the lock of an object and is stopped.
fn stopped_holder(lock: &Path) -> Child {
    let script = "exec 9<>\"$0\"; flock 9; echo $$ >&9; kill -STOP $$";
    let child = Command::new("bash")
        .args(["-c", script])
        .arg(lock)
        .spawn()
        .expect("a shell");
    let start = Instant::now();
    while !fs::read_to_string(lock).is_ok_and(|text| text.ends_with('\n')) {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "the lock is never held"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

#[test]
fn a_stopped_build_is_named_and_not_waited_for() {
    let fixture = Fixture::special("bad-c");
    let symbol = format!("unique_{}", std::process::id());
    let source = format!(
        "int {symbol}(int x) {{ return x + 1; }}\nint main(void) {{ return {symbol}(-1); }}\n"
    );
    fs::write(fixture.path().join("unique.c"), source).expect("a file can be written");
    let compile = || Tool::new(fixture.path(), ["cc", "-g", "-o", "prog", "unique.c"]).run();
    let since = SystemTime::now();
    let first = compile();
    assert!(first.status.success(), "{first:#?}");
    let cache = raddle_e2e::cache();
    let object = object_with(&cache, symbol.as_bytes(), since).expect("the object is in the cache");
    fs::remove_file(&object).expect("the object can be removed");
    let mut holder = stopped_holder(&object.with_extension("lock"));
    let start = Instant::now();
    let second = compile();
    let took = start.elapsed();
    let _ = holder.kill();
    let _ = holder.wait();
    assert!(second.status.success(), "{second:#?}");
    assert!(took < Duration::from_secs(60), "{took:?}");
    let expected = format!("waiting for the build of process {}", holder.id());
    assert!(second.stderr.contains(&expected), "{second:#?}");
    assert!(second.stderr.contains("unique.c"), "{second:#?}");
    assert!(object.exists(), "the work is done without the lock");
    // Locks are of one module each: another source is not held up.
    fs::write(
        fixture.path().join("other.c"),
        "int main(void) { return 0; }\n",
    )
    .expect("a file");
    let other = Tool::new(fixture.path(), ["cc", "-o", "other", "other.c"]).run();
    assert!(
        other.status.success() && other.stderr.is_empty(),
        "{other:#?}"
    );
}

#[test]
fn a_stopped_process_that_holds_a_lock_of_cargos_is_named_and_given_up() {
    let fixture = Fixture::example("lost-update");
    fixture.check(&["test", "--no-run"], 0);
    let lock = find_lock(&fixture.path().join("target/raddle")).expect("cargo has a lock");
    // The process that takes the lock, and one that a child of its has taken it for.
    let mut took = Command::new("flock");
    took.arg(&lock).args(["-c", "echo; kill -STOP $PPID"]);
    let mut got = Command::new("bash");
    got.args(["-c", "exec 9<>\"$0\"; flock 9; echo; kill -STOP $$"])
        .arg(&lock);
    for (mut holder, name) in [(took, "flock"), (got, "bash")] {
        let mut holder = holder.stdout(Stdio::piped()).spawn().expect(name);
        let stdout = holder.stdout.take().expect("it is piped");
        let read = BufReader::new(stdout).read_line(&mut String::new());
        read.expect("it says that it has the lock");
        let ended = Tool::new(fixture.path(), ["test"]).run();
        let _ = holder.kill();
        let _ = holder.wait();
        assert_eq!(ended.status.code(), Some(69), "{ended:#?}");
        let id = holder.id();
        let named = format!("cargo waits for a lock of process {id} ({name})");
        assert!(ended.stderr.contains(&named), "{ended:#?}");
        let advice = format!("kill -CONT {id}");
        assert!(ended.stderr.contains(&advice), "{ended:#?}");
    }
    fixture.check(&["test"], 100);
}

/// The file that cargo locks while it builds.
fn find_lock(directory: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .find_map(|path| match path.is_dir() {
            true => find_lock(&path),
            false => path.ends_with("debug/.cargo-lock").then_some(path),
        })
}
