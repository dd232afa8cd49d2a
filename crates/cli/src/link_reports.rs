//! What the linker wrapper says it did, turned into warnings about what was not instrumented.
//! Rustc and cargo hide what a linker that succeeds prints.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use raddle_instrument::{Clang, ClangError, LinkReport, unseen_synchronisation};

use raddle_trace::image::build_id;
use raddle_trace::program_map::map_beside;

use crate::cargo_build::Executable;
use crate::file::write_whole;

/// Times of files are this much behind the clock at most.
const CLOCK_GRAIN: Duration = Duration::from_millis(20);

/// One sentence for everything in these executables that has no hooks.
pub(crate) fn warnings(
    directory: &Path,
    executables: &[Executable],
    clang: &Result<Clang, ClangError>,
) -> Vec<String> {
    let reports = read_all(directory);
    let mut warnings = Vec::new();
    let mut failed = BTreeMap::new();
    let mut native = BTreeSet::new();
    for executable in executables {
        let exe = &executable.record.exe;
        let Some(report) = find(&reports, exe) else {
            warnings.push(format!(
                "{} was not linked by raddle's linker, so it is not instrumented; \
                 look for another `linker` in its build flags or in a rustc wrapper",
                exe.display()
            ));
            continue;
        };
        native.extend(report.native.iter().map(|name| library(name)));
        native.extend(report.assembly.iter().map(|own| assembly_of(&own.module)));
        for failure in &report.failed {
            failed.insert(failure.module.clone(), failure.reason.clone());
        }
    }
    warnings.extend(failed.iter().map(|(module, reason)| {
        format!(
            "the crate {} is not instrumented ({module}), so what happens inside of it is not seen: \
             {reason}",
            crate_of(module)
        )
    }));
    warnings.extend(about_native(&native, clang));
    warnings
}

/// Names of the crates in these executables that have no hooks because LLVM refused them.
pub(crate) fn uninstrumented(directory: &Path, executables: &[Executable]) -> Vec<String> {
    let reports = read_all(directory);
    let mut names = BTreeSet::new();
    for executable in executables {
        let report = find(&reports, &executable.record.exe);
        let failed = report.into_iter().flat_map(|report| &report.failed);
        names.extend(failed.map(|failure| crate_of(&failure.module)));
    }
    names.into_iter().collect()
}

/// The crate that a module belongs to: `a` of `a-0123456789abcdef.x.rcgu.o`, and of
/// `liba-0123456789abcdef.rlib(x)`.
fn crate_of(module: &str) -> String {
    let name = module.split('(').next().unwrap_or(module);
    let name = match name.strip_suffix(".rlib") {
        Some(library) => library.strip_prefix("lib").unwrap_or(library),
        None => name.split('.').next().unwrap_or(name),
    };
    match name.rsplit_once('-') {
        Some((stem, hash)) if hash.len() == 16 => stem.to_owned(),
        _ => name.to_owned(),
    }
}

/// Assembly of a module, for people.
fn assembly_of(module: &str) -> String {
    format!("the assembly of {}", crate_of(module))
}

/// The archive of a native object, or the object itself.
fn library(name: &str) -> String {
    let archive = name.split('(').next().unwrap_or(name);
    // Cargo's hash behind the name says nothing to people.
    let (stem, ending) = archive.rsplit_once('.').unwrap_or((archive, ""));
    match stem.rsplit_once('-') {
        Some((stem, hash)) if hash.len() == 16 && ending == "rlib" => format!("{stem}.{ending}"),
        _ => archive.to_owned(),
    }
}

/// One sentence about everything that was never bitcode.
fn about_native(native: &BTreeSet<String>, clang: &Result<Clang, ClangError>) -> Option<String> {
    /// Names in the sentence.
    const NAMED: usize = 6;
    if native.is_empty() {
        return None;
    }
    let mut names: Vec<_> = native.iter().take(NAMED).cloned().collect();
    if native.len() > NAMED {
        names.push(format!("{} more", native.len() - NAMED));
    }
    let names = names.join(", ");
    let advice = match clang {
        Ok(_) => String::new(),
        Err(error) => format!("; {error}"),
    };
    Some(format!(
        "native code in {names} is not instrumented, so what happens inside of it is not \
         seen{advice}"
    ))
}

/// Names of native code in an executable that can synchronise threads unseen.
pub(crate) fn unseen(directory: &Path, executable: &Executable) -> Vec<String> {
    let exe = &executable.record.exe;
    let mut names = unseen_synchronisation(exe);
    if let Some(report) = find(&read_all(directory), exe) {
        names.extend(report.synchronising.iter().map(|name| library(name)));
        let atomic = report.assembly.iter().filter(|own| own.is_atomic);
        names.extend(atomic.map(|own| assembly_of(&own.module)));
    }
    names.sort();
    names.dedup();
    names
}

/// Names of native code in an executable whose accesses to memory are not seen.
pub(crate) fn unseen_code(directory: &Path, executable: &Executable) -> Vec<String> {
    let exe = &executable.record.exe;
    let mut names = raddle_instrument::unseen_code(exe);
    if let Some(report) = find(&read_all(directory), exe) {
        names.extend(report.native.iter().map(|name| library(name)));
        names.extend(report.assembly.iter().map(|own| assembly_of(&own.module)));
    }
    names
}

/// One sentence about code that can synchronise threads unseen.
pub(crate) fn about_unseen(program: &str, names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| {
        format!(
            "{} in {program} was not instrumented and has atomic instructions of its own, so no \
             data race is reported there: what looks like one may be ordered by them",
            names.join(", ")
        )
    })
}

/// What the machine refused to a link since then, if it did.
pub(crate) fn machine_trouble(directory: &Path, since: SystemTime) -> Option<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut new = entries.filter(|entry| {
        let changed = entry.metadata().and_then(|metadata| metadata.modified());
        changed.is_ok_and(|changed| changed >= since - CLOCK_GRAIN)
    });
    new.find_map(|entry| {
        let text = fs::read(entry.path()).ok()?;
        let report: LinkReport = serde_json::from_slice(&text).ok()?;
        report.error.filter(|_| report.is_machines)
    })
}

fn read_all(directory: &Path) -> Vec<LinkReport> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let reports = entries.filter_map(|entry| {
        let text = fs::read(entry.path()).ok()?;
        serde_json::from_slice(&text).ok()
    });
    reports.collect()
}

/// Puts the map of each executable beside it: cargo gives programs a second name, in a directory
/// of its choice, and the linker knows only the first.
pub(crate) fn put_maps_beside(directory: &Path, executables: &[Executable]) -> io::Result<()> {
    let reports = read_all(directory);
    for executable in executables {
        let exe = &executable.record.exe;
        let Some(report) = find(&reports, exe).filter(|report| report.output != *exe) else {
            continue;
        };
        let (from, to) = (map_beside(&report.output), map_beside(exe));
        // The same file under another name of the directory needs nothing.
        if from.is_file() && identity(&from) != identity(&to) {
            write_whole(&to, &fs::read(&from)?)?;
        }
    }
    Ok(())
}

/// Cargo gives programs a second name, so files are compared, not paths; where it has to copy
/// them, what the linker has named them by.
fn find<'a>(reports: &'a [LinkReport], exe: &Path) -> Option<&'a LinkReport> {
    let own = identity(exe)?;
    let is_same =
        |report: &&LinkReport| report.output == exe || identity(&report.output) == Some(own);
    reports.iter().find(is_same).or_else(|| {
        let wanted = build_id(exe)?;
        let mut reports = reports.iter();
        reports.find(|report| build_id(&report.output).as_ref() == Some(&wanted))
    })
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use super::{about_native, crate_of, find, library, read_all};
    use raddle_instrument::{ClangError, LinkReport};
    use std::fs;

    #[test]
    fn native_code_is_named_by_its_library() {
        let members = [
            "libx-0123456789abcdef.rlib(a.o)",
            "liby.a(b.o)",
            "liby.a(c.o)",
        ];
        let native = members.into_iter().map(library).collect();
        let text = about_native(&native, &Err(ClangError::Missing)).unwrap();
        assert!(
            text.contains("native code in libx.rlib, liby.a is not"),
            "{text}"
        );
        assert!(text.contains("apt-get install clang"), "{text}");
        assert_eq!(about_native(&[].into(), &Err(ClangError::Missing)), None);
    }

    #[test]
    fn modules_belong_to_crates() {
        for (module, name) in [
            ("a-0123456789abcdef.x1y.2z.rcgu.o", "a"),
            ("my_test-0123456789abcdef.x1y.rcgu.o", "my_test"),
            (
                "liba_b-0123456789abcdef.rlib(a_b-0123456789abcdef.x.rcgu.o)",
                "a_b",
            ),
            ("x.o", "x"),
        ] {
            assert_eq!(crate_of(module), name);
        }
    }

    #[test]
    fn a_second_name_finds_the_report() {
        let directory = tempfile::tempdir().unwrap();
        let [output, name, other] = ["output", "name", "other"].map(|n| directory.path().join(n));
        fs::write(&output, "").unwrap();
        fs::write(&other, "").unwrap();
        fs::hard_link(&output, &name).unwrap();
        let reports = [LinkReport {
            output,
            ..LinkReport::default()
        }];
        assert!(find(&reports, &name).is_some());
        assert!(find(&reports, &other).is_none());
    }

    #[test]
    fn damaged_reports_are_skipped() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("a.json"), "{").unwrap();
        fs::write(directory.path().join("b.json"), "{}").unwrap();
        assert_eq!(read_all(directory.path()).len(), 1);
    }
}
