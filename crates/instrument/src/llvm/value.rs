//! Values: functions, globals, instructions and constants.

use std::ffi::{CStr, CString, c_char};
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::api::{RawUse, RawValue, api, text};
use super::context::{Context, Type};
use super::debug::Metadata;
use super::instruction::Instruction;

/// Index at which a function's own attributes stand.
const FUNCTION_INDEX: u32 = u32::MAX;

/// Any value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Value<'c> {
    raw: NonNull<RawValue>,
    context: PhantomData<&'c Context>,
}

/// Linkages that passes know, numbered as in LLVM's C API.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Linkage {
    /// A body that exists for inlining only.
    AvailableExternally = 1,
    /// A local symbol.
    Internal = 8,
    /// No symbol at all.
    Private = 9,
}

/// Attributes with a number, by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attribute(&'static CStr);

impl Attribute {
    /// Inline wherever it is called.
    pub const ALWAYS_INLINE: Self = Self(c"alwaysinline");
    /// No load is made that the program might not make: for ThreadSanitizer, and for us.
    pub const SANITIZE_THREAD: Self = Self(c"sanitize_thread");
    /// Never inline.
    pub const NO_INLINE: Self = Self(c"noinline");
    /// Do not optimise.
    pub const OPTIMIZE_NONE: Self = Self(c"optnone");
    /// Rarely called.
    pub const COLD: Self = Self(c"cold");
    /// Does not unwind.
    pub const NO_UNWIND: Self = Self(c"nounwind");
    /// Does not return.
    pub const NO_RETURN: Self = Self(c"noreturn");
    /// Has no prologue: consists of assembly.
    pub const NAKED: Self = Self(c"naked");
    /// A parameter that points to where the result goes.
    pub const STRUCT_RETURN: Self = Self(c"sret");
    /// A parameter that points to memory that may be written at any time in the function.
    pub const WRITABLE: Self = Self(c"writable");

    fn number(self) -> u32 {
        // SAFETY: the name is readable for its length.
        unsafe { (api().LLVMGetEnumAttributeKindForName)(self.0.as_ptr(), self.0.to_bytes().len()) }
    }
}

impl<'c> Value<'c> {
    pub(super) fn new(raw: *mut RawValue) -> Self {
        Self::option(raw).expect("LLVM returns a value")
    }

    pub(super) fn option(raw: *mut RawValue) -> Option<Self> {
        Some(Self {
            raw: NonNull::new(raw)?,
            context: PhantomData,
        })
    }

    pub(super) fn raw(self) -> *mut RawValue {
        self.raw.as_ptr()
    }

    /// Its type.
    pub fn value_type(self) -> Type<'c> {
        // SAFETY: the value is alive.
        Type::new(unsafe { (api().LLVMTypeOf)(self.raw()) })
    }

    /// Its name; empty if it has none.
    pub fn name(self) -> String {
        let mut len = 0;
        // SAFETY: LLVM writes the length of the name it returns.
        unsafe {
            let start = (api().LLVMGetValueName2)(self.raw(), &raw mut len);
            text(start, len)
        }
    }

    /// The value as an instruction.
    pub fn instruction(self) -> Option<Instruction<'c>> {
        // SAFETY: the value is alive.
        let raw = unsafe { (api().LLVMIsAInstruction)(self.raw()) };
        Self::option(raw).map(|value| Instruction { value })
    }

    /// Whether it is a function.
    pub fn is_function(self) -> bool {
        // SAFETY: the value is alive.
        !unsafe { (api().LLVMIsAFunction)(self.raw()) }.is_null()
    }

    /// Whether it is a global variable.
    pub fn is_global_variable(self) -> bool {
        // SAFETY: the value is alive.
        !unsafe { (api().LLVMIsAGlobalVariable)(self.raw()) }.is_null()
    }

    /// The value of an integer constant of at most 64 bits.
    pub fn integer(self) -> Option<u64> {
        // SAFETY: the value is alive.
        let raw = unsafe { (api().LLVMIsAConstantInt)(self.raw()) };
        // SAFETY: it is an integer constant; operands of hooks have at most 64 bits.
        (!raw.is_null()).then(|| unsafe { (api().LLVMConstIntGetZExtValue)(raw) })
    }

    /// First operand of a constant expression: what a constant address is computed from.
    pub fn constant_base(self) -> Option<Value<'c>> {
        // SAFETY: the value is alive, and constant expressions have operands.
        unsafe {
            if (api().LLVMIsAConstantExpr)(self.raw()).is_null() {
                return None;
            }
            Self::option((api().LLVMGetOperand)(self.raw(), 0))
        }
    }

    /// The values that use this one.
    pub fn users(self) -> impl Iterator<Item = Value<'c>> {
        // SAFETY: the value is alive; uses are followed until null.
        let first = unsafe { (api().LLVMGetFirstUse)(self.raw()) };
        std::iter::successors(NonNull::new(first), |used: &NonNull<RawUse>| {
            // SAFETY: the use is alive as long as nothing is changed, which iterating forbids.
            NonNull::new(unsafe { (api().LLVMGetNextUse)(used.as_ptr()) })
        })
        // SAFETY: as above.
        .map(|used| Value::new(unsafe { (api().LLVMGetUser)(used.as_ptr()) }))
    }

    // Functions and globals.

    /// Whether it has no body or initialiser in this module. For functions and globals.
    pub fn is_declaration(self) -> bool {
        // SAFETY: asked of globals only.
        !self.is_global() || unsafe { (api().LLVMIsDeclaration)(self.raw()) } != 0
    }

    fn is_global(self) -> bool {
        // SAFETY: the value is alive.
        !unsafe { (api().LLVMIsAGlobalValue)(self.raw()) }.is_null()
    }

    /// Whether it has this linkage.
    pub fn has_linkage(self, linkage: Linkage) -> bool {
        // SAFETY: asked of globals only.
        self.is_global() && unsafe { (api().LLVMGetLinkage)(self.raw()) } == linkage as u32
    }

    /// Changes the linkage of a function or global.
    pub fn set_linkage(self, linkage: Linkage) {
        debug_assert!(self.is_global());
        // SAFETY: it is a global.
        unsafe { (api().LLVMSetLinkage)(self.raw(), linkage as u32) }
    }

    /// Whether a section was chosen for it.
    pub fn has_section(self) -> bool {
        debug_assert!(self.is_global());
        // SAFETY: it is a global; LLVM returns null or a string.
        let section = unsafe { (api().LLVMGetSection)(self.raw()) };
        // SAFETY: as above.
        !section.is_null() && unsafe { *section } != 0
    }

    /// Puts a function or global into a section.
    pub fn set_section(self, section: &str) {
        debug_assert!(self.is_global());
        let Ok(section) = CString::new(section) else {
            return;
        };
        // SAFETY: it is a global; LLVM copies the name.
        unsafe { (api().LLVMSetSection)(self.raw(), section.as_ptr()) }
    }

    /// Whether it is a global variable that is never written.
    pub fn is_constant_global(self) -> bool {
        // SAFETY: asked of global variables only.
        self.is_global_variable() && unsafe { (api().LLVMIsGlobalConstant)(self.raw()) } != 0
    }

    /// Whether it is a thread-local variable.
    pub fn is_thread_local(self) -> bool {
        // SAFETY: asked of global variables only.
        self.is_global_variable() && unsafe { (api().LLVMIsThreadLocal)(self.raw()) } != 0
    }

    /// The initialiser of a global variable.
    pub fn initializer(self) -> Option<Value<'c>> {
        if !self.is_global_variable() {
            return None;
        }
        // SAFETY: it is a global variable.
        Self::option(unsafe { (api().LLVMGetInitializer)(self.raw()) })
    }

    /// Whether a constant holds addresses, so that it needs relocation.
    pub fn holds_addresses(self) -> bool {
        if self.is_global() {
            return true;
        }
        // SAFETY: constants have constant operands; the walk ends because initialisers are finite.
        unsafe {
            if (api().LLVMIsAConstant)(self.raw()).is_null() {
                return false;
            }
            let count = (api().LLVMGetNumOperands)(self.raw());
            (0..count as u32)
                .filter_map(|index| Value::option((api().LLVMGetOperand)(self.raw(), index)))
                .any(Value::holds_addresses)
        }
    }

    /// Adds an attribute to a function.
    pub fn add_attribute(self, context: &'c Context, attribute: Attribute) {
        debug_assert!(self.is_function());
        // SAFETY: it is a function; the attribute takes no value.
        unsafe {
            let created = (api().LLVMCreateEnumAttribute)(context.raw(), attribute.number(), 0);
            (api().LLVMAddAttributeAtIndex)(self.raw(), FUNCTION_INDEX, created);
        }
    }

    /// Adds an attribute made of text to a function.
    pub fn add_text_attribute(self, context: &'c Context, key: &str, value: &str) {
        debug_assert!(self.is_function());
        // SAFETY: it is a function; both strings are readable for their lengths.
        unsafe {
            let created = (api().LLVMCreateStringAttribute)(
                context.raw(),
                key.as_ptr().cast::<c_char>(),
                key.len() as u32,
                value.as_ptr().cast::<c_char>(),
                value.len() as u32,
            );
            (api().LLVMAddAttributeAtIndex)(self.raw(), FUNCTION_INDEX, created);
        }
    }

    /// Removes an attribute from a function.
    pub fn remove_attribute(self, attribute: Attribute) {
        debug_assert!(self.is_function());
        // SAFETY: it is a function.
        unsafe {
            (api().LLVMRemoveEnumAttributeAtIndex)(self.raw(), FUNCTION_INDEX, attribute.number());
        }
    }

    /// Whether a function has an attribute.
    pub fn has_attribute(self, attribute: Attribute) -> bool {
        self.has_attribute_at(FUNCTION_INDEX, attribute)
    }

    /// Whether a function's parameter has an attribute.
    pub fn parameter_has_attribute(self, parameter: u32, attribute: Attribute) -> bool {
        self.has_attribute_at(parameter + 1, attribute)
    }

    fn has_attribute_at(self, index: u32, attribute: Attribute) -> bool {
        // SAFETY: asked of functions only.
        self.is_function()
            && !unsafe {
                (api().LLVMGetEnumAttributeAtIndex)(self.raw(), index, attribute.number())
            }
            .is_null()
    }

    /// Parameters of a function.
    pub fn parameters(self) -> Vec<Value<'c>> {
        if !self.is_function() {
            return Vec::new();
        }
        // SAFETY: it is a function, and indices are below the count.
        unsafe {
            let count = (api().LLVMCountParams)(self.raw());
            (0..count)
                .map(|index| Value::new((api().LLVMGetParam)(self.raw(), index)))
                .collect()
        }
    }

    /// The debug entry of a function.
    pub fn subprogram(self) -> Option<Metadata<'c>> {
        if !self.is_function() {
            return None;
        }
        // SAFETY: it is a function.
        Metadata::option(unsafe { (api().LLVMGetSubprogram)(self.raw()) })
    }

    /// All instructions of a function, in order, as they are now.
    pub fn instructions(self) -> Vec<Instruction<'c>> {
        let mut instructions = Vec::new();
        if !self.is_function() {
            return instructions;
        }
        // SAFETY: blocks and instructions are followed until null, with no change in between.
        unsafe {
            let mut block = (api().LLVMGetFirstBasicBlock)(self.raw());
            while !block.is_null() {
                let mut next = (api().LLVMGetFirstInstruction)(block);
                while let Some(value) = Value::option(next) {
                    instructions.push(Instruction { value });
                    next = (api().LLVMGetNextInstruction)(next);
                }
                block = (api().LLVMGetNextBasicBlock)(block);
            }
        }
        instructions
    }
}
