//! RUSTSEC-2025-0024: the receiver goes while a sender sets the channel up and another one sends.

use std::thread;

#[test]
pub fn two_first_sends_while_the_receiver_drops() {
    let (sender, receiver) = crossbeam_channel::unbounded::<u64>();
    let senders = [1, 2].map(|message| {
        let sender = sender.clone();
        thread::spawn(move || sender.send(message).is_ok())
    });
    drop(receiver);
    drop(sender);
    for sender in senders {
        let _ = sender.join().unwrap();
    }
}
