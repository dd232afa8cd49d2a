//! lasso#41: two threads intern the same text for the first time.

use lasso::ThreadedRodeo;
use std::thread;

#[test]
pub fn one_text_has_one_key() {
    let rodeo: ThreadedRodeo = ThreadedRodeo::new();
    let [one, other] = thread::scope(|scope| {
        let threads = [(); 2].map(|()| scope.spawn(|| rodeo.get_or_intern("text")));
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(one, other);
    assert_eq!(rodeo.resolve(&one), "text");
    assert_eq!(rodeo.len(), 1);
}
