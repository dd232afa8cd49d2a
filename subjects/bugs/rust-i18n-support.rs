//! RUSTSEC-2024-0007: a text is read while it is replaced and freed.

use rust_i18n_support::AtomicStr;
use std::thread;

#[test]
pub fn read_while_replaced() {
    let text = AtomicStr::from("en");
    thread::scope(|scope| {
        scope.spawn(|| {
            let language = text.to_string();
            assert!(language == "en" || language == "de");
        });
        scope.spawn(|| {
            let _ = text.replace("de");
        });
    });
}
