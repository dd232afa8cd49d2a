//! RUSTSEC-2022-0029: an item is handed over through a queue without an order.

use crossbeam::sync::MsQueue;
use std::thread;

#[test]
pub fn items_arrive_as_they_were_sent() {
    let queue = MsQueue::new();
    thread::scope(|scope| {
        scope.spawn(|| queue.push(7_u64));
        scope.spawn(|| assert_eq!(queue.pop(), 7));
    });
}
