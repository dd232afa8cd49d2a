//! rustc's own LLVM behind safe wrappers. Nothing outside of this module touches LLVM.
//!
//! The library is found by [`locate_llvm`] and loaded at run time ([`load`]), so Raddle is
//! built without any LLVM and works with the LLVM of whichever supported rustc is in use.
//!
//! The wrappers are thin. A [`Context`] owns everything; values, types and metadata borrow from
//! it and are freely copied. LLVM's C API casts without checks, so wrappers check the kind
//! of what they hold before every call that relies on it.

mod api;
mod builder;
mod context;
mod debug;
mod instruction;
mod locate;
mod machine;
mod module;
mod value;

use std::io;
use std::path::{Path, PathBuf};

pub use self::builder::{Builder, Predicate};
pub use self::context::{Context, Type, TypeKind};
pub use self::debug::{Kind, Location, Metadata};
pub use self::instruction::{Instruction, Opcode};
pub use self::locate::locate_llvm;
pub use self::machine::Machine;
pub use self::module::Module;
pub use self::value::{Attribute, Linkage, Value};

/// What can go wrong with LLVM.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The sysroot has no compiler library.
    #[error("no librustc_driver in {}: is this the sysroot of a rustc installed by rustup?", .0.display())]
    NoDriver(PathBuf),
    /// The compiler library needs no libLLVM, or it is not there.
    #[error("{} names no libLLVM in its own directory: this rustc has LLVM built in, which Raddle cannot use; install one with rustup", .0.display())]
    NoLlvm(PathBuf),
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// libLLVM cannot be loaded.
    #[error("cannot load {}: {message}", path.display())]
    Load {
        /// The library.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// libLLVM is of a version that lacks something.
    #[error("libLLVM has no function {0}: this LLVM version is not supported")]
    MissingFunction(&'static str),
    /// Something is not bitcode that this LLVM reads.
    #[error("cannot parse the bitcode of {0}")]
    Parse(String),
    /// LLVM refused to do something.
    #[error("LLVM cannot {action}: {message}")]
    Failed {
        /// What was asked for.
        action: &'static str,
        /// Its message.
        message: String,
    },
}

/// Loads libLLVM. It stays loaded; a second call changes nothing.
pub fn load(library: &Path) -> Result<(), Error> {
    api::load(library)
}

/// Version of the loaded libLLVM.
///
/// # Panics
///
/// If [`load`] has not succeeded before.
pub fn version() -> (u32, u32, u32) {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: the pointers are to live integers.
    unsafe { (api::api().LLVMGetVersion)(&raw mut major, &raw mut minor, &raw mut patch) };
    (major, minor, patch)
}
