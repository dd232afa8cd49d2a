//! What the linker wrapper says it did, turned into warnings about what was not instrumented.
//! Rustc and cargo hide what a linker that succeeds prints.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use raddle_instrument::{Clang, ClangError, LinkReport, unseen_synchronisation};

use crate::cargo_build::Executable;

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
        for failure in &report.failed {
            failed.insert(failure.module.clone(), failure.reason.clone());
        }
    }
    warnings.extend(failed.iter().map(|(module, reason)| {
        format!("{module} is not instrumented, so what happens inside of it is not seen: {reason}")
    }));
    warnings.extend(about_native(&native, clang));
    warnings
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
    }
    names.sort();
    names.dedup();
    names
}

/// One sentence about such code.
pub(crate) fn about_unseen(program: &str, names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| {
        format!(
            "{} in {program} was not instrumented and has atomic instructions of its own, so no \
             data race is reported there: what looks like one may be ordered by them",
            names.join(", ")
        )
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

/// Cargo gives programs a second name, so files are compared, not paths.
fn find<'a>(reports: &'a [LinkReport], exe: &Path) -> Option<&'a LinkReport> {
    let identity = |path: &Path| {
        let metadata = fs::metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    let own = identity(exe)?;
    reports
        .iter()
        .find(|report| report.output == exe || identity(&report.output) == Some(own))
}

#[cfg(test)]
mod tests {
    use super::{about_native, find, library, read_all};
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
