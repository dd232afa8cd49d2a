//! Donors of thread-local storage.
//!
//! A donor is a real thread that was created once, so that glibc made a legitimate thread
//! control block and thread-local storage for it, and that sleeps for ever. A fiber runs on
//! the donor's stack with the donor's FS base. Stacks stand at fixed addresses.

use crate::arch::{self, nr};
use crate::global::Global;
use crate::interpose::real;
use crate::own;
use alloc::vec::Vec;
use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};

/// Where stacks stand.
pub const STACKS: usize = 0x20_0000_0000;
/// Address space per stack; pages never touched cost nothing.
pub const STACK_SIZE: usize = 64 << 20;
/// Most donors.
pub const MAX_DONORS: usize = 1000;
const GUARD: usize = 0x1_0000;
const ATTRIBUTE_BYTES: usize = 64;

/// A sleeping thread.
pub struct Donor {
    fs: usize,
    /// Top of the part of its stack that a fiber may use.
    top: usize,
    pthread: usize,
    used: bool,
    /// Its thread-local storage and control block as they were when it was new.
    pristine: Vec<u8>,
    born: AtomicU32,
}

static DONORS: Global<Vec<alloc::boxed::Box<Donor>>> = Global::new(Vec::new());

/// What a fiber gets from its donor.
pub struct Loan {
    /// The donor.
    pub donor: usize,
    /// FS base.
    pub fs: usize,
    /// `pthread_t`.
    pub pthread: usize,
    /// Top of the stack.
    pub top: usize,
    /// The whole stack.
    pub stack: (usize, usize),
}

/// The address range of the `index`-th stack.
pub fn stack_range(index: usize) -> (usize, usize) {
    let low = STACKS + index * STACK_SIZE;
    (low + GUARD, low + STACK_SIZE)
}

/// Maps the `index`-th stack, with a guard below it.
pub fn map_stack(index: usize) -> (usize, usize) {
    let (low, high) = stack_range(index);
    let flags = arch::MAP_PRIVATE_ANONYMOUS | arch::MAP_NORESERVE | arch::MAP_FIXED_NOREPLACE;
    // SAFETY: a new mapping in a window of our own.
    let mapped = unsafe {
        arch::syscall(
            nr::MMAP,
            [low, high - low, arch::PROT_READ_WRITE, flags, usize::MAX, 0],
        )
    };
    if mapped != low as isize {
        own::say(format_args!(
            "raddle runtime: cannot map a stack (error {})\n",
            -mapped
        ));
        arch::exit_group(69);
    }
    (low, high)
}

extern "C" fn sleep_for_ever(donor: *mut c_void) -> *mut c_void {
    // SAFETY: `create` keeps the donor alive and waits for `born`.
    let donor = unsafe { &mut *donor.cast::<Donor>() };
    donor.fs = arch::fs_base();
    // Leaves room for this frame, which stays in use while the thread sleeps.
    donor.top = (arch::stack_pointer() - 4096) & !63;
    let all = u64::MAX;
    let word = &raw const donor.born as usize;
    // SAFETY: blocks all signals, so that they go to the carrier; then sleeps.
    unsafe {
        arch::syscall(nr::RT_SIGPROCMASK, [0, &raw const all as usize, 0, 8, 0, 0]);
        donor.born.store(1, Ordering::Release);
        arch::syscall(nr::FUTEX, [word, 129, 1, 0, 0, 0]);
        loop {
            arch::syscall(nr::FUTEX, [word, 128, 1, 0, 0, 0]);
        }
    }
}

/// Creates one more donor. Not during an execution: libc's books would be rolled back.
pub fn create() {
    let donors = DONORS.get();
    if donors.len() >= MAX_DONORS {
        own::say(format_args!(
            "raddle runtime: more than {MAX_DONORS} threads at the same time\n"
        ));
        arch::exit_group(70);
    }
    // Stack 0 is the first thread's.
    let (low, high) = map_stack(donors.len() + 1);
    donors.push(alloc::boxed::Box::new(Donor {
        fs: 0,
        top: 0,
        pthread: 0,
        used: false,
        pristine: Vec::new(),
        born: AtomicU32::new(0),
    }));
    let Some(donor) = donors.last_mut() else {
        return;
    };
    let mut attributes = [0u8; ATTRIBUTE_BYTES];
    let attributes = attributes.as_mut_ptr().cast::<c_void>();
    // SAFETY: the libc functions, as documented.
    unsafe {
        real::pthread_attr_init(attributes);
        real::pthread_attr_setstack(attributes, low as *mut c_void, high - low);
        let error = (real::functions().pthread_create)(
            &mut donor.pthread,
            attributes,
            sleep_for_ever as *const () as usize,
            core::ptr::from_mut::<Donor>(donor).cast(),
        );
        if error != 0 {
            own::say(format_args!(
                "raddle runtime: cannot create a thread (error {error})\n"
            ));
            arch::exit_group(69);
        }
        while donor.born.load(Ordering::Acquire) == 0 {
            arch::syscall(nr::FUTEX, [&raw const donor.born as usize, 128, 0, 0, 0, 0]);
        }
        let storage =
            core::slice::from_raw_parts((donor.top + 8192) as *const u8, high - donor.top - 8192);
        donor.pristine = storage.to_vec();
    }
}

/// Number of donors.
pub fn count() -> usize {
    DONORS.get().len()
}

/// Lends a donor that is not in use, in the state it was born in.
pub fn lend() -> Option<Loan> {
    let donors = DONORS.get();
    let index = donors.iter().position(|donor| !donor.used)?;
    let donor = &mut donors[index];
    donor.used = true;
    let stack = stack_range(index + 1);
    // SAFETY: the upper end of the donor's stack, where its storage stands.
    unsafe {
        core::ptr::copy_nonoverlapping(
            donor.pristine.as_ptr(),
            (donor.top + 8192) as *mut u8,
            donor.pristine.len(),
        );
    }
    Some(Loan {
        donor: index,
        fs: donor.fs,
        pthread: donor.pthread,
        top: donor.top,
        stack,
    })
}

/// Takes a donor back.
pub fn give_back(index: usize) {
    if let Some(donor) = DONORS.get().get_mut(index) {
        donor.used = false;
    }
}

/// Takes all donors back but those that `in_use` names.
pub fn give_back_all_but(in_use: impl Fn(usize) -> bool) {
    for (index, donor) in DONORS.get().iter_mut().enumerate() {
        donor.used = in_use(index);
    }
}
