//! Crates to run the tool on, each copied to a directory of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::slot::Slot;
use crate::{Run, Tool};

/// A crate in a directory of its own, which vanishes with it.
pub struct Fixture {
    directory: Slot,
    source: PathBuf,
}

/// What an example's `expect.toml` promises.
#[derive(Clone, Debug, Deserialize)]
pub struct Expectation {
    /// Name of the test.
    pub test: String,
    /// Kind of the finding.
    pub kind: String,
    /// `file:line` of every place that the finding has to name.
    pub lines: Vec<String>,
}

/// A finding that an example's `findings.toml` promises.
#[derive(Clone, Debug, Deserialize)]
pub struct PlannedFinding {
    /// Command that reports it.
    pub command: String,
    /// Name of the test.
    pub test: String,
    /// Kind of the finding.
    pub kind: String,
    /// `file:line` of every place that the finding has to name.
    pub lines: Vec<String>,
    /// Words of its cause.
    pub cause: String,
}

impl Fixture {
    /// A crate of `examples/`.
    pub fn example(name: &str) -> Self {
        Self::copy_of(&repository().join("examples").join(name))
    }

    /// Names of the crates in `examples/` in which something has to be found, in order.
    pub fn examples() -> Vec<String> {
        let entries = fs::read_dir(repository().join("examples")).expect("there are examples");
        let paths = entries.map(|entry| entry.expect("an entry can be read").path());
        let with_bugs = paths.filter(|path| path.join("expect.toml").is_file());
        let mut names: Vec<String> = with_bugs
            .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
            .collect();
        names.sort();
        names
    }

    /// A crate of `tests/fixtures/`.
    pub fn special(name: &str) -> Self {
        Self::copy_of(&repository().join("tests/fixtures").join(name))
    }

    /// One with programs of C, of which one is compiled to `prog`.
    ///
    /// # Panics
    ///
    /// If it does not compile.
    pub fn compiled(name: &str, source: &str) -> Self {
        Self::compiled_with(name, source, "-O1")
    }

    /// The same with a level of optimisation.
    ///
    /// # Panics
    ///
    /// If it does not compile.
    pub fn compiled_with(name: &str, source: &str, level: &str) -> Self {
        let fixture = Self::special(name);
        fixture.compile(source, level);
        fixture
    }

    /// Compiles one of its programs of C to `prog`.
    ///
    /// # Panics
    ///
    /// If it does not compile.
    pub fn compile(&self, source: &str, level: &str) {
        let compile = ["cc", "-g", level, "-pthread", "-o", "prog", source];
        let ended = Tool::new(self.path(), compile).run();
        assert!(ended.status.success(), "{ended:#?}");
    }

    fn copy_of(source: &Path) -> Self {
        let name = source.file_name().expect("a fixture has a name");
        let directory = Slot::claim(&name.to_string_lossy());
        copy(source, directory.path());
        Self {
            directory,
            source: source.to_owned(),
        }
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// What is promised about it.
    pub fn expectation(&self) -> Expectation {
        let path = self.source.join("expect.toml");
        let text = fs::read_to_string(&path).expect("an example has an expect.toml");
        toml::from_str(&text).expect("expect.toml says test, kind and lines")
    }

    /// What is promised about an example with several findings.
    pub fn planned_findings(&self) -> Vec<PlannedFinding> {
        #[derive(Deserialize)]
        struct Planned {
            finding: Vec<PlannedFinding>,
        }
        let path = self.source.join("findings.toml");
        let text = fs::read_to_string(&path).expect("the example has a findings.toml");
        let planned: Planned = toml::from_str(&text).expect("findings.toml lists findings");
        planned.finding
    }

    /// Changes a file's text.
    pub fn edit(&self, file: &str, change: impl FnOnce(String) -> String) {
        let path = self.path().join(file);
        let text = fs::read_to_string(&path).expect("the file is there");
        let changed = change(text.clone());
        assert_ne!(text, changed, "the edit of {file} changed nothing");
        fs::write(path, changed).expect("the file can be written");
    }

    /// A directory with the programs of a machine that has Rust and gcc, but no clang: for
    /// `PATH`.
    pub fn path_without_clang(&self) -> PathBuf {
        const PROGRAMS: [&str; 9] = ["cc", "c++", "gcc", "g++", "ar", "as", "ld", "sh", "ranlib"];
        let bin = self.path().join("bin-without-clang");
        fs::create_dir_all(&bin).expect("a directory can be made");
        let rustc = Command::new("rustc").args(["--print", "sysroot"]).output();
        let sysroot = rustc.expect("there is a rustc").stdout;
        let sysroot = String::from_utf8(sysroot).expect("a path");
        let rust = Path::new(sysroot.trim()).join("bin");
        let tools = PROGRAMS.map(|name| Path::new("/usr/bin").join(name));
        for program in ["cargo", "rustc"]
            .map(|name| rust.join(name))
            .iter()
            .chain(&tools)
        {
            let name = program.file_name().expect("a program has a name");
            std::os::unix::fs::symlink(program, bin.join(name)).expect("a link can be made");
        }
        bin
    }

    /// Runs `cargo raddle` with JSON output, and requires this exit code and everything that
    /// holds for every run. A run that finds nothing must have explored something.
    pub fn check(&self, arguments: &[&str], code: i32) -> Run {
        self.check_tool(Tool::new(self.path(), json(arguments)), code)
    }

    /// The same where nothing is found because there is nothing to explore.
    pub fn check_unexplored(&self, arguments: &[&str]) -> Run {
        Run::of(Tool::new(self.path(), json(arguments)).run(), 0)
    }

    /// The same as [`Fixture::check`] with a tool that was started in a special way.
    pub fn check_tool(&self, tool: Tool, code: i32) -> Run {
        let explores = tool.explores();
        let run = Run::of(tool.run(), code);
        if code == 0 {
            run.assert_explored(explores);
        }
        run
    }
}

/// Arguments with `--message-format json` behind the command: before any `--`, and before a
/// program with arguments of its own.
fn json<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let (command, rest) = arguments.split_at(arguments.len().min(1));
    [command, &["--message-format", "json"], rest].concat()
}

fn repository() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package
        .parent()
        .expect("the package stands in the repository")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory can be made");
    for entry in fs::read_dir(from).expect("a fixture can be read") {
        let entry = entry.expect("a fixture can be read");
        let target = to.join(entry.file_name());
        match entry.file_type().expect("a fixture can be read").is_dir() {
            true if entry.file_name() == "target" => {}
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).expect("a file can be copied")),
        }
    }
}
