//! A runtime that performs every operation and counts the calls, so that instrumented programs
//! can run without the real one. With `STUB_ON` set, hooks call it.

use std::ffi::c_char;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering::SeqCst};

#[unsafe(no_mangle)]
pub static __raddle_flags: Gate = Gate {
    flags: AtomicU8::new(0),
    low: AtomicUsize::new(0),
    len: AtomicUsize::new(0),
};
#[unsafe(no_mangle)]
pub static mut __raddle_at_site: *const Site = std::ptr::null();

#[repr(C)]
pub struct Gate {
    flags: AtomicU8,
    low: AtomicUsize,
    len: AtomicUsize,
}

#[repr(C)]
pub struct Site {
    key: u64,
    file: *const c_char,
    function: *const c_char,
    inlined_at: *const Site,
    line: u32,
    column: u32,
    operation: u16,
    flags: u16,
    reserved: u32,
}

static COUNTS: [AtomicU64; 17] = [const { AtomicU64::new(0) }; 17];
const NAMES: [&str; 17] = [
    "read", "write", "volatile", "load", "store", "rmw", "cas", "fence", "spin", "asm", "lock",
    "phase", "panic", "enter", "leave", "sites", "instance",
];

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> i32;
    fn dprintf(fd: i32, format: *const c_char, ...) -> i32;
}

fn say(text: String) {
    let text = std::ffi::CString::new(text).unwrap();
    unsafe { dprintf(2, c"%s\n".as_ptr(), text.as_ptr()) };
}

extern "C" fn end() {
    __raddle_flags.flags.store(0, SeqCst);
    for (name, count) in NAMES.iter().zip(&COUNTS) {
        say(format!("stub: {name} {}", count.load(SeqCst)));
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    if std::env::var_os("STUB_ON").is_some() {
        unsafe { atexit(end) };
        __raddle_flags.flags.store(3, SeqCst);
    }
}

fn count(index: usize, site: *const Site) {
    COUNTS[index].fetch_add(1, SeqCst);
    let site = unsafe { &*site };
    assert!(site.key != 0 && site.reserved == 0 && !site.function.is_null() && !site.file.is_null());
    assert!(site.operation < 30 && site.line < 1_000_000 && site.column < 100_000);
    let mut outer = site.inlined_at;
    while let Some(call) = unsafe { outer.as_ref() } {
        outer = call.inlined_at;
    }
}

fn show(what: String, site: *const Site) {
    let mut text = what;
    let mut next = site;
    while let Some(site) = unsafe { next.as_ref() } {
        let function = unsafe { std::ffi::CStr::from_ptr(site.function) }.to_string_lossy();
        let file = unsafe { std::ffi::CStr::from_ptr(site.file) }.to_string_lossy();
        let file = file.rsplit('/').next().unwrap();
        text.push_str(&format!(" | {function} {file}:{} op {} flags {}", site.line, site.operation, site.flags));
        next = site.inlined_at;
    }
    say(text);
}

#[unsafe(no_mangle)]
pub extern "C" fn __raddle_slow_read(_: *const u8, _: u64, site: *const Site) {
    count(0, site);
}
#[unsafe(no_mangle)]
pub extern "C" fn __raddle_slow_write(_: *const u8, _: u64, site: *const Site) {
    count(1, site);
}
#[unsafe(no_mangle)]
pub extern "C" fn __raddle_slow_volatile(_: *const u8, _: u64, _: u32, site: *const Site) {
    count(2, site);
}
#[unsafe(no_mangle)]
pub extern "C" fn __raddle_slow_call(
    _: u32,
    _: *const [u64; 4],
    _: *const u64,
    _: u64,
    reads: *const Site,
    _: *const Site,
) {
    count(0, reads);
}

macro_rules! sized {
    ($size:expr, $address:expr, $atomic:ident => $do:expr) => {
        unsafe {
            use std::sync::atomic::*;
            match $size {
                1 => { type T = u8; let $atomic = AtomicU8::from_ptr($address.cast()); let r: T = $do(|v: u64| v as T, $atomic); r as u64 }
                2 => { type T = u16; let $atomic = AtomicU16::from_ptr($address.cast()); let r: T = $do(|v: u64| v as T, $atomic); r as u64 }
                4 => { type T = u32; let $atomic = AtomicU32::from_ptr($address.cast()); let r: T = $do(|v: u64| v as T, $atomic); r as u64 }
                _ => { type T = u64; let $atomic = AtomicU64::from_ptr($address.cast()); let r: T = $do(|v: u64| v as T, $atomic); r as u64 }
            }
        }
    };
}

#[unsafe(no_mangle)]
pub extern "C" fn __raddle_slow_load(address: *mut u8, size: u32, _: u32, site: *const Site) -> u64 {
    count(3, site);
    sized!(size, address, a => |_c: fn(u64) -> _, _| a.load(SeqCst))
}
#[unsafe(no_mangle)]
pub extern "C" fn __raddle_slow_store(address: *mut u8, value: u64, size: u32, _: u32, site: *const Site) {
    count(4, site);
    sized!(size, address, a => |c: fn(u64) -> _, _| { a.store(c(value), SeqCst); 0 });
}
#[unsafe(no_mangle)]
pub extern "C" fn __raddle_slow_rmw(address: *mut u8, value: u64, size: u32, op: u32, _: u32, site: *const Site) -> u64 {
    count(5, site);
    sized!(size, address, a => |c: fn(u64) -> _, _| {
        let v = c(value);
        match op {
            0 => a.swap(v, SeqCst),
            1 => a.fetch_add(v, SeqCst),
            2 => a.fetch_sub(v, SeqCst),
            3 => a.fetch_and(v, SeqCst),
            4 => a.fetch_nand(v, SeqCst),
            5 => a.fetch_or(v, SeqCst),
            6 => a.fetch_xor(v, SeqCst),
            9 => a.fetch_max(v, SeqCst),
            10 => a.fetch_min(v, SeqCst),
            // Signed maximum and minimum, by the sign bit of the operand's size.
            7 | 8 => loop {
                let old = a.load(SeqCst);
                let shift = 64 - 8 * size;
                let signed = |bits: u64| ((bits << shift) as i64) >> shift;
                let larger = signed(value) > signed(old as u64);
                let new = if larger == (op == 7) { v } else { old };
                if a.compare_exchange(old, new, SeqCst, SeqCst).is_ok() { break old }
            },
            _ => std::process::abort(),
        }
    })
}
#[unsafe(no_mangle)]
pub extern "C" fn __raddle_slow_cas(address: *mut u8, expected: u64, new: u64, size: u32, _: u32, site: *const Site) -> u64 {
    count(6, site);
    sized!(size, address, a => |c: fn(u64) -> _, _| {
        match a.compare_exchange(c(expected), c(new), SeqCst, SeqCst) { Ok(v) | Err(v) => v }
    })
}
#[unsafe(no_mangle)]
pub extern "C" fn __raddle_slow_fence(_: u32, site: *const Site) {
    count(7, site);
}
#[unsafe(no_mangle)]
pub extern "C" fn __raddle_slow_cycles() -> u64 {
    7
}

#[unsafe(no_mangle)]
pub extern "C" fn __raddle_slow_spin(site: *const Site) {
    count(8, site);
}
#[unsafe(no_mangle)]
pub extern "C" fn __raddle_slow_asm(site: *const Site) {
    count(9, site);
}
#[unsafe(no_mangle)]
pub extern "C" fn __raddle_slow_lock(event: u32, _: *const u8, site: *const Site) {
    count(10, site);
    if std::env::var_os("STUB_SHOW").is_some() {
        show(format!("stub: lock event {event:#x}"), site);
    }
}
#[unsafe(no_mangle)]
pub extern "C" fn __raddle_slow_phase(event: u32, value: u64, _: *const u8, site: *const Site) {
    COUNTS[11].fetch_add(1, SeqCst);
    if std::env::var_os("STUB_SHOW").is_some() {
        show(format!("stub: phase event {event} value {value:#x}"), site);
    }
}
#[unsafe(no_mangle)]
pub extern "C" fn __raddle_slow_panic(site: *const Site) {
    count(12, site);
}
#[unsafe(no_mangle)]
pub extern "C" fn __raddle_slow_enter(_: *const u8, site: *const Site) {
    count(13, site);
}
#[unsafe(no_mangle)]
pub extern "C" fn __raddle_slow_leave(site: *const Site) {
    count(14, site);
}
#[unsafe(no_mangle)]
pub extern "C" fn __raddle_slow_instance(_: *const u8, site: *const Site) {
    count(16, site);
}
