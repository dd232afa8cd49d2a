//! What the linker wrapper says it did, turned into warnings about what was not instrumented.
//! Rustc and cargo hide what a linker that succeeds prints.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use raddle_instrument::LinkReport;

use crate::cargo_build::Executable;

/// One sentence for everything in these executables that has no hooks.
pub(crate) fn warnings(directory: &Path, executables: &[Executable]) -> Vec<String> {
    let reports = read_all(directory);
    let mut warnings = Vec::new();
    let mut failed = BTreeMap::new();
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
        for failure in &report.failed {
            failed.insert(failure.module.clone(), failure.reason.clone());
        }
    }
    warnings.extend(failed.iter().map(|(module, reason)| {
        format!("{module} is not instrumented, so what happens inside of it is not seen: {reason}")
    }));
    warnings
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
    use super::{find, read_all};
    use raddle_instrument::LinkReport;
    use std::fs;

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
