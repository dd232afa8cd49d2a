//! The owner of all IR, its types and its constants.

use std::cell::RefCell;
use std::ffi::{c_char, c_void};
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::Error;
use super::api::{RawContext, RawDiagnostic, RawType, RawValue, api, message};
use super::value::Value;

/// An LLVM context: the owner of types, constants and metadata.
pub struct Context {
    raw: NonNull<RawContext>,
    /// First error that LLVM reported. Boxed, because LLVM holds its address.
    error: Box<RefCell<Option<String>>>,
}

/// Keeps the first error: without a handler LLVM would end the process.
extern "C" fn keep_error(diagnostic: *mut RawDiagnostic, kept: *mut c_void) {
    /// `LLVMDSError`.
    const ERROR: u32 = 0;
    // SAFETY: LLVM passes a live diagnostic and the address given with the handler, which is
    // that of the context's cell; both outlive the call.
    unsafe {
        if (api().LLVMGetDiagInfoSeverity)(diagnostic) == ERROR {
            let text = (api().LLVMGetDiagInfoDescription)(diagnostic);
            let text = message(text, api().LLVMDisposeMessage);
            (*kept.cast::<RefCell<Option<String>>>())
                .borrow_mut()
                .get_or_insert(text);
        }
    }
}

impl Context {
    /// A new context.
    ///
    /// # Panics
    ///
    /// If libLLVM has not been loaded.
    pub fn new() -> Self {
        // SAFETY: no preconditions.
        let raw = unsafe { (api().LLVMContextCreate)() };
        let error = Box::new(RefCell::new(None));
        let address = (&raw const *error).cast_mut().cast::<c_void>();
        // SAFETY: the cell lives as long as the context.
        unsafe { (api().LLVMContextSetDiagnosticHandler)(raw, keep_error, address) };
        Self {
            raw: NonNull::new(raw).expect("LLVM makes a context"),
            error,
        }
    }

    /// Fails if LLVM has reported an error in this context.
    pub fn check(&self, action: &'static str) -> Result<(), Error> {
        match self.error.borrow_mut().take() {
            Some(message) => Err(Error::Failed { action, message }),
            None => Ok(()),
        }
    }

    pub(super) fn raw(&self) -> *mut RawContext {
        self.raw.as_ptr()
    }

    /// The type of nothing.
    pub fn void(&self) -> Type<'_> {
        // SAFETY: the context is alive.
        Type::new(unsafe { (api().LLVMVoidTypeInContext)(self.raw()) })
    }

    /// The integer type of this many bits.
    pub fn int(&self, bits: u32) -> Type<'_> {
        // SAFETY: the context is alive.
        Type::new(unsafe { (api().LLVMIntTypeInContext)(self.raw(), bits) })
    }

    /// The pointer type.
    pub fn pointer(&self) -> Type<'_> {
        // SAFETY: the context is alive.
        Type::new(unsafe { (api().LLVMPointerTypeInContext)(self.raw(), 0) })
    }

    /// A structure type without a name.
    pub fn structure<'c>(&'c self, fields: &[Type<'c>]) -> Type<'c> {
        let mut raw: Vec<_> = fields.iter().map(|field| field.raw()).collect();
        let count = raw.len() as u32;
        // SAFETY: the array holds `count` types of this context.
        Type::new(unsafe {
            (api().LLVMStructTypeInContext)(self.raw(), raw.as_mut_ptr(), count, 0)
        })
    }

    /// A function type.
    pub fn function<'c>(&'c self, result: Type<'c>, parameters: &[Type<'c>]) -> Type<'c> {
        let mut raw: Vec<_> = parameters.iter().map(|parameter| parameter.raw()).collect();
        let count = raw.len() as u32;
        // SAFETY: the array holds `count` types of this context.
        Type::new(unsafe { (api().LLVMFunctionType)(result.raw(), raw.as_mut_ptr(), count, 0) })
    }

    /// An integer constant.
    pub fn constant(&self, bits: u32, value: u64) -> Value<'_> {
        // SAFETY: the type is an integer type.
        Value::new(unsafe { (api().LLVMConstInt)(self.int(bits).raw(), value, 0) })
    }

    /// A NUL-terminated string constant.
    pub fn string(&self, text: &str) -> Value<'_> {
        // SAFETY: `text` is readable for its length; 0 asks for a NUL at the end.
        Value::new(unsafe {
            (api().LLVMConstStringInContext2)(
                self.raw(),
                text.as_ptr().cast::<c_char>(),
                text.len(),
                0,
            )
        })
    }

    /// A structure constant.
    pub fn constant_structure<'c>(&'c self, fields: &[Value<'c>]) -> Value<'c> {
        let mut raw: Vec<*mut RawValue> = fields.iter().map(|field| field.raw()).collect();
        let count = raw.len() as u32;
        // SAFETY: the array holds `count` constants of this context.
        Value::new(unsafe {
            (api().LLVMConstStructInContext)(self.raw(), raw.as_mut_ptr(), count, 0)
        })
    }

    /// Number of a metadata kind, such as `invariant.load`.
    pub fn metadata_kind(&self, name: &str) -> u32 {
        // SAFETY: the name is readable for its length.
        unsafe {
            (api().LLVMGetMDKindIDInContext)(
                self.raw(),
                name.as_ptr().cast::<c_char>(),
                name.len() as u32,
            )
        }
    }
}

impl Default for Context {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: everything that borrows from the context is gone.
        unsafe { (api().LLVMContextDispose)(self.raw()) }
    }
}

/// A type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Type<'c> {
    raw: NonNull<RawType>,
    context: PhantomData<&'c Context>,
}

/// The kinds of types that passes tell apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeKind {
    /// Nothing.
    Void,
    /// An integer.
    Integer,
    /// A pointer.
    Pointer,
    /// A float of two, four or eight bytes.
    Float,
    /// Anything else.
    Other,
}

impl<'c> Type<'c> {
    pub(super) fn new(raw: *mut RawType) -> Self {
        Self {
            raw: NonNull::new(raw).expect("LLVM returns a type"),
            context: PhantomData,
        }
    }

    pub(super) fn raw(self) -> *mut RawType {
        self.raw.as_ptr()
    }

    /// What kind of type it is.
    pub fn kind(self) -> TypeKind {
        // SAFETY: the type is alive.
        match unsafe { (api().LLVMGetTypeKind)(self.raw()) } {
            0 => TypeKind::Void,
            1..=3 | 18 => TypeKind::Float,
            8 => TypeKind::Integer,
            12 => TypeKind::Pointer,
            _ => TypeKind::Other,
        }
    }

    /// Address space of a pointer type; 0 for others.
    pub fn address_space(self) -> u32 {
        if self.kind() != TypeKind::Pointer {
            return 0;
        }
        // SAFETY: it is a pointer type.
        unsafe { (api().LLVMGetPointerAddressSpace)(self.raw()) }
    }

    /// Zero, or null.
    pub fn zero(self) -> Value<'c> {
        // SAFETY: the type is alive.
        Value::new(unsafe { (api().LLVMConstNull)(self.raw()) })
    }

    /// An aggregate to be filled.
    pub fn poison(self) -> Value<'c> {
        // SAFETY: the type is alive.
        Value::new(unsafe { (api().LLVMGetPoison)(self.raw()) })
    }
}
