//! The other programs that this executable is, by the name it is called with.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use raddle_abi::env;
use raddle_instrument::{CompileError, Environment, Language};
use raddle_report::visible;

use crate::{documentation, runner_record};

/// Cargo calls us instead of rustc.
pub(crate) const RUSTC: &str = "raddle-rustc";
/// rustc calls us instead of the linker.
pub(crate) const LINKER: &str = "raddle-linker";
/// Cargo calls us instead of a test executable, and we note down how.
pub(crate) const RUNNER: &str = "raddle-runner";
/// Cargo calls us instead of rustdoc when it should run no documentation tests.
pub(crate) const RUSTDOC: &str = "raddle-rustdoc";
/// Cargo calls us instead of rustdoc when it should describe a crate in JSON.
pub(crate) const RUSTDOC_JSON: &str = "raddle-rustdoc-json";
/// Build scripts call us instead of a C compiler.
pub(crate) const CC: &str = "raddle-cc";
/// Build scripts call us instead of a C++ compiler.
pub(crate) const CXX: &str = "raddle-c++";
/// Every name.
pub(crate) const NAMES: &[&str] = &[RUSTC, LINKER, RUNNER, RUSTDOC, RUSTDOC_JSON, CC, CXX];

/// Acts as the program named by the first argument; `None` if that is the tool itself.
pub(crate) fn dispatch(arguments: &[OsString]) -> Option<ExitCode> {
    let name = Path::new(arguments.first()?).file_name()?;
    let arguments = arguments.to_vec();
    Some(match name.to_str()? {
        RUSTC => raddle_instrument::rustc_wrapper(arguments),
        LINKER => raddle_instrument::linker(arguments),
        RUNNER => runner_record::write(&arguments),
        RUSTDOC => ExitCode::SUCCESS,
        RUSTDOC_JSON => documentation::rustdoc(&arguments[1..]),
        CC => compiler(Language::C, arguments),
        CXX => compiler(Language::Cxx, arguments),
        _ => return None,
    })
}

fn compiler(language: Language, arguments: Vec<OsString>) -> ExitCode {
    let result = Environment::from_variables()
        .map_err(CompileError::from)
        .and_then(|environment| {
            let arguments = arguments.into_iter().skip(1);
            let (variable, default) = match language {
                Language::C => (env::REAL_CC, "cc"),
                Language::Cxx => (env::REAL_CXX, "c++"),
            };
            let real = std::env::var(variable).unwrap_or_else(|_| default.to_owned());
            raddle_instrument::compiler_beside(language, arguments, &real, &environment)
        });
    result.unwrap_or_else(|error| {
        let _ = writeln!(std::io::stderr(), "raddle: {}", visible(&error.to_string()));
        ExitCode::FAILURE
    })
}
