//! Everything that depends on the processor or on Linux's numbers.

mod syscall_numbers;
mod x86_64;

pub use syscall_numbers::*;
pub use x86_64::*;
