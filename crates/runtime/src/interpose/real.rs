//! The real functions of libc.

use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    /// Place of the running thread's `errno`.
    pub fn __errno_location() -> *mut i32;
    /// libc's.
    pub fn pthread_attr_init(attributes: *mut c_void) -> i32;
    /// libc's.
    pub fn pthread_attr_setstack(attributes: *mut c_void, low: *mut c_void, bytes: usize) -> i32;
    /// libc's.
    pub fn pthread_attr_getstacksize(attributes: *const c_void, bytes: *mut usize) -> i32;
    /// libc's.
    pub fn pthread_attr_getdetachstate(attributes: *const c_void, state: *mut i32) -> i32;
    /// libc's.
    pub fn pthread_getspecific(key: u32) -> *mut c_void;
    /// libc's.
    pub fn pthread_setspecific(key: u32, value: *const c_void) -> i32;
    /// libc's.
    pub fn getauxval(kind: usize) -> usize;
    /// libc's.
    pub fn pthread_condattr_init(attributes: *mut c_void) -> i32;
    /// libc's.
    pub fn pthread_condattr_setclock(attributes: *mut c_void, clock: i32) -> i32;
    /// libc's.
    pub fn pthread_cond_init(condition: *mut c_void, attributes: *const c_void) -> i32;
    /// libc's.
    pub fn pthread_spin_init(spin: *mut u32, shared: i32) -> i32;
    /// libc's.
    pub fn siglongjmp(buffer: usize, value: i32) -> !;
    /// libc's.
    pub fn fflush(stream: *mut c_void) -> i32;
    fn dlopen(name: *const c_char, flags: i32) -> *mut c_void;
    /// libc's.
    pub fn getenv(name: *const c_char) -> *const c_char;
    /// libc's own allocator.
    pub fn __libc_malloc(bytes: usize) -> *mut c_void;
    /// libc's own allocator.
    pub fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    /// libc's own allocator.
    pub fn __libc_realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
    /// libc's own allocator.
    pub fn __libc_memalign(alignment: usize, bytes: usize) -> *mut c_void;
    /// libc's own allocator.
    pub fn __libc_free(block: *mut c_void);
}

macro_rules! real_functions {
    ($($name:ident: fn($($ty:ty),*) -> $result:ty;)*) => {
        /// The next definitions of the functions that are interposed here.
        pub struct Functions {
            $(#[doc = concat!("libc's `", stringify!($name), "`.")] pub $name: unsafe extern "C" fn($($ty),*) -> $result,)*
        }

        fn look_up() -> Functions {
            Functions {
                // SAFETY: libc exports each with this signature.
                $($name: unsafe { core::mem::transmute::<*mut c_void, unsafe extern "C" fn($($ty),*) -> $result>(
                    next(concat!(stringify!($name), "\0").as_bytes())) },)*
            }
        }
    };
}

real_functions! {
    __libc_start_main: fn(usize, i32, usize, usize, usize, usize, usize) -> i32;
    pthread_create: fn(*mut usize, *const c_void, usize, *mut c_void) -> i32;
    pthread_key_create: fn(*mut u32, usize) -> i32;
    pthread_key_delete: fn(u32) -> i32;
    pthread_setname_np: fn(usize, *const c_char) -> i32;
    pthread_getattr_np: fn(usize, *mut c_void) -> i32;
    __cxa_thread_atexit_impl: fn(usize, usize, usize) -> i32;
    dl_iterate_phdr: fn(usize, usize) -> i32;
    exit: fn(i32) -> i32;
    abort: fn() -> i32;
    fork: fn() -> i32;
    sigaction: fn(i32, *const c_void, *mut c_void) -> i32;
    malloc_usable_size: fn(*mut c_void) -> usize;
    pthread_rwlock_tryrdlock: fn(usize) -> i32;
    pthread_rwlock_trywrlock: fn(usize) -> i32;
    pthread_rwlock_unlock: fn(usize) -> i32;
}

fn next(name: &[u8]) -> *mut c_void {
    const RTLD_NEXT: usize = usize::MAX;
    // SAFETY: a NUL-terminated name.
    let function = unsafe { dlsym(RTLD_NEXT as *mut c_void, name.as_ptr().cast()) };
    if function.is_null() {
        let name = core::str::from_utf8(name).unwrap_or("?");
        crate::own::say(format_args!("raddle runtime: libc has no {name}\n"));
        crate::arch::exit_group(69);
    }
    function
}

static KNOWN: AtomicBool = AtomicBool::new(false);
static FUNCTIONS: crate::global::Global<Option<Functions>> = crate::global::Global::new(None);

/// The real functions, looked up on first use.
pub fn functions() -> &'static Functions {
    if !KNOWN.load(Ordering::Acquire) {
        // Several threads of a passive program may come here: they all write the same.
        *FUNCTIONS.get() = Some(look_up());
        KNOWN.store(true, Ordering::Release);
    }
    FUNCTIONS.get().get_or_insert_with(look_up)
}

/// The next definition of a function, looked up on first use. The name ends with a NUL.
pub fn resolve(known: &AtomicUsize, name: &str) -> usize {
    let function = known.load(Ordering::Relaxed);
    if function != 0 {
        return function;
    }
    let function = next(name.as_bytes()) as usize;
    known.store(function, Ordering::Relaxed);
    function
}

/// Any definition of a function that the program has loaded; 0 if there is none.
pub fn find(name: &CStr) -> usize {
    // SAFETY: a NUL-terminated name.
    unsafe { dlsym(core::ptr::null_mut(), name.as_ptr()) as usize }
}

/// Loads a library for good, for all to see.
pub fn load(name: &CStr) {
    const RTLD_NOW_GLOBAL: i32 = 0x102;
    // SAFETY: a NUL-terminated name.
    unsafe { dlopen(name.as_ptr(), RTLD_NOW_GLOBAL) };
}
