//! Every visitor is counted.

use lost_update::Visitors;
use std::thread;

#[test]
fn two_visitors_are_counted() {
    let visitors = Visitors::default();
    thread::scope(|scope| {
        scope.spawn(|| visitors.enter());
        scope.spawn(|| visitors.enter());
    });
    assert_eq!(visitors.count(), 2, "a visitor was lost");
}
