//! Which memory no other thread can see: such accesses need no hook.

use std::collections::HashMap;

use raddle_abi::hooks::{CHANNEL, ENTER};

use crate::llvm::{Instruction, Opcode, Value};

/// Intrinsics and hooks that take an address without keeping it.
const HARMLESS: &[&str] = &[
    ENTER.symbol,
    CHANNEL.symbol,
    "llvm.lifetime.",
    "llvm.memcpy.",
    "llvm.memmove.",
    "llvm.memset.",
    "llvm.dbg.",
];

/// Remembers which allocas of a function escape.
#[derive(Default)]
pub(super) struct Escapes<'c> {
    allocas: HashMap<Instruction<'c>, bool>,
}

impl<'c> Escapes<'c> {
    /// Whether memory at `address` is visible to this thread alone, or never changes.
    pub(super) fn is_private(&mut self, address: Value<'c>) -> bool {
        let base = base(address);
        if base.is_global_variable() {
            return base.is_constant_global() || base.is_thread_local();
        }
        let Some(instruction) = base.instruction() else {
            return false;
        };
        match instruction.opcode() {
            Opcode::Alloca => *self
                .allocas
                .entry(instruction)
                .or_insert_with(|| !escapes(instruction.value())),
            Opcode::Call => instruction
                .callee()
                .is_some_and(|callee| callee.name().starts_with("llvm.threadlocal.address")),
            _ => false,
        }
    }
}

/// What an address is computed from.
fn base(address: Value<'_>) -> Value<'_> {
    let mut base = address;
    loop {
        if let Some(constant) = base.constant_base() {
            base = constant;
            continue;
        }
        match base.instruction() {
            Some(instruction) if instruction.opcode() == Opcode::GetElementPtr => {
                base = instruction.operand(0);
            }
            _ => return base,
        }
    }
}

fn escapes(alloca: Value<'_>) -> bool {
    let mut pending = vec![alloca];
    while let Some(address) = pending.pop() {
        for user in address.users() {
            let Some(instruction) = user.instruction() else {
                return true;
            };
            match instruction.opcode() {
                Opcode::Load => {}
                Opcode::Store if instruction.operand(0) != address => {}
                Opcode::GetElementPtr => pending.push(user),
                Opcode::Call if is_harmless(instruction) => {}
                _ => return true,
            }
        }
    }
    false
}

fn is_harmless(call: Instruction<'_>) -> bool {
    call.callee().is_some_and(|callee| {
        let name = callee.name();
        HARMLESS.iter().any(|prefix| name.starts_with(prefix))
    })
}
