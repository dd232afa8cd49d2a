//! A module: one bitcode file's functions and globals.

use std::ffi::{CString, c_char};
use std::marker::PhantomData;
use std::path::Path;
use std::ptr::NonNull;

use super::Error;
use super::api::{RawModule, RawValue, api, message};
use super::context::{Context, Type};
use super::value::Value;

/// An owned module.
pub struct Module<'c> {
    raw: NonNull<RawModule>,
    context: PhantomData<&'c Context>,
}

impl<'c> Module<'c> {
    /// Parses bitcode. `name` is for messages.
    pub fn parse(context: &'c Context, bitcode: &[u8], name: &str) -> Result<Self, Error> {
        let mut module = std::ptr::null_mut();
        // SAFETY: the bytes are copied into the buffer, which is disposed of exactly once.
        let failed = unsafe {
            let buffer = (api().LLVMCreateMemoryBufferWithMemoryRangeCopy)(
                bitcode.as_ptr().cast::<c_char>(),
                bitcode.len(),
                c"bitcode".as_ptr(),
            );
            let failed = (api().LLVMParseBitcodeInContext2)(context.raw(), buffer, &raw mut module);
            (api().LLVMDisposeMemoryBuffer)(buffer);
            failed != 0
        };
        match NonNull::new(module) {
            Some(raw) if !failed => Ok(Self {
                raw,
                context: PhantomData,
            }),
            _ => Err(Error::Parse(name.to_owned())),
        }
    }

    pub(super) fn raw(&self) -> *mut RawModule {
        self.raw.as_ptr()
    }

    /// Its assembly outside of functions.
    pub fn assembly(&self) -> String {
        let mut len = 0;
        // SAFETY: the module is live, and the text belongs to it; it is copied at once.
        let text = unsafe {
            let start = (api().LLVMGetModuleInlineAsm)(self.raw(), &raw mut len);
            match start.is_null() {
                true => &[][..],
                false => std::slice::from_raw_parts(start.cast::<u8>(), len),
            }
        };
        String::from_utf8_lossy(text).into_owned()
    }

    /// Adds assembly.
    pub fn append_assembly(&self, text: &str) {
        // SAFETY: the module is live, and the text is copied.
        unsafe {
            (api().LLVMAppendModuleInlineAsm)(
                self.raw(),
                text.as_ptr().cast::<c_char>(),
                text.len(),
            );
        }
    }

    /// All functions, declarations included, as they are now.
    pub fn functions(&self) -> Vec<Value<'c>> {
        // SAFETY: functions of a live module are followed until null.
        unsafe {
            collect((api().LLVMGetFirstFunction)(self.raw()), |function| {
                (api().LLVMGetNextFunction)(function)
            })
        }
    }

    /// All global variables, as they are now.
    pub fn globals(&self) -> Vec<Value<'c>> {
        // SAFETY: globals of a live module are followed until null.
        unsafe {
            collect((api().LLVMGetFirstGlobal)(self.raw()), |global| {
                (api().LLVMGetNextGlobal)(global)
            })
        }
    }

    /// The function with this symbol.
    pub fn function(&self, symbol: &str) -> Option<Value<'c>> {
        let symbol = CString::new(symbol).ok()?;
        // SAFETY: the name is NUL-terminated.
        Value::option(unsafe { (api().LLVMGetNamedFunction)(self.raw(), symbol.as_ptr()) })
    }

    /// Declares a function.
    ///
    /// # Panics
    ///
    /// If the symbol contains a NUL.
    pub fn declare(&self, symbol: &str, kind: Type<'c>) -> Value<'c> {
        let symbol = CString::new(symbol).expect("symbols have no NUL");
        // SAFETY: the name is NUL-terminated and the type is a function type.
        Value::new(unsafe { (api().LLVMAddFunction)(self.raw(), symbol.as_ptr(), kind.raw()) })
    }

    /// Declares an intrinsic that is overloaded for `kinds`.
    pub fn intrinsic(&self, name: &str, kinds: &[Type<'c>]) -> (Type<'c>, Value<'c>) {
        let mut raw: Vec<_> = kinds.iter().map(|kind| kind.raw()).collect();
        // SAFETY: name and array are readable for their lengths.
        unsafe {
            let number = (api().LLVMLookupIntrinsicID)(name.as_ptr().cast(), name.len());
            let function = (api().LLVMGetIntrinsicDeclaration)(
                self.raw(),
                number,
                raw.as_mut_ptr(),
                raw.len(),
            );
            let kind = (api().LLVMGlobalGetValueType)(function);
            (Type::new(kind), Value::new(function))
        }
    }

    /// Adds a constant global with private linkage.
    pub fn add_constant(&self, initializer: Value<'c>) -> Value<'c> {
        /// `LLVMGlobalUnnamedAddr`: the address does not matter, only the content.
        const CONTENT_ONLY: u32 = 2;
        /// `LLVMPrivateLinkage`.
        const PRIVATE: u32 = 9;
        // SAFETY: the initialiser has the global's type.
        Value::new(unsafe {
            let kind = (api().LLVMTypeOf)(initializer.raw());
            let global = (api().LLVMAddGlobal)(self.raw(), kind, c"raddle".as_ptr());
            (api().LLVMSetInitializer)(global, initializer.raw());
            (api().LLVMSetLinkage)(global, PRIVATE);
            (api().LLVMSetGlobalConstant)(global, 1);
            (api().LLVMSetUnnamedAddress)(global, CONTENT_ONLY);
            global
        })
    }

    /// Gives a global from [`Module::add_constant`] an identity, an alignment and a section.
    pub fn place(&self, global: Value<'c>, alignment: u32, section: &str) {
        // SAFETY: it is a global variable.
        unsafe {
            (api().LLVMSetUnnamedAddress)(global.raw(), 0);
            (api().LLVMSetAlignment)(global.raw(), alignment);
        }
        global.set_section(section);
    }

    /// Bytes that storing a value of this type touches.
    pub fn store_size(&self, kind: Type<'c>) -> u64 {
        // SAFETY: the type is sized, being that of a loaded or stored value.
        unsafe {
            let layout = (api().LLVMGetModuleDataLayout)(self.raw());
            (api().LLVMStoreSizeOfType)(layout, kind.raw())
        }
    }

    /// Moves everything of another module into this one.
    pub fn link(&self, other: Module<'c>) -> Result<(), Error> {
        let raw = other.raw();
        std::mem::forget(other);
        // SAFETY: both are of the same context; LLVM disposes of the other.
        if unsafe { (api().LLVMLinkModules2)(self.raw(), raw) } == 0 {
            Ok(())
        } else {
            Err(Error::Failed {
                action: "link hooks",
                message: "symbols clash".to_owned(),
            })
        }
    }

    /// Checks the module's rules.
    pub fn verify(&self) -> Result<(), Error> {
        /// `LLVMReturnStatusAction`.
        const RETURN_STATUS: i32 = 2;
        let mut text = std::ptr::null_mut();
        // SAFETY: LLVM writes a message that is ours to dispose of.
        let (bad, message) = unsafe {
            let bad = (api().LLVMVerifyModule)(self.raw(), RETURN_STATUS, &raw mut text);
            (bad != 0, message(text, api().LLVMDisposeMessage))
        };
        if bad {
            Err(Error::Failed {
                action: "accept the module",
                message,
            })
        } else {
            Ok(())
        }
    }

    /// The module as text.
    pub fn text(&self) -> String {
        // SAFETY: LLVM returns a message that is ours to dispose of.
        unsafe {
            message(
                (api().LLVMPrintModuleToString)(self.raw()),
                api().LLVMDisposeMessage,
            )
        }
    }

    /// Writes the module as text into a file.
    pub fn dump(&self, path: &Path) -> Result<(), Error> {
        std::fs::write(path, self.text()).map_err(|error| Error::Read {
            path: path.to_owned(),
            error,
        })
    }

    pub(super) fn target(&self) -> *const c_char {
        // SAFETY: the module is alive.
        unsafe { (api().LLVMGetTarget)(self.raw()) }
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: values of the module are not used after it.
        unsafe { (api().LLVMDisposeModule)(self.raw()) }
    }
}

/// Follows a chain of values until null.
unsafe fn collect<'c>(
    first: *mut RawValue,
    next: impl Fn(*mut RawValue) -> *mut RawValue,
) -> Vec<Value<'c>> {
    std::iter::successors(Value::option(first), |value: &Value<'c>| {
        Value::option(next(value.raw()))
    })
    .collect()
}
