//! Turns executables into what a campaign runs.

use raddle_campaign::{Target, TargetKind};

use crate::cargo_build::{Artifact, Executable};
use crate::exit::Failure;
use crate::interrupt::StopFlag;
use crate::listing;
use crate::metadata::Metadata;

/// All tests and programs of these executables, selected or not.
pub(crate) fn targets(
    executables: &[Executable],
    metadata: &Metadata,
    arguments: &[String],
    stop: &StopFlag,
) -> Result<Vec<Target>, Failure> {
    let mut executables: Vec<_> = executables.iter().collect();
    // Cargo's messages come in the order in which it happened to finish.
    executables.sort_by_cached_key(|executable| order(&executable.artifact));
    let mut targets = Vec::new();
    for executable in executables {
        stop.check()?;
        let base = base(executable, metadata);
        if executable.program {
            let args = arguments.to_vec();
            targets.push(Target { args, ..base });
            continue;
        }
        let tests = listing::tests(executable)?;
        targets.extend(tests.into_iter().map(|test| Target {
            name: test.name,
            ignored: test.ignored,
            kind: TargetKind::Test,
            ..base.clone()
        }));
    }
    Ok(targets)
}

/// Sorts as `cargo test` runs: by package, the library first, integration tests after binaries.
fn order(artifact: &Artifact) -> (String, usize, String) {
    let kinds = ["bin", "test", "example", "bench"];
    let kind = kinds.iter().position(|kind| artifact.is(kind));
    let kind = kind.map_or(0, |position| position + 1);
    let package = artifact.package_id.clone();
    (package, kind, artifact.target.name.clone())
}

/// The executable as a program.
fn base(executable: &Executable, metadata: &Metadata) -> Target {
    let artifact = &executable.artifact;
    let package = metadata.package(&artifact.package_id);
    let package = package.map_or_else(String::new, |package| package.name.clone());
    let mut target = name(artifact, executable.program);
    if metadata.has_several_members() {
        target = format!("{package}:{target}");
    }
    Target {
        exe: executable.record.exe.clone(),
        name: artifact.target.name.clone(),
        target,
        package,
        kind: TargetKind::Main,
        args: Vec::new(),
        stdin: None,
        success: 0,
        env: executable.record.changed_env(),
        cwd: executable.record.cwd.clone(),
        private: vec![
            metadata.workspace_root.clone(),
            metadata.target_directory.clone(),
        ],
        unseen_synchronisation: Vec::new(),
        unseen_code: Vec::new(),
        ignored: false,
    }
}

/// How targets are called in reports and schedule files. `bin/x` is the program itself,
/// `bins/x` its unit tests.
fn name(artifact: &Artifact, program: bool) -> String {
    let name = &artifact.target.name;
    if artifact.is("test") {
        format!("tests/{name}")
    } else if artifact.is("bench") {
        format!("benches/{name}")
    } else if artifact.is("bin") {
        format!("{}/{name}", if program { "bin" } else { "bins" })
    } else if artifact.is("example") {
        format!("{}/{name}", if program { "example" } else { "examples" })
    } else {
        "lib".to_owned()
    }
}
