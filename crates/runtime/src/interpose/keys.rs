//! Thread-specific data. Values stand where libc keeps them, in the thread's own storage.

use super::real;
use crate::execution::Key;
use crate::native;
use crate::world::{is_controlled, world};
use core::ffi::c_void;

/// Runs one round of destructors of the running thread's data. False if there was nothing.
pub fn run_destructors() -> bool {
    let mut any = false;
    let mut index = 0;
    while let Some(Key { key, destructor }) = world().execution.keys.get(index).copied() {
        index += 1;
        // SAFETY: the running thread's own data.
        unsafe {
            let value = real::pthread_getspecific(key);
            if destructor != 0 && !value.is_null() {
                any = true;
                real::pthread_setspecific(key, core::ptr::null());
                let destructor: extern "C" fn(*mut c_void) = core::mem::transmute(destructor);
                destructor(value);
            }
        }
    }
    any
}

/// libc's `pthread_key_create`; destructors run at the end of a thread.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_key_create(key: *mut u32, destructor: usize) -> i32 {
    let real = real::functions().pthread_key_create;
    if !is_controlled() {
        // SAFETY: libc's contract.
        return unsafe { real(key, destructor) };
    }
    // SAFETY: libc's contract.
    let result = unsafe { real(key, 0) };
    if result == 0 {
        // SAFETY: libc has written the key.
        let key = unsafe { *key };
        world().execution.keys.push(Key { key, destructor });
    }
    result
}

/// libc's `pthread_key_delete`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_key_delete(key: u32) -> i32 {
    if !native::is_stranger() {
        world().execution.keys.retain(|known| known.key != key);
    }
    // SAFETY: libc's contract.
    unsafe { (real::functions().pthread_key_delete)(key) }
}
