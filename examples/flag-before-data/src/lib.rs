//! A mailbox for one letter. The sender raises the flag *before* it writes the letter, so the
//! receiver may read the letter while it is being written: a data race.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// A mailbox for one letter.
#[derive(Default)]
pub struct Mailbox {
    full: AtomicBool,
    letter: UnsafeCell<u64>,
}

// SAFETY: none of it is true; this is the bug.
unsafe impl Sync for Mailbox {}

impl Mailbox {
    /// Puts a letter in.
    pub fn send(&self, letter: u64) {
        self.full.store(true, Ordering::Release);
        // SAFETY: wrong: the receiver may already be reading.
        unsafe { *self.letter.get() = letter };
    }

    /// Takes the letter out, if one has come.
    pub fn receive(&self) -> Option<u64> {
        if self.full.load(Ordering::Acquire) {
            // SAFETY: wrong: the sender may still be writing.
            return Some(unsafe { *self.letter.get() });
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Mailbox;
    use std::thread;

    #[test]
    fn a_letter_arrives() {
        let mailbox = Mailbox::default();
        thread::scope(|scope| {
            scope.spawn(|| mailbox.send(7));
            scope.spawn(|| {
                let _ = mailbox.receive();
            });
        });
        assert_eq!(mailbox.receive(), Some(7));
    }
}
