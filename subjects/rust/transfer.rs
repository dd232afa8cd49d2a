//! Transfers between accounts take the payer's lock first, then the other one's.

use std::sync::Mutex;
use std::thread;

fn transfer<const FIXED: bool>(accounts: &[Mutex<i32>; 3], from: usize, to: usize) {
    let is_turned = FIXED && from > to;
    let (first, second) = if is_turned { (to, from) } else { (from, to) };
    let mut one = accounts[first].lock().unwrap();
    let mut other = accounts[second].lock().unwrap();
    let amount = if is_turned { -1 } else { 1 };
    *one -= amount;
    *other += amount;
}

fn run<const FIXED: bool>() {
    let accounts = [const { Mutex::new(10) }; 3];
    thread::scope(|scope| {
        for from in 0..3 {
            let accounts = &accounts;
            scope.spawn(move || transfer::<FIXED>(accounts, from, (from + 1) % 3));
        }
    });
    let sum: i32 = accounts.iter().map(|account| *account.lock().unwrap()).sum();
    assert_eq!(sum, 30);
}

#[test]
fn bug() {
    run::<false>();
}

#[test]
fn twin() {
    run::<true>();
}
