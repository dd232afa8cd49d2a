//! `cargo raddle doctor`: whether toolchain and machine can do it, and what to do if not.

use std::process::Command;

use raddle_report::{Check, CheckResult, Event, Sources};

use crate::arguments::DoctorCommand;
use crate::cache::Cache;
use crate::cargo_flags::CargoFlags;
use crate::console::{Console, replay_command};
use crate::exit::{Exit, Failure};
use crate::interrupt::StopFlag;
use crate::limits;
use crate::machine;
use crate::session::{cargo_config, clang, find_toolchain};
use crate::toolchain::Toolchain;

pub(super) fn run(command: &DoctorCommand) -> Result<Exit, Failure> {
    let mut console = Console::new(
        command.output,
        Sources::default(),
        StopFlag::install()?,
        replay_command(&[]),
    );
    let toolchain = cargo_config(&CargoFlags::default()).and_then(|config| find_toolchain(&config));
    let mut checks = Vec::new();
    match toolchain {
        Ok(toolchain) => checks.extend(toolchain_checks(&toolchain)),
        Err(failure) => checks.push(check("toolchain", CheckResult::Bad, sentence(failure))),
    }
    checks.push(linker());
    checks.extend(machine::checks());
    checks.extend(limits::checks());
    let bad = checks.iter().any(|check| check.result == CheckResult::Bad);
    for check in checks {
        console.show(&Event::Check(check));
    }
    Ok(if bad { Exit::Unsupported } else { Exit::Clean })
}

fn toolchain_checks(toolchain: &Toolchain) -> [Check; 4] {
    let release = match toolchain.warning() {
        Some(warning) => check("toolchain", CheckResult::Limited, warning),
        None => {
            let text = format!("rustc {} with LLVM {}", toolchain.release, toolchain.llvm);
            check("toolchain", CheckResult::Good, text)
        }
    };
    let llvm = match raddle_instrument::locate_llvm(&toolchain.sysroot) {
        Ok(path) => check("LLVM", CheckResult::Good, format!("{}", path.display())),
        Err(error) => {
            let text = format!("{error}; reinstall the toolchain with rustup");
            check("LLVM", CheckResult::Bad, text)
        }
    };
    let clang = match clang(toolchain) {
        Ok(clang) => {
            let text = format!("{}, version {}", clang.path.display(), clang.major);
            check("clang", CheckResult::Good, text)
        }
        Err(error) => {
            let text = format!("Rust works without, C and C++ do not: {error}");
            check("clang", CheckResult::Limited, text)
        }
    };
    let runtime = match Cache::prepare(toolchain, || {}) {
        Ok(cache) => {
            let text = format!("compiled in {}", cache.runtime().display());
            check("runtime", CheckResult::Good, text)
        }
        Err(failure) => check("runtime", CheckResult::Bad, sentence(failure)),
    };
    [release, llvm, clang, runtime]
}

fn linker() -> Check {
    let found = Command::new("cc").arg("--version").output();
    match found {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            let first = text.lines().next().unwrap_or("cc").to_owned();
            check("linker", CheckResult::Good, first)
        }
        _ => {
            let text = "there is no `cc`: install a C compiler (on Debian: apt install gcc)";
            check("linker", CheckResult::Bad, text)
        }
    }
}

fn check(name: &str, result: CheckResult, text: impl Into<String>) -> Check {
    Check {
        name: name.to_owned(),
        result,
        text: text.into(),
    }
}

fn sentence(failure: Failure) -> String {
    failure
        .error
        .map_or_else(String::new, |error| format!("{error:#}"))
}
