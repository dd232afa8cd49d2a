//! Atomic operations, which hooks perform, and fences.
//!
//! The order is: scheduling point, operation, oracles, record. Nothing else runs between the
//! point and the operation, so the operation is atomic by construction.

use core::ops::{Add, Sub};

use super::{id, is_watched, may_be_point, note_site, processor, watch};
use crate::locks;
use crate::native;
use crate::oracles::race;
use crate::oracles::shadow::access;
use crate::record;
use crate::scheduler;
use crate::weak::{self, Touched};
use crate::world::world;
use raddle_abi::hooks::{order, rmw};
use raddle_abi::site::{Operation, Site};

/// Reads `size` bytes.
#[inline(always)]
unsafe fn get(address: usize, size: u32) -> u64 {
    // SAFETY: the program is about to do the same.
    unsafe {
        match size {
            1 => u64::from(*(address as *const u8)),
            2 => u64::from(*(address as *const u16)),
            4 => u64::from(*(address as *const u32)),
            _ => *(address as *const u64),
        }
    }
}

/// Writes `size` bytes.
#[inline(always)]
unsafe fn set(address: usize, size: u32, value: u64) {
    // SAFETY: the program is about to do the same.
    unsafe {
        match size {
            1 => *(address as *mut u8) = value as u8,
            2 => *(address as *mut u16) = value as u16,
            4 => *(address as *mut u32) = value as u32,
            _ => *(address as *mut u64) = value,
        }
    }
}

/// The scheduling point before an operation; whether there is one.
#[inline(always)]
fn sync_point(operation: Operation, write: bool, address: usize, site: *const Site) -> bool {
    let thread = world().execution.running();
    thread.site = id(site);
    if !may_be_point(thread, site) || !write && thread.spin.is_quiet() {
        return false;
    }
    if thread.spin.spins(id(site), address) {
        scheduler::point_of_spinning(operation, write, address, id(site));
    } else {
        scheduler::point(operation, write, address, id(site));
    }
    true
}

#[inline(always)]
fn touched(address: usize, size: u32, before: u64, order: u32) -> Touched {
    Touched {
        address,
        size,
        before,
        order,
    }
}

/// What an atomic operation did: `changed` if memory holds another value than before.
#[inline(always)]
fn after_atomic(site: *const Site, address: usize, seen: u64, changed: bool) {
    let execution = &mut world().execution;
    let thread = execution.running();
    if changed {
        thread.spin.progressed();
        if thread.leaves != 0 {
            locks::left();
        }
        execution.changed();
    } else {
        thread.spin.saw(id(site), address, seen);
    }
}

/// Performs an atomic load.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn __raddle_slow_load(
    address: usize,
    size: u32,
    order: u32,
    site: *const Site,
) -> u64 {
    if native::is_stranger() {
        // SAFETY: as the program's load.
        return unsafe { get(address, size) };
    }
    let is_point = sync_point(Operation::AtomicLoad, false, address, site);
    // SAFETY: as the program's load.
    let mut value = unsafe { get(address, size) };
    let mut age = 0;
    if weak::is_on() {
        (value, age) = weak::load(touched(address, size, value, order), is_point);
    }
    after_atomic(site, address, value, false);
    if is_watched()
        && watch(
            Operation::AtomicLoad,
            address,
            size as usize,
            access::ATOMIC,
            site,
        )
    {
        // What an old value carries was looked at with it.
        if age == 0 {
            race::load(address, order);
        }
    }
    record::event(
        Operation::AtomicLoad,
        address as u64,
        value,
        size,
        order as u16,
        id(site),
    );
    if age > 0 {
        record::is_old(age);
    }
    value
}

/// Performs an atomic store.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn __raddle_slow_store(
    address: usize,
    value: u64,
    size: u32,
    order: u32,
    site: *const Site,
) {
    if native::is_stranger() {
        // SAFETY: as the program's store.
        return unsafe { set(address, size, value) };
    }
    sync_point(Operation::AtomicStore, true, address, site);
    // SAFETY: as the program's store.
    let (old, changed) = unsafe {
        let old = get(address, size);
        set(address, size, value);
        (old, get(address, size) != old)
    };
    if weak::is_on() {
        weak::store(touched(address, size, old, order), value);
    }
    after_atomic(site, address, value, changed);
    let kind = access::ATOMIC | access::WRITE;
    if is_watched() && watch(Operation::AtomicStore, address, size as usize, kind, site) {
        race::store(address, order);
        if weak::is_on() {
            weak::released_to_oracle(address);
        }
    }
    record::event(
        Operation::AtomicStore,
        address as u64,
        value,
        size,
        order as u16,
        id(site),
    );
}

#[inline(always)]
fn sign_extend(value: u64, size: u32) -> i64 {
    let unused = 64 - 8 * size;
    (value << unused) as i64 >> unused
}

/// The value that a read-modify-write writes. The usual operations are chosen without a jump:
/// which thread comes next, and what it does, is hard to foresee.
#[inline(always)]
fn combine(op: u32, old: u64, value: u64, size: u32) -> u64 {
    if op > rmw::SUB {
        return combine_rarely(op, old, value, size);
    }
    let subtracts = u64::from(op == rmw::SUB);
    let kept = u64::from(op == rmw::XCHG).wrapping_sub(1) & old;
    kept.wrapping_add((value ^ subtracts.wrapping_neg()).wrapping_add(subtracts))
}

#[inline(never)]
fn combine_rarely(op: u32, old: u64, value: u64, size: u32) -> u64 {
    let signed = || (sign_extend(old, size), sign_extend(value, size));
    let unused = 64 - 8 * size;
    let unsigned = || (old << unused >> unused, value << unused >> unused);
    match op {
        rmw::AND => old & value,
        rmw::NAND => !(old & value),
        rmw::OR => old | value,
        rmw::XOR => old ^ value,
        rmw::MAX => signed().0.max(signed().1) as u64,
        rmw::MIN => signed().0.min(signed().1) as u64,
        rmw::UMAX => unsigned().0.max(unsigned().1),
        rmw::UMIN => unsigned().0.min(unsigned().1),
        rmw::FADD..=rmw::FMIN if size == 4 => {
            let numbers = (f32::from_bits(old as u32), f32::from_bits(value as u32));
            combine_floats(op, numbers, f32::max, f32::min)
                .to_bits()
                .into()
        }
        rmw::FADD..=rmw::FMIN => {
            let numbers = (f64::from_bits(old), f64::from_bits(value));
            combine_floats(op, numbers, f64::max, f64::min).to_bits()
        }
        _ => unreachable!("instrumentation leaves other operations alone"),
    }
}

/// What an operation on floats makes of the old value and the operand.
fn combine_floats<T: Add<Output = T> + Sub<Output = T>>(
    op: u32,
    (old, value): (T, T),
    max: fn(T, T) -> T,
    min: fn(T, T) -> T,
) -> T {
    match op {
        rmw::FADD => old + value,
        rmw::FSUB => old - value,
        rmw::FMAX => max(old, value),
        _ => min(old, value),
    }
}

/// Performs an atomic read-modify-write.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn __raddle_slow_rmw(
    address: usize,
    value: u64,
    size: u32,
    op: u32,
    order: u32,
    site: *const Site,
) -> u64 {
    let really = || {
        // SAFETY: as the program's operation.
        unsafe { processor::update(address, size, |old| combine(op, old, value, size)) }
    };
    if native::is_stranger() {
        return really();
    }
    sync_point(Operation::AtomicRmw, true, address, site);
    // SAFETY: as the program's operation.
    let (old, changed) = unsafe {
        if native::seen() {
            let old = really();
            let unused = 64 - 8 * size;
            (
                old,
                combine(op, old, value, size) << unused >> unused != old,
            )
        } else {
            let old = get(address, size);
            set(address, size, combine(op, old, value, size));
            (old, get(address, size) != old)
        }
    };
    if weak::is_on() {
        let new = combine(op, old, value, size);
        weak::modify(touched(address, size, old, order), new);
    }
    after_atomic(site, address, old, changed);
    let kind = access::ATOMIC | access::WRITE;
    if is_watched() && watch(Operation::AtomicRmw, address, size as usize, kind, site) {
        race::modify(address, order);
        if weak::is_on() {
            weak::released_to_oracle(address);
        }
    }
    record::event(
        Operation::AtomicRmw,
        address as u64,
        old,
        size,
        order as u16,
        id(site),
    );
    old
}

/// Performs a compare-exchange.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn __raddle_slow_cas(
    address: usize,
    expected: u64,
    new: u64,
    size: u32,
    order: u32,
    site: *const Site,
) -> u64 {
    // SAFETY: as the program's operation.
    let really = || unsafe { processor::compare_exchange(address, expected, new, size) };
    if native::is_stranger() {
        return really();
    }
    sync_point(Operation::AtomicCas, true, address, site);
    let unused = 64 - 8 * size;
    let expected = expected << unused >> unused;
    // SAFETY: as the program's operation.
    let (old, success) = unsafe {
        if native::seen() {
            let old = really();
            (old, old == expected)
        } else {
            let old = get(address, size);
            let success = old == expected;
            if success {
                set(address, size, new);
            }
            (old, success)
        }
    };
    let changed = success && new << unused >> unused != old;
    if weak::is_on() {
        if success {
            weak::modify(touched(address, size, old, order & 0xff), new);
        } else {
            let failed = touched(address, size, old, order >> 8 & 0xff);
            weak::exchange_failed(failed, order & 0xff);
        }
    }
    after_atomic(site, address, old, changed);
    let (operation, order, kind) = if success {
        (
            Operation::AtomicRmw,
            order & 0xff,
            access::ATOMIC | access::WRITE,
        )
    } else {
        (Operation::AtomicCas, order >> 8 & 0xff, access::ATOMIC)
    };
    if is_watched() && watch(operation, address, size as usize, kind, site) {
        if success {
            race::modify(address, order);
            if weak::is_on() {
                weak::released_to_oracle(address);
            }
        } else {
            race::load(address, order);
        }
    }
    record::event(operation, address as u64, old, size, order as u16, id(site));
    old
}

/// An operation of libatomic, which is performed when this has returned. The order is one of C.
pub(super) fn called(
    operation: Operation,
    address: usize,
    size: usize,
    order: u32,
    site: *const Site,
) {
    /// By C's number: relaxed, consume, acquire, release, both, sequentially consistent.
    const ORDERS: [u32; 6] = [
        order::RELAXED,
        order::ACQUIRE,
        order::ACQUIRE,
        order::RELEASE,
        order::ACQ_REL,
        order::SEQ_CST,
    ];
    let order = ORDERS
        .get(order as usize)
        .map_or(order::SEQ_CST, |order| *order);
    let write = operation != Operation::AtomicLoad;
    sync_point(operation, write, address, site);
    if weak::is_on() {
        weak::forget(address, size);
        weak::refresh();
    }
    after_atomic(site, address, 0, write);
    let kind = access::ATOMIC | if write { access::WRITE } else { 0 };
    if is_watched() && watch(operation, address, size, kind, site) {
        match operation {
            Operation::AtomicLoad => race::load(address, order),
            Operation::AtomicStore => race::store(address, order),
            _ => race::modify(address, order),
        }
    }
    record::event(
        operation,
        address as u64,
        0,
        size as u32,
        order as u16,
        id(site),
    );
}

/// A fence.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub extern "C" fn __raddle_slow_fence(order: u32, site: *const Site) {
    if native::is_stranger() {
        return;
    }
    note_site(site);
    if weak::is_on() {
        weak::fence(order);
    }
    if is_watched() && world().orders.race {
        race::fence(order);
    }
    record::event(Operation::Fence, 0, 0, 0, order as u16, id(site));
}

#[cfg(test)]
mod tests {
    use super::combine;
    use raddle_abi::hooks::rmw;

    #[test]
    fn read_modify_writes_compute_as_the_processor_does() {
        let cases = [
            (rmw::ADD, 0xff, 1, 1, 0x00),
            (rmw::SUB, 0, 1, 2, 0xffff),
            (rmw::MAX, 0x80, 1, 1, 1),
            (rmw::UMAX, 0x80, 1, 1, 0x80),
            (rmw::MIN, 0x80, 1, 1, 0x80),
            (rmw::UMIN, 0x80, 1, 1, 1),
            (rmw::NAND, 0b1100, 0b1010, 4, 0xffff_fff7),
            (rmw::XCHG, 7, 9, 8, 9),
            (
                rmw::FADD,
                1.5_f32.to_bits().into(),
                2.0_f32.to_bits().into(),
                4,
                3.5_f32.to_bits().into(),
            ),
            (
                rmw::FSUB,
                1.5_f64.to_bits(),
                2.0_f64.to_bits(),
                8,
                (-0.5_f64).to_bits(),
            ),
            (
                rmw::FMAX,
                f64::NAN.to_bits(),
                2.0_f64.to_bits(),
                8,
                2.0_f64.to_bits(),
            ),
            (
                rmw::FMIN,
                1.5_f32.to_bits().into(),
                2.0_f32.to_bits().into(),
                4,
                1.5_f32.to_bits().into(),
            ),
        ];
        for (op, old, value, size, expected) in cases {
            let mask = if size == 8 {
                u64::MAX
            } else {
                (1 << (8 * size)) - 1
            };
            assert_eq!(
                combine(op, old, value, size) & mask,
                expected,
                "op {op} on {size} bytes"
            );
        }
    }
}
