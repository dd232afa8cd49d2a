//! Builds that want the same module do not wait for ever for one that is stopped, and say what
//! they wait for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
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
