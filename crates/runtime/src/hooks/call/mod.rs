//! What functions of libc do to the program's memory, by the table of [`raddle_abi::libc`].
//!
//! Instrumentation announces a call where it stands, and once more when it has returned if the result
//! tells what was written. Interposing the functions would be the other way. It is not used, because a
//! call from a prebuilt library is seen then too, whose own synchronisation by atomic instructions is not
//! (that would report races that are none), because compilers put code in the place of calls, and
//! because a report has to name the place of the call, with a key that stays the same from build to
//! build. Calls in the prebuilt standard library of Rust are seen: it arrives as bitcode.
//!
//! The scheduling point stands before the call. Where several accesses of a call take part in races, or
//! others may run while it does its work, one point does not say all about it, and a search is not
//! exhaustive.

mod constants;
mod format;
mod measure;

use self::measure::Call;
use super::{atomic, id, is_point, note_site, plain};
use crate::global::Global;
use crate::interpose::real;
use crate::native;
use crate::oracles::shadow::access;
use crate::scheduler;
use crate::shared::shared;
use crate::world::world;
use core::ffi::CStr;
use raddle_abi::control::conditions;
use raddle_abi::libc::{ALL, ARGUMENTS, Access, Atomic, Function, NUMBER, RETURNED};
use raddle_abi::site::{Operation, Site};
use raddle_schedule::partial_order::OBJECT_BITS;

pub use self::measure::is_faulty;

/// One bit for each function of the table: the program has one of its own of this name.
static OWN: Global<[u64; ALL.len().div_ceil(64)]> = Global::new([0; ALL.len().div_ceil(64)]);

/// Finds out which functions of the table are the program's own.
pub fn set_up() {
    /// Instrumented code stands below.
    const INSTRUMENTED: usize = 1 << 32;
    const LONGEST: usize = 40;
    constants::set_up();
    for (number, function) in ALL.iter().enumerate() {
        let mut name = [0; LONGEST];
        let length = function.symbol.len().min(LONGEST - 1);
        for (place, byte) in name.iter_mut().zip(&function.symbol.as_bytes()[..length]) {
            *place = *byte;
        }
        // SAFETY: the last byte is zero.
        let name = unsafe { CStr::from_ptr(name.as_ptr().cast()) };
        if (1..INSTRUMENTED).contains(&real::find(name)) {
            OWN.get()[number / 64] |= 1 << (number % 64);
        }
    }
}

/// The sites of what a call reads and writes.
#[derive(Clone, Copy)]
struct Sites {
    reads: *const Site,
    writes: *const Site,
}

impl Sites {
    fn of(self, write: bool) -> *const Site {
        match write {
            true => self.writes,
            false => self.reads,
        }
    }
}

/// A function of libc is about to be called, or has returned.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn __raddle_slow_call(
    call: u32,
    arguments: *const [usize; ARGUMENTS],
    variadic: *const u64,
    result: u64,
    reads: *const Site,
    writes: *const Site,
) {
    if native::is_stranger() {
        return;
    }
    let number = (call & NUMBER) as usize;
    let Some(function) = ALL.get(number) else {
        return;
    };
    if OWN.get()[number / 64] >> (number % 64) & 1 != 0 {
        return;
    }
    let (has_returned, marks) = (call & RETURNED != 0, call & !RETURNED);
    // SAFETY: the hook passes an array of its own.
    let arguments = unsafe { *arguments };
    let call = Call::new(function, arguments, variadic, result, marks);
    let sites = Sites { reads, writes };
    if has_returned {
        touch(&call, sites, true, true);
    } else {
        let is_counted = !world().orders.only_watched && point(&call, sites);
        atomics(&call, sites);
        touch(&call, sites, false, is_counted);
    }
}

/// What a scheduling point before a call is about.
struct Chosen {
    address: usize,
    len: usize,
    write: bool,
    is_own: bool,
}

/// The scheduling point before a call, if one of its accesses is one. Whether there was one.
fn point(call: &Call<'_>, sites: Sites) -> bool {
    let mut chosen: Option<Chosen> = None;
    let mut shared_object = None;
    let mut is_wide = call.function.waits;
    call.each_expected(&mut |address, len, write| {
        let kind = if write { access::WRITE } else { 0 };
        if constants::contain(address, len) || !plain::wants_point(address, kind, sites.of(write)) {
            return;
        }
        let is_own = plain::on_own_stack(address);
        if !plain::is_private(address, len) {
            let object = address >> OBJECT_BITS;
            is_wide |= *shared_object.get_or_insert(object) != object;
        }
        match &mut chosen {
            // Others look at the thread's own stack more rarely.
            Some(chosen) if is_own || !chosen.is_own => {
                if chosen.address >> OBJECT_BITS == address >> OBJECT_BITS {
                    chosen.len = chosen.len.max(len);
                    chosen.write |= write;
                }
            }
            other => {
                *other = Some(Chosen {
                    address,
                    len,
                    write,
                    is_own,
                })
            }
        }
    });
    let Some(chosen) = chosen else {
        return false;
    };
    let site = sites.of(chosen.write);
    note_site(site);
    if !is_point(site) {
        return false;
    }
    if is_wide {
        shared().note_condition(conditions::WIDE_RACE);
    }
    let operation = plain::operation(chosen.write, 0);
    let thread = world().execution.running();
    match thread.spin.spins(id(site), chosen.address) {
        true => scheduler::point_of_spinning(operation, chosen.write, chosen.address, id(site)),
        false => scheduler::point(operation, chosen.write, chosen.address, id(site)),
    }
    plain::passed_point(chosen.address, chosen.len, chosen.write, site);
    true
}

/// The accesses of a call, reads before writes: a recording takes the value that was written when the
/// thread's next event comes.
fn touch(call: &Call<'_>, sites: Sites, late: bool, mut is_counted: bool) {
    for write in [false, true] {
        call.each(late, &mut |address, len, is_write| {
            if is_write == write {
                let site = sites.of(write);
                if !core::mem::replace(&mut is_counted, true) {
                    plain::count(address, len, write, 0, site);
                }
                plain::touch(address, len, write, site);
            }
        });
    }
}

/// Operations of libatomic, which are performed behind the hook.
fn atomics(call: &Call<'_>, sites: Sites) {
    for access in call.function.accesses {
        if let Access::Atomic {
            operation,
            object,
            size,
            order,
        } = *access
        {
            let operation = match operation {
                Atomic::Load => Operation::AtomicLoad,
                Atomic::Store => Operation::AtomicStore,
                Atomic::Modify => Operation::AtomicRmw,
            };
            let site = sites.of(operation != Operation::AtomicLoad);
            let size = call.units(size, 0, 1);
            let order = call.argument(order) as u32;
            atomic::called(operation, call.argument(object), size, order, site);
        }
    }
}

/// The functions' number of accesses is bounded, so that a row can be looked through at once.
const _: () = {
    let mut number = 0;
    while number < ALL.len() {
        let function: &Function = &ALL[number];
        assert!(function.accesses.len() <= raddle_abi::libc::ACCESSES);
        number += 1;
    }
};
