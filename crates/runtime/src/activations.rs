//! Which functions each thread is in, for the record and for marks: so that every entry has its exit.
//!
//! Returns are announced; unwinding, `longjmp` and the end of a thread are not, or only in part.
//! So each activation remembers the frame that it stands in and that frame's return address, and
//! one whose frame is no longer on the stack has ended. Several activations share a frame where
//! the compiler has inlined; those are told apart by what the landing pads announce.
//!
//! Limit: behind a frame without frame pointer nothing is known, and activations stay.

use crate::global::Global;
use crate::stack;
use crate::world::world;
use alloc::vec::Vec;
use raddle_abi::site::SiteId;

/// A function that a thread is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Activation {
    site: SiteId,
    /// Its frame.
    frame: usize,
    /// Where the frame returns to.
    returns_to: u64,
}

/// The activations of one thread, outermost first.
#[derive(Debug, Default)]
struct Stack(Vec<Activation>);

impl Stack {
    /// Removes those that `frames`, the thread's frames from the innermost on, do not show.
    fn drop_ended(
        &mut self,
        mut frames: impl Iterator<Item = (usize, u64)>,
        mut ended: impl FnMut(SiteId),
    ) {
        let mut frame = frames.next();
        while let Some(top) = self.0.last() {
            while frame.is_some_and(|(frame, _)| frame < top.frame) {
                frame = frames.next();
            }
            match frame {
                Some(live) if live != (top.frame, top.returns_to) => {
                    ended(top.site);
                    self.0.pop();
                }
                // It is there, or nobody knows.
                _ => return,
            }
        }
    }

    /// Removes those that stand in the same frame above the last one of `site`. False if
    /// there is none.
    fn drop_above(&mut self, frame: usize, site: SiteId, mut ended: impl FnMut(SiteId)) -> bool {
        let in_frame = |activation: &&Activation| activation.frame == frame;
        let above = self
            .0
            .iter()
            .rev()
            .take_while(in_frame)
            .position(|activation| activation.site == site);
        let Some(above) = above else { return false };
        for _ in 0..above {
            if let Some(activation) = self.0.pop() {
                ended(activation.site);
            }
        }
        true
    }
}

/// By thread number.
static STACKS: Global<Vec<Stack>> = Global::new(Vec::new());

/// Forgets everything.
pub fn clear() {
    STACKS.get().clear();
}

fn of_running() -> &'static mut Stack {
    let stacks = STACKS.get();
    let current = world().execution.current;
    if stacks.len() <= current {
        stacks.resize_with(current + 1, Stack::default);
    }
    &mut stacks[current]
}

/// Drops activations of the running thread that are over, innermost first.
#[inline(never)]
pub fn settle(ended: impl FnMut(SiteId)) {
    let stack = of_running();
    if !stack.0.is_empty() {
        stack.drop_ended(stack::frames_of_running(), ended);
    }
}

/// The running thread has entered a function. False if its frame is not known.
pub fn enter(site: SiteId) -> bool {
    let frame = stack::program_frame();
    of_running()
        .0
        .extend(frame.map(|(frame, returns_to)| Activation {
            site,
            frame,
            returns_to,
        }));
    frame.is_some()
}

/// The running thread is in the function of `site` again: whatever it called there is over.
/// False if it was not seen to enter it.
pub fn resume(site: SiteId, ended: impl FnMut(SiteId)) -> bool {
    stack::program_frame().is_some_and(|(frame, _)| of_running().drop_above(frame, site, ended))
}

/// The running thread leaves the function that it is in.
pub fn leave() {
    of_running().0.pop();
}

/// The running thread ends, wherever it is.
pub fn leave_all(mut ended: impl FnMut(SiteId)) {
    while let Some(activation) = of_running().0.pop() {
        ended(activation.site);
    }
}

#[cfg(test)]
mod tests {
    use super::{Activation, Stack};
    use alloc::vec;
    use alloc::vec::Vec;

    fn stack(entries: &[(u32, usize)]) -> Stack {
        let entries = entries.iter().map(|&(site, frame)| Activation {
            site,
            frame,
            returns_to: frame as u64 + 1,
        });
        Stack(entries.collect())
    }

    /// Which activations are seen to end when these frames are on the stack.
    fn ended(entries: &[(u32, usize)], frames: &[(usize, u64)]) -> Vec<u32> {
        let mut sites = Vec::new();
        stack(entries).drop_ended(frames.iter().copied(), |site| sites.push(site));
        sites
    }

    #[test]
    fn activations_end_with_their_frames() {
        let entries = [(1, 300), (2, 200), (3, 200), (4, 100)];
        let all = [(100, 101), (200, 201), (300, 301), (400, 401)];
        assert!(ended(&entries, &all).is_empty());
        assert_eq!(ended(&entries, &all[1..]), vec![4]);
        assert_eq!(ended(&entries, &all[2..]), vec![4, 3, 2]);
        assert_eq!(ended(&entries, &all[3..]), vec![4, 3, 2, 1]);
    }

    #[test]
    fn another_call_in_the_same_place_is_another_frame() {
        let frames = [(50, 9), (100, 7), (200, 201)];
        assert_eq!(ended(&[(1, 200), (2, 100)], &frames), vec![2]);
    }

    #[test]
    fn where_the_walk_ends_nothing_is_known() {
        assert!(ended(&[(1, 200), (2, 100)], &[(50, 9)]).is_empty());
    }

    #[test]
    fn inlined_activations_end_at_a_landing_pad() {
        let mut sites = Vec::new();
        let mut stack = stack(&[(1, 200), (2, 100), (3, 100), (4, 100)]);
        assert!(stack.drop_above(100, 2, |site| sites.push(site)));
        assert_eq!((sites, stack.0.len()), (vec![4, 3], 2));
        assert!(!stack.drop_above(100, 1, |_| {}), "stands in another frame");
    }
}
