//! Calls of libc's functions that access memory of the program, by the table of [`raddle_abi::libc`].
//!
//! The hook stands before the call, and behind it too where the result tells what was written. The
//! number of the function, the arguments that count and two sites are all that is passed: the runtime
//! works out the bytes. The copies and fills of [`super::calls::block_access`] have hooks of their own.

use std::collections::HashMap;
use std::sync::OnceLock;

use raddle_abi::hooks;
use raddle_abi::libc::{ALL, ARGUMENTS, Function, PRIVATE, RETURNED};
use raddle_abi::site::Operation;

use super::walker::{Body, Point, Walker};
use crate::llvm::{Instruction, Module, Opcode, TypeKind, Value};

/// The functions of the table with a symbol.
fn named(symbol: &str) -> &'static [usize] {
    static NUMBERS: OnceLock<HashMap<&str, Vec<usize>>> = OnceLock::new();
    let numbers = NUMBERS.get_or_init(|| {
        let mut numbers: HashMap<&str, Vec<usize>> = HashMap::new();
        for (number, function) in ALL.iter().enumerate() {
            numbers.entry(function.symbol).or_default().push(number);
        }
        numbers
    });
    numbers.get(symbol).map_or(&[], Vec::as_slice)
}

/// The number of the function that a call calls, if the table has it. A function of the module itself
/// is the program's own, and so is one with other arguments.
pub(super) fn function(module: &Module<'_>, call: Instruction<'_>) -> Option<usize> {
    let callee = call.callee().filter(|callee| callee.is_function())?;
    if !callee.is_declaration() {
        return None;
    }
    let numbers = named(&callee.name()).iter().copied();
    numbers
        .filter(|number| fits(module, call, &ALL[*number]))
        .min()
}

fn fits(module: &Module<'_>, call: Instruction<'_>, function: &Function) -> bool {
    let (given, fixed) = (call.argument_count(), function.fixed());
    if given != fixed && !(function.is_variadic() && given > fixed) {
        return false;
    }
    let letters = function.signature.bytes().take(fixed as usize);
    (0..).zip(letters).all(|(index, letter)| {
        let kind = call.operand(index).value_type();
        match letter.to_ascii_lowercase() {
            b'p' => kind.kind() == TypeKind::Pointer && kind.address_space() == 0,
            b'w' => kind.kind() == TypeKind::Integer && module.store_size(kind) == 8,
            _ => kind.kind() == TypeKind::Integer && module.store_size(kind) <= 4,
        }
    })
}

/// Whether a module invokes a function whose accesses are known only when it has returned: then the way
/// from there has to be one that nothing else goes.
pub(super) fn needs_own_edges(module: &Module<'_>) -> bool {
    let functions = module.functions().into_iter();
    functions
        .flat_map(Value::instructions)
        .filter(|instruction| instruction.opcode() == Opcode::Invoke)
        .any(|invoke| function(module, invoke).is_some_and(|number| ALL[number].has_late()))
}

/// Most variadic arguments of the calls of a function.
pub(super) fn most_variadic(module: &Module<'_>, instructions: &[Instruction<'_>]) -> u32 {
    let calls = instructions.iter().filter_map(|instruction| {
        let function = &ALL[function(module, *instruction)?];
        let given = instruction.argument_count() - function.fixed();
        function.is_variadic().then_some(given)
    });
    calls.max().unwrap_or(0)
}

/// Announces a call of the table's function `number`.
pub(super) fn announce<'c>(
    walker: &mut Walker<'_, 'c>,
    body: &mut Body<'c>,
    point: &Point<'c>,
    number: usize,
) {
    let (call, function) = (point.instruction, &ALL[number]);
    let mut marks = 0;
    let mut touches = false;
    for (bit, index) in function.arguments().enumerate() {
        let argument = call.operand(index);
        if argument.value_type().kind() != TypeKind::Pointer {
            continue;
        }
        match body.escapes.is_private(argument) {
            true => marks |= PRIVATE << bit,
            false => touches = true,
        }
    }
    let has_more = function.is_variadic() && call.argument_count() > function.fixed();
    if !touches && !has_more {
        return;
    }
    walker.stand(point);
    let word = walker.context.int(64);
    let nothing = walker.context.constant(64, 0);
    let mut passed: Vec<Value<'c>> = function
        .arguments()
        .map(|index| walker.word(call.operand(index)).unwrap_or(nothing))
        .collect();
    passed.resize(ARGUMENTS, nothing);
    let variadic = match has_more {
        true => variadic(walker, body, call, function),
        false => walker.context.pointer().zero(),
    };
    let reads = walker.site(point, Operation::Read);
    let writes = walker.site(point, Operation::Write);
    let marked = number as u64 | u64::from(marks);
    let mut arguments = vec![walker.context.constant(32, marked)];
    arguments.extend(passed);
    arguments.extend([variadic, nothing, reads, writes]);
    walker.hook(point, &hooks::CALL, &arguments);
    if !function.has_late() {
        return;
    }
    let Some(instruction) = call.behind_call() else {
        return;
    };
    let mut behind = point.clone();
    behind.instruction = instruction;
    walker.stand(&behind);
    let result = match call.value().value_type().kind() {
        TypeKind::Pointer => walker.builder.pointer_to_int(call.value(), word),
        TypeKind::Integer => walker.builder.extend(call.value(), word),
        _ => return,
    };
    arguments[0] = walker.context.constant(32, marked | u64::from(RETURNED));
    arguments[2 + ARGUMENTS] = result;
    walker.hook(&behind, &hooks::CALL, &arguments);
}

/// Puts the variadic arguments of a call, behind their number, where the hook finds them.
fn variadic<'c>(
    walker: &Walker<'_, 'c>,
    body: &Body<'c>,
    call: Instruction<'c>,
    function: &Function,
) -> Value<'c> {
    let Some(room) = body.variadic else {
        return walker.context.pointer().zero();
    };
    let count = call.argument_count() - function.fixed();
    let values = (0..count).map(|index| {
        let value = walker.word(call.operand(function.fixed() + index));
        value.unwrap_or_else(|| walker.context.constant(64, 0))
    });
    let count = walker.context.constant(64, count.into());
    for (index, value) in (0..).zip(std::iter::once(count).chain(values)) {
        let offset = walker.context.constant(64, index * 8);
        walker
            .builder
            .store(value, walker.builder.offset(room, offset));
    }
    room
}
