//! Moves in opposite directions come to an end.

use spinning_circle::{move_one, Place};
use std::thread;

#[test]
fn opposite_moves_end() {
    let (upper, lower) = (Place::default(), Place::default());
    thread::scope(|scope| {
        scope.spawn(|| move_one(&upper, &lower));
        scope.spawn(|| move_one(&lower, &upper));
    });
}
