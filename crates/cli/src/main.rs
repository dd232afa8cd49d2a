//! `cargo raddle`.

use std::process::ExitCode;

fn main() -> ExitCode {
    cargo_raddle::main()
}
