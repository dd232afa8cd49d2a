//! `malloc` and its family, on the heap of [`crate::heap`].

use super::real;
use crate::heap::{self, granules, granules::Standing};
use crate::native;
use crate::oracles::shadow::access;
use crate::oracles::{self, race};
use crate::record;
use crate::shared::shared;
use crate::weak;
use crate::world::{is_executing, take_at_site, world};
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, Ordering};
use raddle_abi::control::conditions;
use raddle_abi::site::{Operation, SiteId};

static TAKEN_OVER: AtomicBool = AtomicBool::new(false);

/// From now on blocks come from the runtime's heap. Those handed out before stay libc's.
pub fn take_over() {
    heap::set_up();
    TAKEN_OVER.store(true, Ordering::Release);
}

/// Whether blocks come from the runtime's heap.
pub fn is_taken_over() -> bool {
    ours()
}

#[inline(always)]
fn ours() -> bool {
    TAKEN_OVER.load(Ordering::Relaxed)
}

fn allocate(bytes: usize, alignment: usize) -> *mut c_void {
    allocate_at(bytes, alignment, take_at_site())
}

fn allocate_at(bytes: usize, alignment: usize, site: SiteId) -> *mut c_void {
    let world = world();
    let Some(block) = heap::allocate(&mut world.execution.heap, bytes, alignment) else {
        shared().note_condition(conditions::HEAP_LIMIT);
        crate::syscalls::as_errno(crate::syscalls::error(crate::arch::errno::ENOMEM));
        return core::ptr::null_mut();
    };
    if world.running {
        record::event(
            Operation::Alloc,
            block as u64,
            bytes as u64,
            bytes as u32,
            0,
            site,
        );
    }
    block as *mut c_void
}

fn release(block: usize, site: SiteId) {
    if !may_free(block, site) {
        return;
    }
    let world = world();
    if world.running && world.off == 0 {
        let bytes = heap::size_of(block);
        weak::forget(block, bytes);
        let thread = &world.execution.threads[world.execution.current];
        if world.orders.race && thread.entered {
            race::access(block, bytes, access::WRITE | access::FREE, site);
        }
        record::event(Operation::Free, block as u64, 0, bytes as u32, 0, site);
    }
    heap::free(&mut world.execution.heap, block);
}

/// Whether an address in the heap may be freed. One that was freed before is left alone where
/// nobody watches; one that never was a block ends the program, as libc would.
fn may_free(block: usize, site: SiteId) -> bool {
    match granules::standing(block) {
        Standing::Live => true,
        Standing::Freed if oracles::heap::is_on() => oracles::heap::freed_again(block, site),
        Standing::Freed => false,
        Standing::None => {
            const WORDS: &str = "free(): invalid pointer\n";
            if world().running && world().off == 0 {
                shared().note_output(WORDS.as_bytes());
                oracles::crash::by_abort();
            }
            crate::own::say(format_args!("{WORDS}"));
            // SAFETY: libc's own end of a program that frees what is no block.
            unsafe { (real::functions().abort)() };
            false
        }
    }
}

/// Whether a block that is asked for comes from the runtime's heap, which native threads must
/// not change.
#[inline(always)]
fn gives() -> bool {
    ours() && !native::is_stranger()
}

/// libc's `malloc`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn malloc(bytes: usize) -> *mut c_void {
    if gives() {
        return allocate(bytes, 16);
    }
    // SAFETY: libc's contract.
    unsafe { real::__libc_malloc(bytes) }
}

/// libc's `calloc`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    if !gives() {
        // SAFETY: libc's contract.
        return unsafe { real::__libc_calloc(count, bytes) };
    }
    let Some(total) = count.checked_mul(bytes) else {
        return core::ptr::null_mut();
    };
    let block = allocate(total, 16);
    if !block.is_null() {
        // SAFETY: a fresh block of that size.
        unsafe { core::ptr::write_bytes(block.cast::<u8>(), 0, total) };
    }
    block
}

/// libc's `realloc`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn realloc(block: *mut c_void, bytes: usize) -> *mut c_void {
    if !ours() || (!block.is_null() && !heap::contains(block as usize)) {
        // SAFETY: libc's contract.
        return unsafe { real::__libc_realloc(block, bytes) };
    }
    if !gives() {
        // SAFETY: libc's contract; the block stays where it is, and is not used any more.
        return unsafe {
            let new = real::__libc_malloc(bytes);
            if !block.is_null() && !new.is_null() {
                let kept = heap::size_of(block as usize).min(bytes);
                core::ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast::<u8>(), kept);
            }
            new
        };
    }
    if block.is_null() {
        return allocate(bytes, 16);
    }
    let site = take_at_site();
    // An error is told before anything is copied.
    if !may_free(block as usize, site) {
        return core::ptr::null_mut();
    }
    let old = heap::size_of(block as usize);
    let new = allocate_at(bytes, 16, site);
    if !new.is_null() {
        // SAFETY: both blocks are at least that long.
        unsafe {
            core::ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast::<u8>(), old.min(bytes))
        };
        release(block as usize, site);
    }
    new
}

/// libc's `free`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn free(block: *mut c_void) {
    if block.is_null() {
        return;
    }
    if heap::contains(block as usize) && ours() {
        // What a native thread frees is left as it is: nobody says when it was.
        if gives() {
            release(block as usize, take_at_site());
        }
    } else {
        // SAFETY: libc's contract.
        unsafe { real::__libc_free(block) };
    }
}

/// libc's `memalign`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn memalign(alignment: usize, bytes: usize) -> *mut c_void {
    if gives() {
        return allocate(bytes, alignment);
    }
    // SAFETY: libc's contract.
    unsafe { real::__libc_memalign(alignment, bytes) }
}

/// libc's `aligned_alloc`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void {
    // SAFETY: libc's contract.
    unsafe { memalign(alignment, bytes) }
}

/// libc's `posix_memalign`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn posix_memalign(
    result: *mut *mut c_void,
    alignment: usize,
    bytes: usize,
) -> i32 {
    // SAFETY: libc's contract.
    unsafe {
        let block = memalign(alignment, bytes);
        if block.is_null() {
            return crate::arch::errno::ENOMEM as i32;
        }
        *result = block;
    }
    0
}

/// libc's `reallocarray`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn reallocarray(
    block: *mut c_void,
    count: usize,
    bytes: usize,
) -> *mut c_void {
    match count.checked_mul(bytes) {
        // SAFETY: libc's contract.
        Some(total) => unsafe { realloc(block, total) },
        None => {
            crate::syscalls::as_errno(crate::syscalls::error(crate::arch::errno::ENOMEM));
            core::ptr::null_mut()
        }
    }
}

/// libc's `valloc`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn valloc(bytes: usize) -> *mut c_void {
    // SAFETY: libc's contract.
    unsafe { memalign(crate::arch::PAGE, bytes) }
}

/// libc's `pvalloc`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn pvalloc(bytes: usize) -> *mut c_void {
    // SAFETY: libc's contract.
    unsafe { valloc(bytes.next_multiple_of(crate::arch::PAGE)) }
}

/// libc's `malloc_usable_size`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn malloc_usable_size(block: *mut c_void) -> usize {
    if heap::contains(block as usize) && ours() {
        // As much as was asked for: what lies behind it is for nobody.
        return match granules::standing(block as usize) {
            Standing::Live => heap::size_of(block as usize),
            _ => 0,
        };
    }
    // SAFETY: libc's contract.
    unsafe { (real::functions().malloc_usable_size)(block) }
}

macro_rules! mapping_calls {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $ty:ty),*) -> $result:ty = $number:ident;)*) => {
        $($(#[$doc])*
        #[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
        pub unsafe extern "C" fn $name($($argument: $ty),*) -> $result {
            let mut arguments = [0usize; 6];
            let mut place = 0;
            $(arguments[place] = $argument as usize; place += 1;)*
            let _ = place;
            crate::syscalls::as_errno(through($crate::arch::nr::$number, arguments)) as $result
        })*
    };
}

/// A call that the runtime looks at while an execution runs.
fn through(number: usize, arguments: [usize; 6]) -> isize {
    if is_executing() {
        crate::syscalls::call(number, arguments)
    } else {
        // SAFETY: the program asked for it.
        unsafe { crate::arch::syscall(number, arguments) }
    }
}

mapping_calls! {
    /// libc's `mmap`.
    mmap(address: usize, bytes: usize, protection: i32, flags: i32, descriptor: i32, offset: usize) -> isize = MMAP;
    /// libc's `munmap`.
    munmap(address: usize, bytes: usize) -> i32 = MUNMAP;
    /// libc's `mprotect`.
    mprotect(address: usize, bytes: usize, protection: i32) -> i32 = MPROTECT;
}
