//! spin-rs#117: two threads both run what `call_once` runs once.

use spin::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

#[test]
pub fn once_is_once() {
    let once = Once::new();
    let runs = AtomicUsize::new(0);
    let call = || {
        let value = *once.call_once(|| runs.fetch_add(1, Ordering::SeqCst));
        assert_eq!(value, 0);
    };
    thread::scope(|scope| {
        scope.spawn(call);
        scope.spawn(call);
    });
    assert_eq!(runs.into_inner(), 1);
}
