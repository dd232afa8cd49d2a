//! The example of the paper: both fields of an account are guarded, and its copy is made in two steps.

use std::sync::Mutex;

/// Checking and savings always hold the same amount.
pub struct Account<const FIXED: bool> {
    checking: Mutex<u64>,
    savings: Mutex<u64>,
}

impl<const FIXED: bool> Account<FIXED> {
    /// An account with so much on both sides.
    pub fn new(amount: u64) -> Self {
        Self::with(amount, amount)
    }

    fn with(checking: u64, savings: u64) -> Self {
        Self {
            checking: Mutex::new(checking),
            savings: Mutex::new(savings),
        }
    }

    /// What is on the checking side.
    pub fn checking(&self) -> u64 {
        *self.checking.lock().unwrap()
    }

    /// What is on the savings side.
    pub fn savings(&self) -> u64 {
        *self.savings.lock().unwrap()
    }

    /// A copy of another account.
    pub fn copy(other: &Self) -> Self {
        if FIXED {
            let checking = other.checking.lock().unwrap();
            let savings = other.savings.lock().unwrap();
            return Self::with(*checking, *savings);
        }
        let checking = other.checking();
        let savings = other.savings();
        Self::with(checking, savings)
    }

    /// Pays the same into both sides.
    pub fn deposit(&self, amount: u64) {
        let mut checking = self.checking.lock().unwrap();
        let mut savings = self.savings.lock().unwrap();
        *checking += amount;
        *savings += amount;
    }

    /// Takes the same from both sides, if there is enough.
    pub fn withdraw(&self, amount: u64) -> bool {
        let mut checking = self.checking.lock().unwrap();
        let mut savings = self.savings.lock().unwrap();
        let is_enough = *checking >= amount && *savings >= amount;
        if is_enough {
            *checking -= amount;
            *savings -= amount;
        }
        is_enough
    }

    /// Whether both sides hold the same.
    pub fn is_balanced(&self) -> bool {
        let checking = self.checking.lock().unwrap();
        let savings = self.savings.lock().unwrap();
        *checking == *savings
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::Account;
    use std::thread;

    fn run<const FIXED: bool>() {
        let account = Account::<FIXED>::new(10);
        thread::scope(|scope| {
            scope.spawn(|| {
                account.deposit(10);
                account.withdraw(5);
            });
            let copy = Account::copy(&account);
            assert!(copy.is_balanced(), "the copy is torn");
        });
    }

    #[test]
    fn bug() {
        run::<false>();
    }

    #[test]
    pub(crate) fn twin() {
        run::<true>();
    }
}
