//! RUSTSEC-2023-0031: an initialisation that fails while another thread waits for it.

use spin::Once;
use std::thread;

#[test]
pub fn one_fails_and_another_one_succeeds() {
    let once = Once::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            let _ = once.try_call_once(|| Err::<u64, &str>("not now"));
        });
        scope.spawn(|| assert_eq!(*once.call_once(|| 7), 7));
    });
}
