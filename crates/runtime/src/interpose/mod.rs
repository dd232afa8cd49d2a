//! Functions that stand in for libc's, one file per subject.
//!
//! The library comes before libc in the search order, so a function of libc's name here is
//! the one that the program calls. Each falls back to the real one (see [`real`]) where the
//! runtime is passive. A new interposed function is one function in the file of its subject,
//! or a new file and one line here; system calls made without libc's functions end up in
//! [`crate::syscalls`].

pub mod allocators;
pub mod backtrace;
pub mod barrier;
pub mod c11;
pub mod calls;
pub mod cancel;
pub mod condvar;
pub mod dynamic;
pub mod futex;
pub mod guard;
pub mod join;
pub mod keys;
pub mod memory;
pub mod mutex;
pub mod object;
pub mod once;
pub mod output;
pub mod process;
pub mod random;
pub mod real;
pub mod rwlock;
pub mod semaphore;
pub mod signals;
pub mod spin;
pub mod start;
pub mod threads;
pub mod time;
