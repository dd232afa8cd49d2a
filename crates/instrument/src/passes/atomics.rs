//! Replaces atomic instructions by hooks that perform them.
//!
//! What no hook can perform stays as it is, announced like inline assembly: operations of more
//! than eight bytes, on vectors, in another address space (thread-local segments of C), and the
//! few read-modify-writes that the list of `raddle_abi::hooks::rmw` lacks.

use raddle_abi::hooks::{self, Hook, order, rmw};
use raddle_abi::site::Operation;

use super::locks::{self, Role};
use super::walker::{Point, Walker};
use crate::llvm::{Opcode, Predicate, Type, TypeKind, Value};

/// The hooks of one operation, for one, two, four and eight bytes.
type Family = [Hook; 4];

const LOADS: Family = [
    hooks::LOAD_8,
    hooks::LOAD_16,
    hooks::LOAD_32,
    hooks::LOAD_64,
];
const STORES: Family = [
    hooks::STORE_8,
    hooks::STORE_16,
    hooks::STORE_32,
    hooks::STORE_64,
];
const MODIFICATIONS: Family = [hooks::RMW_8, hooks::RMW_16, hooks::RMW_32, hooks::RMW_64];
const EXCHANGES: Family = [hooks::CAS_8, hooks::CAS_16, hooks::CAS_32, hooks::CAS_64];

/// How values of a type travel through hooks.
struct Passage<'c> {
    original: Type<'c>,
    integer: Type<'c>,
    hook: usize,
}

impl<'c> Passage<'c> {
    /// `None` for types that hooks cannot carry, and for memory that they cannot reach.
    fn new(walker: &Walker<'_, 'c>, address: Value<'c>, original: Type<'c>) -> Option<Self> {
        if address.value_type() != walker.context.pointer() {
            return None;
        }
        let hook = match walker.module.store_size(original) {
            1 => 0,
            2 => 1,
            4 => 2,
            8 => 3,
            _ => return None,
        };
        let integer = walker.context.int(8 << hook);
        let fits = match original.kind() {
            TypeKind::Integer => original == integer,
            TypeKind::Pointer | TypeKind::Float => true,
            TypeKind::Void | TypeKind::Other => false,
        };
        fits.then_some(Self {
            original,
            integer,
            hook,
        })
    }

    /// Whether the hooks know this read-modify-write for the type.
    fn modifies(&self, modification: u32) -> bool {
        match modification {
            rmw::XCHG..=rmw::UMIN => true,
            rmw::FADD..=rmw::FMIN => matches!(self.hook, 2 | 3),
            _ => false,
        }
    }

    fn to_integer(&self, walker: &Walker<'_, 'c>, value: Value<'c>) -> Value<'c> {
        match self.original.kind() {
            TypeKind::Pointer => walker.builder.pointer_to_int(value, self.integer),
            TypeKind::Float => walker.builder.bit_cast(value, self.integer),
            _ => value,
        }
    }

    fn to_original(&self, walker: &Walker<'_, 'c>, value: Value<'c>) -> Value<'c> {
        match self.original.kind() {
            TypeKind::Pointer => walker.builder.int_to_pointer(value, self.original),
            TypeKind::Float => walker.builder.bit_cast(value, self.original),
            _ => value,
        }
    }
}

/// An atomic load or store.
pub(super) fn load_or_store<'c>(walker: &mut Walker<'_, 'c>, point: &Point<'c>) {
    let instruction = point.instruction;
    let is_store = instruction.opcode() == Opcode::Store;
    let value = if is_store {
        instruction.operand(0)
    } else {
        instruction.value()
    };
    if !is_store && instruction.ordering() == order::RELAXED && walker.is_quiet(point) {
        // Neither a point nor an edge: std spins, or looks into its own books.
        return;
    }
    let address = instruction.operand(u32::from(is_store));
    let Some(passage) = Passage::new(walker, address, value.value_type()) else {
        return announce(walker, point);
    };
    let order = walker.context.constant(32, instruction.ordering().into());
    walker.stand(point);
    if is_store {
        let integer = passage.to_integer(walker, value);
        let site = walker.site(point, Operation::AtomicStore);
        walker.hook(
            point,
            &STORES[passage.hook],
            &[address, integer, order, site],
        );
        // SAFETY: the walk does not come back to this instruction.
        unsafe { instruction.replace_with(None) };
    } else {
        let site = walker.site(point, Operation::AtomicLoad);
        let loaded = walker.perform(point, &LOADS[passage.hook], &[address, order, site]);
        let loaded = passage.to_original(walker, loaded);
        // SAFETY: the walk does not come back to this instruction.
        unsafe { instruction.replace_with(Some(loaded)) };
    }
}

/// An atomic read-modify-write.
pub(super) fn read_modify_write<'c>(walker: &mut Walker<'_, 'c>, point: &Point<'c>) {
    let instruction = point.instruction;
    let (address, value) = (instruction.operand(0), instruction.operand(1));
    let modification = instruction.modification();
    let passage = Passage::new(walker, address, value.value_type());
    let Some(passage) = passage.filter(|passage| passage.modifies(modification)) else {
        return announce(walker, point);
    };
    announce_release(walker, point, address);
    walker.stand(point);
    let integer = passage.to_integer(walker, value);
    let modification = walker.context.constant(32, modification.into());
    let order = walker.context.constant(32, instruction.ordering().into());
    let site = walker.site(point, Operation::AtomicRmw);
    let arguments = [address, integer, modification, order, site];
    let old = walker.perform(point, &MODIFICATIONS[passage.hook], &arguments);
    let old = passage.to_original(walker, old);
    // SAFETY: the walk does not come back to this instruction.
    unsafe { instruction.replace_with(Some(old)) };
}

/// A compare-exchange, weak or strong.
pub(super) fn compare_exchange<'c>(walker: &mut Walker<'_, 'c>, point: &Point<'c>) {
    let instruction = point.instruction;
    let address = instruction.operand(0);
    let (expected, new) = (instruction.operand(1), instruction.operand(2));
    let Some(passage) = Passage::new(walker, address, expected.value_type()) else {
        return announce(walker, point);
    };
    announce_release(walker, point, address);
    walker.stand(point);
    let expected = passage.to_integer(walker, expected);
    let new = passage.to_integer(walker, new);
    let (success, failure) = instruction.exchange_orderings();
    let order = walker.context.constant(32, (success | failure << 8).into());
    let site = walker.site(point, Operation::AtomicCas);
    let arguments = [address, expected, new, order, site];
    let old = walker.perform(point, &EXCHANGES[passage.hook], &arguments);
    let succeeded = walker.builder.compare(Predicate::Equal, old, expected);
    if let Some(Role::FastAcquire(mode)) = walker.lock_role(point) {
        let (acquired, failed) = locks::fast_events(mode);
        let event = walker.choose(Some(succeeded), acquired, failed);
        walker.lock(point, event, address, Operation::LockAcquire);
    }
    let old = passage.to_original(walker, old);
    let pair = instruction.value().value_type().poison();
    let pair = walker.builder.insert(pair, old, 0);
    let pair = walker.builder.insert(pair, succeeded, 1);
    // SAFETY: the walk does not come back to this instruction.
    unsafe { instruction.replace_with(Some(pair)) };
}

/// Gives the events of a lock that an operation is about to release or change.
fn announce_release<'c>(walker: &mut Walker<'_, 'c>, point: &Point<'c>, lock: Value<'c>) {
    if let Some(Role::Modify(events)) = walker.lock_role(point) {
        for event in events {
            let event = walker.context.constant(32, (*event).into());
            walker.lock(point, event, lock, Operation::LockRelease);
        }
    }
}

/// Announces an operation that stays as it is.
fn announce<'c>(walker: &mut Walker<'_, 'c>, point: &Point<'c>) {
    let site = walker.site(point, Operation::Asm);
    walker.hook(point, &hooks::ASM, &[site]);
}
