//! x86-64: raw system calls, the fiber switch, the FS base, and signal frames.

use super::nr;
use core::arch::{asm, naked_asm};
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, Ordering};

/// A raw system call. Returns the kernel's value: errors are small negative numbers.
///
/// # Safety
/// As the system call.
#[inline(always)]
pub unsafe fn syscall(number: usize, arguments: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel clobbers rcx and r11 only; the rest is the caller's promise.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result, in("rdi") arguments[0], in("rsi") arguments[1],
            in("rdx") arguments[2], in("r10") arguments[3], in("r8") arguments[4], in("r9") arguments[5],
            lateout("rcx") _, lateout("r11") _);
    }
    result
}

/// Ends the process.
pub fn exit_group(code: usize) -> ! {
    loop {
        // SAFETY: does not return.
        unsafe { syscall(nr::EXIT_GROUP, [code, 0, 0, 0, 0, 0]) };
    }
}

// Precompiled parts of `alloc` name the function that continues unwinding. The runtime never unwinds, and a
// program in C need not be linked to a library that has the function.
#[cfg(raddle_cdylib)]
core::arch::global_asm!(
    ".globl _Unwind_Resume",
    ".hidden _Unwind_Resume",
    "_Unwind_Resume:",
    "ud2",
);

/// The code of a function that makes this system call with its own arguments, of which there are three at
/// most: `mov eax, number; syscall; ret`.
pub fn system_call_function(number: usize) -> [u8; 8] {
    let [a, b, c, d] = (number as u32).to_le_bytes();
    [0xb8, a, b, c, d, 0x0f, 0x05, 0xc3]
}

/// The processor's counter of cycles.
pub fn cycles() -> u64 {
    // SAFETY: every processor of this architecture has it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The kernel's number of the calling OS thread.
pub fn thread_number() -> isize {
    // SAFETY: asks for a number.
    unsafe { syscall(nr::GETTID, [0; 6]) }
}

/// Saves registers and stack pointer, takes another stack, and goes on where that one was left.
/// `$storage` is what else changes hands.
macro_rules! switch {
    ($($storage:literal)?) => {
        naked_asm!(
            "push rbp",
            "push rbx",
            "push r12",
            "push r13",
            "push r14",
            "push r15",
            "mov [rdi], rsp",
            "mov rsp, rsi",
            $($storage,)?
            "pop r15",
            "pop r14",
            "pop r13",
            "pop r12",
            "pop rbx",
            "pop rbp",
            "ret"
        )
    };
}

/// Saves the running fiber's registers and stack pointer in `*save`, and resumes another one
/// with its thread-local storage.
///
/// # Safety
/// `to_sp` was saved by this function or made by [`prepare_stack`], and `to_fs` is the FS base
/// of a live thread control block.
#[unsafe(naked)]
pub unsafe extern "C" fn switch_fiber(save: *mut usize, to_sp: usize, to_fs: usize) {
    switch!("wrfsbase rdx")
}

/// Like [`switch_fiber`], on the same OS thread and so with the same thread-local storage.
///
/// # Safety
/// `to_sp` was saved by one of the two or made by [`prepare_stack`].
#[unsafe(naked)]
pub unsafe extern "C" fn switch_stack(save: *mut usize, to_sp: usize) {
    switch!()
}

/// Memory, files, descriptors, handlers and semaphore adjustments are shared; a thread of the
/// same process, with storage of its own.
const THREAD_FLAGS: usize = 0x100 | 0x200 | 0x400 | 0x800 | 0x1_0000 | 0x4_0000 | 0x8_0000;

/// Starts an OS thread without libc, which calls `start(argument)` on a stack that ends at
/// `top`. Returns its number or a negative error.
///
/// # Safety
/// Stack and thread-local storage (`fs`) are used by nobody else.
pub unsafe fn start_thread(
    top: usize,
    fs: usize,
    start: extern "C" fn(usize) -> !,
    argument: usize,
) -> isize {
    let top = (top - 64) & !15;
    let result: isize;
    // SAFETY: the new thread starts after the instruction with `top` as stack pointer and all
    // other registers as here, and never comes back from the call.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "call r13",
            "ud2",
            "2:",
            inlateout("rax") nr::CLONE as isize => result, in("rdi") THREAD_FLAGS, in("rsi") top,
            in("rdx") 0, in("r10") 0, in("r8") fs, in("r12") argument, in("r13") start,
            lateout("rcx") _, lateout("r11") _,
        );
    }
    result
}

/// Offset from a switched-out fiber's stack pointer to its saved frame pointer.
const SAVED_FRAME_POINTER: usize = 40;

/// The frame pointer of a switched-out fiber.
///
/// # Safety
/// `sp` was saved by [`switch_fiber`].
pub unsafe fn saved_frame_pointer(sp: usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe { *((sp + SAVED_FRAME_POINTER) as *const usize) }
}

/// Where a new fiber starts: calls the function in r13 with the argument in r12.
#[unsafe(naked)]
unsafe extern "C" fn fiber_entry() {
    naked_asm!("xor ebp, ebp", "mov rdi, r12", "call r13", "ud2")
}

/// Lays out a new stack so that switching to it calls `start(argument)`.
///
/// # Safety
/// `top` is the upper end of writable memory.
pub unsafe fn prepare_stack(
    top: usize,
    start: extern "C" fn(usize) -> !,
    argument: usize,
) -> usize {
    let sp = (((top - 64) & !15) - 56) as *mut usize;
    // SAFETY: eight words below `top`.
    unsafe {
        sp.add(0).write(0); // r15
        sp.add(1).write(0); // r14
        sp.add(2).write(start as usize); // r13
        sp.add(3).write(argument); // r12
        sp.add(4).write(0); // rbx
        sp.add(5).write(0); // rbp: ends the chain of frames
        sp.add(6).write(fiber_entry as *const () as usize);
        sp.add(7).write(0);
    }
    sp as usize
}

/// Where a fiber goes on that was made to call something: calls the function in r13 with the
/// argument in r12, then resumes the fiber from the stack pointer in rbx.
#[unsafe(naked)]
unsafe extern "C" fn injected_call() {
    naked_asm!(
        "mov rdi, r12",
        "call r13",
        "mov rsp, rbx",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret"
    )
}

/// Makes a fiber that is switched out call `function(argument)` before it goes on. Returns its
/// new stack pointer.
///
/// # Safety
/// `sp` was saved by [`switch_fiber`], or made by [`prepare_stack`].
pub unsafe fn inject(sp: usize, function: extern "C" fn(usize), argument: usize) -> usize {
    // The stack is aligned where the function is called.
    let frame = ((sp & !15) - 72) as *mut usize;
    // SAFETY: the words below a switched-out fiber's stack pointer are free.
    unsafe {
        frame.add(0).write(0); // r15
        frame.add(1).write(0); // r14
        frame.add(2).write(function as usize); // r13
        frame.add(3).write(argument); // r12
        frame.add(4).write(sp); // rbx
        frame.add(5).write(saved_frame_pointer(sp)); // rbp: stacks stay walkable
        frame.add(6).write(injected_call as *const () as usize);
    }
    frame as usize
}

// Calls `routine` in a frame with a personality routine, which learns when it is unwound.
core::arch::global_asm!(
    ".hidden raddle_call_guarded",
    ".globl raddle_call_guarded",
    ".type raddle_call_guarded,@function",
    "raddle_call_guarded:",
    ".cfi_startproc",
    ".cfi_personality 0x1b, {personality}",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "call rdi",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    ".size raddle_call_guarded, . - raddle_call_guarded",
    personality = sym crate::unwind::guard_personality,
);

unsafe extern "C" {
    #[link_name = "raddle_call_guarded"]
    /// Calls a C function without arguments; [`crate::unwind`] learns if it is unwound.
    pub fn call_guarded(routine: usize);
}

/// The FS base of the running thread.
#[inline(always)]
pub fn fs_base() -> usize {
    let base: usize;
    // SAFETY: the thread control block begins with its own address.
    unsafe { asm!("mov {}, fs:[0]", out(reg) base, options(nomem, nostack)) };
    base
}

/// Whether user code may set the FS base (bit 1 of `AT_HWCAP2`).
pub fn can_set_fs_base() -> bool {
    const AT_HWCAP2: usize = 26;
    // SAFETY: a function of libc without conditions.
    unsafe { crate::interpose::real::getauxval(AT_HWCAP2) & 2 != 0 }
}

/// The frame pointer of the calling function.
#[inline(always)]
pub fn frame_pointer() -> usize {
    let frame: usize;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, rbp", out(reg) frame, options(nomem, nostack)) };
    frame
}

/// The stack pointer.
#[inline(always)]
pub fn stack_pointer() -> usize {
    let sp: usize;
    // SAFETY: reads a register.
    unsafe { asm!("mov {}, rsp", out(reg) sp, options(nomem, nostack)) };
    sp
}

/// Copies forwards with the processor's string instruction.
///
/// # Safety
/// As `copy_nonoverlapping`.
#[inline(always)]
pub unsafe fn copy(from: usize, to: usize, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        asm!("rep movsb", inout("rdi") to => _, inout("rsi") from => _, inout("rcx") bytes => _,
            options(nostack, preserves_flags));
    }
}

/// Whether [`keep_larger`] may use AVX2.
static HAS_AVX2: AtomicBool = AtomicBool::new(false);

/// What `cpuid` says of a leaf: eax, ebx and ecx.
fn cpuid(leaf: u32) -> [u32; 3] {
    let (eax, ebx, ecx): (u32, u64, u32);
    // SAFETY: reads about the processor; the compiler keeps rbx for itself.
    unsafe {
        asm!("mov {0}, rbx", "cpuid", "xchg {0}, rbx", out(reg) ebx, inlateout("eax") leaf => eax,
            inlateout("ecx") 0 => ecx, lateout("edx") _, options(nomem, nostack, preserves_flags));
    }
    [eax, ebx as u32, ecx]
}

/// Finds out what the processor can do, for [`keep_larger`].
pub fn look_at_processor() {
    const OSXSAVE: u32 = 1 << 27;
    const AVX2: u32 = 1 << 5;
    const STATE: u32 = 6;
    if cpuid(0)[0] < 7 || cpuid(1)[2] & OSXSAVE == 0 || cpuid(7)[1] & AVX2 == 0 {
        return;
    }
    let state: u32;
    // SAFETY: the kernel has enabled this instruction, which reads a register.
    unsafe {
        asm!("xgetbv", in("ecx") 0, lateout("eax") state, lateout("edx") _,
            options(nomem, nostack, preserves_flags));
    }
    HAS_AVX2.store(state & STATE == STATE, Ordering::Relaxed);
}

/// Raises each of `count` words to what stands in `from`, where that is larger.
///
/// # Safety
/// Both are that many words, and the program's other threads leave them alone.
pub unsafe fn keep_larger(into: *mut u32, from: *const u32, count: usize) {
    if HAS_AVX2.load(Ordering::Relaxed) {
        // SAFETY: the processor can, and the caller's promise.
        unsafe { keep_larger_by_eight(into, from, count) }
    } else {
        // SAFETY: the caller's promise.
        unsafe { keep_larger_of_words(into, from, count) }
    }
}

#[target_feature(enable = "avx2")]
unsafe fn keep_larger_by_eight(into: *mut u32, from: *const u32, count: usize) {
    // SAFETY: the caller's promise.
    unsafe { keep_larger_of_words(into, from, count) }
}

#[inline(always)]
unsafe fn keep_larger_of_words(into: *mut u32, from: *const u32, count: usize) {
    for index in 0..count {
        // SAFETY: the caller's promise.
        unsafe { *into.add(index) = (*into.add(index)).max(*from.add(index)) }
    }
}

/// Signal return trampoline inside this library, where system calls are never dispatched.
#[unsafe(naked)]
pub unsafe extern "C" fn signal_return() {
    // By these bytes the unwinder knows a signal frame.
    naked_asm!(".byte 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0", "syscall", "ud2")
}

/// The registers of an interrupted context, in a `ucontext_t`.
#[derive(Clone, Copy)]
pub struct Interrupted(*mut u64);

impl Interrupted {
    const REGISTERS: usize = 5;

    /// # Safety
    /// `context` is the third argument of a signal handler.
    pub unsafe fn new(context: *mut c_void) -> Self {
        Self(context.cast())
    }

    fn register(&self, index: usize) -> *mut u64 {
        // SAFETY: inside the kernel's ucontext.
        unsafe { self.0.add(Self::REGISTERS + index) }
    }

    /// Number of the interrupted system call.
    pub fn syscall_number(&self) -> usize {
        // SAFETY: inside the context.
        unsafe { *self.register(13) as usize }
    }

    /// Arguments of the interrupted system call.
    pub fn syscall_arguments(&self) -> [usize; 6] {
        // rdi, rsi, rdx, r10, r8, r9
        // SAFETY: inside the context.
        [8, 9, 12, 2, 0, 1].map(|index| unsafe { *self.register(index) as usize })
    }

    /// Sets what the system call returns.
    pub fn set_result(&self, result: isize) {
        // SAFETY: inside the context.
        unsafe { *self.register(13) = result as u64 }
    }

    /// Lets the interrupted code run its `syscall` instruction again.
    pub fn retry_syscall(&self, number: usize) {
        // SAFETY: inside the context.
        unsafe {
            *self.register(13) = number as u64;
            *self.register(16) -= 2;
        }
    }

    /// Instruction pointer.
    pub fn instruction(&self) -> usize {
        // SAFETY: inside the context.
        unsafe { *self.register(16) as usize }
    }

    /// Frame pointer.
    pub fn frame_pointer(&self) -> usize {
        // SAFETY: inside the context.
        unsafe { *self.register(10) as usize }
    }

    /// Stack pointer.
    pub fn stack_pointer(&self) -> usize {
        // SAFETY: inside the context.
        unsafe { *self.register(15) as usize }
    }
}

/// `struct sigaction` as the kernel takes it.
#[repr(C)]
pub struct KernelSigaction {
    /// Handler.
    pub handler: usize,
    /// Flags, with `SA_RESTORER`.
    pub flags: usize,
    /// Restorer.
    pub restorer: usize,
    /// Signals blocked during the handler.
    pub mask: u64,
}
