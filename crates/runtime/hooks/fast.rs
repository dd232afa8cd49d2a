//! The bodies of the hooks in `raddle_abi::hooks`, inlined into every instrumented function.
//!
//! Compiled by itself to bitcode, with the rustc of the program under test. Each body tests
//! one byte; only while a controlled execution is under way does it call the runtime's slow
//! function of the same name. Otherwise atomic hooks perform the operation themselves.
//!
//! x86-64 performs every atomic read-modify-write as sequentially consistent, so orders matter
//! here for stores only.
#![no_std]

use core::sync::atomic::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
    Ordering,
};

/// As `raddle_abi::hooks::FLAG_SYNC`; this file is compiled without other crates.
const FLAG_SYNC: u8 = 1;
/// As `raddle_abi::hooks::FLAG_PLAIN`.
const FLAG_PLAIN: u8 = 2;
/// As `raddle_abi::hooks::FLAG_CALLS`.
const FLAG_CALLS: u8 = 4;
/// As `raddle_abi::hooks::FLAG_METHODS`.
const FLAG_METHODS: u8 = 8;
/// As `raddle_abi::hooks::order::SEQ_CST`.
const SEQ_CST: u32 = 7;

/// As `raddle_abi::hooks::Gate`.
#[repr(C)]
struct Gate {
    flags: AtomicU8,
    low: AtomicUsize,
    len: AtomicUsize,
    accesses_left: AtomicUsize,
    methods: AtomicU64,
}

/// A `raddle_abi::site::Site`, opaque here.
type Site = *const u8;

unsafe extern "C" {
    static __raddle_flags: Gate;
    static mut __raddle_at_site: Site;
    fn __raddle_slow_read(address: *const u8, len: u64, site: Site);
    fn __raddle_slow_write(address: *const u8, len: u64, site: Site);
    fn __raddle_slow_volatile(address: *const u8, len: u64, write: u32, site: Site);
    fn __raddle_slow_call(
        call: u32,
        arguments: *const [u64; 4],
        variadic: *const u64,
        result: u64,
        reads: Site,
        writes: Site,
    );
    fn __raddle_slow_load(address: *const u8, size: u32, order: u32, site: Site) -> u64;
    fn __raddle_slow_store(address: *mut u8, value: u64, size: u32, order: u32, site: Site);
    fn __raddle_slow_rmw(
        address: *mut u8,
        value: u64,
        size: u32,
        op: u32,
        order: u32,
        site: Site,
    ) -> u64;
    fn __raddle_slow_cas(
        address: *mut u8,
        expected: u64,
        new: u64,
        size: u32,
        order: u32,
        site: Site,
    ) -> u64;
    fn __raddle_slow_fence(order: u32, site: Site);
    fn __raddle_slow_spin(site: Site);
    fn __raddle_slow_cycles() -> u64;
    fn __raddle_slow_asm(site: Site);
    fn __raddle_slow_lock(event: u32, lock: *const u8, site: Site);
    fn __raddle_slow_phase(event: u32, value: u64, frame: *const u8, site: Site);
    fn __raddle_slow_panic(site: Site);
    fn __raddle_slow_enter(
        first: *const u8,
        second: *const u8,
        third: *const u8,
        fourth: *const u8,
        site: Site,
    );
    fn __raddle_slow_leave(how: u32, site: Site);
    fn __raddle_slow_instance(address: *const u8, site: Site);
    fn __raddle_slow_channel(event: u32, channel: *const u8, message: *const u64, site: Site);
    fn __raddle_slow_branch(way: u32, site: Site);
}

#[inline(always)]
fn wanted(flag: u8) -> bool {
    // SAFETY: the runtime defines the byte and it lives for ever.
    unsafe { __raddle_flags.flags.load(Ordering::Relaxed) & flag != 0 }
}

/// Whether the entry or exit of a function is wanted.
#[inline(always)]
fn call_wanted(site: Site) -> bool {
    // SAFETY: as above.
    let gate = unsafe { &__raddle_flags };
    let flags = gate.flags.load(Ordering::Relaxed) & (FLAG_CALLS | FLAG_METHODS);
    if flags != FLAG_METHODS || site.is_null() {
        return flags != 0;
    }
    // SAFETY: a site record begins with its key.
    let key = unsafe { *site.cast::<u64>() };
    gate.methods.load(Ordering::Relaxed) >> (key & 63) & 1 != 0
}

/// Whether a plain access is wanted: not where only this thread can touch the memory, except
/// for one of very many.
#[inline(always)]
fn plain_wanted(address: *const u8, len: u64) -> bool {
    if !wanted(FLAG_PLAIN) {
        return false;
    }
    // SAFETY: as above.
    let gate = unsafe { &__raddle_flags };
    let place = (address as usize).wrapping_sub(gate.low.load(Ordering::Relaxed));
    // Nothing begins below that memory and reaches into it: there is no page.
    if place.wrapping_add(len as usize) > gate.len.load(Ordering::Relaxed) {
        return true;
    }
    // Only the running thread gets here, so that no atomic decrement is needed.
    let left = gate.accesses_left.load(Ordering::Relaxed).wrapping_sub(1);
    gate.accesses_left.store(left, Ordering::Relaxed);
    left == 0
}

#[unsafe(no_mangle)]
extern "C" fn __raddle_read(address: *const u8, len: u64, site: Site) {
    if plain_wanted(address, len) {
        // SAFETY: the arguments are those of an instrumented load.
        unsafe { __raddle_slow_read(address, len, site) }
    }
}

#[unsafe(no_mangle)]
extern "C" fn __raddle_write(address: *const u8, len: u64, site: Site) {
    if plain_wanted(address, len) {
        // SAFETY: the arguments are those of an instrumented store.
        unsafe { __raddle_slow_write(address, len, site) }
    }
}

#[unsafe(no_mangle)]
extern "C" fn __raddle_volatile(address: *const u8, len: u64, write: u32, site: Site) {
    if wanted(FLAG_SYNC) {
        // SAFETY: the arguments are those of an instrumented volatile access.
        unsafe { __raddle_slow_volatile(address, len, write, site) }
    }
}

#[unsafe(no_mangle)]
extern "C" fn __raddle_call(
    call: u32,
    first: u64,
    second: u64,
    third: u64,
    fourth: u64,
    variadic: *const u64,
    result: u64,
    reads: Site,
    writes: Site,
) {
    if wanted(FLAG_PLAIN) {
        let arguments = [first, second, third, fourth];
        // SAFETY: the arguments are those of an instrumented call.
        unsafe { __raddle_slow_call(call, &raw const arguments, variadic, result, reads, writes) }
    }
}

/// What an operation on floats of four or eight bytes makes of the old value and the operand.
#[inline(always)]
fn combine_floats(old: u64, value: u64, size: u32, op: u32) -> u64 {
    macro_rules! combine {
        ($old:expr, $value:expr) => {
            match op {
                11 => $old + $value,
                12 => $old - $value,
                13 => $old.max($value),
                _ => $old.min($value),
            }
        };
    }
    if size == 4 {
        combine!(f32::from_bits(old as u32), f32::from_bits(value as u32)).to_bits().into()
    } else {
        combine!(f64::from_bits(old), f64::from_bits(value)).to_bits()
    }
}

/// The four atomic hooks of one width. `max` and `min` need the signed type.
macro_rules! atomic_hooks {
    ($integer:ty, $signed:ty, $atomic:ident, $signed_atomic:ident,
     $load:ident, $store:ident, $rmw:ident, $cas:ident) => {
        #[unsafe(no_mangle)]
        extern "C" fn $load(address: *mut $integer, order: u32, site: Site) -> $integer {
            let size = size_of::<$integer>() as u32;
            if wanted(FLAG_SYNC) {
                // SAFETY: the arguments are those of an instrumented atomic load.
                return unsafe {
                    __raddle_slow_load(address.cast(), size, order, site) as $integer
                };
            }
            // SAFETY: the program loads atomically from this address.
            unsafe { $atomic::from_ptr(address) }.load(Ordering::SeqCst)
        }

        #[unsafe(no_mangle)]
        extern "C" fn $store(address: *mut $integer, value: $integer, order: u32, site: Site) {
            let size = size_of::<$integer>() as u32;
            if wanted(FLAG_SYNC) {
                // SAFETY: the arguments are those of an instrumented atomic store.
                unsafe { __raddle_slow_store(address.cast(), value.into(), size, order, site) };
                return;
            }
            // SAFETY: the program stores atomically to this address.
            let atomic = unsafe { $atomic::from_ptr(address) };
            if order == SEQ_CST {
                atomic.store(value, Ordering::SeqCst);
            } else {
                atomic.store(value, Ordering::Release);
            }
        }

        #[unsafe(no_mangle)]
        extern "C" fn $rmw(
            address: *mut $integer,
            value: $integer,
            op: u32,
            order: u32,
            site: Site,
        ) -> $integer {
            let size = size_of::<$integer>() as u32;
            if wanted(FLAG_SYNC) {
                // SAFETY: the arguments are those of an instrumented atomic operation.
                return unsafe {
                    __raddle_slow_rmw(address.cast(), value.into(), size, op, order, site)
                        as $integer
                };
            }
            // SAFETY: the program modifies atomically at this address.
            let atomic = unsafe { $atomic::from_ptr(address) };
            // SAFETY: as above; the signed type has the same layout.
            let signed = unsafe { $signed_atomic::from_ptr(address.cast()) };
            match op {
                0 => atomic.swap(value, Ordering::SeqCst),
                1 => atomic.fetch_add(value, Ordering::SeqCst),
                2 => atomic.fetch_sub(value, Ordering::SeqCst),
                3 => atomic.fetch_and(value, Ordering::SeqCst),
                4 => atomic.fetch_nand(value, Ordering::SeqCst),
                5 => atomic.fetch_or(value, Ordering::SeqCst),
                6 => atomic.fetch_xor(value, Ordering::SeqCst),
                7 => signed.fetch_max(value as $signed, Ordering::SeqCst) as $integer,
                8 => signed.fetch_min(value as $signed, Ordering::SeqCst) as $integer,
                9 => atomic.fetch_max(value, Ordering::SeqCst),
                10 => atomic.fetch_min(value, Ordering::SeqCst),
                _ => loop {
                    let old = atomic.load(Ordering::SeqCst);
                    let new = combine_floats(old.into(), value.into(), size, op) as $integer;
                    let order = Ordering::SeqCst;
                    if atomic.compare_exchange_weak(old, new, order, order).is_ok() {
                        break old;
                    }
                },
            }
        }

        #[unsafe(no_mangle)]
        extern "C" fn $cas(
            address: *mut $integer,
            expected: $integer,
            new: $integer,
            order: u32,
            site: Site,
        ) -> $integer {
            let size = size_of::<$integer>() as u32;
            if wanted(FLAG_SYNC) {
                // SAFETY: the arguments are those of an instrumented compare-exchange.
                return unsafe {
                    let (expected, new) = (expected.into(), new.into());
                    __raddle_slow_cas(address.cast(), expected, new, size, order, site) as $integer
                };
            }
            // SAFETY: the program exchanges atomically at this address.
            let atomic = unsafe { $atomic::from_ptr(address) };
            match atomic.compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(old) | Err(old) => old,
            }
        }
    };
}

atomic_hooks!(
    u8,
    i8,
    AtomicU8,
    AtomicI8,
    __raddle_load_8,
    __raddle_store_8,
    __raddle_rmw_8,
    __raddle_cas_8
);
atomic_hooks!(
    u16,
    i16,
    AtomicU16,
    AtomicI16,
    __raddle_load_16,
    __raddle_store_16,
    __raddle_rmw_16,
    __raddle_cas_16
);
atomic_hooks!(
    u32,
    i32,
    AtomicU32,
    AtomicI32,
    __raddle_load_32,
    __raddle_store_32,
    __raddle_rmw_32,
    __raddle_cas_32
);
atomic_hooks!(
    u64,
    i64,
    AtomicU64,
    AtomicI64,
    __raddle_load_64,
    __raddle_store_64,
    __raddle_rmw_64,
    __raddle_cas_64
);

#[unsafe(no_mangle)]
extern "C" fn __raddle_fence(order: u32, site: Site) {
    if wanted(FLAG_SYNC) {
        // SAFETY: the arguments are those of an instrumented fence.
        unsafe { __raddle_slow_fence(order, site) }
    }
}

#[unsafe(no_mangle)]
extern "C" fn __raddle_cycles() -> u64 {
    if wanted(FLAG_SYNC) {
        // SAFETY: reads a clock.
        return unsafe { __raddle_slow_cycles() };
    }
    // SAFETY: every processor of this architecture has the counter.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[unsafe(no_mangle)]
extern "C" fn __raddle_spin(site: Site) {
    if wanted(FLAG_SYNC) {
        // SAFETY: the site is that of a spin hint.
        unsafe { __raddle_slow_spin(site) }
    } else {
        core::hint::spin_loop();
    }
}

#[unsafe(no_mangle)]
extern "C" fn __raddle_at(site: Site) {
    // SAFETY: while an execution is controlled one thread runs; otherwise the value is a hint.
    unsafe { (&raw mut __raddle_at_site).write_volatile(site) }
}

#[unsafe(no_mangle)]
extern "C" fn __raddle_asm(site: Site) {
    if wanted(FLAG_SYNC) {
        // SAFETY: the site is that of inline assembly.
        unsafe { __raddle_slow_asm(site) }
    }
}

#[unsafe(no_mangle)]
extern "C" fn __raddle_lock(event: u32, lock: *const u8, site: Site) {
    if wanted(FLAG_SYNC) {
        // SAFETY: the arguments are those of an instrumented lock function.
        unsafe { __raddle_slow_lock(event, lock, site) }
    }
}

#[unsafe(no_mangle)]
extern "C" fn __raddle_phase(event: u32, value: u64, frame: *const u8, site: Site) {
    // SAFETY: the arguments are those of an instrumented phase; also wanted before the start.
    unsafe { __raddle_slow_phase(event, value, frame, site) }
}

#[unsafe(no_mangle)]
extern "C" fn __raddle_panic(site: Site) {
    // SAFETY: the site is that of std's panic entry.
    unsafe { __raddle_slow_panic(site) }
}

#[unsafe(no_mangle)]
extern "C" fn __raddle_enter(
    first: *const u8,
    second: *const u8,
    third: *const u8,
    fourth: *const u8,
    site: Site,
) {
    if call_wanted(site) {
        // SAFETY: the arguments are those of an instrumented function.
        unsafe { __raddle_slow_enter(first, second, third, fourth, site) }
    }
}

#[unsafe(no_mangle)]
extern "C" fn __raddle_leave(how: u32, site: Site) {
    if call_wanted(site) {
        // SAFETY: the site is that of an instrumented function.
        unsafe { __raddle_slow_leave(how, site) }
    }
}

#[unsafe(no_mangle)]
extern "C" fn __raddle_instance(address: *const u8, site: Site) {
    if wanted(FLAG_CALLS) {
        // SAFETY: the arguments are those of an instrumented function that made an instance.
        unsafe { __raddle_slow_instance(address, site) }
    }
}

#[unsafe(no_mangle)]
extern "C" fn __raddle_channel(event: u32, channel: *const u8, message: *const u64, site: Site) {
    if wanted(FLAG_CALLS) {
        // SAFETY: the arguments are those of an instrumented channel function.
        unsafe { __raddle_slow_channel(event, channel, message, site) }
    }
}

#[unsafe(no_mangle)]
extern "C" fn __raddle_branch(way: u32, site: Site) {
    if wanted(FLAG_CALLS) {
        // SAFETY: the site is that of an instrumented branch.
        unsafe { __raddle_slow_branch(way, site) }
    }
}
