//! event-listener#138: a notification is lost while the first listener sets the list up.

use event_listener::{Event, Listener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

#[test]
pub fn whoever_listens_before_it_looks_is_woken() {
    let event = Event::new();
    let flag = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            flag.store(true, Ordering::SeqCst);
            event.notify(usize::MAX);
        });
        let listener = event.listen();
        if !flag.load(Ordering::SeqCst) {
            listener.wait();
        }
    });
}
