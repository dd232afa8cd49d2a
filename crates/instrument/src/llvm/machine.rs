//! Optimises modules and turns them into objects.

use std::ffi::CString;
use std::ptr::NonNull;

use super::Error;
use super::api::{RawMachine, api, message};
use super::module::Module;

/// A code generator for a module's target.
pub struct Machine {
    raw: NonNull<RawMachine>,
}

impl Machine {
    /// The code generator for a module's target triple: position-independent code for the
    /// baseline CPU; functions carry their own CPU features.
    pub fn new(module: &Module<'_>) -> Result<Self, Error> {
        /// `LLVMCodeGenLevelLess`.
        const LEVEL: i32 = 1;
        /// `LLVMRelocPIC`.
        const POSITION_INDEPENDENT: i32 = 2;
        /// `LLVMCodeModelDefault`.
        const CODE_MODEL: i32 = 0;
        let mut target = std::ptr::null_mut();
        let mut text = std::ptr::null_mut();
        // SAFETY: LLVM writes the target or a message that is ours to dispose of.
        let raw = unsafe {
            if (api().LLVMGetTargetFromTriple)(module.target(), &raw mut target, &raw mut text) != 0
            {
                let message = message(text, api().LLVMDisposeMessage);
                return Err(Error::Failed {
                    action: "find the target",
                    message,
                });
            }
            (api().LLVMCreateTargetMachine)(
                target,
                module.target(),
                c"x86-64".as_ptr(),
                c"".as_ptr(),
                LEVEL,
                POSITION_INDEPENDENT,
                CODE_MODEL,
            )
        };
        let raw = NonNull::new(raw).ok_or_else(|| Error::Failed {
            action: "generate code for the target",
            message: "it is not x86-64".to_owned(),
        })?;
        Ok(Self { raw })
    }

    /// Runs a pipeline, in the syntax of LLVM's `opt -passes`.
    pub fn run(&self, module: &Module<'_>, pipeline: &str) -> Result<(), Error> {
        let pipeline = CString::new(pipeline).map_err(|error| Error::Failed {
            action: "read the pipeline",
            message: error.to_string(),
        })?;
        // SAFETY: module and machine are alive; options and error are disposed of once.
        unsafe {
            let options = (api().LLVMCreatePassBuilderOptions)();
            let error =
                (api().LLVMRunPasses)(module.raw(), pipeline.as_ptr(), self.raw.as_ptr(), options);
            (api().LLVMDisposePassBuilderOptions)(options);
            if error.is_null() {
                return Ok(());
            }
            let text = (api().LLVMGetErrorMessage)(error);
            let message = message(text, api().LLVMDisposeErrorMessage);
            Err(Error::Failed {
                action: "run its passes",
                message,
            })
        }
    }

    /// The object file of a module.
    pub fn emit(&self, module: &Module<'_>) -> Result<Vec<u8>, Error> {
        /// `LLVMObjectFile`.
        const OBJECT: i32 = 1;
        let mut buffer = std::ptr::null_mut();
        let mut text = std::ptr::null_mut();
        // SAFETY: LLVM writes a buffer or a message; both are ours to dispose of.
        unsafe {
            let failed = (api().LLVMTargetMachineEmitToMemoryBuffer)(
                self.raw.as_ptr(),
                module.raw(),
                OBJECT,
                &raw mut text,
                &raw mut buffer,
            );
            if failed != 0 {
                let message = message(text, api().LLVMDisposeMessage);
                return Err(Error::Failed {
                    action: "emit an object",
                    message,
                });
            }
            let start = (api().LLVMGetBufferStart)(buffer).cast::<u8>();
            let len = (api().LLVMGetBufferSize)(buffer);
            let object = std::slice::from_raw_parts(start, len).to_vec();
            (api().LLVMDisposeMemoryBuffer)(buffer);
            Ok(object)
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // SAFETY: the machine is not used again.
        unsafe { (api().LLVMDisposeTargetMachine)(self.raw.as_ptr()) }
    }
}
