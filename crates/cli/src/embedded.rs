//! The embedded sources of the runtime, compiled once per toolchain with the user's rustc into
//! the user's cache directory. No cargo takes part: the crates have no dependencies outside of
//! themselves.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use raddle_abi::env::{HOOKS_BITCODE, RUNTIME_LIBRARY};

use crate::process::run_within;
use crate::toolchain::{TARGET, Toolchain};

include!(concat!(env!("OUT_DIR"), "/embedded_files.rs"));

/// No single compilation takes this long, even on a slow machine.
const LIMIT: Duration = Duration::from_secs(600);

/// One compilation.
struct Step {
    crate_name: &'static str,
    source: &'static str,
    flags: &'static [&'static str],
    output: &'static str,
}

/// What the runtime is compiled from, in order; each step sees the libraries before it.
const STEPS: &[Step] = &[
    Step {
        crate_name: "raddle_abi",
        source: "abi/src/lib.rs",
        flags: LIBRARY,
        output: "libraddle_abi.rlib",
    },
    Step {
        crate_name: "raddle_trace",
        source: "trace/src/lib.rs",
        flags: LIBRARY,
        output: "libraddle_trace.rlib",
    },
    Step {
        crate_name: "raddle_schedule",
        source: "schedule/src/lib.rs",
        flags: LIBRARY,
        output: "libraddle_schedule.rlib",
    },
    Step {
        crate_name: "raddle_runtime",
        source: "runtime/src/lib.rs",
        // Without libc at hand its functions would be bound to their oldest versions, of which
        // `memcpy` is a slow one, and `pthread_cond_init` is about conditions of another layout.
        flags: &[
            "--crate-type=cdylib",
            "--cfg=raddle_cdylib",
            "-Clink-arg=-lc",
        ],
        output: RUNTIME_LIBRARY,
    },
];

const LIBRARY: &[&str] = &["--crate-type=rlib"];

/// Flags of all steps but the hooks.
const NATIVE: &[&str] = &[
    "-Copt-level=3",
    "-Cpanic=abort",
    "-Cforce-frame-pointers=yes",
    "-Cembed-bitcode=no",
    "-Ccodegen-units=1",
];

/// Flags of the hooks: optimised a little, or identical bodies would be merged into one.
const HOOKS: &[&str] = &[
    "--crate-type=lib",
    "--crate-name=raddle_hooks",
    "--emit=llvm-bc",
    "-Copt-level=1",
    "-Cpanic=abort",
    "-Ccodegen-units=1",
];

/// Compiles everything into `directory`, which exists and is empty.
pub(crate) fn compile(toolchain: &Toolchain, directory: &Path) -> anyhow::Result<()> {
    let sources = directory.join("sources");
    for (name, text) in FILES {
        let path = sources.join(name);
        let parent = path.parent().context("an embedded file has a directory")?;
        fs::create_dir_all(parent).with_context(|| cannot_write(parent))?;
        fs::write(&path, text).with_context(|| cannot_write(&path))?;
    }
    for (index, step) in STEPS.iter().enumerate() {
        let mut command = rustc(toolchain, &sources.join(step.source));
        command.args(NATIVE).args(step.flags);
        command.args(["--crate-name", step.crate_name]);
        for library in &STEPS[..index] {
            let path = directory.join(library.output);
            command.arg("--extern");
            command.arg(format!("{}={}", library.crate_name, path.display()));
        }
        command.arg("-o").arg(directory.join(step.output));
        finish(command)?;
    }
    let mut hooks = rustc(toolchain, &sources.join("runtime/hooks/fast.rs"));
    hooks
        .args(HOOKS)
        .arg("-o")
        .arg(directory.join(HOOKS_BITCODE));
    finish(hooks)?;
    for library in STEPS.iter().filter(|step| step.flags == LIBRARY) {
        let path = directory.join(library.output);
        fs::remove_file(&path).with_context(|| cannot_write(&path))?;
    }
    fs::remove_dir_all(&sources).with_context(|| cannot_write(&sources))
}

fn rustc(toolchain: &Toolchain, source: &Path) -> Command {
    let mut command = Command::new(&toolchain.rustc);
    command
        .args(["--edition=2024", "--cap-lints=allow", "--target", TARGET])
        .arg(source)
        // The user's flags are for the user's crates.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    command
}

fn finish(mut command: Command) -> anyhow::Result<()> {
    let finished = run_within(&mut command, LIMIT).context("cannot run rustc")?;
    match finished.status {
        Some(status) if status.success() => Ok(()),
        Some(_) => {
            let stderr = String::from_utf8_lossy(&finished.stderr);
            bail!(
                "the runtime does not compile with this toolchain: {}",
                stderr.trim()
            )
        }
        None => bail!(
            "rustc took longer than {} s to compile the runtime",
            LIMIT.as_secs()
        ),
    }
}

fn cannot_write(path: &Path) -> String {
    format!(
        "cannot write {}; free some space, or set RADDLE_CACHE to a writable directory",
        path.display()
    )
}
