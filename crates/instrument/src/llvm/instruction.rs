//! Instructions.

use super::api::{RawValue, api, text};
use super::debug::Location;
use super::value::Value;

macro_rules! opcodes {
    ($($name:ident = $number:literal,)*) => {
        /// The opcodes that passes tell apart, numbered as in LLVM's C API.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Opcode {
            $(#[doc = stringify!($name)] $name,)*
            /// Any other.
            Other,
        }

        impl Opcode {
            fn from_number(number: u32) -> Self {
                match number { $($number => Self::$name,)* _ => Self::Other }
            }
        }
    };
}

opcodes! {
    Return = 1,
    Branch = 2,
    Switch = 3,
    Invoke = 5,
    Alloca = 26,
    Load = 27,
    Store = 28,
    GetElementPtr = 29,
    Phi = 44,
    Call = 45,
    Fence = 55,
    CompareExchange = 56,
    ReadModifyWrite = 57,
    Resume = 58,
    LandingPad = 59,
}

/// An instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Instruction<'c> {
    pub(super) value: Value<'c>,
}

impl<'c> Instruction<'c> {
    /// It as a value.
    pub fn value(self) -> Value<'c> {
        self.value
    }

    pub(super) fn raw(self) -> *mut RawValue {
        self.value.raw()
    }

    /// Its opcode.
    pub fn opcode(self) -> Opcode {
        // SAFETY: it is an instruction.
        Opcode::from_number(unsafe { (api().LLVMGetInstructionOpcode)(self.raw()) })
    }

    /// Its operands' count.
    pub fn operand_count(self) -> u32 {
        // SAFETY: it is an instruction.
        unsafe { (api().LLVMGetNumOperands)(self.raw()) as u32 }
    }

    /// An operand.
    ///
    /// # Panics
    ///
    /// If there are not that many.
    pub fn operand(self, index: u32) -> Value<'c> {
        assert!(index < self.operand_count(), "operand {index} of too few");
        // SAFETY: the index was checked.
        Value::new(unsafe { (api().LLVMGetOperand)(self.raw(), index) })
    }

    /// Puts another value into the place of an operand.
    ///
    /// # Panics
    ///
    /// If there are not that many.
    pub fn set_operand(self, index: u32, value: Value<'c>) {
        assert!(index < self.operand_count(), "operand {index} of too few");
        // SAFETY: the index was checked; the verifier checks the type.
        unsafe { (api().LLVMSetOperand)(self.raw(), index, value.raw()) }
    }

    /// Its debug location.
    pub fn location(self) -> Option<Location<'c>> {
        // SAFETY: it is an instruction.
        Location::option(unsafe { (api().LLVMInstructionGetDebugLoc)(self.raw()) })
    }

    /// The instruction after it in its block.
    pub fn next(self) -> Option<Instruction<'c>> {
        // SAFETY: it is an instruction.
        Value::option(unsafe { (api().LLVMGetNextInstruction)(self.raw()) })
            .map(|value| Self { value })
    }

    /// The instruction that comes when this call has returned, and only then. `None` if there is none.
    pub fn behind_call(self) -> Option<Instruction<'c>> {
        match self.opcode() {
            Opcode::Call if !self.is_must_tail() => self.next(),
            Opcode::Invoke => {
                // SAFETY: an invoke has a block where it goes on, which is not empty.
                let (block, first) = unsafe {
                    let block = (api().LLVMGetNormalDest)(self.raw());
                    let first = (api().LLVMGetFirstInstruction)(block);
                    (Value::new((api().LLVMBasicBlockAsValue)(block)), first)
                };
                let first = Value::option(first).map(|value| Self { value });
                let mut users = block.users();
                if users.next() != Some(self.value()) || users.next().is_some() {
                    return None;
                }
                std::iter::successors(first, |instruction| instruction.next())
                    .find(|instruction| instruction.opcode() != Opcode::Phi)
            }
            _ => None,
        }
    }

    /// The instruction before it in its block.
    pub fn previous(self) -> Option<Instruction<'c>> {
        // SAFETY: it is an instruction.
        Value::option(unsafe { (api().LLVMGetPreviousInstruction)(self.raw()) })
            .map(|value| Self { value })
    }

    /// Memory order, as in `raddle_abi::hooks::order`; 0 if it is not atomic.
    pub fn ordering(self) -> u32 {
        match self.opcode() {
            Opcode::Load | Opcode::Store | Opcode::Fence | Opcode::ReadModifyWrite => {
                // SAFETY: these opcodes have an ordering.
                unsafe { (api().LLVMGetOrdering)(self.raw()) }
            }
            _ => 0,
        }
    }

    /// Memory orders of a compare-exchange on success and on failure.
    pub fn exchange_orderings(self) -> (u32, u32) {
        assert_eq!(
            self.opcode(),
            Opcode::CompareExchange,
            "only these have two orders"
        );
        // SAFETY: it is a compare-exchange.
        unsafe {
            (
                (api().LLVMGetCmpXchgSuccessOrdering)(self.raw()),
                (api().LLVMGetCmpXchgFailureOrdering)(self.raw()),
            )
        }
    }

    /// Operation of a read-modify-write, as in `raddle_abi::hooks::rmw`.
    pub fn modification(self) -> u32 {
        assert_eq!(self.opcode(), Opcode::ReadModifyWrite, "only these modify");
        // SAFETY: it is a read-modify-write.
        unsafe { (api().LLVMGetAtomicRMWBinOp)(self.raw()) }
    }

    /// Whether a load or store is volatile.
    pub fn is_volatile(self) -> bool {
        matches!(self.opcode(), Opcode::Load | Opcode::Store)
            // SAFETY: these opcodes know volatility.
            && unsafe { (api().LLVMGetVolatile)(self.raw()) } != 0
    }

    /// Whether an atomic instruction or fence orders against signal handlers only.
    pub fn is_single_thread(self) -> bool {
        match self.opcode() {
            Opcode::Load | Opcode::Store if self.ordering() == 0 => false,
            Opcode::Load
            | Opcode::Store
            | Opcode::Fence
            | Opcode::ReadModifyWrite
            | Opcode::CompareExchange => {
                // SAFETY: these opcodes have a synchronisation scope.
                unsafe { (api().LLVMIsAtomicSingleThread)(self.raw()) != 0 }
            }
            _ => false,
        }
    }

    /// What a call or invoke calls.
    pub fn callee(self) -> Option<Value<'c>> {
        matches!(self.opcode(), Opcode::Call | Opcode::Invoke)
            // SAFETY: these opcodes call something.
            .then(|| Value::new(unsafe { (api().LLVMGetCalledValue)(self.raw()) }))
    }

    /// Number of arguments of a call or invoke.
    pub fn argument_count(self) -> u32 {
        if self.callee().is_none() {
            return 0;
        }
        // SAFETY: it is a call.
        unsafe { (api().LLVMGetNumArgOperands)(self.raw()) }
    }

    /// Whether it is a call that has to stay directly before the return.
    pub fn is_must_tail(self) -> bool {
        self.opcode() == Opcode::Call
            // SAFETY: it is a call.
            && unsafe { (api().LLVMGetTailCallKind)(self.raw()) } == 2
    }

    /// The text and the constraints of called inline assembly.
    pub fn assembly(self) -> Option<(String, String)> {
        let callee = self.callee()?;
        // SAFETY: the strings are read for the lengths that LLVM writes.
        unsafe {
            if (api().LLVMIsAInlineAsm)(callee.raw()).is_null() {
                return None;
            }
            let mut len = 0;
            let start = (api().LLVMGetInlineAsmAsmString)(callee.raw(), &raw mut len);
            let assembly = text(start, len);
            let start = (api().LLVMGetInlineAsmConstraintString)(callee.raw(), &raw mut len);
            Some((assembly, text(start, len)))
        }
    }

    /// Whether it carries metadata of a kind from [`Context::metadata_kind`](super::Context::metadata_kind).
    pub fn has_metadata(self, kind: u32) -> bool {
        // SAFETY: it is an instruction.
        unsafe {
            (api().LLVMHasMetadata)(self.raw()) != 0
                && !(api().LLVMGetMetadata)(self.raw(), kind).is_null()
        }
    }

    /// Lets `replacement` stand for its result, and removes it.
    ///
    /// # Safety
    ///
    /// No copy of this instruction is used afterwards.
    pub unsafe fn replace_with(self, replacement: Option<Value<'c>>) {
        // SAFETY: the replacement has the same type (LLVM's verifier checks the module later),
        // and by the caller's promise nobody holds on to the instruction.
        unsafe {
            if let Some(replacement) = replacement {
                (api().LLVMReplaceAllUsesWith)(self.raw(), replacement.raw());
            }
            (api().LLVMInstructionEraseFromParent)(self.raw());
        }
    }
}
