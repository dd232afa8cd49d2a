//! Instruments programs on stable Rust, with rustc's own LLVM.
//!
//! Three programs are made of this crate. [`rustc_wrapper()`] stands in for rustc and adds the
//! flags that make crates reach the linker as bitcode. [`linker()`] stands in for the linker: it
//! instruments every module ([`passes`]), and calls the real linker with the resulting
//! objects and the runtime library. [`compiler()`] stands in for a C or C++ compiler. Only
//! [`llvm`] touches LLVM.
//!
//! Deliberately absent: any knowledge of what the hooks do (that is the runtime's), and of
//! cargo (that is the CLI's).

mod compiler;
mod complain;
mod environment;
mod linker;
pub mod llvm;
mod machine_code;
pub mod passes;
mod path;
mod program;
mod refusals;
mod rustc_wrapper;
mod unseen;
mod work_lock;

pub use self::compiler::{
    Clang, ClangError, Error as CompileError, Language, compiler, compiler_beside, find_clang,
};
pub use self::environment::Environment;
pub use self::linker::{Error as LinkError, Failure, LinkReport, linker, waiting_links};
pub use self::llvm::locate_llvm;
pub use self::path::{function_path, normalize};
pub use self::program::{Program, ProgramError, examine};
pub use self::refusals::refused_sources;
pub use self::rustc_wrapper::rustc_wrapper;
pub use self::unseen::{unseen_code, unseen_synchronisation};
pub use self::work_lock::WorkLock;

use std::path::Path;

/// Version of the libLLVM in a sysroot, which gets loaded.
pub fn llvm_version(sysroot: &Path) -> Result<(u32, u32, u32), llvm::Error> {
    llvm::load(&locate_llvm(sysroot)?)?;
    Ok(llvm::version())
}

/// Major version of the libLLVM in a sysroot, from its name; only if that does not tell, it
/// gets loaded.
pub fn llvm_major(sysroot: &Path) -> Result<u32, llvm::Error> {
    let path = locate_llvm(sysroot)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let number = name
        .trim_start_matches("libLLVM")
        .trim_start_matches(|character: char| !character.is_ascii_digit());
    let mut digits = number.split(|character: char| !character.is_ascii_digit());
    match digits.next().and_then(|text| text.parse().ok()) {
        Some(major) => Ok(major),
        None => llvm_version(sysroot).map(|(major, ..)| major),
    }
}
