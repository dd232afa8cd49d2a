//! A bank that locks the paying account first and the receiving one second. Two transfers in
//! opposite directions take the two locks in opposite orders: a deadlock, though nothing
//! here yields or sleeps and plain runs almost never show it.

use std::sync::Mutex;

/// An account.
#[derive(Default)]
pub struct Account {
    balance: Mutex<i64>,
}

impl Account {
    /// An account with this much in it.
    pub fn with_balance(balance: i64) -> Self {
        Self {
            balance: Mutex::new(balance),
        }
    }

    /// What is in it.
    pub fn balance(&self) -> i64 {
        *self.balance.lock().unwrap()
    }
}

/// Moves money.
pub fn transfer(from: &Account, to: &Account, amount: i64) {
    let mut paying = from.balance.lock().unwrap();
    let mut receiving = to.balance.lock().unwrap();
    *paying -= amount;
    *receiving += amount;
}
