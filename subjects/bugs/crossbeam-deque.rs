//! RUSTSEC-2021-0093: a thief goes on in a buffer that the owner has replaced by a smaller one,
//! and takes again what the owner has popped.

use crossbeam_deque::{Steal, Worker};
use std::thread;

/// The buffer grows for the first ones, shrinks while the owner pops, and the last ones stand in
/// the smaller one.
const FIRST: u32 = 66;
const POPPED: u32 = 40;
const LAST: u32 = 6;

#[test]
pub fn every_item_is_taken_once() {
    let owner = Worker::new_lifo();
    (0..FIRST).for_each(|item| owner.push(item));
    let stealer = owner.stealer();
    let thief = thread::spawn(move || {
        let own = Worker::new_lifo();
        let first = match stealer.steal_batch_and_pop(&own) {
            Steal::Success(item) => Some(item),
            Steal::Empty | Steal::Retry => None,
        };
        let rest = std::iter::from_fn(|| own.pop());
        first.into_iter().chain(rest).collect::<Vec<u32>>()
    });
    let mut taken: Vec<u32> = (0..POPPED).filter_map(|_| owner.pop()).collect();
    (FIRST..FIRST + LAST).for_each(|item| owner.push(item));
    taken.extend(thief.join().unwrap());
    taken.extend(std::iter::from_fn(|| owner.pop()));
    taken.sort_unstable();
    assert_eq!(taken, (0..FIRST + LAST).collect::<Vec<u32>>());
}
