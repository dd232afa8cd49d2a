//! `raddle`: the same commands without cargo in front.

use std::process::ExitCode;

fn main() -> ExitCode {
    cargo_raddle::main()
}
