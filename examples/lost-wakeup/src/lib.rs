//! A gate that threads wait at until it is opened. The opener sets the flag and notifies
//! without taking the lock, so both can happen after a waiter looked at the flag and before
//! it sleeps: the wake-up is lost and the waiter sleeps for ever.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};

/// A gate that opens once.
#[derive(Default)]
pub struct Gate {
    open: AtomicBool,
    waiters: Mutex<usize>,
    opened: Condvar,
}

impl Gate {
    /// Waits until the gate is open.
    pub fn pass(&self) {
        let mut waiters = self.waiters.lock().unwrap();
        *waiters += 1;
        while !self.open.load(Ordering::SeqCst) {
            waiters = self.opened.wait(waiters).unwrap();
        }
        *waiters -= 1;
    }

    /// Opens the gate.
    pub fn open(&self) {
        self.open.store(true, Ordering::SeqCst);
        self.opened.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::Gate;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn whoever_waits_gets_through() {
        let gate = Arc::new(Gate::default());
        let waiter = thread::spawn({
            let gate = Arc::clone(&gate);
            move || gate.pass()
        });
        gate.open();
        waiter.join().unwrap();
    }
}
