//! jemalloc and mimalloc, on the heap of [`crate::heap`].
//!
//! A program that brings one of them as its `#[global_allocator]` calls it by these names. The
//! runtime comes first when the program is linked, so that the allocator's own code, which
//! stands in an archive, is not even taken in. Functions that are not named here (statistics,
//! own arenas) would bring it in again; then what it hands out is not watched.

use super::memory;
use super::memory::{calloc, free, malloc, malloc_usable_size, realloc};
use crate::shared::shared;
use core::ffi::c_void;
use core::sync::atomic::Ordering;
use raddle_abi::control::conditions;

/// Bits of jemalloc's flags that hold the logarithm of the alignment.
const LOG_ALIGNMENT: i32 = 0x3f;
/// Bit of jemalloc's flags: fill with zeros.
const ZERO: i32 = 0x40;

/// Says once that the program's own allocator was set aside.
fn note() {
    if memory::is_taken_over() {
        let shared = shared();
        let conditions = shared.control().conditions.load(Ordering::Relaxed);
        if conditions & conditions::OTHER_ALLOCATOR == 0 {
            shared.note_condition(conditions::OTHER_ALLOCATOR);
        }
    }
}

fn alignment(flags: i32) -> usize {
    1usize
        .checked_shl((flags & LOG_ALIGNMENT) as u32)
        .unwrap_or(1)
}

/// A block, zeroed if that is asked for.
unsafe fn allocate(bytes: usize, alignment: usize, zero: bool) -> *mut c_void {
    // SAFETY: libc's contract; a fresh block of that size.
    unsafe {
        let block = memory::memalign(alignment.max(16), bytes);
        if zero && !block.is_null() {
            core::ptr::write_bytes(block.cast::<u8>(), 0, bytes);
        }
        block
    }
}

/// A block of another size with the same contents; what is new is zeroed if that is asked for.
unsafe fn resize(block: *mut c_void, bytes: usize, alignment: usize, zero: bool) -> *mut c_void {
    if block.is_null() {
        // SAFETY: nothing to keep.
        return unsafe { allocate(bytes, alignment, zero) };
    }
    // SAFETY: a block of this allocator, as the caller says.
    unsafe {
        let old = malloc_usable_size(block);
        let new = if alignment <= 16 {
            realloc(block, bytes)
        } else {
            let new = memory::memalign(alignment, bytes);
            if !new.is_null() {
                let kept = old.min(bytes);
                core::ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast::<u8>(), kept);
                free(block);
            }
            new
        };
        if zero && !new.is_null() && bytes > old {
            core::ptr::write_bytes(new.cast::<u8>().add(old), 0, bytes - old);
        }
        new
    }
}

/// Functions of an allocator, by what they do here.
macro_rules! functions {
    ($($name:ident($($argument:ident: $ty:ty),*) $(-> $result:ty)? = $body:expr;)*) => {
        $(#[doc = concat!("The program's `", stringify!($name), "`.")]
        #[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
        pub unsafe extern "C" fn $name($($argument: $ty),*) $(-> $result)? {
            note();
            // SAFETY: the contract of the function that this one stands in for.
            unsafe { $body }
        })*
    };
}

/// jemalloc's functions under one of its prefixes.
macro_rules! jemalloc {
    ($malloc:ident, $calloc:ident, $realloc:ident, $free:ident, $memalign:ident,
     $aligned_alloc:ident, $usable:ident, $mallocx:ident, $rallocx:ident, $xallocx:ident,
     $sallocx:ident, $dallocx:ident, $sdallocx:ident, $nallocx:ident) => {
        functions! {
            $malloc(bytes: usize) -> *mut c_void = malloc(bytes);
            $calloc(count: usize, bytes: usize) -> *mut c_void = calloc(count, bytes);
            $realloc(block: *mut c_void, bytes: usize) -> *mut c_void = realloc(block, bytes);
            $free(block: *mut c_void) = free(block);
            $memalign(result: *mut *mut c_void, alignment: usize, bytes: usize) -> i32 =
                memory::posix_memalign(result, alignment, bytes);
            $aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void =
                memory::aligned_alloc(alignment, bytes);
            $usable(block: *mut c_void) -> usize = malloc_usable_size(block);
            $mallocx(bytes: usize, flags: i32) -> *mut c_void =
                allocate(bytes, alignment(flags), flags & ZERO != 0);
            $rallocx(block: *mut c_void, bytes: usize, flags: i32) -> *mut c_void =
                resize(block, bytes, alignment(flags), flags & ZERO != 0);
            // Nothing grows in place, which is one of the answers that this may give.
            $xallocx(block: *mut c_void, _bytes: usize, _extra: usize, _flags: i32) -> usize =
                malloc_usable_size(block);
            $sallocx(block: *mut c_void, _flags: i32) -> usize = malloc_usable_size(block);
            $dallocx(block: *mut c_void, _flags: i32) = free(block);
            $sdallocx(block: *mut c_void, _bytes: usize, _flags: i32) = free(block);
        }

        #[doc = concat!("The program's `", stringify!($nallocx), "`.")]
        #[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
        pub extern "C" fn $nallocx(bytes: usize, _flags: i32) -> usize {
            bytes
        }
    };
}

jemalloc!(
    _rjem_malloc,
    _rjem_calloc,
    _rjem_realloc,
    _rjem_free,
    _rjem_posix_memalign,
    _rjem_aligned_alloc,
    _rjem_malloc_usable_size,
    _rjem_mallocx,
    _rjem_rallocx,
    _rjem_xallocx,
    _rjem_sallocx,
    _rjem_dallocx,
    _rjem_sdallocx,
    _rjem_nallocx
);
jemalloc!(
    je_malloc,
    je_calloc,
    je_realloc,
    je_free,
    je_posix_memalign,
    je_aligned_alloc,
    je_malloc_usable_size,
    je_mallocx,
    je_rallocx,
    je_xallocx,
    je_sallocx,
    je_dallocx,
    je_sdallocx,
    je_nallocx
);

functions! {
    mi_malloc(bytes: usize) -> *mut c_void = malloc(bytes);
    mi_zalloc(bytes: usize) -> *mut c_void = allocate(bytes, 16, true);
    mi_calloc(count: usize, bytes: usize) -> *mut c_void = calloc(count, bytes);
    mi_realloc(block: *mut c_void, bytes: usize) -> *mut c_void = realloc(block, bytes);
    mi_free(block: *mut c_void) = free(block);
    mi_malloc_aligned(bytes: usize, alignment: usize) -> *mut c_void =
        allocate(bytes, alignment, false);
    mi_zalloc_aligned(bytes: usize, alignment: usize) -> *mut c_void =
        allocate(bytes, alignment, true);
    mi_realloc_aligned(block: *mut c_void, bytes: usize, alignment: usize) -> *mut c_void =
        resize(block, bytes, alignment, false);
    mi_usable_size(block: *mut c_void) -> usize = malloc_usable_size(block);
    mi_free_size(block: *mut c_void, _bytes: usize) = free(block);
    mi_free_aligned(block: *mut c_void, _alignment: usize) = free(block);
    mi_free_size_aligned(block: *mut c_void, _bytes: usize, _alignment: usize) = free(block);
}
