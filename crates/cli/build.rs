//! Embeds the sources of the runtime and of all it is compiled from, and a hash over
//! everything that decides what instrumented programs look like.

use std::fs;
use std::path::{Path, PathBuf};

/// Directories that are embedded, next to this crate's.
const EMBEDDED: &[&str] = &[
    "abi/src",
    "trace/src",
    "schedule/src",
    "runtime/src",
    "runtime/hooks",
];

/// Directories and files that decide what an instrumented object looks like.
const INSTRUMENTATION: &[&str] = &[
    "abi/src",
    "trace/src/program_map.rs",
    "runtime/hooks",
    "instrument/src",
];

/// How the runtime is compiled.
const COMPILATION: &str = "cli/src/embedded.rs";

fn main() {
    // Asked for when it runs: clones that share a target directory share this executable.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let crates = Path::new(&manifest).join("..");
    let mut hash = Fnv::new();
    hash.add(env!("CARGO_PKG_VERSION").as_bytes());
    let mut entries = String::new();
    for directory in EMBEDDED {
        for (name, path) in sources(&crates, directory) {
            add(&mut hash, &name, &path);
            let path = fs::canonicalize(&path).expect("a listed file exists");
            entries.push_str(&format!("    ({name:?}, include_str!({path:?})),\n"));
        }
    }
    for (name, path) in sources(&crates, COMPILATION) {
        add(&mut hash, &name, &path);
    }
    assert!(!entries.is_empty(), "there are no sources in {crates:?}");
    let mut objects = Fnv::new();
    for directory in INSTRUMENTATION {
        for (name, path) in sources(&crates, directory) {
            add(&mut objects, &name, &path);
        }
    }
    hash.add(&objects.0.to_le_bytes());
    let code = format!(
        "/// Relative path and text of every embedded file.\n\
         pub(crate) const FILES: &[(&str, &str)] = &[\n{entries}];\n\
         /// Hash over all that decides what instrumented programs look like.\n\
         pub(crate) const HASH: &str = \"{:016x}\";\n\
         /// Hash over the part of it that decides what instrumented objects look like.\n\
         pub(crate) const OBJECTS_HASH: &str = \"{:016x}\";\n",
        hash.0, objects.0
    );
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("embedded_files.rs"), code).expect("OUT_DIR is writable");
    println!("cargo::rerun-if-changed=build.rs");
}

/// All Rust files below `crates/directory` (or that file), sorted, with their paths relative
/// to `crates`.
fn sources(crates: &Path, directory: &str) -> Vec<(String, PathBuf)> {
    let root = crates.join(directory);
    if root.is_file() {
        println!("cargo::rerun-if-changed={}", root.display());
        return vec![(directory.to_owned(), root)];
    }
    println!("cargo::rerun-if-changed={}", root.display());
    let mut found = Vec::new();
    let mut pending = vec![root];
    while let Some(next) = pending.pop() {
        let Ok(entries) = fs::read_dir(&next) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(crates).expect("it lies below");
                found.push((name.to_string_lossy().into_owned(), path));
            }
        }
    }
    found.sort();
    found
}

fn add(hash: &mut Fnv, name: &str, path: &Path) {
    hash.add(name.as_bytes());
    hash.add(&fs::read(path).expect("a listed file is readable"));
}

/// FNV-1a: stable across machines and compilers.
struct Fnv(u64);

impl Fnv {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes.iter().chain(&[0]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
