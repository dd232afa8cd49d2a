//! Fingerprints the sources that decide what instrumented objects contain, so that objects
//! made by an older version of them are never taken from the cache.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

fn main() {
    let mut files: Vec<PathBuf> = vec!["src/path.rs".into()];
    for directory in ["src/passes", "src/llvm"] {
        println!("cargo::rerun-if-changed={directory}");
        let entries = std::fs::read_dir(Path::new(directory)).expect("a readable directory");
        files.extend(entries.map(|entry| entry.expect("a readable directory").path()));
    }
    println!("cargo::rerun-if-changed=src/path.rs");
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        std::fs::read(&file)
            .expect("a readable file")
            .hash(&mut hasher);
    }
    println!("cargo::rustc-env=RADDLE_PASSES={:016x}", hasher.finish());
}
