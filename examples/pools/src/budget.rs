//! A budget that is spent piece by piece.

use std::sync::Mutex;

use crate::FIXED;

/// What is left and what was spent; together they are always the same.
pub struct Budget {
    left: Mutex<u32>,
    spent: Mutex<u32>,
}

impl Budget {
    /// A budget of which nothing was spent.
    pub fn new(amount: u32) -> Self {
        Self {
            left: Mutex::new(amount),
            spent: Mutex::new(0),
        }
    }

    /// Spends so much, if it is left.
    pub fn spend(&self, amount: u32) -> bool {
        let mut left = self.left.lock().unwrap();
        if *left < amount {
            return false;
        }
        let mut spent = self.spent.lock().unwrap();
        *left -= amount;
        *spent += amount;
        true
    }

    /// What is left, and what was spent.
    pub fn status(&self) -> (u32, u32) {
        let left = self.left.lock().unwrap();
        if FIXED {
            return (*left, *self.spent.lock().unwrap());
        }
        let left_over = *left;
        drop(left);
        (left_over, *self.spent.lock().unwrap())
    }
}
