//! Guards of C++'s local statics. Compiled code reads a guard's first byte with an acquire load
//! and calls these functions while it is 0.

use super::object::{self, interpose};
use crate::locks::{self, Mode};
use crate::thread::Wait;
use raddle_abi::site::Operation;

/// The bytes of a guard: whether the static is there, and whether somebody makes it.
fn bytes(guard: usize) -> &'static mut [u8; 2] {
    // SAFETY: a guard has eight bytes.
    unsafe { &mut *(guard as *mut [u8; 2]) }
}

/// Whether the running thread has to make the static.
fn acquire(guard: usize) -> i32 {
    let site = object::begin(Operation::LockWant, guard);
    locks::wanted(guard, Mode::Exclusive, site);
    loop {
        match *bytes(guard) {
            [0, 0] => break,
            [0, _] => object::block(Wait {
                operation: Operation::LockWant,
                object: guard,
                site,
                ..Wait::NONE
            }),
            _ => {
                locks::failed();
                object::acquire(guard);
                return 0;
            }
        };
    }
    bytes(guard)[1] = 1;
    locks::acquired(guard, Mode::Exclusive, site);
    object::acquire(guard);
    1
}

/// The running thread has made the static, or has failed to.
fn end(guard: usize, is_made: bool) {
    let site = object::begin(Operation::LockRelease, guard);
    object::release(guard);
    locks::released(guard, Mode::Exclusive, site);
    *bytes(guard) = [u8::from(is_made), 0];
    object::wake_all(Operation::LockWant, guard);
}

interpose! {
    /// The C++ runtime's `__cxa_guard_acquire`.
    __cxa_guard_acquire(guard: usize) -> i32 => acquire(guard);
    /// The C++ runtime's `__cxa_guard_release`.
    __cxa_guard_release(guard: usize) -> () => end(guard, true);
    /// The C++ runtime's `__cxa_guard_abort`.
    __cxa_guard_abort(guard: usize) -> () => end(guard, false);
}
