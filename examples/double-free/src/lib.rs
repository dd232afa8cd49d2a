//! A loan that any of its owners may end. Whether it has ended is looked at first and noted
//! down afterwards, so two owners may both end it: a double free.

use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// A loan of some bytes.
pub struct Loan {
    bytes: AtomicPtr<[u8; 64]>,
    ended: AtomicBool,
}

impl Loan {
    /// A new loan.
    pub fn new() -> Self {
        let bytes = Box::into_raw(Box::new([0; 64]));
        Self {
            bytes: AtomicPtr::new(bytes),
            ended: AtomicBool::new(false),
        }
    }

    /// Ends the loan, if nobody has yet.
    pub fn end(&self) {
        if !self.ended.load(Ordering::Acquire) {
            self.ended.store(true, Ordering::Release);
            let bytes = self.bytes.load(Ordering::Acquire);
            // SAFETY: wrong: another owner may have come as far as this.
            drop(unsafe { Box::from_raw(bytes) });
        }
    }
}

impl Default for Loan {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::Loan;
    use std::thread;

    #[test]
    fn two_owners_end_a_loan() {
        let loan = Loan::new();
        thread::scope(|scope| {
            scope.spawn(|| loan.end());
            scope.spawn(|| loan.end());
        });
    }
}
