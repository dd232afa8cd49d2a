//! State of the one OS thread that runs everything.

use core::cell::UnsafeCell;

/// A global that is only touched by the OS thread that carries the fibers.
///
/// Fibers interleave only at calls of the scheduler, so a reference must not be held across
/// one. Every function fetches its own reference and passes none on.
pub struct Global<T>(UnsafeCell<T>);

// SAFETY: see the type: one OS thread touches it.
unsafe impl<T> Sync for Global<T> {}

impl<T> Global<T> {
    /// A global with this initial value.
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// The value.
    #[expect(
        clippy::mut_from_ref,
        reason = "one OS thread, references are short-lived"
    )]
    #[inline(always)]
    pub fn get(&self) -> &mut T {
        // SAFETY: one OS thread, and no reference lives across a fiber switch.
        unsafe { &mut *self.0.get() }
    }
}
