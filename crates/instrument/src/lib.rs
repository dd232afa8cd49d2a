//! Instruments Rust programs at link time, on stable Rust, with rustc's own LLVM.
//!
//! Two programs are made of this crate. [`rustc_wrapper()`] stands in for rustc and adds the
//! flags that make crates reach the linker as bitcode. [`linker()`] stands in for the linker: it
//! instruments every module ([`passes`]), and calls the real linker with the resulting
//! objects and the runtime library. Only [`llvm`] touches LLVM.
//!
//! Deliberately absent: any knowledge of what the hooks do (that is the runtime's), and of
//! cargo (that is the CLI's).

mod linker;
pub mod llvm;
pub mod passes;
mod path;
mod rustc_wrapper;

pub use self::linker::{Error as LinkError, Failure, LinkReport, linker};
pub use self::llvm::locate_llvm;
pub use self::path::{function_path, normalize};
pub use self::rustc_wrapper::rustc_wrapper;

use std::path::Path;

/// Version of the libLLVM in a sysroot, which gets loaded.
pub fn llvm_version(sysroot: &Path) -> Result<(u32, u32, u32), llvm::Error> {
    llvm::load(&locate_llvm(sysroot)?)?;
    Ok(llvm::version())
}
