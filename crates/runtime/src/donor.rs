//! Donors of thread-local storage.
//!
//! A donor is a real thread that was created once, so that glibc made a legitimate thread
//! control block and thread-local storage for it, and that sleeps for ever. A fiber runs on
//! the donor's stack with the donor's FS base, or, with the `os` carrier, the donor itself
//! does. Stacks stand at fixed addresses.

use crate::arch::{self, nr};
use crate::carrier;
use crate::global::Global;
use crate::interpose::{real, signals};
use crate::own;
use alloc::vec::Vec;
use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};

/// Where stacks stand.
pub const STACKS: usize = 0x20_0000_0000;
/// Address space per stack; pages never touched cost nothing.
pub const STACK_SIZE: usize = 16 << 20;
/// Most donors.
pub const MAX_DONORS: usize = 4000;
const GUARD: usize = 0x1_0000;
const ATTRIBUTE_BYTES: usize = 64;

/// A sleeping thread.
pub struct Donor {
    number: usize,
    fs: usize,
    /// Stack pointer of its sleep: a fiber uses the stack below, storage stands above.
    frame: usize,
    pthread: usize,
    used: bool,
    /// The thread that it was lent to last.
    thread: usize,
    /// Not lent yet in this execution.
    fresh: bool,
    /// Vector clock of its last owner's end, which the next owner's start comes after.
    last_clock: Vec<u32>,
    /// Words of [`PRISTINE`] that its thread-local storage and control block were like when it was
    /// new, but for these: which word from `frame` on, and what it was.
    shared: usize,
    differences: Vec<(usize, usize)>,
    born: AtomicU32,
}

/// Thread-local storage and control block of the first donor as they were when it was new. Others
/// differ from it in a few addresses, so that storage for many threads is made from one copy that
/// stays in the fast caches.
static PRISTINE: Global<Vec<usize>> = Global::new(Vec::new());

/// Donors below this one were lent in this execution, or are in use since before it.
static FIRST_FRESH: Global<usize> = Global::new(0);

static DONORS: Global<Vec<&'static mut Donor>> = Global::new(Vec::new());

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
    /// Vector clock of the last owner's end; empty if there was none in this execution.
    pub last_clock: Vec<u32>,
}

/// Stacks that end at different places of a cache and of a table of pages, and by how much.
const COLOURS: usize = 64;
const COLOUR: usize = arch::PAGE + 5 * 64;

/// The address range of the `index`-th stack. Were they all to end at the same distance from
/// each other, what is used most of them would share few sets of the processor's caches.
pub fn stack_range(index: usize) -> (usize, usize) {
    let low = STACKS + index * STACK_SIZE;
    (low + GUARD, low + STACK_SIZE - index % COLOURS * COLOUR)
}

/// Whether an address lies below a stack, where nothing is mapped.
pub fn is_guard(address: usize) -> bool {
    let place = address.wrapping_sub(STACKS);
    place < (MAX_DONORS + 1) * STACK_SIZE && place % STACK_SIZE < GUARD
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
    donor.frame = arch::stack_pointer();
    let word = &raw const donor.born as usize;
    let is_born = || {
        donor.born.store(1, Ordering::Release);
        // SAFETY: a word that is never freed.
        unsafe { arch::syscall(nr::FUTEX, [word, 129, 1, 0, 0, 0]) };
    };
    signals::leave_to_main_thread();
    if carrier::is_os() {
        // SAFETY: seats and donors are made together, and this thread has nothing else to do.
        unsafe { carrier::serve(donor.number + 1, is_born) };
    }
    is_born();
    loop {
        // SAFETY: sleeps.
        unsafe { arch::syscall(nr::FUTEX, [word, 128, 1, 0, 0, 0]) };
    }
}

/// Creates one more donor. Not during an execution: libc's books would be rolled back.
pub fn create() {
    let donors = DONORS.get();
    if donors.len() >= MAX_DONORS {
        own::fail(
            70,
            format_args!("more than {MAX_DONORS} threads at the same time"),
        );
    }
    // Stack 0 is the first thread's.
    let (low, high) = map_stack(donors.len() + 1);
    if carrier::is_os() {
        carrier::add_seat();
    }
    // Never freed: the thread that sleeps on it never ends.
    let number = donors.len();
    donors.push(alloc::boxed::Box::leak(alloc::boxed::Box::new(Donor {
        number,
        fs: 0,
        frame: 0,
        pthread: 0,
        used: false,
        thread: 0,
        fresh: true,
        last_clock: Vec::new(),
        shared: 0,
        differences: Vec::new(),
        born: AtomicU32::new(0),
    })));
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
    }
    donor.remember(high);
}

impl Donor {
    /// Keeps what its storage, which ends at `high`, looks like.
    fn remember(&mut self, high: usize) {
        // SAFETY: the upper end of its stack, which is mapped; stack pointers are aligned.
        let storage = unsafe {
            let words = (high - self.frame) / size_of::<usize>();
            core::slice::from_raw_parts(self.frame as *const usize, words)
        };
        let pristine = PRISTINE.get();
        if pristine.is_empty() {
            pristine.extend_from_slice(storage);
        }
        // Storage that has to be aligned to more than stacks are may be longer or shorter.
        self.shared = storage.len().min(pristine.len());
        let words = storage.iter().copied().enumerate();
        let differing = words.filter(|(index, word)| pristine.get(*index) != Some(word));
        self.differences = differing.collect();
    }

    /// Makes its storage what it was when it was new.
    fn renew(&self) {
        let storage = self.frame as *mut usize;
        let pristine = PRISTINE.get();
        // SAFETY: the upper end of its stack, as long as when it was remembered.
        unsafe {
            core::ptr::copy_nonoverlapping(pristine.as_ptr(), storage, self.shared);
            for (index, word) in &self.differences {
                *storage.add(*index) = *word;
            }
        }
    }
}

/// Number of donors.
pub fn count() -> usize {
    DONORS.get().len()
}

/// Lends a donor that is not in use to a thread, in the state it was born in: one that was not
/// lent yet in this execution, if there is one.
pub fn lend(thread: usize) -> Option<Loan> {
    let donors = DONORS.get();
    let first = FIRST_FRESH.get();
    while donors
        .get(*first)
        .is_some_and(|donor| donor.used || !donor.fresh)
    {
        *first += 1;
    }
    let index = if *first < donors.len() {
        *first
    } else {
        donors.iter().position(|donor| !donor.used)?
    };
    let donor = &mut donors[index];
    donor.thread = thread;
    donor.used = true;
    donor.fresh = false;
    let stack = stack_range(index + 1);
    donor.renew();
    Some(Loan {
        donor: index,
        fs: donor.fs,
        pthread: donor.pthread,
        // Leaves room for the sleeping frame.
        top: (donor.frame - 4096) & !63,
        stack,
        last_clock: core::mem::take(&mut donor.last_clock),
    })
}

/// The thread to which the donor with this `pthread_t` was lent last, if there is such a donor.
/// It may have been in an earlier execution.
pub fn last_thread(pthread: usize) -> Option<usize> {
    // Stack 0 is the first thread's.
    let index = (pthread.wrapping_sub(STACKS) / STACK_SIZE).checked_sub(1)?;
    let donor = DONORS.get().get(index)?;
    (donor.pthread == pthread).then_some(donor.thread)
}

/// Takes a donor back from a thread that ended with this vector clock.
pub fn give_back(index: usize, clock: Vec<u32>) {
    if let Some(donor) = DONORS.get().get_mut(index) {
        donor.used = false;
        donor.last_clock = clock;
    }
}

/// Takes all donors back but those that `in_use` names.
pub fn give_back_all_but(in_use: impl Fn(usize) -> bool) {
    *FIRST_FRESH.get() = 0;
    for (index, donor) in DONORS.get().iter_mut().enumerate() {
        donor.used = in_use(index);
        donor.fresh = true;
        donor.last_clock.clear();
    }
}
