//! The rustc and linker wrappers without the CLI, for trying instrumentation by itself: link
//! it as `raddle-rustc` and `raddle-linker`, and set the variables of `raddle_abi::env`.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let name = arguments.first().and_then(|own| Path::new(own).file_name());
    match name.and_then(|name| name.to_str()) {
        Some("raddle-rustc") => raddle_instrument::rustc_wrapper(arguments),
        Some("raddle-linker") => raddle_instrument::linker(arguments),
        _ => {
            eprintln!("call this as raddle-rustc or raddle-linker");
            ExitCode::FAILURE
        }
    }
}
