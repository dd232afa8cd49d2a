//! The queue and the mailbox.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use pools::{BoundedQueue, Mailbox};

#[test]
fn every_item_gets_through_a_short_queue() {
    let queue = Arc::new(BoundedQueue::with_capacity(1));
    let producers = [1, 2].map(|item| {
        let queue = Arc::clone(&queue);
        thread::spawn(move || queue.push(item))
    });
    let consumers = [(); 2].map(|()| {
        let queue = Arc::clone(&queue);
        thread::spawn(move || queue.pop())
    });
    for producer in producers {
        producer.join().unwrap();
    }
    let sum: i32 = consumers.into_iter().map(|it| it.join().unwrap()).sum();
    assert_eq!(sum, 3);
}

#[test]
fn a_request_is_served_once() {
    let mailbox = Arc::new(Mailbox::default());
    let server = thread::spawn({
        let mailbox = Arc::clone(&mailbox);
        move || {
            let request = mailbox.take();
            thread::sleep(Duration::from_millis(10));
            mailbox.answer(request * 2);
        }
    });
    assert_eq!(mailbox.ask(21), 42);
    server.join().unwrap();
    assert_eq!(mailbox.load(), 1);
}
