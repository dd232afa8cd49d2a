//! The runtime inside the program under test.
//!
//! It is loaded before libc, runs all threads of the program as fibers on one OS thread, lets
//! a strategy pick the next one at every hook, watches with its oracles, and brings the
//! program back to its start for the next execution. See `ARCHITECTURE.md` for the tour.
//!
//! Rules of this crate: no `std`, no thread-locals, no panic across the C border, never the
//! program's `malloc`; own memory comes from [`own`] and lies outside of snapshots. Platform
//! code stands in [`arch`] only. Deliberately absent: analysis, symbolisation, printing.
//!
//! Without the control descriptor in the environment everything here is passive and the
//! program runs as if the runtime were not there.
#![cfg_attr(not(test), no_std)]
#![expect(
    clippy::missing_safety_doc,
    reason = "interposed functions have the contract of the libc function they stand in for"
)]

extern crate alloc;

pub mod activations;
pub mod arch;
pub mod carrier;
pub mod children;
pub mod clock;
pub mod delivery;
pub mod descriptors;
pub mod donor;
pub mod end;
pub mod execution;
pub mod experience;
pub mod file_status;
pub mod files;
pub mod findings;
pub mod global;
pub mod heap;
pub mod hooks;
pub mod host;
pub mod ids;
pub mod interpose;
pub mod io;
pub mod locks;
pub mod marks;
pub mod methods;
pub mod native;
pub mod offsets;
pub mod oracles;
pub mod orders;
pub mod outcomes;
pub mod own;
pub mod posix_timers;
pub mod proc_files;
pub mod proc_text;
pub mod queues;
pub mod record;
pub mod rseq;
pub mod scheduler;
pub mod select;
pub mod shared;
pub mod snapshot;
pub mod stack;
pub mod syscalls;
pub mod thread;
pub mod timers;
pub mod unwind;
pub mod vdso;
pub mod view;
pub mod weak;
pub mod world;

#[cfg(raddle_cdylib)]
mod standalone {
    //! What a library without `std` has to bring along.

    #[global_allocator]
    static ALLOCATOR: crate::own::Allocator = crate::own::Allocator;

    /// A panic of the runtime is our bug: say so and end with the code for it.
    #[panic_handler]
    fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
        crate::own::fail(70, format_args!("internal error: {info}"))
    }

    // The prebuilt `core` and `alloc` refer to a personality function although this library
    // never unwinds. It is hidden so that the program keeps its own.
    core::arch::global_asm!(
        ".globl rust_eh_personality",
        ".hidden rust_eh_personality",
        "rust_eh_personality: ud2"
    );
}
