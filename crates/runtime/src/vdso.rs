//! Clock reads in the vDSO, turned into system calls.
//!
//! The kernel maps a small library into each process, the vDSO, which reads clocks without a system
//! call. libc also calls it from inside of other functions (`mkstemp` names a file after the clock),
//! where no interposed function and no dispatched system call catches it. Each function of the table
//! below becomes the system call of the same meaning, which [`crate::syscalls`] sees.
//!
//! Limit: a kernel that seals the vDSO refuses the change; these reads are then real.

use crate::arch::{self, PAGE, nr};
use crate::interpose::real;
use core::ffi::CStr;

/// Functions of the vDSO, and the system calls that take the same arguments.
const FUNCTIONS: [(&CStr, usize); 5] = [
    (c"__vdso_clock_gettime", nr::CLOCK_GETTIME),
    (c"__vdso_gettimeofday", nr::GETTIMEOFDAY),
    (c"__vdso_time", nr::TIME),
    (c"__vdso_getcpu", nr::GETCPU),
    (c"__vdso_getrandom", nr::GETRANDOM),
];

const AT_SYSINFO_EHDR: usize = 33;
const DYNAMIC_SYMBOLS: u32 = 11;

/// `Elf64_Shdr`.
#[repr(C)]
struct Section {
    name: u32,
    kind: u32,
    flags: u64,
    address: u64,
    offset: usize,
    bytes: usize,
    link: u32,
    info: u32,
    alignment: u64,
    entry_bytes: u64,
}

/// `Elf64_Sym`.
#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: usize,
    bytes: usize,
}

/// Turns the functions into system calls, for this process and those that it forks. Returns how many.
pub fn replace() -> usize {
    // SAFETY: asks for a number.
    let base = unsafe { real::getauxval(AT_SYSINFO_EHDR) };
    if base == 0 {
        return 0;
    }
    // SAFETY: the kernel's vDSO stands there, a whole ELF file, and the program has not started yet.
    unsafe { replace_at(base) }
}

/// # Safety
/// A whole ELF file is mapped at `base`, its section headers last, and no thread runs inside of it.
unsafe fn replace_at(base: usize) -> usize {
    const READ_EXECUTE: usize = 1 | 4;
    const WRITE: usize = 2;
    // SAFETY: fields of the header of an ELF file.
    let (offset, count) = unsafe {
        let count = *((base + 0x3c) as *const u16);
        (*((base + 0x28) as *const usize), usize::from(count))
    };
    let bytes = (offset + count * size_of::<Section>()).next_multiple_of(PAGE);
    let protect = |access: usize| {
        // SAFETY: changes the protection of the vDSO, which stays readable and executable. The kernel refuses
        // to do so for a part of it.
        unsafe { arch::syscall(nr::MPROTECT, [base, bytes, access, 0, 0, 0]) }
    };
    if protect(READ_EXECUTE | WRITE) != 0 {
        return 0;
    }
    // SAFETY: the caller's promise; it is writable now.
    let replaced = unsafe {
        let sections = (base + offset) as *const Section;
        overwrite_functions(base, core::slice::from_raw_parts(sections, count))
    };
    protect(READ_EXECUTE);
    replaced
}

/// Writes a system call over each function, and returns how many there are.
///
/// # Safety
/// A writable ELF file with these sections is mapped at `base`, and no thread runs inside of it.
unsafe fn overwrite_functions(base: usize, sections: &[Section]) -> usize {
    let Some(symbols) = sections.iter().find(|one| one.kind == DYNAMIC_SYMBOLS) else {
        return 0;
    };
    let Some(names) = sections.get(symbols.link as usize) else {
        return 0;
    };
    let count = symbols.bytes / size_of::<Symbol>();
    let mut replaced = 0;
    // SAFETY: the file's symbols, their names, and functions that are large enough.
    unsafe {
        let first = (base + symbols.offset) as *const Symbol;
        for symbol in core::slice::from_raw_parts(first, count) {
            let name = (base + names.offset + symbol.name as usize) as *const _;
            let name = CStr::from_ptr(name);
            let function = FUNCTIONS.iter().find(|(known, _)| *known == name);
            let Some((_, number)) = function else {
                continue;
            };
            let code = arch::system_call_function(*number);
            if symbol.bytes >= code.len() {
                let place = (base + symbol.value) as *mut u8;
                core::ptr::copy_nonoverlapping(code.as_ptr(), place, code.len());
                replaced += 1;
            }
        }
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_become_system_calls_and_clocks_still_run() {
        assert!(replace() >= 3, "clocks are read in the vDSO");
        let first = std::time::Instant::now();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(first.elapsed() >= std::time::Duration::from_millis(2));
    }
}
