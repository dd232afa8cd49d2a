//! Transfers keep the sum of all balances.

use abba_deadlock::{transfer, Account};
use std::thread;

#[test]
fn opposite_transfers_keep_the_sum() {
    let (left, right) = (Account::with_balance(100), Account::with_balance(100));
    thread::scope(|scope| {
        scope.spawn(|| transfer(&left, &right, 10));
        scope.spawn(|| transfer(&right, &left, 20));
    });
    assert_eq!(left.balance() + right.balance(), 200);
}
