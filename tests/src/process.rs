//! Starts the tool and never waits for it for ever.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A run of the tool that takes longer is a failure: nothing ever hangs.
const PATIENCE: Duration = Duration::from_secs(400);

/// Variables of the surrounding `cargo test` that would lead the tool's own cargo astray.
const FOREIGN: [&str; 9] = [
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_MANIFEST_DIR",
    "CARGO_MANIFEST_PATH",
    "CARGO_ENCODED_RUSTFLAGS",
    "RUSTFLAGS",
    "RUSTC_WRAPPER",
    "LD_LIBRARY_PATH",
    "RUST_BACKTRACE",
];

/// The tool, about to be started.
pub struct Tool {
    command: Command,
    output: tempfile::TempDir,
    patience: Duration,
}

/// The tool has ended.
#[derive(Debug)]
pub struct Ended {
    /// How.
    pub status: ExitStatus,
    /// What it wrote to stdout.
    pub stdout: String,
    /// What it wrote to stderr.
    pub stderr: String,
}

impl Tool {
    /// `cargo raddle` with these arguments, in this directory.
    pub fn new(directory: &Path, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        let mut words = vec![executable().into_os_string(), OsString::from("raddle")];
        words.extend(arguments.into_iter().map(|word| word.as_ref().to_owned()));
        Self::behind(directory, &[] as &[&str], words)
    }

    /// The same, started by another program: `words` are the tool's command line, and
    /// `starter` is what stands before it.
    pub fn started_by(
        starter: &[&str],
        directory: &Path,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Self {
        let mut words = vec![executable().into_os_string(), OsString::from("raddle")];
        words.extend(arguments.into_iter().map(|word| word.as_ref().to_owned()));
        Self::behind(directory, starter, words)
    }

    fn behind(directory: &Path, starter: &[&str], words: Vec<OsString>) -> Self {
        let mut all = starter
            .iter()
            .map(OsString::from)
            .chain(words)
            .collect::<Vec<_>>()
            .into_iter();
        let mut command = Command::new(all.next().expect("there is a program"));
        command.args(all).current_dir(directory).process_group(0);
        command.stdin(Stdio::null()).env("RADDLE_CACHE", cache());
        for name in FOREIGN {
            command.env_remove(name);
        }
        let output = tempfile::tempdir().expect("a temporary directory can be made");
        Self {
            command,
            output,
            patience: PATIENCE,
        }
    }

    /// Whether its command line asks for executions of something.
    pub fn explores(&self) -> bool {
        let words: Vec<_> = self.command.get_args().collect();
        let own = words.iter().skip_while(|word| **word != "raddle").skip(1);
        let own: Vec<_> = own.take_while(|word| **word != "--").collect();
        let only_builds = own.iter().any(|word| **word == "--no-run");
        let command = own.first().and_then(|word| word.to_str());
        matches!(command, Some("test" | "predict" | "replay")) && !only_builds
    }

    /// Lets it take longer than any tool should.
    pub fn patiently(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Sets a variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs it to its end.
    ///
    /// # Panics
    ///
    /// If it takes too long; it is killed then.
    pub fn run(self) -> Ended {
        self.run_while(|_, _| true)
    }

    /// Runs it to its end, or until `go_on` says no to what has come out on stdout so far; it
    /// is killed with `SIGKILL` then. `go_on` also gets the process id.
    pub fn run_while(mut self, mut go_on: impl FnMut(u32, &str) -> bool) -> Ended {
        let (out, err) = (self.path("stdout"), self.path("stderr"));
        self.command.stdout(File::create(&out).expect("a file"));
        self.command.stderr(File::create(&err).expect("a file"));
        let mut child = self.command.spawn().expect("the tool can be started");
        let text = |path: &Path| {
            String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
        };
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("the tool can be waited for") {
                break status;
            }
            if !go_on(child.id(), &text(&out)) {
                child.kill().expect("the tool can be killed");
                break child.wait().expect("the tool can be waited for");
            }
            if start.elapsed() > self.patience {
                kill_group(&mut child).expect("the tool can be killed");
                panic!(
                    "the tool hung\n{:?}\nstdout:\n{}\nstderr:\n{}",
                    self.command,
                    text(&out),
                    text(&err)
                );
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        Ended {
            status,
            stdout: text(&out),
            stderr: text(&err),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.output.path().join(name)
    }
}

/// Kills the tool and everything that it started.
fn kill_group(child: &mut Child) -> io::Result<()> {
    Command::new("kill")
        .args(["-9", "--", &format!("-{}", child.id())])
        .status()?;
    child.wait().map(drop)
}

/// Where the surrounding build puts its files.
fn target_directory() -> PathBuf {
    let own = std::env::current_exe().expect("a test knows its executable");
    let target = own.ancestors().nth(3);
    target.expect("tests stand in target/*/deps").to_owned()
}

/// The executable under test: the variable `E2E_TOOL`, or the newest build beside this one.
pub fn executable() -> PathBuf {
    if let Some(path) = std::env::var_os("E2E_TOOL") {
        return path.into();
    }
    let builds = ["release", "debug"].map(|profile| target_directory().join(profile));
    let tools = builds.map(|build| build.join("cargo-raddle"));
    let modified = |path: &PathBuf| path.metadata().and_then(|data| data.modified()).ok();
    let newest = tools.into_iter().filter(|tool| tool.is_file());
    newest
        .max_by_key(modified)
        .expect("cargo-raddle is not built: run `cargo build --release -p cargo-raddle` first")
}

/// One cache for all tests, so that the standard library is instrumented once.
pub fn cache() -> PathBuf {
    std::env::var_os("E2E_CACHE")
        .map_or_else(|| target_directory().join("e2e-cache"), PathBuf::from)
}
