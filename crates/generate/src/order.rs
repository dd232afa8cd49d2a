//! Orders: whose turn it is, one byte per turn.
//!
//! A call may be two steps: itself, and the use of what it returned. Whether there is a second one
//! depends on the result, and so may differ between an execution and an order of its calls; a byte
//! therefore says which of the two it means. The program of a test reads the same bytes
//! (`template/prelude.rs`).

use crate::history::Step;

/// The thread's next call is left out, or what it returned is let go unused.
pub const LEFT_OUT: u8 = 0x80;
/// What the last call returned is used, if it returned something to use.
pub const SECOND: u8 = 0x40;
/// The next call is made; what the last one returned is let go first, if it is still held.
pub const FIRST: u8 = 0x20;
/// With [`FIRST`]: what it returns is held. Otherwise it is let go at once.
pub const HOLDS: u8 = 0x10;
/// The bits with the thread's number. A byte with no others means whatever comes next.
const THREAD: u8 = 0x0f;

/// Whose turn it is.
pub const fn thread(turn: u8) -> usize {
    (turn & THREAD) as usize
}

/// The turn of a thread's next step, whatever that is.
pub fn next(thread: usize) -> u8 {
    u8::try_from(thread).unwrap_or(THREAD) & THREAD
}

/// The turn that makes this step of a thread; `holds` says whether a second one follows.
pub fn turn(thread: usize, is_second: bool, holds: bool) -> u8 {
    let kind = match (is_second, holds) {
        (true, _) => SECOND,
        (false, true) => FIRST | HOLDS,
        (false, false) => FIRST,
    };
    next(thread) | kind
}

/// The turns of steps that a thread made.
pub fn turns(thread: usize, steps: &[Step]) -> Vec<u8> {
    let turns = steps.iter().enumerate().map(|(index, step)| {
        let following = steps.get(index + 1);
        let holds = following.is_some_and(|next| next.call == step.call);
        turn(thread, step.is_second, holds)
    });
    turns.collect()
}

#[cfg(test)]
mod tests {
    use super::{FIRST, HOLDS, SECOND, thread, turns};
    use crate::history::Step;

    #[test]
    fn turns_say_which_step_of_a_call_they_mean() {
        let step = |call, is_second| Step {
            call,
            is_second,
            started: 0,
            ended: None,
            result: None,
        };
        let steps = [step(4, false), step(4, true), step(5, false)];
        let found = turns(3, &steps);
        assert_eq!(found, [3 | FIRST | HOLDS, 3 | SECOND, 3 | FIRST]);
        assert!(found.into_iter().all(|turn| thread(turn) == 3));
    }
}
