//! Inserts instructions.

use std::marker::PhantomData;
use std::ptr::NonNull;

use super::api::{RawBuilder, RawValue, UNNAMED, api};
use super::context::{Context, Type};
use super::debug::Location;
use super::instruction::Instruction;
use super::value::Value;

/// A place in a function where instructions are inserted.
pub struct Builder<'c> {
    raw: NonNull<RawBuilder>,
    context: PhantomData<&'c Context>,
}

/// How two integers are compared, numbered as in LLVM's C API.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Predicate {
    /// They are equal.
    Equal = 32,
    /// They differ.
    NotEqual = 33,
}

impl<'c> Builder<'c> {
    /// A builder that stands nowhere yet.
    pub fn new(context: &'c Context) -> Self {
        // SAFETY: the context is alive and outlives the builder.
        let raw = unsafe { (api().LLVMCreateBuilderInContext)(context.raw()) };
        Self {
            raw: NonNull::new(raw).expect("LLVM makes a builder"),
            context: PhantomData,
        }
    }

    fn raw(&self) -> *mut RawBuilder {
        self.raw.as_ptr()
    }

    /// Inserts before an instruction from now on, at `location`.
    pub fn stand_before(&self, instruction: Instruction<'c>, location: Option<Location<'c>>) {
        let location = location.map_or(std::ptr::null_mut(), Location::raw);
        // SAFETY: the instruction is in a block.
        unsafe {
            (api().LLVMPositionBuilderBefore)(self.raw(), instruction.raw());
            (api().LLVMSetCurrentDebugLocation2)(self.raw(), location);
        }
    }

    /// Calls a function of this type.
    pub fn call(&self, kind: Type<'c>, function: Value<'c>, arguments: &[Value<'c>]) -> Value<'c> {
        let mut raw: Vec<*mut RawValue> = arguments.iter().map(|value| value.raw()).collect();
        let count = raw.len() as u32;
        // SAFETY: the array holds `count` values; the verifier checks their types.
        Value::new(unsafe {
            let array = raw.as_mut_ptr();
            (api().LLVMBuildCall2)(
                self.raw(),
                kind.raw(),
                function.raw(),
                array,
                count,
                UNNAMED,
            )
        })
    }

    /// A pointer as an integer.
    pub fn pointer_to_int(&self, value: Value<'c>, kind: Type<'c>) -> Value<'c> {
        // SAFETY: the builder stands in a block.
        Value::new(unsafe {
            (api().LLVMBuildPtrToInt)(self.raw(), value.raw(), kind.raw(), UNNAMED)
        })
    }

    /// An integer as a pointer.
    pub fn int_to_pointer(&self, value: Value<'c>, kind: Type<'c>) -> Value<'c> {
        // SAFETY: the builder stands in a block.
        Value::new(unsafe {
            (api().LLVMBuildIntToPtr)(self.raw(), value.raw(), kind.raw(), UNNAMED)
        })
    }

    /// The same bits as another type of the same size.
    pub fn bit_cast(&self, value: Value<'c>, kind: Type<'c>) -> Value<'c> {
        // SAFETY: the builder stands in a block.
        Value::new(unsafe {
            (api().LLVMBuildBitCast)(self.raw(), value.raw(), kind.raw(), UNNAMED)
        })
    }

    /// An integer widened with zeros.
    pub fn widen(&self, value: Value<'c>, kind: Type<'c>) -> Value<'c> {
        // SAFETY: the builder stands in a block.
        Value::new(unsafe {
            (api().LLVMBuildZExtOrBitCast)(self.raw(), value.raw(), kind.raw(), UNNAMED)
        })
    }

    /// An integer widened with zeros, or cut to its low bits.
    pub fn resize(&self, value: Value<'c>, kind: Type<'c>) -> Value<'c> {
        // SAFETY: the builder stands in a block.
        Value::new(unsafe {
            (api().LLVMBuildIntCast2)(self.raw(), value.raw(), kind.raw(), 0, UNNAMED)
        })
    }

    /// An integer widened with its sign, or cut to its low bits.
    pub fn extend(&self, value: Value<'c>, kind: Type<'c>) -> Value<'c> {
        // SAFETY: the builder stands in a block.
        Value::new(unsafe {
            (api().LLVMBuildIntCast2)(self.raw(), value.raw(), kind.raw(), 1, UNNAMED)
        })
    }

    /// Room on the stack for so many values.
    pub fn array(&self, kind: Type<'c>, count: Value<'c>) -> Value<'c> {
        // SAFETY: the builder stands in a block.
        Value::new(unsafe {
            (api().LLVMBuildArrayAlloca)(self.raw(), kind.raw(), count.raw(), UNNAMED)
        })
    }

    /// A plain store.
    pub fn store(&self, value: Value<'c>, address: Value<'c>) {
        // SAFETY: the builder stands in a block.
        unsafe { (api().LLVMBuildStore)(self.raw(), value.raw(), address.raw()) };
    }

    /// Compares two integers.
    pub fn compare(&self, predicate: Predicate, left: Value<'c>, right: Value<'c>) -> Value<'c> {
        // SAFETY: the builder stands in a block.
        Value::new(unsafe {
            (api().LLVMBuildICmp)(
                self.raw(),
                predicate as u32,
                left.raw(),
                right.raw(),
                UNNAMED,
            )
        })
    }

    /// One of two values.
    pub fn select(&self, condition: Value<'c>, then: Value<'c>, otherwise: Value<'c>) -> Value<'c> {
        // SAFETY: the builder stands in a block.
        Value::new(unsafe {
            (api().LLVMBuildSelect)(
                self.raw(),
                condition.raw(),
                then.raw(),
                otherwise.raw(),
                UNNAMED,
            )
        })
    }

    /// An aggregate with one field replaced.
    pub fn insert(&self, aggregate: Value<'c>, value: Value<'c>, index: u32) -> Value<'c> {
        // SAFETY: the builder stands in a block.
        Value::new(unsafe {
            let (aggregate, value) = (aggregate.raw(), value.raw());
            (api().LLVMBuildInsertValue)(self.raw(), aggregate, value, index, UNNAMED)
        })
    }

    /// The address so many bytes behind another.
    pub fn offset(&self, address: Value<'c>, bytes: Value<'c>) -> Value<'c> {
        let mut indices = [bytes.raw()];
        // SAFETY: the builder stands in a block; there is one index, which counts bytes.
        Value::new(unsafe {
            let context = (api().LLVMGetTypeContext)((api().LLVMTypeOf)(address.raw()));
            let byte = (api().LLVMIntTypeInContext)(context, 8);
            let indices = indices.as_mut_ptr();
            (api().LLVMBuildGEP2)(self.raw(), byte, address.raw(), indices, 1, UNNAMED)
        })
    }

    /// A plain load.
    pub fn load(&self, kind: Type<'c>, address: Value<'c>) -> Value<'c> {
        // SAFETY: the builder stands in a block.
        Value::new(unsafe {
            (api().LLVMBuildLoad2)(self.raw(), kind.raw(), address.raw(), UNNAMED)
        })
    }
}

impl Drop for Builder<'_> {
    fn drop(&mut self) {
        // SAFETY: the builder is not used again.
        unsafe { (api().LLVMDisposeBuilder)(self.raw()) }
    }
}
