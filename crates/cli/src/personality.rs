//! The other programs that this executable is, by the name it is called with.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use crate::runner_record;

/// Cargo calls us instead of rustc.
pub(crate) const RUSTC: &str = "raddle-rustc";
/// rustc calls us instead of the linker.
pub(crate) const LINKER: &str = "raddle-linker";
/// Cargo calls us instead of a test executable, and we note down how.
pub(crate) const RUNNER: &str = "raddle-runner";
/// Cargo calls us instead of rustdoc when it should run no documentation tests.
pub(crate) const RUSTDOC: &str = "raddle-rustdoc";
/// Every name.
pub(crate) const NAMES: &[&str] = &[RUSTC, LINKER, RUNNER, RUSTDOC];

/// Acts as the program named by the first argument; `None` if that is the tool itself.
pub(crate) fn dispatch(arguments: &[OsString]) -> Option<ExitCode> {
    let name = Path::new(arguments.first()?).file_name()?;
    let arguments = arguments.to_vec();
    Some(match name.to_str()? {
        RUSTC => raddle_instrument::rustc_wrapper(arguments),
        LINKER => raddle_instrument::linker(arguments),
        RUNNER => runner_record::write(&arguments),
        RUSTDOC => ExitCode::SUCCESS,
        _ => return None,
    })
}
