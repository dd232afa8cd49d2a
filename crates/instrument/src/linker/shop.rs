//! Instruments one module at a time, for compilers.

use std::path::PathBuf;

use raddle_abi::env;

use super::cache::Cache;
use super::error::Error;
use super::files::write_atomically;
use super::inputs;
use super::jobs::{Job, Workshop};
use crate::environment::Environment;
use crate::llvm;
use crate::passes::Origin;

/// Turns bitcode into objects, by way of the cache.
pub(crate) struct Shop {
    cache: Cache,
    libllvm: PathBuf,
    hooks: Vec<u8>,
}

/// An object.
pub(crate) struct Object {
    /// The file's content.
    pub(crate) content: Vec<u8>,
    /// Why it has no hooks, if it has none.
    pub(crate) failure: Option<String>,
}

impl Shop {
    /// Opens what the tool has prepared.
    pub(crate) fn open(environment: &Environment) -> Result<Self, Error> {
        let hooks = inputs::read(&environment.runtime.join(env::HOOKS_BITCODE))?;
        let libllvm = llvm::locate_llvm(&environment.sysroot)?;
        Ok(Self {
            cache: Cache::open(environment.objects.clone(), &libllvm, &hooks)?,
            libllvm,
            hooks,
        })
    }

    /// Remembers the bitcode that belongs to an object that somebody else compiled.
    pub(crate) fn keep_bitcode(&self, object: &[u8], bitcode: &[u8]) -> Result<(), Error> {
        let path = self.cache.bitcode_of(object);
        write_atomically(&path, bitcode).map_err(|error| Error::File {
            action: "write",
            path,
            error,
        })
    }

    /// The instrumented object of a module.
    pub(crate) fn object(
        &self,
        name: String,
        bitcode: Vec<u8>,
        origin: Origin,
    ) -> Result<Object, Error> {
        let key = self.cache.module_key(&bitcode, origin);
        let path = self.cache.object(&key);
        if !path.exists() {
            llvm::load(&self.libllvm)?;
            let dump = std::env::var_os(env::DUMP_IR).map(PathBuf::from);
            let workshop = Workshop {
                cache: &self.cache,
                hooks: &self.hooks,
                dump: dump.as_deref(),
                parallel: 1,
            };
            workshop.run(vec![Job {
                key: key.clone(),
                name,
                bitcode,
                origin,
            }])?;
        }
        Ok(Object {
            content: inputs::read(&path)?,
            failure: std::fs::read_to_string(self.cache.failure(&key)).ok(),
        })
    }
}
