//! End to end: a program is compiled and linked through both wrappers, with a stub runtime,
//! and runs with hooks off and on.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use raddle_instrument::LinkReport;

/// A directory with the wrappers, the stub runtime and an empty cache.
struct Bench {
    directory: tempfile::TempDir,
    sysroot: String,
}

fn run(command: &mut Command) -> Output {
    let output = command.output().expect("the program runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{stderr}",
        output.status
    );
    output
}

impl Bench {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        let wrapper = wrapper_program();
        for name in ["raddle-rustc", "raddle-linker"] {
            std::os::unix::fs::symlink(&wrapper, directory.path().join(name)).expect("a link");
        }
        let runtime = directory.path().join("libraddle_runtime.so");
        let mut rustc = Command::new("rustc");
        rustc.args(["--edition=2024", "--crate-type=cdylib", "-O", "-o"]);
        run(rustc
            .arg(&runtime)
            .arg(manifest.join("tests/data/stub_runtime.rs")));
        let mut rustc = Command::new("rustc");
        rustc.args([
            "--edition=2024",
            "--crate-type=lib",
            "--emit=llvm-bc",
            "-Cpanic=abort",
        ]);
        rustc.args([
            "-Copt-level=1",
            "-Ccodegen-units=1",
            "--crate-name=raddle_hooks",
            "-o",
        ]);
        rustc.arg(directory.path().join("hooks.bc"));
        run(rustc.arg(manifest.join("../runtime/hooks/fast.rs")));
        let output = run(Command::new("rustc").args(["--print", "sysroot"]));
        let sysroot = String::from_utf8(output.stdout)
            .expect("a path")
            .trim()
            .to_owned();
        Self { directory, sysroot }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Compiles `source` through the wrappers and returns the link's report.
    fn build(&self, source: &str, output: &str, flags: &[&str]) -> (Output, LinkReport) {
        let file = self.path("program.rs");
        std::fs::write(&file, source).expect("a written file");
        let mut rustc = Command::new(self.path("raddle-rustc"));
        rustc
            .args(["rustc", "--edition=2024", "--crate-name=program"])
            .args(["--target=x86_64-unknown-linux-gnu"])
            .args(flags)
            .arg(&file)
            .arg("-o")
            .arg(self.path(output))
            .env("RADDLE_RUNTIME_DIR", self.directory.path())
            .env("RADDLE_CACHE_DIR", self.path("cache"))
            .env("RADDLE_SYSROOT", &self.sysroot)
            .env("RADDLE_LINK_REPORTS", self.path("reports"));
        let done = rustc.output().expect("the wrapper runs");
        let report = self
            .path("reports")
            .join(LinkReport::file_name(&self.path(output)));
        let report = std::fs::read(report)
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok());
        (done, report.unwrap_or_default())
    }
}

/// The example program, which cargo builds beside the tests.
fn wrapper_program() -> PathBuf {
    let own = std::env::current_exe().expect("a path");
    let profile = own
        .parent()
        .and_then(Path::parent)
        .expect("target/<profile>/deps");
    profile.join("examples/raddle-wrapper")
}

const PROGRAM: &str = r#"
use std::sync::atomic::{AtomicI16, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
static COUNT: AtomicUsize = AtomicUsize::new(0);
fn main() {
    let lock = Arc::new(Mutex::new(Vec::new()));
    let threads: Vec<_> = (0..4)
        .map(|number| {
            let lock = Arc::clone(&lock);
            std::thread::spawn(move || {
                lock.lock().unwrap().push(number);
                COUNT.fetch_add(1, SeqCst);
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let caught = std::panic::catch_unwind(|| panic!("on purpose"));
    let signed = AtomicI16::new(-5);
    assert_eq!(signed.fetch_max(3, SeqCst), -5);
    println!("{} {} {}", lock.lock().unwrap().len(), COUNT.load(SeqCst), caught.is_err());
}
"#;

#[test]
fn a_program_with_threads_runs_with_hooks_off_and_on() {
    let bench = Bench::new();
    let (done, report) = bench.build(PROGRAM, "program", &[]);
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    assert_eq!(
        (report.failed, report.native, report.error),
        (vec![], vec![], None)
    );
    assert!(report.instrumented > 10 && report.from_cache == 0);

    let output = run(&mut Command::new(bench.path("program")));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "4 4 true\n");
    let output = run(Command::new(bench.path("program")).env("STUB_ON", "1"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "4 4 true\n");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let count = |hook: &str| -> u64 {
        let prefix = format!("stub: {hook} ");
        let line = stderr.lines().find_map(|line| line.strip_prefix(&prefix));
        line.expect("the stub's counts").parse().expect("a number")
    };
    for hook in ["read", "write", "load", "store", "rmw", "cas"] {
        assert!(count(hook) > 0, "{hook}");
    }
    assert_eq!(count("panic"), 1);
    assert!(count("lock") >= 10, "{stderr}");
    // main, and two per thread; each begins and ends; each thread starts; and the thread-locals of all
    // five are dropped, which begins and ends.
    assert_eq!(count("phase"), 2 + 4 * (2 * 2 + 1) + 5 * 2, "{stderr}");

    let map = std::fs::File::open(bench.path("program.raddle-map")).expect("a program map");
    let map = raddle_trace::program_map::ProgramMap::read(std::io::BufReader::new(map));
    assert!(
        map.expect("a valid program map")
            .function("program::main")
            .is_some()
    );

    let (_, report) = bench.build(PROGRAM, "again", &[]);
    assert_eq!(
        report.from_cache, report.instrumented,
        "the second link instruments nothing"
    );

    // A broken module costs itself only: see that libraries are instrumented too.
    let (done, report) = bench.build(
        "#[unsafe(no_mangle)] pub extern \"C\" fn f(a: &u8) -> u8 { *a }",
        "libx.so",
        &["--crate-type=cdylib"],
    );
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    assert!(report.shared && report.instrumented > 0);

    let (done, report) = bench.build("fn main() {}", "static", &["-Ctarget-feature=+crt-static"]);
    assert!(!done.status.success());
    assert!(report.error.expect("an error").contains("crt-static"));
}
