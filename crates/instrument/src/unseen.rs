//! What a program contains that can synchronise threads without a hook: then two accesses that
//! look unordered may be ordered by it, and races cannot be told from what is not one.

use std::path::Path;
use std::process::Command;

use crate::compiler::notes_beside;
use crate::machine_code::{is_instrumented, synchronises};

/// Libraries whose synchronisation is interposed, or for themselves only.
const KNOWN: &[&str] = &[
    "linux-vdso.so",
    "ld-linux",
    "libc.so",
    "libm.so",
    "libpthread.so",
    "libdl.so",
    "librt.so",
    "libresolv.so",
    "libgcc_s.so",
    "libstdc++.so",
    "libc++.so",
    "libc++abi.so",
    // Calls of it are announced as what they do.
    "libatomic.so",
    "libraddle_runtime",
];

/// Names of the shared libraries of a program, and of static parts that `raddle cc` linked into
/// it or them, that can synchronise unseen.
pub fn unseen_synchronisation(exe: &Path) -> Vec<String> {
    let mut names = noted(exe);
    for (name, path) in libraries(exe) {
        if KNOWN.iter().any(|known| name.starts_with(known)) {
            continue;
        }
        names.extend(noted(Path::new(&path)));
        if std::fs::read(&path).is_ok_and(|file| synchronises(&file)) {
            names.push(name);
        }
    }
    names
}

/// Names of the shared libraries of a program whose accesses to memory are not seen.
pub fn unseen_code(exe: &Path) -> Vec<String> {
    let unknown = |(name, path): (String, String)| {
        let is_known = KNOWN.iter().any(|known| name.starts_with(known));
        let is_seen = || std::fs::read(&path).is_ok_and(|file| is_instrumented(&file));
        (!is_known && !is_seen()).then_some(name)
    };
    libraries(exe).into_iter().filter_map(unknown).collect()
}

fn noted(output: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(notes_beside(output)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Name and path of the libraries that the loader would load; it does not start the program.
pub(crate) fn libraries(exe: &Path) -> Vec<(String, String)> {
    let loader = Command::new(exe)
        .env("LD_TRACE_LOADED_OBJECTS", "1")
        .output();
    let text = loader.map_or_else(|_| Vec::new(), |output| output.stdout);
    let text = String::from_utf8_lossy(&text);
    text.lines().filter_map(library).collect()
}

/// `name => path (address)`, or `path (address)`.
fn library(line: &str) -> Option<(String, String)> {
    let (names, _) = line.trim().rsplit_once(" (0x")?;
    let (name, path) = names.split_once(" => ").unwrap_or((names, names));
    let name = Path::new(name).file_name()?.to_string_lossy().into_owned();
    Some((name, path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::library;

    #[test]
    fn the_loaders_lines_are_understood() {
        let check = |line| library(line).map(|(name, path)| format!("{name} at {path}"));
        let libz = check("\tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f0)");
        assert_eq!(
            libz.as_deref(),
            Some("libz.so.1 at /lib/x86_64-linux-gnu/libz.so.1")
        );
        let loader = check("\t/lib64/ld-linux-x86-64.so.2 (0x00007f00)");
        assert_eq!(
            loader.as_deref(),
            Some("ld-linux-x86-64.so.2 at /lib64/ld-linux-x86-64.so.2")
        );
        assert_eq!(check("\tlibgone.so => not found"), None);
    }
}
