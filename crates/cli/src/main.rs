//! `cargo raddle`.

fn main() {}
