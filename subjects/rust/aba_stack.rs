//! A stack of slots, linked by numbers. A pop that is interrupted does not see that the top slot
//! was taken, and put back above something else, in the meantime. The twin counts changes of the
//! top beside its number.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

const NONE: u64 = 0xff;

struct Stack<const FIXED: bool> {
    /// Low byte: the top slot. Above: number of changes, for the twin.
    top: AtomicU64,
    next: [AtomicU64; 3],
}

impl<const FIXED: bool> Stack<FIXED> {
    fn new() -> Self {
        let stack = Self {
            top: AtomicU64::new(NONE),
            next: [const { AtomicU64::new(NONE) }; 3],
        };
        (0..3).rev().for_each(|slot| stack.push(slot));
        stack
    }

    fn change(&self, seen: u64, slot: u64) -> bool {
        let changes = if FIXED { (seen >> 8) + 1 } else { 0 };
        let new = changes << 8 | slot;
        let order = Ordering::SeqCst;
        self.top.compare_exchange(seen, new, order, order).is_ok()
    }

    fn push(&self, slot: u64) {
        loop {
            let seen = self.top.load(Ordering::SeqCst);
            self.next[slot as usize].store(seen & NONE, Ordering::SeqCst);
            if self.change(seen, slot) {
                return;
            }
        }
    }

    fn pop(&self) -> Option<u64> {
        loop {
            let seen = self.top.load(Ordering::SeqCst);
            let slot = seen & NONE;
            if slot == NONE {
                return None;
            }
            let next = self.next[slot as usize].load(Ordering::SeqCst);
            if self.change(seen, next) {
                return Some(slot);
            }
        }
    }
}

fn run<const FIXED: bool>() {
    let stack = Stack::<FIXED>::new();
    let owners = [const { AtomicUsize::new(0) }; 3];
    let take = || {
        let slot = stack.pop();
        if let Some(slot) = slot {
            let others = owners[slot as usize].fetch_add(1, Ordering::SeqCst);
            assert_eq!(others, 0, "slot {slot} is taken twice");
        }
        slot
    };
    let give = |slot: u64| {
        owners[slot as usize].fetch_sub(1, Ordering::SeqCst);
        stack.push(slot);
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            let first = take();
            let second = take();
            first.map(give);
            take();
            drop(second);
        });
        scope.spawn(|| {
            take();
        });
    });
}

#[test]
fn bug() {
    run::<false>();
}

#[test]
fn twin() {
    run::<true>();
}
