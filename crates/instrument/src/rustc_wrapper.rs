//! Stands in for rustc: adds the flags that make crates reach our linker as bitcode.
//!
//! Flags are appended after the user's own, for crates that are compiled with `--target`
//! only; build scripts and procedural macros stay plain. `RUSTFLAGS` would not do: it would
//! discard the flags of the user's configuration.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use raddle_abi::env;

use crate::complain::complain;

/// Name of the link beside our own program under which rustc calls our linker.
const LINKER_NAME: &str = "raddle-linker";

/// Flags for every target crate.
const FLAGS: &[&str] = &[
    "-Clinker-plugin-lto",
    "-Clto=off",
    "-Cembed-bitcode=yes",
    "-Cno-prepopulate-passes",
    "-Copt-level=1",
    "-Cdebuginfo=2",
    "-Csplit-debuginfo=off",
    "-Cstrip=none",
    "-Cforce-frame-pointers=yes",
    "--cfg=raddle",
    "--check-cfg=cfg(raddle)",
];

/// Acts as rustc. Arguments: our own name, rustc's path, rustc's arguments.
pub fn rustc_wrapper(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.into_iter();
    let own = arguments.next().unwrap_or_default();
    let Some(rustc) = arguments.next() else {
        complain("raddle-rustc works only when called by cargo");
        return ExitCode::FAILURE;
    };
    let arguments: Vec<OsString> = arguments.collect();
    let wrapper = std::env::var_os(env::REAL_WRAPPER).filter(|wrapper| !wrapper.is_empty());
    let mut command = match &wrapper {
        Some(wrapper) => {
            let mut command = Command::new(wrapper);
            command.arg(&rustc);
            command
        }
        None => Command::new(&rustc),
    };
    command.args(&arguments);
    let flags = Flags::read(&arguments);
    if flags.is_target_crate() {
        command.args(flags.additions(&linker_beside(&own)));
        if flags.is_optimized() {
            command.env(env::OPTIMIZED, "1");
        }
        if let Some(linker) = &flags.linker {
            command.env(env::REAL_LINKER, linker);
        }
    }
    let error = command.exec();
    let program = wrapper.unwrap_or(rustc);
    complain(format_args!("cannot run `{}`: {error}", program.display()));
    ExitCode::FAILURE
}

/// Our linker: the link of that name in the directory of our own.
fn linker_beside(own: &OsString) -> PathBuf {
    let own = Path::new(own);
    let own = if own.components().count() > 1 {
        own.to_owned()
    } else {
        std::env::current_exe().unwrap_or_else(|_| own.to_owned())
    };
    own.with_file_name(LINKER_NAME)
}

/// What rustc's arguments say, as far as it matters here.
#[derive(Debug, Default, PartialEq, Eq)]
struct Flags {
    has_target: bool,
    crate_name: Option<String>,
    is_probe: bool,
    linker: Option<String>,
    has_flavor: bool,
    opt_level: Option<String>,
    debug_assertions: Option<bool>,
    overflow_checks: Option<bool>,
}

impl Flags {
    fn read(arguments: &[OsString]) -> Self {
        let mut flags = Self::default();
        let mut arguments = arguments.iter().map(|argument| argument.to_string_lossy());
        while let Some(argument) = arguments.next() {
            match argument.as_ref() {
                "--target" => flags.has_target = arguments.next().is_some(),
                "--crate-name" => flags.crate_name = arguments.next().map(|name| name.into_owned()),
                "-" | "--print" => flags.is_probe = true,
                "-O" => flags.opt_level = Some("3".to_owned()),
                "-C" | "--codegen" => {
                    if let Some(option) = arguments.next() {
                        flags.codegen(&option);
                    }
                }
                text => {
                    if text.starts_with("--target=") {
                        flags.has_target = true;
                    } else if text.starts_with("--print=") {
                        flags.is_probe = true;
                    } else if let Some(name) = text.strip_prefix("--crate-name=") {
                        flags.crate_name = Some(name.to_owned());
                    } else if let Some(option) = text
                        .strip_prefix("-C")
                        .or_else(|| text.strip_prefix("--codegen="))
                    {
                        flags.codegen(option);
                    }
                }
            }
        }
        flags
    }

    fn codegen(&mut self, option: &str) {
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        let switch = || !matches!(value, Some("n" | "no" | "off" | "false"));
        match (name.replace('_', "-").as_str(), value) {
            ("linker", Some(linker)) => self.linker = Some(linker.to_owned()),
            ("linker-flavor", _) => self.has_flavor = true,
            ("opt-level", Some(level)) => self.opt_level = Some(level.to_owned()),
            ("debug-assertions", _) => self.debug_assertions = Some(switch()),
            ("overflow-checks", _) => self.overflow_checks = Some(switch()),
            _ => {}
        }
    }

    /// Cargo also asks rustc questions, and build scripts compile probes.
    fn is_target_crate(&self) -> bool {
        self.has_target && !self.is_probe && self.crate_name.is_some()
    }

    fn is_optimized(&self) -> bool {
        self.opt_level.as_deref().is_some_and(|level| level != "0")
    }

    fn additions(&self, linker: &Path) -> Vec<OsString> {
        let mut additions: Vec<OsString> = FLAGS.iter().map(OsString::from).collect();
        let mut linker_flag = OsString::from("-Clinker=");
        linker_flag.push(linker);
        additions.push(linker_flag);
        // rustc infers these from the optimisation level and from the linker's name, both of
        // which we change.
        let debug_assertions = self.debug_assertions.unwrap_or(!self.is_optimized());
        let overflow_checks = self.overflow_checks.unwrap_or(debug_assertions);
        let word = |switch| if switch { "on" } else { "off" };
        additions.push(format!("-Cdebug-assertions={}", word(debug_assertions)).into());
        additions.push(format!("-Coverflow-checks={}", word(overflow_checks)).into());
        // Functions are inlined within a module, and what is inlined before the hooks go in leaves
        // fewer accesses to announce.
        if self.is_optimized() {
            additions.push("-Ccodegen-units=1".into());
        }
        let flavor = self
            .linker
            .as_ref()
            .and_then(|linker| direct_flavor(Path::new(linker)));
        if let Some(flavor) = flavor.filter(|_| !self.has_flavor) {
            additions.push(format!("-Clinker-flavor={flavor}").into());
        }
        additions
    }
}

/// The flavor of a linker that is called without a C compiler; `None` for C compilers.
pub(crate) fn direct_flavor(linker: &Path) -> Option<&'static str> {
    match linker.file_name()?.to_str()? {
        "ld" | "ld.bfd" | "ld.gold" | "mold" | "wild" => Some("ld"),
        "ld.lld" | "lld" | "rust-lld" => Some("ld.lld"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Flags, direct_flavor};

    fn check(line: &str) -> Flags {
        Flags::read(&line.split(' ').map(Into::into).collect::<Vec<_>>())
    }

    fn added(line: &str, flag: &str) -> bool {
        check(line)
            .additions(Path::new("/x/raddle-linker"))
            .iter()
            .any(|added| added == flag)
    }

    #[test]
    fn only_crates_for_the_target_get_flags() {
        assert!(check("--crate-name a src/lib.rs --target x86_64").is_target_crate());
        assert!(check("--crate-name=a src/lib.rs --target=x86_64").is_target_crate());
        assert!(!check("--crate-name build_script_build build.rs").is_target_crate());
        assert!(!check("- --crate-name ___ --print=cfg --target x86_64").is_target_crate());
        assert!(!check("-vV").is_target_crate());
    }

    #[test]
    fn checks_stay_as_in_the_profile_of_the_user() {
        let line = "--crate-name a --target t";
        assert!(added(line, "-Cdebug-assertions=on"));
        assert!(added(line, "-Coverflow-checks=on"));
        assert!(added(
            "--crate-name a -C opt-level=3",
            "-Cdebug-assertions=off"
        ));
        assert!(added(
            "-Copt-level=3 -C debug-assertions=on",
            "-Coverflow-checks=on"
        ));
        assert!(added("-C overflow-checks=off", "-Coverflow-checks=off"));
        assert!(added("-C debug-assertions -O", "-Cdebug-assertions=on"));
    }

    #[test]
    fn optimised_crates_are_one_module() {
        let one = "-Ccodegen-units=1";
        assert!(added("--crate-name a -C opt-level=3", one));
        assert!(added("--crate-name a -Copt-level=s", one));
        assert!(!added("--crate-name a -C opt-level=0", one));
        assert!(!added("--crate-name a", one));
    }

    #[test]
    fn the_linker_of_the_user_is_kept() {
        assert_eq!(check("-C linker=clang").linker.as_deref(), Some("clang"));
        assert_eq!(check("-Clinker=a -Clinker=b").linker.as_deref(), Some("b"));
        assert!(added("-Clinker=/usr/bin/ld.lld", "-Clinker-flavor=ld.lld"));
        assert!(!added("-Clinker=clang", "-Clinker-flavor=ld"));
        assert_eq!(direct_flavor(Path::new("/usr/bin/cc")), None);
    }
}
