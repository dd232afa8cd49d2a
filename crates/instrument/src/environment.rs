//! What the wrappers need from the tool: where the runtime, LLVM and the cache are.

use std::path::PathBuf;

use raddle_abi::env;

use crate::linker::Error;

/// Directories that the tool has prepared for one toolchain.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Holds the runtime library and the hooks' bitcode.
    pub runtime: PathBuf,
    /// rustc's sysroot, where its libLLVM is found.
    pub sysroot: PathBuf,
    /// Holds instrumented objects.
    pub objects: PathBuf,
}

impl Environment {
    /// As the tool tells it to the wrappers that cargo and rustc call.
    pub fn from_variables() -> Result<Self, Error> {
        let variable = |name| {
            std::env::var_os(name)
                .map(PathBuf::from)
                .ok_or(Error::NotOurs(name))
        };
        Ok(Self {
            runtime: variable(env::RUNTIME_DIR)?,
            sysroot: variable(env::SYSROOT)?,
            objects: variable(env::CACHE_DIR)?,
        })
    }

    /// The runtime library.
    pub fn library(&self) -> PathBuf {
        self.runtime.join(env::RUNTIME_LIBRARY)
    }
}
