//! The start of the program.

use super::real;
use crate::host;
use crate::ids;
use crate::own;
use crate::shared;
use crate::vdso;
use core::sync::atomic::{AtomicUsize, Ordering};
use raddle_abi::env;

static MAIN: AtomicUsize = AtomicUsize::new(0);

/// The control descriptor, if the tool passed one.
fn control_descriptor() -> Option<usize> {
    const NAME: &str = env::CONTROL;
    let mut name = [0u8; 64];
    name[..NAME.len()].copy_from_slice(NAME.as_bytes());
    // SAFETY: a NUL-terminated name; the result is a C string of the environment.
    let value = unsafe {
        let value = real::getenv(name.as_ptr().cast());
        if value.is_null() {
            return None;
        }
        core::ffi::CStr::from_ptr(value)
    };
    let descriptor = value.to_str().ok()?.parse().ok();
    // Programs that this one starts are not under control: they must not find it.
    // SAFETY: the environment is the process's own and nobody else reads it yet.
    unsafe { *value.as_ptr().cast_mut() = 0 };
    descriptor
}

extern "C" fn main_in_host(argc: i32, argv: usize, envp: usize) -> i32 {
    host::run_program(MAIN.load(Ordering::Relaxed), argc, argv, envp)
}

/// libc's entry from the program's `_start`.
#[cfg_attr(raddle_cdylib, unsafe(no_mangle))]
pub unsafe extern "C" fn __libc_start_main(
    main: usize,
    argc: i32,
    argv: usize,
    init: usize,
    fini: usize,
    rtld_fini: usize,
    stack_end: usize,
) -> i32 {
    let real = real::functions().__libc_start_main;
    let Some(descriptor) = control_descriptor() else {
        // SAFETY: the program's own arguments.
        return unsafe { real(main, argc, argv, init, fini, rtld_fini, stack_end) };
    };
    if !shared::attach(descriptor) {
        own::fail(
            70,
            format_args!("the control memory is of another version; clear the cache"),
        );
    }
    ids::claim();
    super::random::fix_start_value();
    vdso::replace();
    super::memory::take_over();
    MAIN.store(main, Ordering::Relaxed);
    // SAFETY: the program's own arguments, but with our main.
    unsafe {
        real(
            main_in_host as *const () as usize,
            argc,
            argv,
            init,
            fini,
            rtld_fini,
            stack_end,
        )
    }
}
