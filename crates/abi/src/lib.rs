//! The one declared interface between instrumented code, the runtime inside the program
//! under test, and the tool outside of it.
//!
//! Everything that crosses one of these borders is defined here and nowhere else:
//! the hooks that instrumentation inserts ([`hooks`]), the records they point at ([`site`]), how
//! names become keys ([`key`]),
//! the shared memory through which plans go in and results come out ([`control`]), and the
//! environment variables that tie the pieces together ([`mod@env`]).
//!
//! Deliberately absent: behaviour. This crate has no dependencies, allocates nothing and
//! starts nothing, because it is compiled into the program under test.
#![no_std]

pub mod control;
pub mod env;
pub mod finding;
pub mod hooks;
pub mod key;
pub mod libc;
pub mod mark;
pub mod plan;
pub mod record;
pub mod site;

/// Version of everything in this crate. The runtime refuses to work with a tool of another
/// version; both are built from the same sources, so a mismatch means a stale cache.
pub const ABI_VERSION: u32 = 23;
