//! Environment variables between the tool, its compiler wrappers and the program under test.

/// Set to `1` in every test process, so that a test can tell that it runs under Raddle.
pub const RADDLE: &str = "RADDLE";
/// Number of the descriptor of the shared memory ([`crate::control`]). Without it the
/// runtime stays passive and the program runs as if it were not there.
pub const CONTROL: &str = "RADDLE_CONTROL_FD";
/// Directory of this toolchain's `libraddle_runtime.so` and `hooks.bc`.
pub const RUNTIME_DIR: &str = "RADDLE_RUNTIME_DIR";
/// Directory of the instrumentation cache.
pub const CACHE_DIR: &str = "RADDLE_CACHE_DIR";
/// The linker that the user's configuration names; `cc` without it.
pub const REAL_LINKER: &str = "RADDLE_REAL_LINKER";
/// The C compiler that build scripts would call without us.
pub const REAL_CC: &str = "RADDLE_REAL_CC";
/// The C++ compiler that build scripts would call without us.
pub const REAL_CXX: &str = "RADDLE_REAL_CXX";
/// The user's own `rustc-wrapper`, to be called with rustc's path and arguments.
pub const REAL_WRAPPER: &str = "RADDLE_REAL_WRAPPER";
/// rustc's sysroot, where its libLLVM is found.
pub const SYSROOT: &str = "RADDLE_SYSROOT";
/// Directory into which the linker wrapper writes one report file per link.
pub const LINK_REPORTS: &str = "RADDLE_LINK_REPORTS";
/// Directory for IR dumps before and after instrumentation; unset means no dumps.
pub const DUMP_IR: &str = "RADDLE_DUMP_IR";
/// Set to have branches announced too. Objects with and without that never mix.
pub const BRANCHES: &str = "RADDLE_BRANCHES";
/// Set where the user wants optimised code: more is inlined before hooks go in.
pub const OPTIMIZED: &str = "RADDLE_OPTIMIZED";
/// How many modules the linker wrapper instruments at a time.
pub const BUILD_JOBS: &str = "RADDLE_BUILD_JOBS";

/// File name of the runtime library.
pub const RUNTIME_LIBRARY: &str = "libraddle_runtime.so";
/// File name of the hooks' bitcode.
pub const HOOKS_BITCODE: &str = "hooks.bc";
