//! Which parts of stacks the race oracle need not look at.
//!
//! Most plain accesses are to the thread's own stack, where hardly ever anybody else looks.
//! They are left out until another thread touches that stack below the part known as shared:
//! then the part grows, and the execution is run again from its start, so that nothing is
//! missed. What is known is kept for all further executions, and in memory that forked
//! children share.
//!
//! An execution that is recorded leaves nothing out.

use crate::donor::{MAX_DONORS, STACK_SIZE, STACKS, stack_range};
use crate::host::{self, End};
use crate::shared::shared;
use crate::world::world;

/// Stacks that there can be: the donors' and the first thread's.
pub const COUNT: usize = MAX_DONORS + 1;

/// What is known about the stacks.
pub struct Known {
    stacks: [Stack; COUNT],
    /// How often any part has grown.
    grown: u32,
}

/// What is known about one stack. Zeroed memory is a stack that nobody shares.
#[derive(Clone, Copy)]
struct Stack {
    /// Bytes at its upper end that others have touched.
    shared: usize,
    /// How often this has grown.
    grown: u32,
}

/// How much further down than asked for a shared part grows, from time to time: every time
/// costs an execution.
const STEPS: [usize; 4] = [256, 4096, 1 << 16, 1 << 20];
/// Growths, over all stacks, after which all of every stack is shared.
const PATIENCE: u32 = 1024;

fn index(address: usize) -> usize {
    (address - STACKS) / STACK_SIZE
}

/// Whether an address lies in the area of the stacks.
#[inline(always)]
pub fn contains(address: usize) -> bool {
    address.wrapping_sub(STACKS) < COUNT * STACK_SIZE
}

/// The part of a thread's stack that only it can touch: start and length.
pub fn private_part(stack: (usize, usize)) -> (usize, usize) {
    let (low, high) = stack;
    if !contains(low) {
        return (0, 0);
    }
    let shared = shared().family().stacks.stacks[index(low)].shared;
    (low, (high - low).saturating_sub(shared))
}

impl Known {
    /// Another thread than the owner touches `address`. True if that was not known.
    fn touch(&mut self, address: usize) -> bool {
        let number = index(address);
        let (low, high) = stack_range(number);
        let stack = &mut self.stacks[number];
        if address < low || address >= high - stack.shared {
            return false;
        }
        self.grown += 1;
        let step = STEPS.get(stack.grown as usize);
        stack.shared = match step {
            Some(step) if self.grown < PATIENCE => (high - address + step).min(high - low),
            _ => high - low,
        };
        stack.grown += 1;
        true
    }
}

/// The running thread touches an address in the area of the stacks, outside of the private
/// part of its own. Does not return if that makes the execution start again.
#[cold]
pub fn touched(address: usize) {
    let execution = &world().execution;
    let (low, high) = execution.threads[execution.current].stack;
    if (low..high).contains(&address) {
        return;
    }
    if shared().family().stacks.touch(address) {
        host::end(End::Again);
    }
}

/// The running thread passes an address in its own stack to a thread that it starts.
pub fn passed(address: usize) {
    let running = world().execution.running();
    let (low, high) = running.stack;
    if !(low..high).contains(&address) {
        return;
    }
    running.passed = running.passed.min(address);
    let is_private = world().orders.private_stacks && contains(address);
    if world().running && is_private && shared().family().stacks.touch(address) {
        host::end(End::Again);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::boxed::Box;

    fn known() -> Box<Known> {
        // SAFETY: zeroes are a valid value.
        unsafe { Box::<Known>::new_zeroed().assume_init() }
    }

    #[test]
    fn a_part_that_others_touch_is_learnt_once() {
        let mut known = known();
        let (_, high) = stack_range(3);
        assert!(known.touch(high - 5000));
        assert!(!known.touch(high - 5000) && !known.touch(high - 8));
        assert!(known.touch(high - 9000), "further down");
        assert!(known.stacks[3].shared >= 9000 && known.stacks[4].shared == 0);
    }

    #[test]
    fn few_executions_are_lost_however_much_is_shared() {
        let mut known = known();
        let (low, high) = stack_range(1);
        let learnt = (low..high)
            .rev()
            .step_by(8)
            .filter(|address| known.touch(*address));
        assert!(learnt.count() <= STEPS.len() + 1);
        let learnt = (2..COUNT)
            .map(|number| stack_range(number).1 - 8)
            .filter(|address| known.touch(*address));
        assert_eq!(learnt.count(), COUNT - 2, "each stack counts by itself");
        let (low, high) = stack_range(COUNT - 1);
        assert_eq!(known.stacks[COUNT - 1].shared, high - low);
    }
}
